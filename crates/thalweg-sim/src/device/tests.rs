//! The routing device against the paper's own example, and against plain queues.

use super::caf::Caf;
use super::ideal::Ideal;
use super::lists::{Link, List};
use super::vlrd::{Injection, Packet, Vlrd};
use super::{Credits, Routing, Target};
use std::collections::{HashMap, VecDeque};
use thalweg_sync::link;
use thalweg_sync::random::Xorshift;

fn target(number: u32) -> Target {
    Target { queue: link::Target::new(0, 0).unwrap(), place: 0, line: number, address: 0 }
}

fn push(sqi: usize, number: u64) -> Packet<Target> {
    Packet::Push { sqi, data: [number; 8] }
}

fn fetch(sqi: usize, number: u32) -> Packet<Target> {
    Packet::Fetch { sqi, target: target(number) }
}

fn opened(routing: Routing, queues: usize) -> Vlrd<Target> {
    let mut device = Vlrd::new(&routing);
    (0..queues).for_each(|sqi| assert!(device.open(sqi)));
    device
}

fn list(head: Link, tail: Link) -> List {
    List { head, tail }
}

/// Table I: the requests of blue and orange come first, then the lines of blue, green and blue. Slots count from 0 here.
#[test]
fn the_pipeline_does_in_each_cycle_what_table_1_says() {
    let (orange, blue, green) = (0, 1, 2);
    let mut device = opened(Routing::default(), 3);
    let packets = [fetch(blue, 10), fetch(orange, 20), push(blue, 1), push(green, 2), push(blue, 3)];
    // Each packet is in its buffer one cycle before the cycle in which the table reads it. Cycle 0 is before the table.
    device.cycle(Some(packets[0]));
    let nothing = list(None, None);
    let mut at = |packet: Option<Packet<Target>>| {
        let sent = device.cycle(packet).sent;
        (device.row(orange), device.row(blue), device.row(green), device.out(), sent)
    };
    // 1 and 2: nothing is written yet.
    assert_eq!(at(Some(packets[1])), ((nothing, nothing), (nothing, nothing), (nothing, nothing), nothing, None));
    assert_eq!(at(Some(packets[2])), ((nothing, nothing), (nothing, nothing), (nothing, nothing), nothing, None));
    // 3: linkTab[blue].cons{Head, Tail} are set.
    let one = list(Some(0), Some(0));
    let two = list(Some(1), Some(1));
    assert_eq!(at(Some(packets[3])), ((nothing, nothing), (nothing, one), (nothing, nothing), nothing, None));
    // 4: linkTab[orange].cons{Head, Tail} are set; the first blue line hits.
    assert_eq!(at(Some(packets[4])), ((nothing, two), (nothing, one), (nothing, nothing), nothing, None));
    // 5: linkTab[blue].consHead is NULL again, POHR and POTR point to the blue line.
    assert_eq!(at(None), ((nothing, two), (nothing, nothing), (nothing, nothing), one, None));
    // 6: green has missed, and the line leaves. 7: the second blue line has missed too.
    let sent = Some(Injection { slot: 0, target: target(10), data: [1; 8] });
    assert_eq!(at(None), ((nothing, two), (nothing, nothing), (two, nothing), nothing, sent));
    let three = list(Some(2), Some(2));
    assert_eq!(at(None), ((nothing, two), (three, nothing), (two, nothing), nothing, None));
}

/// Entries of one queue directly behind each other: the second is decided while the first is written.
#[test]
fn what_stage_3_writes_is_forwarded_to_stage_2() {
    let mut device = opened(Routing { in_order: false, ..Default::default() }, 1);
    let packets = [fetch(0, 1), fetch(0, 2), push(0, 7), push(0, 8), push(0, 9), fetch(0, 3)];
    let sent: Vec<_> = (0..20).filter_map(|cycle| device.cycle(packets.get(cycle).copied()).sent).collect();
    let pairs: Vec<_> = sent.iter().map(|sent| (sent.data[0], sent.target.line)).collect();
    assert_eq!(pairs, [(7, 1), (8, 2), (9, 3)]);
}

