//! Kernels with several ports: whose ports they use, when they are asked again, and what a run does that cannot go on without more room.

use crate::common::{SOON, within};
use std::panic::{AssertUnwindSafe, catch_unwind};
use thalweg::prelude::*;
use thalweg::{End, Error};
use thalweg_sync::atomic::{AtomicU64, Ordering::*};
use thalweg_sync::sync::{Arc, Mutex};
use thalweg_sync::thread;
use thalweg_sync::time::Duration;

/// Adds up, and gives the sum at the end.
struct Sum(u64);

impl Kernel for Sum {
    type Ports = (In<u64>, Out<u64>);
    fn ports(&mut self, bind: &mut Binder<'_>) -> Self::Ports {
        (bind.input("in"), bind.output("sum"))
    }
    fn run(&mut self, &(input, sum): &Self::Ports, io: &mut Io<'_>) -> Result<Flow, BoxError> {
        while let Some(x) = io.pop(input) {
            self.0 += x;
        }
        if !io.is_ended(input) {
            return Ok(Flow::More);
        }
        io.push(sum, self.0);
        Ok(Flow::Done)
    }
}

/// Takes from a port that it was given, which is another kernel's.
struct Thief {
    stolen: In<String>,
}

impl Kernel for Thief {
    type Ports = In<u64>;
    fn ports(&mut self, bind: &mut Binder<'_>) -> In<u64> {
        bind.input("own")
    }
    fn run(&mut self, own: &In<u64>, io: &mut Io<'_>) -> Result<Flow, BoxError> {
        while io.has(*own, 1) {
            io.pop(self.stolen);
        }
        Ok(Flow::More)
    }
}

/// Takes words.
struct Words;

impl Kernel for Words {
    type Ports = In<String>;
    fn ports(&mut self, bind: &mut Binder<'_>) -> In<String> {
        bind.input("words")
    }
    fn run(&mut self, words: &In<String>, io: &mut Io<'_>) -> Result<Flow, BoxError> {
        while io.pop(*words).is_some() {}
        Ok(Flow::More)
    }
}

#[test]
fn a_port_of_another_kernel_is_refused() {
    within(SOON, || {
        let mut graph = Graph::new();
        let stolen = graph.add(Words);
        let thief = graph.add(Thief { stolen });
        let (words, numbers) = (graph.source(["a".to_owned()]), graph.source(1..9_u64));
        graph += words >> stolen;
        graph += numbers >> thief;
        let error = graph.run(Scheme::default().workers(1)).unwrap_err();
        assert!(error.to_string().contains("a port of another kernel"), "{error}");
    });
}

#[test]
fn a_handle_that_outlives_its_graph_is_refused() {
    let mut stale = None;
    // The allocator gives the same places again and again.
    for _ in 0..20 {
        let mut graph = Graph::new();
        let numbers = graph.source(0..5_u64);
        let Some(old) = stale.replace(graph.sink(|_: u64| ())) else { continue };
        graph += numbers >> old;
        let error = graph.run(Scheme::default().workers(1)).unwrap_err().to_string();
        assert!(error.contains("source-0 (") && error.contains("another graph"), "{error}");
        // The source, whose edge is refused, and the new sink, to which nothing leads.
        assert_eq!(error.lines().count(), 3, "{error}");
    }
}

#[test]
fn a_name_for_a_kernel_of_another_graph_is_refused() {
    let (mut graph, other) = (Graph::new(), Graph::new());
    let foreign = other.sink(|_: u64| ());
    graph.name(foreign, "end");
    let error = graph.run(Scheme::default()).unwrap_err().to_string();
    assert!(error.contains("end: ") && error.contains("another graph"), "{error}");
}

#[test]
fn ports_that_were_never_named_belong_to_nobody() {
    struct Fails(Arc<Mutex<Option<In<u64>>>>);
    impl Kernel for Fails {
        type Ports = ();
        fn ports(&mut self, bind: &mut Binder<'_>) {
            *self.0.lock().unwrap() = Some(bind.input("in"));
            panic!("no ports");
        }
        fn run(&mut self, (): &(), _io: &mut Io<'_>) -> Result<Flow, BoxError> {
            Ok(Flow::Done)
        }
    }
    let kept = Arc::new(Mutex::new(None));
    let mut graph = Graph::new();
    let theirs = kept.clone();
    let failed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| graph.add(Fails(theirs))));
    assert!(failed.is_err());
    let early = kept.lock().unwrap().take().unwrap();
    // Without its place being taken, this kernel would have the same number, and words would be read as numbers.
    let words = graph.add(Words);
    let (source, numbers) = (graph.source(["a".to_owned()]), graph.source(0..3_u64));
    graph += source >> words;
    graph += numbers >> early;
    assert!(matches!(graph.run(Scheme::default().workers(1)), Err(Error::Refused(_))));
}

