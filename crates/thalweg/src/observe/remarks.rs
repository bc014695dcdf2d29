//! Faults that a run shows while it goes on, and the way out of each.

use super::snapshot::{Doing, KernelSnapshot, Kind, Snapshot, WorkerState};
use super::{KernelRates, Rates};
use thalweg_sync::time::Duration;

/// Milliseconds of a second that are most of it.
const MOST: f64 = 800.0;
/// Milliseconds of a second that are worth a word.
const MUCH: f64 = 300.0;
/// Snapshots without which nothing is said of what is always so.
const ENOUGH: usize = 6;
/// How much slower a kernel turns before that is told.
const SLOWER: f64 = 3.0;
/// Bytes on an edge that are not worth a word.
const SMALL: f64 = (1 << 20) as f64;
/// A kernel that is so long in one activation is told.
const LONG: Duration = Duration::from_secs(2);

/// What a remark is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum About {
    /// A kernel, by its index.
    Kernel(usize),
    /// An edge, by its index.
    Edge(usize),
    /// The run.
    Run,
}

/// A fault, and the way out.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Remark {
    /// What it is about.
    pub about: About,
    /// One or two sentences.
    pub text: String,
}

/// What the snapshots of some seconds say about a run: faults with their way out, the weightiest first. The oldest snapshot comes first; those of
/// another run than the last one's are passed over. Says nothing of fewer than two.
///
/// ```
/// use thalweg::observe::remarks;
/// assert!(remarks(&[]).is_empty());
/// ```
pub fn remarks(history: &[Snapshot]) -> Vec<Remark> {
    let Some(now) = history.last() else { return Vec::new() };
    let first = history.iter().position(|then| then.run == now.run && then.kernels.len() == now.kernels.len());
    let history = &history[first.unwrap_or(history.len() - 1)..];
    if history.len() < 2 {
        return Vec::new();
    }
    let mut found = Found { history, now, rates: now.since(&history[0]), remarks: Vec::new() };
    found.stuck();
    found.pace();
    found.tickets();
    found.polls();
    found.slower();
    found.growth();
    found.edges();
    found.bench();
    found.remarks
}

struct Found<'a> {
    history: &'a [Snapshot],
    now: &'a Snapshot,
    rates: Rates,
    remarks: Vec<Remark>,
}

impl<'a> Found<'a> {
    fn say(&mut self, about: About, text: String) {
        self.remarks.push(Remark { about, text });
    }

    fn kernels(&self) -> impl Iterator<Item = (usize, &'a KernelSnapshot, KernelRates)> + use<'a, '_> {
        let kernels = self.now.kernels.iter().zip(&self.rates.kernels).enumerate();
        kernels.map(|(index, (kernel, rates))| (index, kernel, *rates))
    }

    fn edge_name(&self, edge: usize) -> String {
        let (from, to) = self.now.edges[edge].ends;
        format!("{} >> {}", self.now.kernels[from].name, self.now.kernels[to].name)
    }

    /// Nothing moves, or somebody is long in one activation.
    fn stuck(&mut self) {
        let first = &self.history[0];
        if self.rates.span < LONG || self.now.end.is_some() {
            return;
        }
        let long = self.kernels().find(|&(index, kernel, _)| {
            kernel.workers > 0
                && self.history.iter().all(|then| {
                    let then = &then.kernels[index];
                    then.workers > 0
                        && then.activations == kernel.activations
                        && then.messages_out == kernel.messages_out
                })
        });
        if let Some((index, kernel, _)) = long {
            let text = format!(
                "{} has been in one activation for {} seconds or more: its code is at a message that takes long, or waits for something. Nobody interrupts it; \
                 let it do its waiting in a source that waits (`source_blocking`) or behind an outlet.",
                kernel.name,
                self.rates.span.as_secs()
            );
            self.say(About::Kernel(index), text);
            return;
        }
        let moved = self
            .now
            .edges
            .iter()
            .zip(&first.edges)
            .any(|(now, then)| now.messages > then.messages || now.holds != then.holds);
        if moved || self.now.kernels.iter().any(|kernel| kernel.workers > 0) {
            return;
        }
        let waits: Vec<_> = (self.now.kernels.iter())
            .filter_map(|kernel| match kernel.doing {
                Doing::Pending => Some(format!("{} has nothing to give", kernel.name)),
                Doing::Full(edge) => Some(format!("{} waits for room on {}", kernel.name, self.edge_name(edge))),
                _ => None,
            })
            .take(3)
            .collect();
        let waits = if waits.is_empty() { "every kernel waits for input".to_owned() } else { waits.join(", ") };
        self.say(About::Run, format!("nothing has moved for {} seconds: {waits}.", self.rates.span.as_secs()));
    }