#[test]
fn a_packet_goes_in_and_a_line_goes_out_in_every_cycle() {
    let mut device = opened(Routing { in_order: false, ..Default::default() }, 1);
    for n in 0..60 {
        assert!(device.cycle(Some(fetch(0, n))).taken);
    }
    (0..4).for_each(|_| _ = device.cycle(None));
    let sent: Vec<_> = (0..60).map(|n| device.cycle(Some(push(0, n))).sent.map(|sent| sent.data[0])).collect();
    // In the port in one cycle, three stages, out in the next.
    assert_eq!(sent[..4], [None; 4]);
    assert!(sent[4..].iter().copied().eq((0..56).map(Some)));
}

#[test]
fn a_queue_cannot_take_what_is_reserved_for_others() {
    let fill = |routing: Routing| {
        let mut device = opened(routing, 4);
        let taken = (0..100).filter(|&n| device.cycle(Some(push(2, n))).taken).count();
        (taken, device.cycle(Some(push(3, 0))).taken, device.cycle(Some(push(3, 1))).taken)
    };
    let routing = Routing { entries: 16, ..Default::default() };
    assert_eq!(fill(Routing { reserve: 0, ..routing }), (16, false, false), "one queue has everything");
    assert_eq!(fill(routing), (13, true, false));
    assert_eq!(fill(Routing { quota: Some(5), ..routing }), (5, true, true));
    let mut device = Vlrd::<Target>::new(&Routing { reserve: 4, ..routing });
    assert!((0..4).all(|sqi| device.open(sqi)), "16 slots, 4 for each");
    assert!(!device.open(4), "nothing is left to reserve");
    assert!(!device.open(3), "it is somebody's already");
    assert!(!Vlrd::<Target>::new(&routing).open(64), "linkTab has 64 rows");
    assert!(!Vlrd::new(&routing).cycle(Some(push(0, 0))).taken, "it is not open");
}

/// Else it would not have its reserved slot, and the one that has them all may wait for it.
#[test]
fn a_queue_is_not_opened_while_others_have_all_slots() {
    let mut device = opened(Routing { entries: 4, ..Default::default() }, 1);
    assert_eq!((0..9).filter(|&n| device.cycle(Some(push(0, n))).taken).count(), 4);
    assert!(!device.open(1), "nothing is left to reserve");
    let sent = (0..8).find_map(|cycle| device.cycle((cycle == 0).then_some(fetch(0, 1))).sent).unwrap();
    let answer = Packet::Answer { slot: sent.slot, accepted: true };
    (0..4).for_each(|cycle| _ = device.cycle((cycle == 0).then_some(answer)));
    assert!(device.open(1));
    assert!(!device.cycle(Some(push(0, 9))).taken, "the free slot is the other's");
    assert!(device.cycle(Some(push(1, 0))).taken);
}

/// Who asks next may have asked before the line is rejected, and else finds it in the list.
#[test]
fn a_rejected_line_is_the_first_again() {
    for before in [4, 3] {
        let mut device = opened(Routing::default(), 1);
        let mut run = |packets: &[Packet<Target>]| -> Vec<Injection<Target>> {
            (0..12).filter_map(|cycle| device.cycle(packets.get(cycle).copied()).sent).collect()
        };
        let packets = [push(0, 1), push(0, 2), fetch(0, 1), fetch(0, 2)];
        let (packets, later) = packets.split_at(before);
        let sent = run(packets);
        assert_eq!(sent.len(), 1, "the second waits for the answer to the first");
        let answer = Packet::Answer { slot: sent[0].slot, accepted: false };
        let sent = run(&[&[answer], later].concat());
        let pairs: Vec<_> = sent.iter().map(|sent| (sent.data[0], sent.target.line)).collect();
        assert_eq!(pairs, [(1, 2)], "the first again, to who asks next");
        assert_eq!(device.holds(0), Some(2));
    }
}