/// Gives `left` numbers, but says a few times before each that it has none.
struct Hesitant {
    left: u64,
    asked: Arc<AtomicU64>,
}

impl Kernel for Hesitant {
    type Ports = Out<u64>;
    fn ports(&mut self, bind: &mut Binder<'_>) -> Out<u64> {
        bind.output("out")
    }
    fn run(&mut self, out: &Out<u64>, io: &mut Io<'_>) -> Result<Flow, BoxError> {
        if self.left == 0 {
            return Ok(Flow::Done);
        }
        if self.asked.fetch_add(1, AcqRel) % 3 != 2 {
            return Ok(Flow::Pending);
        }
        io.push(*out, self.left);
        self.left -= 1;
        Ok(Flow::More)
    }
}

#[test]
fn a_kernel_without_inputs_may_have_nothing_for_now() {
    for workers in [1, 2] {
        within(SOON, move || {
            let mut seen = Vec::new();
            let mut graph = Graph::new();
            let numbers = graph.add(Hesitant { left: 4, asked: Arc::default() });
            let collect = graph.sink(|x: u64| seen.push(x));
            graph += numbers >> collect;
            graph.run(Scheme::default().workers(workers)).unwrap();
            drop(graph);
            assert_eq!(seen, [4, 3, 2, 1]);
        });
    }
}

#[test]
fn a_kernel_without_inputs_stops_when_it_is_asked_to() {
    for workers in [1, 2] {
        within(SOON, move || {
            let mut graph = Graph::new();
            let stopper = graph.stopper();
            let numbers = graph.add(Hesitant { left: u64::MAX, asked: Arc::default() });
            let sink = graph.sink(move |_: u64| stopper.stop());
            graph += numbers >> sink;
            assert_eq!(graph.run(Scheme::default().workers(workers)).unwrap().end, End::Stopped);
        });
    }
}

/// Takes what there is, and says that it has nothing now.
struct Polls(Arc<AtomicU64>);

impl Kernel for Polls {
    type Ports = In<u64>;
    fn ports(&mut self, bind: &mut Binder<'_>) -> In<u64> {
        bind.input("in")
    }
    fn run(&mut self, input: &In<u64>, io: &mut Io<'_>) -> Result<Flow, BoxError> {
        self.0.fetch_add(1, AcqRel);
        while io.pop(*input).is_some() {}
        Ok(if io.is_ended(*input) { Flow::Done } else { Flow::Pending })
    }
}

#[test]
fn a_kernel_that_has_nothing_now_is_left_alone_for_a_while() {
    within(SOON, || {
        let asked = Arc::new(AtomicU64::new(0));
        let mut graph = Graph::new();
        let (numbers, inlet) = graph.inlet(8).unwrap();
        let polls = graph.add(Polls(asked.clone()));
        graph += numbers >> polls;
        let pusher = thread::spawn(move || {
            inlet.push(1).unwrap();
            thread::sleep(Duration::from_millis(100));
        });
        graph.run(Scheme::default().workers(1)).unwrap();
        pusher.join().unwrap();
        // About once a millisecond. A machine that stops for a while only makes it less.
        let asked = asked.load(Acquire);
        assert!((2..2000).contains(&asked), "asked {asked} times in 100 ms");
    });
}

#[test]
fn who_is_done_is_not_called_again() {
    for (name, workers) in [("depth_first", 1), ("depth_first", 2), ("random", 2), ("mix", 2)] {
        within(SOON, move || {
            let mut count = 0;
            let mut graph = Graph::new();
            let mut all = Some((0..20_000_u64).collect::<Vec<_>>());
            // More than the edge may hold, in one call.
            let source = graph.poll_source(move |out: &mut Output<u64>| {
                all.take().expect("called again after Done").into_iter().for_each(|x| out.push(x));
                Flow::Done
            });
            let sink = graph.sink(|x: u64| {
                assert_eq!(x, count);
                count += 1;
            });
            graph += source.fixed(4) >> sink;
            graph.run(Scheme::named(name).unwrap().workers(workers)).unwrap();
            drop(graph);
            assert_eq!(count, 20_000);
        });
    }
}