    /// A kernel on one worker at a time that is busy nearly all the time.
    fn pace(&mut self) {
        let sequential = |kernel: &KernelSnapshot| kernel.kind != Kind::Parallel && kernel.doing != Doing::Done;
        let most =
            self.kernels().filter(|(_, kernel, _)| sequential(kernel)).max_by(|a, b| a.2.busy.total_cmp(&b.2.busy));
        let Some((index, kernel, rates)) = most.filter(|(_, _, rates)| rates.busy >= MOST) else { return };
        if self.now.workers.len() < 2 || self.remarks.iter().any(|remark| remark.about == About::Kernel(index)) {
            return;
        }
        let told = format!(
            "{} sets the pace: it is busy for {:.0} % of the time, on one worker at a time.",
            kernel.name,
            rates.busy / 10.0
        );
        let text = if matches!(kernel.kind, Kind::Source | Kind::Inlet) {
            format!("{told} Give from several sources, or leave its work to kernels behind it.")
        } else {
            // The others would have to keep up, and all share the workers.
            let others = self.kernels().filter(|(other, kernel, _)| *other != index && sequential(kernel));
            let next = others.map(|(_, _, rates)| rates.busy).fold(0.0, f64::max);
            let load: f64 = self.kernels().map(|(_, _, rates)| rates.busy).sum();
            let workers = self.now.workers.len() as f64;
            let gain = (1000.0 / next.max(1.0)).min(1000.0 * workers / load.max(1.0)).min(workers);
            let gain =
                if gain > 1.2 { format!(" Up to {gain:.1} times as much would go through.") } else { String::new() };
            format!("{told} Make it parallel if it has no state, or split it into several kernels.{gain}")
        };
        self.say(About::Kernel(index), text);
    }

    fn tickets(&mut self) {
        let waits: Vec<_> = self.kernels().filter(|(_, _, rates)| rates.ticket >= MUCH).collect();
        for (index, kernel, rates) in waits {
            let text = format!(
                "{} waits for earlier results for {:.0} % of the time: one message takes much longer than others, or its results have nowhere to go. Let \
                 messages be of even cost, or let results leave as they come (`unordered`).",
                kernel.name,
                rates.ticket / 10.0
            );
            self.say(About::Kernel(index), text);
        }
    }

    /// A source that has nothing, and is asked again and again.
    fn polls(&mut self) {
        let first = &self.history[0];
        let seconds = self.rates.span.as_secs_f64().max(1e-9);
        let asked: Vec<_> = (self.kernels())
            .filter(|(_, kernel, _)| matches!(kernel.kind, Kind::Source) && kernel.doing != Doing::Done)
            .map(|(index, kernel, rates)| {
                (
                    index,
                    kernel,
                    (kernel.activations - first.kernels[index].activations.min(kernel.activations)) as f64 / seconds,
                    rates,
                )
            })
            .filter(|(_, _, asked, rates)| *asked > 20.0 && rates.messages_out < *asked / 4.0)
            .collect();
        for (index, kernel, asked, rates) in asked {
            let text = format!(
                "{} polls: it is asked {asked:.0} times a second and gives {:.0} messages. Let it wait where it has nothing: `source_blocking`, \
                 `source_polled`, or an `inlet` that somebody pushes into.",
                kernel.name, rates.messages_out
            );
            self.say(About::Kernel(index), text);
        }
    }

