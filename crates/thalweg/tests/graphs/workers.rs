//! Workers and what they are asked to do: how many, their threads, and a policy of the user's own.

use crate::common::{SOON, within};
use thalweg::prelude::*;
use thalweg::scheme::{Choice, Event, Policy, Setup, View};
use thalweg::{Cause, Demand, Error};
use thalweg_sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use thalweg_sync::sync::{Arc, Mutex};
use thalweg_sync::time::Duration;
use thalweg_sync::{spin, thread};

/// A thousand numbers, one more than each, and what arrives.
fn line(graph: &mut Graph<'static>) -> thalweg::Gathered<Vec<u64>> {
    let (end, all) = graph.collect();
    *graph += graph.source(0..1000_u64) >> graph.map(|x: u64| x + 1) >> end;
    all
}

#[test]
fn what_no_system_has_is_refused_with_the_limit_before_anything_is_made() {
    let refused = |result: Result<Report, Error>| {
        let Err(Error::Refused(refusals)) = result else { panic!("{result:?}") };
        refusals[0].reason.clone()
    };
    for (scheme, limit) in [
        (Scheme::default().workers(usize::MAX), "32768"),
        (Scheme::named("random").unwrap().workers(usize::MAX / 2), "32768"),
        (Scheme::default().workers(32_769), "32768"),
        (Scheme::default().stack_size(usize::MAX), "1099511627776"),
        (Scheme::default().workers(3).stack_size(usize::MAX / 2), "1099511627776"),
    ] {
        let mut graph = Graph::new();
        let all = line(&mut graph);
        let reason = refused(graph.run(scheme));
        assert!(reason.contains(&format!("more than {limit}; ask for")), "{reason}");
        let mut run = graph.run_async(scheme);
        assert_eq!(refused(futures_executor::block_on(&mut run)), reason);
        let mut graph = run.into_graph().expect("it is over");
        graph.run(Scheme::default()).unwrap();
        assert_eq!(all.with(|all| all.len()), 1000);
    }
}

#[expect(clippy::disallowed_methods, reason = "no engine runs here, and the name is what is asked for")]
fn name() -> String {
    std::thread::current().name().unwrap_or("").to_owned()
}

#[test]
fn threads_have_names_a_stack_of_the_size_asked_for_and_a_hook_before_they_begin() {
    let source_name = Arc::new(Mutex::new(String::new()));
    let theirs = source_name.clone();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let workers = seen.clone();
    let mut graph = Graph::new();
    let numbers = (0..10_u64).inspect(move |_| *theirs.lock().unwrap() = name());
    let numbers = graph.source_blocking(numbers, 4).unwrap();
    graph += numbers >> graph.sink(drop::<u64>);
    graph.on_thread_start(move |worker| {
        workers.lock().unwrap().push((worker, name(), thread::current_stack().size()));
    });
    for _ in 0..2 {
        graph.run(Scheme::default().workers(3).stack_size(8 << 20)).unwrap();
        let mut seen = std::mem::take(&mut *seen.lock().unwrap());
        seen.sort_unstable();
        let names: Vec<_> = seen.iter().map(|(worker, name, _)| (*worker, &**name)).collect();
        assert_eq!(names[0].0, 0, "the caller of `run`, under its own name");
        assert_eq!(names[1..], [(1, "thalweg-1"), (2, "thalweg-2")]);
        // Where nobody can tell, a size is assumed.
        let told = thread::current_stack().size() != 256 << 10;
        assert!(!told || seen[1..].iter().all(|&(.., size)| size >= 8 << 20), "{seen:?}");
    }
    assert_eq!(*source_name.lock().unwrap(), "thalweg-source");
}

/// What the only failure says, and whose it is.
fn failure(result: Result<Report, Error>) -> (String, u32, String) {
    let Err(Error::Failed { failures, .. }) = result else { panic!("{result:?}") };
    let text = match &failures[0].cause {
        Cause::Panic(text) => text.clone(),
        Cause::Error(error) => error.to_string(),
        other => panic!("{other:?}"),
    };
    (failures[0].kernel.clone(), failures[0].place.line(), text)
}