/// Takes a sum of a window, and then as many numbers as there are in one.
struct Pairs(usize, u64);

impl Kernel for Pairs {
    type Ports = (In<u64>, In<u64>);
    fn ports(&mut self, bind: &mut Binder<'_>) -> Self::Ports {
        (bind.input("sums"), bind.input("numbers"))
    }
    fn run(&mut self, &(sums, numbers): &Self::Ports, io: &mut Io<'_>) -> Result<Flow, BoxError> {
        while self.0 > 0 || io.has(sums, 1) {
            if self.0 == 0 {
                (self.0, self.1) = (1000, io.pop(sums).expect("it has one"));
            }
            while self.0 > 0 {
                let Some(x) = io.pop(numbers) else { return Ok(Flow::More) };
                self.0 -= 1;
                self.1 -= x;
            }
            assert_eq!(self.1, 0);
        }
        Ok(Flow::More)
    }
}

#[test]
fn an_edge_grows_before_a_run_is_given_up() {
    for workers in [1, 2] {
        within(SOON, move || {
            let mut graph = Graph::new();
            let numbers = graph.source(0..5000_u64);
            let [left, right] = graph.tee(numbers);
            let sums = graph.window(1000, 1000, |window: &[u64], out: &mut Output<u64>| out.push(window.iter().sum()));
            let pairs = graph.add(Pairs(0, 0));
            graph += left >> sums >> pairs.0;
            graph += right >> pairs.1;
            graph.run(Scheme::default().workers(workers)).unwrap();
        });
    }
}

/// Several workers find at the same time that nobody can go on: what one of them does about it is not the others' reason to give up.
#[test]
fn many_workers_do_not_give_up_what_one_of_them_mends() {
    within(SOON, || {
        for _ in 0..20 {
            let mut graph = Graph::new();
            let numbers = graph.source(0..5000_u64);
            let [left, right] = graph.tee(numbers);
            let sums = graph.window(1000, 1000, |window: &[u64], out: &mut Output<u64>| out.push(window.iter().sum()));
            let pairs = graph.add(Pairs(0, 0));
            graph += left >> sums >> pairs.0;
            graph += right.capacity(2, 2048) >> pairs.1;
            graph.run(Scheme::default().workers(8)).unwrap();
        }
    });
}

/// Each worker has a kernel of its own and sees that it has nothing to do: that is no reason to give up while another one has.
#[test]
fn a_worker_with_nothing_to_do_does_not_give_up_for_others() {
    within(SOON, || {
        for _ in 0..40 {
            let mut graph = Graph::new();
            let numbers = graph.source(0..100_u64);
            let [a, b, c, d] =
                std::array::from_fn(|_| graph.sequential(|x: u64, out: &mut Output<u64>| out.push(x + 1)));
            let mut sum = 0;
            let add = graph.sink(|x: u64| sum += x);
            graph += numbers.fixed(1) >> a.fixed(1) >> b.fixed(1) >> c.fixed(1) >> d.fixed(1) >> add;
            graph.run(Scheme::named("raft").unwrap()).unwrap();
            drop(graph);
            assert_eq!(sum, (4..104).sum::<u64>());
        }
    });
}

/// Each message travels alone, so an edge has to hold more blocks than it ever has of full ones; and the source waits for time.
#[test]
fn an_edge_grows_for_messages_that_come_one_by_one() {
    for flow in [Flow::Pending, Flow::More] {
        within(SOON, move || {
            let mut graph = Graph::new();
            let mut give = one_by_one(2000);
            let numbers = graph.poll_source(move |out: &mut Output<u64>| match give(out) {
                Flow::More => flow,
                over => over,
            });
            let [left, right] = graph.tee(numbers);
            let sums = graph.window(1000, 1000, |window: &[u64], out: &mut Output<u64>| out.push(window.iter().sum()));
            let pairs = graph.add(Pairs(0, 0));
            graph += left >> sums >> pairs.0;
            graph += right >> pairs.1;
            graph.run(Scheme::default().workers(1)).unwrap();
        });
    }
}

/// Takes a sum of a window, then as many numbers, so often; the third input brings nothing. Says `waits` while it waits.
struct Rounds {
    left: usize,
    numbers: usize,
    waits: Flow,
}