    /// A kernel whose messages cost much more than before.
    fn slower(&mut self) {
        if self.history.len() < ENOUGH {
            return;
        }
        let (middle, late) = (self.history.len() / 2, self.history.len() * 3 / 4);
        let before = self.history[middle].since(&self.history[0]);
        let lately = self.now.since(&self.history[late]);
        let slow: Vec<_> = (self.kernels())
            .map(|(index, kernel, _)| (index, kernel, before.kernels[index].cost, lately.kernels[index].cost))
            .filter(|(_, _, before, lately)| *before > 0.0 && *lately > 1_000.0 && *lately > SLOWER * before)
            .collect();
        for (index, kernel, before, lately) in slow {
            let text = format!(
                "{} turned slow: a message takes {:.1} us, and took {:.1} us some seconds ago. Its input or what it keeps may have changed: look at what it does \
                 with its state.",
                kernel.name,
                lately / 1e3,
                before / 1e3
            );
            self.say(About::Kernel(index), text);
        }
    }

    /// An edge that holds ever more.
    fn growth(&mut self) {
        if self.history.len() < ENOUGH || self.now.end.is_some() {
            return;
        }
        for edge in 0..self.now.edges.len() {
            let held = |snapshot: &Snapshot| {
                snapshot.edges[edge].holds as f64 * snapshot.edges[edge].message_bytes.max(1) as f64
            };
            let step = self.history.len() / 4;
            let marks = [0, step, 2 * step, 3 * step, self.history.len() - 1].map(|index| held(&self.history[index]));
            let grows = marks.windows(2).all(|pair| pair[1] > pair[0]) && marks[4] > SMALL && marks[4] > 1.5 * marks[0];
            if grows {
                let text = format!(
                    "{} grows: {} messages wait on it, {:.0} more a second, {:.1} MB beside what they point to. Bound it (`capacity`), or make {} faster.",
                    self.edge_name(edge),
                    self.now.edges[edge].holds,
                    self.rates.edges[edge].growth,
                    marks[4] / 1e6,
                    self.now.kernels[self.now.edges[edge].ends.1].name
                );
                self.say(About::Edge(edge), text);
            }
        }
    }

    /// Edges that are full or empty whenever one looks, beside kernels that are named already.
    fn edges(&mut self) {
        if self.history.len() < ENOUGH || self.now.end.is_some() {
            return;
        }
        for edge in 0..self.now.edges.len() {
            let (from, to) = self.now.edges[edge].ends;
            let named = |kernel: usize| self.remarks.iter().any(|remark| remark.about == About::Kernel(kernel));
            if named(from) || named(to) || self.remarks.iter().any(|remark| remark.about == About::Edge(edge)) {
                continue;
            }
            let always = |test: &dyn Fn(&Snapshot) -> bool| self.history.iter().all(test);
            let (name, giver, taker) = (self.edge_name(edge), &self.now.kernels[from], &self.now.kernels[to]);
            if giver.doing == Doing::Done || taker.doing == Doing::Done {
                continue;
            }
            if always(&|then| then.edges[edge].fill > 0.9) && self.rates.kernels[from].full >= MUCH {
                let text = format!(
                    "{name} is always full: {} could give more than {} takes. A larger capacity would only fill too; {} has to become faster, or parallel.",
                    giver.name, taker.name, taker.name
                );
                self.say(About::Edge(edge), text);
            } else if always(&|then| then.edges[edge].holds == 0)
                && self.rates.edges[edge].messages > 0.0
                && self.rates.kernels[to].empty >= MOST
                && self.rates.kernels[from].busy >= MOST
            {
                let text = format!(
                    "{name} is always empty: {} waits for {}, which is busy. {} has to become faster.",
                    taker.name, giver.name, giver.name
                );
                self.say(About::Edge(edge), text);
            }
        }
    }

