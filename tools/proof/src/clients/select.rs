//! Waiting for two ends at once. Two queues of one block, and as many items as are waited for: what is lost leaves somebody asleep.

use crate::Client;
use thalweg_check::Kept;
use thalweg_queue::research::locked;
use thalweg_queue::unbounded::mpsc;
use thalweg_queue::{Park, oneshot, select};
use thalweg_sync::thread;

pub(super) const CLIENTS: &[Client] = &[
    Client {
        name: "select/pop",
        what: "a push to the second of two queues wakes who waits for both",
        run: |setup| setup.asserting(pop),
    },
    Client {
        name: "select/end",
        what: "the producer of the second queue leaves; who waits for both sees the end",
        run: |setup| setup.asserting(end),
    },
    Client {
        name: "select/push",
        what: "a pop makes room in the second of two queues, which wakes who waits to push to either",
        run: |setup| setup.asserting(push),
    },
    Client {
        name: "select/oneshot",
        what: "a value that comes once wakes who waits for it and for a queue",
        run: |setup| setup.asserting(once),
    },
    Client {
        name: "select/hand-on",
        what: "one waits for two queues, another one for the first of them; an item for each queue: who uses one wake-up hands on the other",
        run: |setup| setup.asserting(hand_on),
    },
];

type Ends = (Kept<locked::Producer<u64, Park>>, Kept<locked::Consumer<u64, Park>>);

fn queue() -> Ends {
    let (tx, rx) = locked::with_wait(1, Park::new()).expect("one item is a queue");
    (Kept::new(tx), Kept::new(rx))
}

fn pop() {
    let (tx1, rx1) = mpsc::with_blocks::<u64, _>(0, Park::new());
    let (tx2, rx2) = mpsc::with_blocks(0, Park::new());
    let ((tx1, tx2), (mut rx1, mut rx2)) = ((Kept::new(tx1), Kept::new(tx2)), (Kept::new(rx1), Kept::new(rx2)));
    let producer = thread::spawn(move || {
        tx2.push(7).unwrap();
        // Not dropped before the item is popped: that would wake the consumer, too.
        (tx1, tx2)
    });
    let item = select! { pop(*rx1) -> item => item, pop(*rx2) -> item => item };
    assert_eq!(item, Ok(7));
    drop(producer.join().unwrap());
}

fn end() {
    let ((_tx1, rx1), (tx2, rx2)) = (queue(), queue());
    let producer = thread::spawn(move || drop(tx2));
    let item = select! { pop(*rx1) -> item => item, pop(*rx2) -> item => item };
    assert!(item.is_err());
    producer.join().unwrap();
}

fn push() {
    let ((tx1, _rx1), (tx2, rx2)) = (queue(), queue());
    tx1.try_push(1).expect("there is room");
    tx2.try_push(2).expect("there is room");
    let consumer = thread::spawn(move || {
        assert_eq!(rx2.try_pop(), Ok(2));
        rx2
    });
    let which = select! { push(*tx1, 3) -> _ => 1, push(*tx2, 4) -> _ => 2 };
    assert_eq!(which, 2);
    assert_eq!(consumer.join().unwrap().try_pop(), Ok(4));
}

fn once() {
    let (tx, rx) = queue();
    let (reply, mut answer) = oneshot::channel();
    let producer = thread::spawn(move || {
        reply.push(7).unwrap();
        tx
    });
    let item = select! { pop(*rx) -> item => item, pop(answer) -> item => item };
    assert_eq!(item, Ok(7));
    drop(answer);
    drop(producer.join().unwrap());
}

fn hand_on() {
    let ((tx1, rx1), (tx2, rx2)) = (queue(), queue());
    let both = thread::spawn({
        let rx1 = rx1.clone();
        move || {
            let item = select! { pop(*rx1) -> item => item, pop(*rx2) -> item => item };
            (item.unwrap(), rx1, rx2)
        }
    });
    let one = thread::spawn(move || {
        // If the other one takes the first queue's item, there is a second.
        (rx1.pop().unwrap(), rx1)
    });
    tx2.try_push(2).expect("there is room");
    tx1.try_push(1).expect("there is room");
    let (item, rx1, rx2) = both.join().unwrap();
    if item == 1 {
        tx1.push(3).unwrap();
    }
    let (other, rx) = one.join().unwrap();
    assert!(matches!((item, other), (2, 1) | (1, 3)));
    drop((rx, rx1, rx2, tx1, tx2));
}