impl Kernel for Rounds {
    type Ports = (In<u64>, In<u64>, In<u64>);
    fn ports(&mut self, bind: &mut Binder<'_>) -> Self::Ports {
        (bind.input("sums"), bind.input("numbers"), bind.input("nothing"))
    }
    fn run(&mut self, &(sums, numbers, _): &Self::Ports, io: &mut Io<'_>) -> Result<Flow, BoxError> {
        loop {
            while self.numbers > 0 {
                if io.pop(numbers).is_none() {
                    return Ok(self.waits);
                }
                self.numbers -= 1;
            }
            if self.left == 0 {
                return Ok(Flow::Done);
            }
            if io.pop(sums).is_none() {
                return Ok(self.waits);
            }
            (self.left, self.numbers) = (self.left - 1, 1000);
        }
    }
}

/// Gives numbers one by one, each in a block of its own.
fn one_by_one(count: u64) -> impl FnMut(&mut Output<u64>) -> Flow + Send {
    let mut next = 0..count;
    move |out: &mut Output<u64>| {
        thread::sleep(Duration::from_micros(50));
        next.next().map_or(Flow::Done, |x| {
            out.push(x);
            Flow::More
        })
    }
}

#[test]
fn an_edge_grows_beside_an_inlet_that_nobody_uses() {
    for waits in [Flow::More, Flow::Pending] {
        within(SOON, move || {
            let mut graph = Graph::new();
            let numbers = graph.poll_source(one_by_one(2000));
            let (nothing, _inlet) = graph.inlet(8).unwrap();
            let [left, right] = graph.tee(numbers);
            let sums = graph.window(1000, 1000, |window: &[u64], out: &mut Output<u64>| out.push(window.iter().sum()));
            let rounds = graph.add(Rounds { left: 2, numbers: 0, waits });
            graph += left >> sums >> rounds.0;
            graph += right >> rounds.1;
            graph += nothing >> rounds.2;
            graph.run(Scheme::default().workers(1)).unwrap();
        });
    }
}

/// Takes pairs, and does not end when one side does.
struct Careless;

impl Kernel for Careless {
    type Ports = (In<u64>, In<u64>);
    fn ports(&mut self, bind: &mut Binder<'_>) -> Self::Ports {
        (bind.input("left"), bind.input("right"))
    }
    fn run(&mut self, &(left, right): &Self::Ports, io: &mut Io<'_>) -> Result<Flow, BoxError> {
        while io.has(left, 1) && io.has(right, 1) {
            io.skip(left, 1);
            io.skip(right, 1);
        }
        Ok(Flow::More)
    }
}

/// What somebody outside might still push would wait behind what nobody takes.
#[test]
fn a_run_is_given_up_though_an_inlet_is_open_if_its_edge_has_no_room() {
    for (name, workers) in [("depth_first", 1), ("depth_first", 2), ("raft", 2), ("mix_dyn", 2)] {
        within(SOON, move || {
            let mut graph = Graph::new();
            let few = graph.source(0..10_u64);
            let (many, inlet) = graph.inlet(1024).unwrap();
            (0..100).for_each(|x| inlet.push(x).unwrap());
            let (left, right) = graph.add(Careless);
            graph += few >> left;
            graph += many.fixed(8) >> right;
            let error = graph.run(Scheme::named(name).unwrap().workers(workers)).unwrap_err();
            drop(inlet);
            let Error::Stalled { waits, report } = &error else { panic!("{name}: {error}") };
            assert!(waits.iter().any(|wait| wait.port == "right"), "{name}: {error}");
            assert_eq!(report.end, End::Cancelled, "{name}: what was in the graph was dropped");
        });
    }
}

/// Takes one message, and only then those of its other input.
struct First(bool);

impl Kernel for First {
    type Ports = (In<u64>, In<u64>);
    fn ports(&mut self, bind: &mut Binder<'_>) -> Self::Ports {
        (bind.input("one"), bind.input("rest"))
    }
    fn run(&mut self, &(one, rest): &Self::Ports, io: &mut Io<'_>) -> Result<Flow, BoxError> {
        self.0 |= io.pop(one).is_some();
        while self.0 && io.pop(rest).is_some() {}
        Ok(Flow::More)
    }
}

/// The tee is done while most of what it gave waits for room; the other branch has to end first.
#[test]
fn an_output_ends_though_another_has_no_room() {
    within(SOON, || {
        let mut graph = Graph::new();
        let numbers = graph.poll_source(one_by_one(2000));
        let [left, right] = graph.tee(numbers);
        let (input, sum) = graph.add(Sum(0));
        let (one, rest) = graph.add(First(false));
        graph += left >> input;
        graph += sum >> one;
        graph += right >> rest;
        let report = graph.run(Scheme::default().workers(1)).unwrap();
        assert_eq!(report.dropped, 0);
    });
}