    /// Workers that rest beside work.
    fn bench(&mut self) {
        let resting = |snapshot: &Snapshot| {
            snapshot
                .workers
                .iter()
                .filter(|worker| matches!(worker.state, WorkerState::Bench | WorkerState::Off))
                .count()
        };
        let resting = self.history.iter().map(resting).min().unwrap_or(0);
        let ready = self.kernels().filter(|(_, _, rates)| rates.ready >= MOST).count();
        if resting > 0 && ready > 0 && self.history.len() >= ENOUGH && self.now.end.is_none() {
            let text = format!(
                "{resting} workers sit on the bench while {ready} kernels are ready: the scheme has measured that more workers bring little. Ask for more \
                 (`Scheme::workers`) if you know better."
            );
            self.say(About::Run, text);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observe::snapshot::{EdgeSnapshot, WorkerSnapshot};

    fn kernel(name: &str, kind: Kind) -> KernelSnapshot {
        KernelSnapshot {
            name: name.to_owned(),
            kind,
            doing: Doing::Ready,
            workers: 0,
            activations: 0,
            messages_in: 0,
            messages_out: 0,
            busy: Duration::ZERO,
            block_time: Duration::ZERO,
            blocked_empty: 0,
            blocked_full: 0,
            blocked_ticket: 0,
            blocked_busy: 0,
            blocked_pending: 0,
            helps: 0,
        }
    }

    /// source >> work >> sink on four workers.
    fn begin() -> Snapshot {
        let edge = |from, to| EdgeSnapshot {
            ends: (from, to),
            storage: "fast_forward".to_owned(),
            messages: 0,
            message_bytes: 8,
            holds: 1,
            blocks: 1,
            most: None,
            most_blocks: Some(16),
            fill: 0.1,
            grown: 0,
            peak: 1,
            blocked_empty: 0,
            blocked_full: 0,
        };
        let worker = WorkerSnapshot { state: WorkerState::Looks, idle: Duration::ZERO, polls: 0, yields: 0, sleeps: 0 };
        Snapshot {
            run: 1,
            time: Duration::ZERO,
            end: None,
            scheme: "default".to_owned(),
            working: 4,
            decisions: 0,
            dropped: 0,
            kernels: vec![
                kernel("read", Kind::Source),
                kernel("work", Kind::Sequential),
                kernel("sink", Kind::Sequential),
            ],
            edges: vec![edge(0, 1), edge(1, 2)],
            workers: vec![worker; 4],
            latencies: Vec::new(),
        }
    }

    /// Eight seconds in which `change` is made every second to a graph through which 1000 messages go in one.
    fn seconds(change: impl Fn(u64, &mut Snapshot)) -> Vec<Snapshot> {
        let mut snapshots = vec![begin()];
        for second in 1..=8 {
            let mut next = snapshots[second as usize - 1].clone();
            next.time += Duration::from_secs(1);
            for kernel in &mut next.kernels {
                (kernel.messages_in, kernel.messages_out) = (kernel.messages_in + 1000, kernel.messages_out + 1000);
                kernel.activations += 10;
                kernel.busy += Duration::from_millis(100);
                kernel.blocked_empty += 10;
            }
            next.edges.iter_mut().for_each(|edge| edge.messages += 1000);
            change(second, &mut next);
            snapshots.push(next);
        }
        snapshots
    }

    /// The one remark.
    fn only(history: &[Snapshot]) -> (About, String) {
        let mut remarks = remarks(history);
        assert_eq!(remarks.len(), 1, "{remarks:?}");
        let remark = remarks.remove(0);
        (remark.about, remark.text)
    }

    #[test]
    fn a_run_that_goes_well_has_no_remark() {
        assert_eq!(remarks(&seconds(|_, _| ())), []);
        assert_eq!(remarks(&seconds(|_, _| ())[..1]), []);
    }

    #[test]
    fn a_sequential_kernel_that_is_always_busy_sets_the_pace() {
        let history = seconds(|_, now| now.kernels[1].busy += Duration::from_millis(850));
        let (about, text) = only(&history);
        assert_eq!(about, About::Kernel(1));
        assert!(
            text.starts_with("work sets the pace: it is busy for 95 %") && text.contains("Up to 3.5 times"),
            "{text}"
        );
        let history = seconds(|_, now| now.kernels[0].busy += Duration::from_millis(850));
        assert!(only(&history).1.contains("several sources"));
        let parallel = seconds(|_, now| {
            now.kernels[1].kind = Kind::Parallel;
            now.kernels[1].busy += Duration::from_millis(850);
        });
        assert_eq!(remarks(&parallel), []);
    }

    #[test]
    fn tickets_polls_and_kernels_that_turn_slow_are_told() {
        let tickets = seconds(|_, now| now.kernels[1].blocked_ticket += 20);
        assert!(only(&tickets).1.starts_with("work waits for earlier results for 60 %"));
        let polls = seconds(|second, now| {
            now.kernels[0].activations += 100;
            now.kernels[0].messages_out = second;
        });
        assert!(only(&polls).1.starts_with("read polls: it is asked 110 times a second and gives 1 messages"));
        let slow = seconds(|second, now| {
            if second > 5 {
                now.kernels[1].busy += Duration::from_millis(500);
            }
        });
        assert!(only(&slow).1.starts_with("work turned slow: a message takes 600.0 us, and took 100.0 us"));
    }

    #[test]
    fn edges_that_grow_or_are_always_full_or_empty_are_told() {
        let grows = seconds(|second, now| now.edges[0].holds = second << 20);
        let (about, text) = only(&grows);
        assert_eq!(about, About::Edge(0));
        assert!(text.starts_with("read >> work grows: 8388608 messages wait on it"), "{text}");
        let mut full = seconds(|_, now| now.kernels[0].blocked_full += 100);
        full.iter_mut().for_each(|now| now.edges[0].fill = 1.0);
        assert!(only(&full).1.starts_with("read >> work is always full"));
        full[3].edges[0].fill = 0.5;
        assert_eq!(remarks(&full), []);
        let mut empty = seconds(|_, now| now.kernels[0].busy += Duration::from_millis(900));
        empty.iter_mut().for_each(|now| {
            now.edges[0].holds = 0;
            // With one worker nobody is told to set the pace.
            now.workers.truncate(1);
        });
        assert!(only(&empty).1.starts_with("read >> work is always empty"));
    }

    #[test]
    fn what_does_not_move_is_told() {
        let still = |change: &dyn Fn(&mut Snapshot)| {
            let mut snapshots = vec![begin(); 8];
            for (second, now) in snapshots.iter_mut().enumerate() {
                now.time = Duration::from_secs(second as u64);
                change(now);
            }
            only(&snapshots).1
        };
        let text = still(&|now| now.kernels[1].doing = Doing::Full(1));
        assert_eq!(text, "nothing has moved for 7 seconds: work waits for room on work >> sink.");
        assert!(still(&|now| now.kernels[1].doing = Doing::Empty(0)).contains("every kernel waits for input"));
        let text = still(&|now| (now.kernels[1].workers, now.kernels[1].doing) = (1, Doing::Runs));
        assert!(text.starts_with("work has been in one activation for 7 seconds"), "{text}");
    }

    #[test]
    fn a_bench_beside_work_is_told() {
        let mut history = seconds(|_, now| now.kernels[1].blocked_empty = 0);
        for now in &mut history {
            now.workers[2].state = WorkerState::Bench;
        }
        assert!(only(&history).1.starts_with("1 workers sit on the bench while 1 kernels are ready"));
    }
}