#[test]
fn a_hook_that_panics_fails_the_run_and_names_the_worker() {
    for bad in [0, 2] {
        within(SOON, move || {
            let mut graph = Graph::new();
            line(&mut graph);
            let place = line!() + 1;
            graph.on_thread_start(move |worker| assert!(worker != bad, "no priority"));
            let error = graph.run(Scheme::default().workers(3));
            let text = error.as_ref().unwrap_err().to_string();
            assert!(text.starts_with(&format!("the start hook of worker {bad} ({}:{place}", file!())), "{text}");
            let expected = (format!("the start hook of worker {bad}"), place, "no priority".to_owned());
            assert_eq!(failure(error), expected);
        });
    }
}

/// Goes round all kernels.
struct Round {
    next: usize,
    in_vain: usize,
}

impl Round {
    fn make(setup: &Setup<'_>) -> Box<dyn Policy> {
        Box::new(Self { next: setup.view.worker(), in_vain: 0 })
    }
}

impl Policy for Round {
    fn first(&mut self, view: &View<'_>) -> Choice {
        self.in_vain = 0;
        Choice::Run(self.next % view.kernels())
    }

    fn next(&mut self, view: &View<'_>, kernel: usize, event: Event) -> Choice {
        assert_eq!(kernel, self.next % view.kernels(), "it is told of what it chose");
        self.in_vain = if matches!(event, Event::Ran { .. }) { 0 } else { self.in_vain + 1 };
        self.next = kernel + 1;
        if self.in_vain > view.kernels() { Choice::Sleep } else { Choice::Run(self.next % view.kernels()) }
    }
}

#[test]
fn a_policy_of_ones_own_runs_a_graph() {
    let scheme = Scheme::custom("round", &Round::make);
    assert_eq!((scheme.name(), Scheme::named("round").is_err()), ("round", true));
    for workers in 1..4 {
        within(SOON, move || {
            let mut graph = Graph::new();
            let all = line(&mut graph);
            let report = graph.run(scheme.workers(workers)).unwrap();
            assert_eq!((report.scheme, report.workers), ("round", workers));
            assert!(all.take().into_iter().eq(1..=1000));
        });
    }
}