/// For each number one on its first output and a thousand on its second.
struct Spread;

impl Kernel for Spread {
    type Ports = (In<u64>, Out<u64>, Out<u64>);
    fn ports(&mut self, bind: &mut Binder<'_>) -> Self::Ports {
        (bind.input("in"), bind.output("few"), bind.output("many"))
    }
    fn run(&mut self, &(input, few, many): &Self::Ports, io: &mut Io<'_>) -> Result<Flow, BoxError> {
        while let Some(x) = io.pop(input) {
            io.push(few, x);
            (0..1000).for_each(|_| io.push(many, x));
        }
        Ok(Flow::More)
    }
}

/// Takes a thousand from one input, then one from the other.
struct Gather(usize);

impl Kernel for Gather {
    type Ports = (In<u64>, In<u64>);
    fn ports(&mut self, bind: &mut Binder<'_>) -> Self::Ports {
        (bind.input("few"), bind.input("many"))
    }
    fn run(&mut self, &(few, many): &Self::Ports, io: &mut Io<'_>) -> Result<Flow, BoxError> {
        loop {
            let taken = if self.0 < 1000 { io.pop(many) } else { io.pop(few) };
            if taken.is_none() {
                return Ok(Flow::More);
            }
            self.0 = (self.0 + 1) % 1001;
        }
    }
}

#[test]
fn what_waits_for_room_goes_on_though_another_output_is_full() {
    within(SOON, || {
        let mut graph = Graph::new();
        let numbers = graph.source(0..3_u64);
        let (input, few, many) = graph.add(Spread);
        let (few_end, many_end) = graph.add(Gather(0));
        graph += numbers >> input;
        graph += few.fixed(1) >> few_end;
        graph += many.fixed(1) >> many_end;
        let report = graph.run(Scheme::default()).unwrap();
        assert_eq!(report.dropped, 0);
    });
}

/// Sends a hundred to one side for each it gets, one to the other, and takes back what comes.
struct Hub;

impl Kernel for Hub {
    type Ports = (In<u64>, [In<u64>; 2], [Out<u64>; 2]);
    fn ports(&mut self, bind: &mut Binder<'_>) -> Self::Ports {
        let back = [bind.input("back"), bind.input("other back")];
        (bind.input("in"), back, [bind.output("many"), bind.output("one")])
    }
    fn run(&mut self, &(input, back, [many, one]): &Self::Ports, io: &mut Io<'_>) -> Result<Flow, BoxError> {
        while let Some(x) = io.pop(input) {
            (0..100).for_each(|_| io.push(many, x));
            io.push(one, x);
        }
        for port in back {
            while io.pop(port).is_some() {}
        }
        Ok(Flow::More)
    }
}

/// Takes one message, and is done.
struct Once;

impl Kernel for Once {
    type Ports = (In<u64>, Out<u64>);
    fn ports(&mut self, bind: &mut Binder<'_>) -> Self::Ports {
        (bind.input("in"), bind.output("out"))
    }
    fn run(&mut self, &(input, _): &Self::Ports, io: &mut Io<'_>) -> Result<Flow, BoxError> {
        Ok(if io.pop(input).is_some() { Flow::Done } else { Flow::More })
    }
}

/// What waits for room on the way to a kernel that is done is nobody's; the cycle ends without it.
#[test]
fn a_cycle_ends_though_one_of_its_kernels_ended_early() {
    for workers in [1, 2] {
        within(SOON, move || {
            let mut graph = Graph::new();
            let numbers = graph.source(0..3_u64);
            let (input, [back, other_back], [many, one]) = graph.add(Hub);
            let (taken, given) = graph.add(Once);
            let nothing = graph.sequential(|_: u64, _: &mut Output<u64>| ());
            graph += numbers >> input;
            graph += many.fixed(2) >> taken;
            graph += given.feedback() >> back;
            graph += one >> nothing.feedback() >> other_back;
            graph.run(Scheme::default().workers(workers)).unwrap();
        });
    }
}

/// Panics the first time that one is cloned.
struct Fragile(Arc<AtomicU64>);

impl Clone for Fragile {
    fn clone(&self) -> Self {
        assert!(self.0.fetch_add(1, AcqRel) > 0, "not ready yet");
        Self(self.0.clone())
    }
}