/// Random packets for some queues, injections that take random times and are rejected at random, against one plain queue
/// of lines and one set of requests for each SQI. In the end requests come only for what is left. Returns how many lines
/// could not leave all the same.
fn traffic(routing: Routing, seed: u64, reject: usize) -> usize {
    let mut random = Xorshift::new(seed);
    let queues = 1 + random.index(6);
    let mut device = opened(routing, queues);
    let mut lines: Vec<VecDeque<u64>> = vec![VecDeque::new(); queues];
    // Requests that are waiting, by number: whose they are.
    let mut requests: HashMap<u32, usize> = HashMap::new();
    let mut under_way: Vec<(usize, usize, Injection<Target>)> = Vec::new();
    let (mut pushed, mut fetched, mut delivered) = (0, 0, 0);
    let producers_first = random.index(3);
    for cycle in 0..8_000 {
        let draining = cycle >= 5_000;
        let answered = under_way.iter().position(|&(at, ..)| at <= cycle);
        let queue = random.index(queues);
        let packet = if let Some(done) = answered {
            let (_, sqi, Injection { slot, data, .. }) = under_way.remove(done);
            let accepted = draining || random.index(100) >= reject;
            if accepted {
                let expected = if routing.in_order {
                    lines[sqi].pop_front()
                } else {
                    lines[sqi].iter().position(|&line| line == data[0]).and_then(|place| lines[sqi].remove(place))
                };
                assert_eq!(expected, Some(data[0]), "seed {seed}, cycle {cycle}, queue {sqi}");
                delivered += 1;
            }
            Some(Packet::Answer { slot, accepted })
        } else if draining {
            let sqi = (0..queues).find(|&sqi| {
                let asked = requests.values().filter(|&&asked| asked == sqi).count();
                lines[sqi].len() > asked + under_way.iter().filter(|way| way.1 == sqi).count()
            });
            sqi.map(|sqi| fetch(sqi, fetched))
        } else {
            match random.index(4 + producers_first) {
                0 => None,
                1 | 2 => Some(fetch(queue, fetched)),
                _ => Some(push(queue, pushed)),
            }
        };
        let held: usize = (0..queues).filter_map(|sqi| device.holds(sqi)).sum();
        let done = device.cycle(packet);
        match packet {
            Some(Packet::Push { sqi, .. }) if done.taken => {
                lines[sqi].push_back(pushed);
                pushed += 1;
            }
            Some(Packet::Push { sqi, .. }) => {
                let at_quota = routing.quota.is_some_and(|quota| device.holds(sqi).unwrap() >= quota);
                assert!(at_quota || held + queues >= routing.entries, "seed {seed}: refused for nothing");
            }
            Some(Packet::Fetch { sqi, .. }) if done.taken => {
                requests.insert(fetched, sqi);
                fetched += 1;
            }
            Some(Packet::Answer { .. }) => assert!(done.taken),
            _ => {}
        }
        if let Some(injection) = done.sent {
            let asked = requests.remove(&injection.target.line);
            let sqi = asked.unwrap_or_else(|| panic!("seed {seed}: nobody asked for {injection:?}"));
            let unanswered = under_way.iter().filter(|way| way.1 == sqi).count();
            assert!(!routing.in_order || unanswered == 0, "seed {seed}: overtaken");
            under_way.push((cycle + 1 + random.index(40), sqi, injection));
        }
    }
    assert!(!device.is_busy() && under_way.is_empty(), "seed {seed}: it has not come to rest");
    assert!(delivered > 50 || routing.reserve == 0, "seed {seed}: only {delivered} lines");
    let held: usize = (0..queues).filter_map(|sqi| device.holds(sqi)).sum();
    assert_eq!(delivered + held as u64, pushed, "seed {seed}: every accepted line arrives once or is still there");
    held
}

