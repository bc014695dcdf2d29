//! A snapshot as Prometheus reads it.

use super::snapshot::Snapshot;
use std::fmt::Write;

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
        let graph = format!("graph=\"{}\"", escaped(graph));
        let mut family = |name: &str, kind: &str, help: &str, lines: &mut dyn Iterator<Item = (String, f64)>| {
            let _ = write!(out, "# HELP thalweg_{name} {help}\n# TYPE thalweg_{name} {kind}\n");
            for (labels, value) in lines {
                let comma = if labels.is_empty() { "" } else { "," };
                let _ = writeln!(out, "thalweg_{name}{{{graph}{comma}{labels}}} {value}");
            }
        };
        let kernel = |index: usize| format!("kernel=\"{}\"", escaped(&self.kernels[index].name));
        let kernels = |value: fn(&super::KernelSnapshot) -> f64| {
            self.kernels.iter().enumerate().map(move |(index, state)| (kernel(index), value(state)))
        };
        family(
            "run_seconds",
            "gauge",
            "Time since the run began.",
            &mut [(String::new(), self.time.as_secs_f64())].into_iter(),
        );
        family(
            "running",
            "gauge",
            "1 while the run goes on.",
            &mut [(String::new(), f64::from(u8::from(self.end.is_none())))].into_iter(),
        );
        family(
            "workers",
            "gauge",
            "Workers that the scheme lets work.",
            &mut [(String::new(), self.working as f64)].into_iter(),
        );
        family(
            "dropped_total",
            "counter",
            "Messages dropped.",
            &mut [(String::new(), self.dropped as f64)].into_iter(),
        );
        family(
            "kernel_messages_in_total",
            "counter",
            "Messages that a kernel took.",
            &mut kernels(|kernel| kernel.messages_in as f64),
        );
        family(
            "kernel_messages_out_total",
            "counter",
            "Messages that a kernel gave.",
            &mut kernels(|kernel| kernel.messages_out as f64),
        );
        family(
            "kernel_busy_seconds_total",
            "counter",
            "Time in a kernel's code, over all workers.",
            &mut kernels(|kernel| kernel.busy.as_secs_f64()),
        );
        family(
            "kernel_activations_total",
            "counter",
            "Times that a kernel ran.",
            &mut kernels(|kernel| kernel.activations as f64),
        );
        let causes = ["empty", "full", "ticket", "busy", "pending"];
        let mut blocked = self.kernels.iter().enumerate().flat_map(|(index, state)| {
            let counts = [
                state.blocked_empty,
                state.blocked_full,
                state.blocked_ticket,
                state.blocked_busy,
                state.blocked_pending,
            ];
            causes
                .into_iter()
                .zip(counts)
                .map(move |(cause, count)| (format!("{},cause=\"{cause}\"", kernel(index)), count as f64))
        });
        family("kernel_blocked_total", "counter", "Attempts to run a kernel that could do nothing.", &mut blocked);
        let edge = |index: usize| {
            let (from, to) = self.edges[index].ends;
            let (from, to) = (escaped(&self.kernels[from].name), escaped(&self.kernels[to].name));
            format!("edge=\"{index}\",from=\"{from}\",to=\"{to}\"")
        };
        let edges = |value: fn(&super::EdgeSnapshot) -> f64| {
            self.edges.iter().enumerate().map(move |(index, state)| (edge(index), value(state)))
        };
        family("edge_messages_total", "counter", "Messages given to an edge.", &mut edges(|edge| edge.messages as f64));
        family("edge_messages", "gauge", "Messages on an edge.", &mut edges(|edge| edge.holds as f64));
        family("edge_fill_ratio", "gauge", "How full an edge is, from 0 to 1.", &mut edges(|edge| edge.fill));
        family("edge_grown_total", "counter", "Times that an edge grew.", &mut edges(|edge| edge.grown as f64));
        let mut idle = self
            .workers
            .iter()
            .enumerate()
            .map(|(index, worker)| (format!("worker=\"{index}\""), worker.idle.as_secs_f64()));
        family("worker_idle_seconds_total", "counter", "Time in which a worker found nothing to do.", &mut idle);
        out
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
        graph += graph.source(0..10_u64) >> odd;
        let observer = graph.observe();
        graph.run(Scheme::default()).unwrap();
        let text = observer.snapshot().unwrap().metrics("g");
        let mut families = Vec::new();
        for line in text.lines() {
            if let Some(rest) = line.strip_prefix("# TYPE ") {
                let (name, kind) = rest.split_once(' ').unwrap();
                assert!(kind == "gauge" || kind == "counter" && name.ends_with("_total"), "{line}");
                assert!(!families.contains(&name), "{line}");
                families.push(name);
            } else if !line.starts_with("# HELP ") {
                let (name, rest) = line.split_once('{').unwrap();
                let (labels, value) = rest.rsplit_once("} ").unwrap();
                assert_eq!(families.last(), Some(&name), "{line}");
                assert!(labels.starts_with("graph=\"g\"") && value.parse::<f64>().unwrap() >= 0.0, "{line}");
            }
        }
        assert!(text.contains(r#"kernel="a \"quoted\"\\\nname"} 10"#), "{text}");
    }
}