/// A push may run a message's code, as a window clones. A kernel that catches its panic can go on pushing.
#[test]
fn a_kernel_may_catch_a_panic_of_a_push() {
    let (clones, mut caught) = (Arc::new(AtomicU64::new(0)), 0);
    let mut graph = Graph::new();
    let numbers = graph.source(0..5000_u64);
    let push = graph.sequential(|_: u64, out: &mut Output<Fragile>| {
        let message = Fragile(clones.clone());
        caught += u32::from(catch_unwind(AssertUnwindSafe(|| out.push(message))).is_err());
    });
    let pairs = graph.window(2, 1, |_: &[Fragile], out: &mut Output<u64>| out.push(1));
    let sink = graph.sink(drop::<u64>);
    graph += numbers >> push >> pairs >> sink;
    graph.run(Scheme::default().workers(1)).unwrap();
    drop(graph);
    assert!(clones.load(Acquire) > 1);
    assert_eq!(caught, 1);
}

/// Has nothing to say every other time, and takes one message the next.
struct EverySecond(u64);

impl Kernel for EverySecond {
    type Ports = In<u64>;
    fn ports(&mut self, bind: &mut Binder<'_>) -> In<u64> {
        bind.input("in")
    }
    fn run(&mut self, &input: &In<u64>, io: &mut Io<'_>) -> Result<Flow, BoxError> {
        self.0 += 1;
        if !self.0.is_multiple_of(2) {
            return Ok(Flow::Pending);
        }
        io.pop(input);
        Ok(if io.is_ended(input) { Flow::Done } else { Flow::More })
    }
}

#[test]
fn who_takes_a_block_in_parts_is_asked_again() {
    within(SOON, || {
        let mut graph = Graph::new();
        let numbers = graph.source(0..4_u64);
        let input = graph.add(EverySecond(0));
        graph += numbers >> input;
        let report = graph.run(Scheme::default().workers(1)).unwrap();
        assert_eq!(report.dropped, 0);
    });
}

#[test]
fn copies_are_whole_and_in_order() {
    for scheme in Scheme::names() {
        within(SOON, move || {
            let mut seen = [Vec::new(), Vec::new(), Vec::new()];
            let mut graph = Graph::new();
            let words = graph.source((0..500).map(|x: u32| x.to_string()));
            let copies: [Out<String>; 3] = graph.tee(words);
            for (copy, seen) in copies.into_iter().zip(&mut seen) {
                let sink = graph.sink(|word: String| seen.push(word));
                graph += copy >> sink;
            }
            graph.run(Scheme::named(scheme).unwrap().workers(2)).unwrap();
            drop(graph);
            assert!(seen.iter().all(|words| words.iter().map(|word| word.parse::<u32>().unwrap()).eq(0..500)));
        });
    }
}

#[test]
fn a_kernel_gives_its_rest_when_its_input_has_ended() {
    let mut sums = Vec::new();
    let mut graph = Graph::new();
    let numbers = graph.source(1..=100_u64);
    let (input, sum) = graph.add(Sum(0));
    let collect = graph.sink(|sum: u64| sums.push(sum));
    graph += numbers >> input;
    graph += sum >> collect;
    graph.run(Scheme::default()).unwrap();
    drop(graph);
    assert_eq!(sums, [5050]);
}

/// Takes all there is, and gives it back one by one, each time it is asked, once that is all.
struct Later(Vec<u64>);

impl Kernel for Later {
    type Ports = (In<u64>, Out<u64>);
    fn ports(&mut self, bind: &mut Binder<'_>) -> Self::Ports {
        (bind.input("in"), bind.output("out"))
    }
    fn run(&mut self, &(input, output): &Self::Ports, io: &mut Io<'_>) -> Result<Flow, BoxError> {
        while let Some(x) = io.pop(input) {
            self.0.push(x);
        }
        if io.is_ended(input) {
            self.0.pop().into_iter().for_each(|x| io.push(output, x));
        }
        Ok(Flow::More)
    }
}

#[test]
fn a_kernel_is_asked_until_it_gives_nothing_more() {
    let mut seen = Vec::new();
    let mut graph = Graph::new();
    let numbers = graph.source(0..50_u64);
    let (input, output) = graph.add(Later(Vec::new()));
    let collect = graph.sink(|x: u64| seen.push(x));
    graph += numbers >> input;
    graph += output >> collect;
    graph.run(Scheme::default()).unwrap();
    drop(graph);
    assert!(seen.iter().copied().eq((0..50).rev()), "{seen:?}");
}
