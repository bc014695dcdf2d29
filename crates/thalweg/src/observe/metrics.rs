//! A snapshot as metrics: text that Prometheus reads, and, with the feature `metrics`, whatever a program has installed for the crate of that name.

use super::snapshot::{EdgeSnapshot, KernelSnapshot, Snapshot};
use super::{Latency, WorkerSnapshot};
use std::fmt::Write;

/// What kind of numbers a family has.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    /// Only grows, within a run.
    Counter,
    Gauge,
    Summary,
}

type Labels = Vec<(&'static str, String)>;

/// Numbers of one meaning.
struct Family {
    name: &'static str,
    kind: Kind,
    help: &'static str,
    /// What stands behind the name, the labels, and the number.
    lines: Vec<(&'static str, Labels, f64)>,
}

impl Snapshot {
    /// As text in Prometheus' exposition format, version 0.0.4: what a page at `/metrics` gives. Counters begin anew with each run, as with a
    /// process that starts again. `graph` is put on every line as a label, to tell graphs of a process apart.
    ///
    /// ```
    /// use thalweg::prelude::*;
    /// let mut graph = Graph::new();
    /// let (numbers, end) = (graph.source(0..1000_u64), graph.sink(drop::<u64>));
    /// graph.name(numbers, "numbers");
    /// graph.name(end, "end");
    /// graph += numbers >> end;
    /// let observer = graph.observe();
    /// graph.run(Scheme::default())?;
    /// let text = observer.snapshot().expect("there was a run").metrics("import");
    /// assert!(text.contains("thalweg_edge_messages_total{graph=\"import\",edge=\"0\",from=\"numbers\",to=\"end\"} 1000\n"));
    /// # Ok::<(), thalweg::Error>(())
    /// ```
    pub fn metrics(&self, graph: &str) -> String {
        let mut out = String::new();
        for Family { name, kind, help, lines } in self.families() {
            let kind = match kind {
                Kind::Counter => "counter",
                Kind::Gauge => "gauge",
                Kind::Summary => "summary",
            };
            let _ = write!(out, "# HELP thalweg_{name} {help}\n# TYPE thalweg_{name} {kind}\n");
            for (suffix, labels, value) in lines {
                let labels: String =
                    labels.iter().map(|(key, label)| format!(",{key}=\"{}\"", escaped(label))).collect();
                let _ = writeln!(out, "thalweg_{name}{suffix}{{graph=\"{}\"{labels}}} {value}", escaped(graph));
            }
        }
        out
    }

    /// Gives the numbers of [`metrics`](Self::metrics) to the recorder that the program has installed for the crate `metrics`, which may hand them to Prometheus,
    /// OpenTelemetry, StatsD and others; to nobody if there is none. To be called now and then, with a snapshot of a run that goes on, or that is over. Counters
    /// of seconds are gauges there, since its counters are whole numbers.
    ///
    /// Each line of `metrics` is a look-up in the recorder: microseconds.
    ///
    /// ```
    /// use thalweg::prelude::*;
    /// let mut graph = Graph::new();
    /// graph += graph.source(0..1000_u64) >> graph.sink(drop::<u64>);
    /// let observer = graph.observe();
    /// graph.run(Scheme::default())?;
    /// observer.snapshot().expect("there was a run").publish("import");
    /// # Ok::<(), thalweg::Error>(())
    /// ```
    #[cfg(feature = "metrics")]
    pub fn publish(&self, graph: &str) {
        for Family { name, kind, help, lines } in self.families() {
            let is_whole = kind == Kind::Counter
                && lines.iter().all(|(_, _, value)| value.fract() == 0.0)
                && !name.contains("seconds");
            let full = format!("thalweg_{name}");
            if is_whole {
                metrics::describe_counter!(full.clone(), help);
            } else {
                metrics::describe_gauge!(full.clone(), help);
            }
            for (suffix, labels, value) in lines {
                let mut labels: Vec<_> =
                    labels.into_iter().map(|(key, label)| metrics::Label::new(key, label)).collect();
                labels.push(metrics::Label::new("graph", graph.to_owned()));
                if is_whole {
                    metrics::counter!(format!("{full}{suffix}"), labels).absolute(value as u64);
                } else {
                    metrics::gauge!(format!("{full}{suffix}"), labels).set(value);
                }
            }
        }
    }

    fn families(&self) -> Vec<Family> {
        let one = |name, kind, help, value: f64| Family { name, kind, help, lines: vec![("", Vec::new(), value)] };
        let kernel_name = |index: usize| self.kernels[index].name.clone();
        let kernels = |name, help, value: fn(&KernelSnapshot) -> f64| {
            let line = |kernel: &KernelSnapshot| ("", vec![("kernel", kernel.name.clone())], value(kernel));
            Family { name, kind: Kind::Counter, help, lines: self.kernels.iter().map(line).collect() }
        };
        let edges = |name, kind, help, value: fn(&EdgeSnapshot) -> f64| {
            let line = |(index, edge): (usize, &EdgeSnapshot)| {
                let ends = [("from", kernel_name(edge.ends.0)), ("to", kernel_name(edge.ends.1))];
                let labels = [("edge", index.to_string())].into_iter().chain(ends).collect();
                ("", labels, value(edge))
            };
            Family { name, kind, help, lines: self.edges.iter().enumerate().map(line).collect() }
        };
        let pair = |latency: &Latency| vec![("from", kernel_name(latency.ends.0)), ("to", kernel_name(latency.ends.1))];
        let blocked = |kernel: &KernelSnapshot| {
            let name = kernel.name.clone();
            let counts = [
                ("empty", kernel.blocked_empty),
                ("full", kernel.blocked_full),
                ("ticket", kernel.blocked_ticket),
                ("busy", kernel.blocked_busy),
                ("pending", kernel.blocked_pending),
            ];
            counts.map(|(cause, count)| ("", vec![("kernel", name.clone()), ("cause", cause.to_owned())], count as f64))
        };
        let summary = |latency: &Latency| {
            let quantiles = latency.quantiles().into_iter().chain([("1", latency.max)]);
            let mut lines: Vec<_> = quantiles
                .filter_map(|(name, time)| {
                    let labels = pair(latency).into_iter().chain([("quantile", name.to_owned())]).collect();
                    Some(("", labels, time?.as_secs_f64()))
                })
                .collect();
            lines.push(("_sum", pair(latency), latency.sum.as_secs_f64()));
            lines.push(("_count", pair(latency), latency.samples as f64));
            lines
        };
        let idle = |(index, worker): (usize, &WorkerSnapshot)| {
            ("", vec![("worker", index.to_string())], worker.idle.as_secs_f64())
        };
        let mut families = vec![
            one("run_seconds", Kind::Gauge, "Time since the run began.", self.time.as_secs_f64()),
            one("running", Kind::Gauge, "1 while the run goes on.", f64::from(u8::from(self.end.is_none()))),
            one("workers", Kind::Gauge, "Workers that the scheme lets work.", self.working as f64),
            one("dropped_total", Kind::Counter, "Messages dropped.", self.dropped as f64),
            kernels("kernel_messages_in_total", "Messages that a kernel took.", |kernel| kernel.messages_in as f64),
            kernels("kernel_messages_out_total", "Messages that a kernel gave.", |kernel| kernel.messages_out as f64),
            kernels("kernel_busy_seconds_total", "Time in a kernel's code, over all workers.", |kernel| {
                kernel.busy.as_secs_f64()
            }),
            kernels("kernel_activations_total", "Times that a kernel ran.", |kernel| kernel.activations as f64),
            Family {
                name: "kernel_blocked_total",
                kind: Kind::Counter,
                help: "Attempts to run a kernel that could do nothing.",
                lines: self.kernels.iter().flat_map(blocked).collect(),
            },
            edges("edge_messages_total", Kind::Counter, "Messages given to an edge.", |edge| edge.messages as f64),
            edges("edge_messages", Kind::Gauge, "Messages on an edge.", |edge| edge.holds as f64),
            edges("edge_fill_ratio", Kind::Gauge, "How full an edge is, from 0 to 1.", |edge| edge.fill),
            edges("edge_grown_total", Kind::Counter, "Times that an edge grew.", |edge| edge.grown as f64),
            Family {
                name: "worker_idle_seconds_total",
                kind: Kind::Counter,
                help: "Time in which a worker found nothing to do.",
                lines: self.workers.iter().enumerate().map(idle).collect(),
            },
        ];
        if !self.latencies.is_empty() {
            families.push(Family {
                name: "latency_seconds",
                kind: Kind::Summary,
                help: "Sampled latency from one kernel to another.",
                lines: self.latencies.iter().flat_map(summary).collect(),
            });
            let stamps = |latency: &Latency| ("", pair(latency), latency.stamps as f64);
            families.push(Family {
                name: "latency_stamps_total",
                kind: Kind::Counter,
                help: "Blocks that were stamped where a latency begins.",
                lines: self.latencies.iter().map(stamps).collect(),
            });
        }
        families
    }
}

/// A label's value.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use crate::prelude::*;

    /// Every line is a comment, or a name with labels and a number; each family is announced once.
    #[test]
    fn each_line_is_in_the_format() {
        let mut graph = Graph::new();
        let odd = graph.sink(drop::<u64>);
        graph.name(odd, "a \"quoted\"\\\nname");
        let ten = graph.source(0..10_u64);
        graph += ten >> odd;
        graph.latency(ten, odd);
        let observer = graph.observe();
        graph.run(Scheme::default()).unwrap();
        let text = observer.snapshot().unwrap().metrics("g");
        let mut families = Vec::new();
        for line in text.lines() {
            if let Some(rest) = line.strip_prefix("# TYPE ") {
                let (name, kind) = rest.split_once(' ').unwrap();
                assert!(matches!(kind, "gauge" | "summary") || kind == "counter" && name.ends_with("_total"), "{line}");
                assert!(!families.contains(&name), "{line}");
                families.push(name);
            } else if !line.starts_with("# HELP ") {
                let (name, rest) = line.split_once('{').unwrap();
                let (labels, value) = rest.rsplit_once("} ").unwrap();
                let of_summary = name.strip_suffix("_sum").or(name.strip_suffix("_count"));
                assert_eq!(families.last(), Some(&of_summary.unwrap_or(name)), "{line}");
                assert!(labels.starts_with("graph=\"g\"") && value.parse::<f64>().unwrap() >= 0.0, "{line}");
            }
        }
        assert!(text.contains("thalweg_latency_seconds_count{graph=\"g\",from=\""), "{text}");
        assert!(text.contains("quantile=\"0.999\"} "), "{text}");
        assert!(text.contains(r#"kernel="a \"quoted\"\\\nname"} 10"#), "{text}");
    }
}