/// Does what it is told, or not.
struct Bad(&'static str);

impl Policy for Bad {
    fn first(&mut self, view: &View<'_>) -> Choice {
        view.any_from(0)
    }

    fn next(&mut self, view: &View<'_>, _kernel: usize, _event: Event) -> Choice {
        match self.0 {
            "panics" if view.worker() + 1 == view.workers() => panic!("no idea"),
            "is lost" => Choice::Run(view.kernels()),
            _ => view.any_from(0),
        }
    }

    fn may_run(&self, _view: &View<'_>, kernel: usize) -> bool {
        kernel != 1 || !self.0.starts_with("refuses")
    }
}

#[test]
fn a_policy_that_cannot_be_is_an_error_and_no_hang() {
    let place = line!() + 2;
    let schemes = [
        Scheme::custom("bad", &|_| Box::new(Bad("panics"))),
        Scheme::custom("bad", &|_| Box::new(Bad("is lost"))),
        Scheme::custom("bad", &|_| Box::new(Bad("refuses"))),
        Scheme::custom("bad", &|_| Box::new(Bad("refuses"))).restricted(true),
    ];
    let told = ["no idea", "the len is 3 but the index is 3", "say so with `Scheme::restricted`", "say yes for one"];
    for workers in 1..4 {
        for (case, (scheme, told)) in schemes.into_iter().zip(told).enumerate() {
            within(SOON, move || {
                let mut graph = Graph::new();
                graph += graph.source(0_u64..) >> graph.map(|x: u64| x + 1) >> graph.sink(drop::<u64>);
                let (whose, line, text) = failure(graph.run(scheme.workers(workers)));
                assert!(whose.starts_with("the policy of worker "), "{whose}");
                assert!(text.contains(told), "{text}");
                assert!(line == place + case as u32 || case == 3, "{line}");
            });
        }
    }
}

/// Nobody beyond what is allowed works, from the first message on; once more are allowed, they come while the first one is in its message.
#[test]
fn workers_beyond_the_allowance_sit_and_come_back() {
    for scheme in ["depth_first", "pw", "mix", "qes_pss_prs"].map(|name| Scheme::named(name).unwrap().workers(4)) {
        let most = within(SOON, move || {
            let counters = [const { AtomicUsize::new(0) }; 3];
            let ([now, most, done], met) = (&counters, &AtomicBool::new(false));
            let mut graph = Graph::new();
            let allowance = graph.allowance();
            let theirs = allowance.clone();
            let work = graph.parallel_map(move |x: u64| {
                let mine = now.fetch_add(1, SeqCst) + 1;
                if done.load(SeqCst) < 500 {
                    most.fetch_max(mine, SeqCst);
                    thread::yield_now();
                } else if !met.load(SeqCst) {
                    // From here on two are allowed, and this one goes on when the other has come.
                    theirs.allow(2);
                    spin::until(|| (now.load(SeqCst) > 1 || met.load(SeqCst)).then_some(()));
                    met.store(true, SeqCst);
                }
                now.fetch_sub(1, SeqCst);
                done.fetch_add(1, SeqCst);
                x
            });
            graph += graph.source(0..2000_u64) >> (work * 4).fixed(1) >> graph.sink(drop::<u64>);
            allowance.allow(0);
            assert_eq!(allowance.workers(), 1, "never fewer than one");
            graph.run(scheme).unwrap();
            assert!(met.load(SeqCst));
            most.load(SeqCst)
        });
        assert_eq!(most, 1);
    }
}

/// What a run could use is seen while it goes on, from within too: who is at work, and what waits. Before and after there is nothing.
#[test]
fn demand_is_seen_while_a_run_goes_on() {
    let most = within(SOON, || {
        let most = Arc::new(Mutex::new(Demand::default()));
        let mut graph = Graph::new();
        let allowance = graph.allowance();
        assert_eq!(allowance.demand(), Demand::default());
        let (theirs, seen) = (allowance.clone(), most.clone());
        let look = graph.map(move |x: u64| {
            let (now, mut most) = (theirs.demand(), seen.lock().unwrap());
            *most = if now.could > most.could { now } else { *most };
            x
        });
        graph += graph.source(0..1000_u64) >> look >> graph.sink(drop::<u64>);
        graph.run(Scheme::named("pw").unwrap().workers(3)).unwrap();
        assert_eq!(allowance.demand(), Demand::default());
        *most.lock().unwrap()
    });
    assert!(most.works >= 1 && (most.works..=3).contains(&most.could), "{most:?}");
}

/// An edge holds four messages; the others wait in the inlet, and count, by what a message has taken so far.
#[test]
fn what_waits_in_an_inlet_is_demand_too() {
    const MESSAGES: usize = 200;
    const EACH: Duration = Duration::from_millis(1);
    let seen = within(SOON, || {
        let seen = Arc::new(Mutex::new(Demand::default()));
        let mut graph = Graph::new();
        let allowance = graph.allowance();
        let (source, inlet) = graph.inlet::<u64>(MESSAGES).unwrap();
        (0..MESSAGES as u64).for_each(|x| inlet.push(x).unwrap());
        drop(inlet);
        let (theirs, half) = (allowance.clone(), seen.clone());
        let slow = graph.parallel_map(move |x: u64| {
            thread::sleep(EACH);
            if x == MESSAGES as u64 / 2 {
                *half.lock().unwrap() = theirs.demand();
            }
            x
        });
        graph += source.fixed(4) >> slow >> graph.sink(drop::<u64>);
        graph.run(Scheme::named("pw").unwrap().workers(2)).unwrap();
        *seen.lock().unwrap()
    });
    // The edges hold eight at most, and a hundred are left.
    assert!(seen.could == 2 && seen.work > 20 * EACH.as_nanos() as u64, "{seen:?}");
    // Of a hundred that are done, what the two workers are at may not have ended.
    assert!(seen.busy > 80 * EACH.as_nanos() as u64, "{seen:?}");
}

/// Where only one worker may run a kernel, it goes on whatever is allowed; under the default scheme one is enough for anything.
#[test]
fn an_allowance_of_one_ends_every_run() {
    for name in Scheme::names() {
        let name = name.to_owned();
        let got = within(SOON, move || {
            let mut graph = Graph::new();
            let all = line(&mut graph);
            graph.allowance().allow(1);
            graph.run(Scheme::named(&name).unwrap()).unwrap();
            all.with(|all| all.iter().sum::<u64>())
        });
        assert_eq!(got, 500_500);
    }
}