#[test]
fn random_traffic_leaves_as_from_plain_queues() {
    let mut stuck = 0;
    for seed in 0..12 {
        let entries = [8, 16, 64][seed as usize % 3];
        for in_order in [true, false] {
            let routing = Routing { entries, in_order, ..Default::default() };
            assert_eq!(traffic(routing, seed, 0), 0, "seed {seed}");
            assert_eq!(traffic(routing, seed, 30), 0, "seed {seed}, with rejections");
            assert_eq!(traffic(Routing { quota: Some(3), ..routing }, seed, 30), 0, "seed {seed}, with a quota");
            stuck += traffic(Routing { reserve: 0, ..routing }, seed, 30);
        }
    }
    assert!(stuck > 0, "without reserved slots, requests of one queue keep out those of another");
}

#[test]
fn the_ideal_device_keeps_the_order() {
    let mut ideal = Ideal::default();
    assert!(ideal.open(1) && !ideal.open(1), "it is somebody's already");
    (0..3).for_each(|n| ideal.push(1, [n; 8]));
    assert_eq!(ideal.next(1), None);
    ideal.fetch(1, target(5));
    ideal.fetch(1, target(6));
    assert_eq!(ideal.next(1), Some((target(5), [0; 8])));
    ideal.take_back(1, [0; 8]);
    assert_eq!((ideal.holds(1), ideal.holds(0), ideal.holds(2)), (Some(3), None, None), "only one is open");
    assert_eq!(ideal.next(1), Some((target(6), [0; 8])));
}

#[test]
fn caf_divides_its_words_among_the_queues() {
    let mut caf = Caf::new(&Credits { words: 8, ..Credits::default() });
    assert!(!caf.enqueue(0, 1), "it is not open");
    assert!(caf.open(0) && caf.open(3) && !caf.open(3));
    assert_eq!((0..9).filter(|&n| caf.enqueue(3, n)).count(), 4);
    assert!(caf.enqueue(0, 9), "its credit is its own");
    assert_eq!((caf.dequeue(3), caf.dequeue(3), caf.dequeue(0), caf.dequeue(1)), (Some(0), Some(1), Some(9), None));
    assert_eq!((caf.holds(3), caf.holds(1), caf.holds(9)), (Some(2), None, None));
    assert!(caf.enqueue(3, 5) && caf.enqueue(3, 6) && !caf.enqueue(3, 7));
}

/// Queue 3 takes the pool, and what it may hold at most ends that; the other two have their own words all the time.
#[test]
fn a_queue_of_caf_takes_from_the_pool_up_to_its_most_and_others_keep_their_own() {
    let mut caf = Caf::new(&Credits { words: 12, ..Credits::pooled(2, 5) });
    assert!(caf.open(0) && caf.open(1) && caf.open(3));
    let fill = |caf: &mut Caf, queue| (0..20).filter(|&n| caf.enqueue(queue, n)).count();
    assert_eq!(fill(&mut caf, 3), 5, "no more than the most");
    assert_eq!(fill(&mut caf, 1), 5, "the pool has six words, of which three are left");
    assert_eq!(fill(&mut caf, 0), 2, "its own");
    assert_eq!((caf.dequeue(1), caf.enqueue(0, 7), caf.enqueue(0, 8)), (Some(0), true, false));
}

#[test]
fn a_queue_of_caf_opens_only_if_its_own_words_are_there() {
    let mut caf = Caf::new(&Credits { words: 7, ..Credits::pooled(2, 100) });
    assert!(caf.open(0));
    assert_eq!((0..9).filter(|&n| caf.enqueue(0, n)).count(), 7, "the pool is all that is not its own");
    assert!(!caf.open(1), "all words are taken");
    assert_eq!((caf.dequeue(0), caf.open(1)), (Some(0), false));
    assert_eq!((caf.dequeue(0), caf.open(1), caf.open(2)), (Some(1), true, false));
    assert!(!caf.enqueue(0, 1) && caf.enqueue(1, 1) && caf.enqueue(1, 2) && !caf.enqueue(1, 3));
}
