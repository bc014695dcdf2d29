//! Queues in C++, if the lab was built with the feature `cpp` on a machine that has them: Boost's `lockfree::spsc_queue` and
//! `lockfree::queue`, moodycamel's `ReaderWriterQueue` and `ConcurrentQueue`, oneTBB's `concurrent_bounded_queue`.

#[cfg(thalweg_cpp)]
pub use bridge::{Consumer, Kind, Producer, ends};

#[cfg(thalweg_cpp)]
mod bridge {
    use std::ptr::NonNull;
    use std::sync::Arc;

    use crate::queues::Received;

    /// Which queue.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    #[repr(i32)]
    pub enum Kind {
        /// `boost::lockfree::spsc_queue`: one producer, one consumer, 4096 or 32768 entries.
        BoostSpsc,
        /// `boost::lockfree::queue` of fixed size: many and many.
        BoostQueue,
        /// `moodycamel::ReaderWriterQueue`: one producer, one consumer.
        ReaderWriter,
        /// `moodycamel::ConcurrentQueue` with tokens: many and many, in order from each producer only. Each producer has its share of the
        /// entries to itself.
        Moodycamel,
        /// `oneapi::tbb::concurrent_bounded_queue`: many and many.
        TbbBounded,
    }

    /// What only the bridge looks into.
    #[repr(C)]
    struct RawQueue([u8; 0]);
    #[repr(C)]
    struct RawProducer([u8; 0]);
    #[repr(C)]
    struct RawConsumer([u8; 0]);

    unsafe extern "C" {
        fn thalweg_cpp_queue(kind: i32, capacity: usize) -> *mut RawQueue;
        fn thalweg_cpp_queue_free(queue: *mut RawQueue);
        fn thalweg_cpp_producer(queue: *mut RawQueue, room: usize) -> *mut RawProducer;
        fn thalweg_cpp_push(end: *mut RawProducer, first: u64, last: u64, attempts: u32) -> usize;
        fn thalweg_cpp_push_slice(end: *mut RawProducer, values: *const u64, count: usize) -> usize;
        fn thalweg_cpp_producer_free(end: *mut RawProducer);
        fn thalweg_cpp_consumer(queue: *mut RawQueue) -> *mut RawConsumer;
        fn thalweg_cpp_pop(end: *mut RawConsumer, received: *mut Received, most: usize, attempts: u32);
        fn thalweg_cpp_pop_slice(end: *mut RawConsumer, values: *mut u64, count: usize) -> usize;
        fn thalweg_cpp_consumer_free(end: *mut RawConsumer);
    }

    #[derive(Debug)]
    struct Queue(NonNull<RawQueue>);

    // SAFETY: threads reach it through ends only, of which `ends` makes no more than its kind bears; it may be freed anywhere.
    unsafe impl Send for Queue {}
    // SAFETY: as above.
    unsafe impl Sync for Queue {}

    impl Drop for Queue {
        fn drop(&mut self) {
            // SAFETY: from the bridge. The ends keep the queue, so none of them is left.
            unsafe { thalweg_cpp_queue_free(self.0.as_ptr()) };
        }
    }

    const KNOWN: &str = "the bridge knows the kind and the capacity";

    /// A queue for `capacity` numbers, with so many ends.
    ///
    /// # Panics
    /// If its kind has only one end on a side and is asked for more, or does not come in this capacity.
    pub fn ends(kind: Kind, capacity: usize, producers: usize, consumers: usize) -> (Vec<Producer>, Vec<Consumer>) {
        let single = matches!(kind, Kind::BoostSpsc | Kind::ReaderWriter);
        assert!(!single || (producers, consumers) == (1, 1), "one producer and one consumer");
        // SAFETY: the kind is one that the bridge knows. Null is possible, and is looked for.
        let queue = Arc::new(Queue(NonNull::new(unsafe { thalweg_cpp_queue(kind as i32, capacity) }).expect(KNOWN)));
        let producer = |_| {
            // SAFETY: the queue is alive. No other end is in use yet: a producer's may put in and take out what fits.
            let raw = unsafe { thalweg_cpp_producer(queue.0.as_ptr(), capacity / producers) };
            Producer { raw: NonNull::new(raw).expect(KNOWN), _queue: queue.clone() }
        };
        let consumer = |_| {
            // SAFETY: the queue is alive.
            let raw = unsafe { thalweg_cpp_consumer(queue.0.as_ptr()) };
            Consumer { raw: NonNull::new(raw).expect(KNOWN), _queue: queue.clone() }
        };
        ((0..producers).map(producer).collect(), (0..consumers).map(consumer).collect())
    }

    /// An end that pushes.
    #[derive(Debug)]
    pub struct Producer {
        raw: NonNull<RawProducer>,
        _queue: Arc<Queue>,
    }

    // SAFETY: an end has no thread of its own, and its methods take it for themselves.
    unsafe impl Send for Producer {}

    impl Producer {
        /// Pushes the numbers from `first` to `last`, one by one, until one of them is refused `attempts` times. Returns how many it pushed.
        #[inline]
        pub fn push(&mut self, first: u64, last: u64, attempts: u32) -> usize {
            // SAFETY: the end is alive, and so is its queue.
            unsafe { thalweg_cpp_push(self.raw.as_ptr(), first, last, attempts) }
        }

        /// Pushes as many of `values` as the queue takes at once. None if it has no call for that.
        #[inline]
        pub fn push_slice(&mut self, values: &[u64]) -> usize {
            // SAFETY: as above, and the bridge reads as many values as there are.
            unsafe { thalweg_cpp_push_slice(self.raw.as_ptr(), values.as_ptr(), values.len()) }
        }
    }

    impl Drop for Producer {
        fn drop(&mut self) {
            // SAFETY: from the bridge, and nobody uses it any more; its queue is alive.
            unsafe { thalweg_cpp_producer_free(self.raw.as_ptr()) };
        }
    }

    /// An end that pops.
    #[derive(Debug)]
    pub struct Consumer {
        raw: NonNull<RawConsumer>,
        _queue: Arc<Queue>,
    }

    // SAFETY: an end has no thread of its own, and its methods take it for themselves.
    unsafe impl Send for Consumer {}

    impl Consumer {
        /// Pops up to `most` numbers, one by one, until nothing is there for `attempts` times, and takes them to `received`.
        #[inline]
        pub(crate) fn pop(&mut self, received: &mut Received, most: u64, attempts: u32) {
            // SAFETY: the end is alive, and so is its queue. Both sides declare the same three words in `received`.
            unsafe { thalweg_cpp_pop(self.raw.as_ptr(), received, most as usize, attempts) };
        }

        /// Pops as many numbers as the queue gives at once, or as there are places for. None if it has no call for that.
        #[inline]
        pub fn pop_slice(&mut self, into: &mut [u64]) -> usize {
            // SAFETY: as above, and the bridge writes as many values as there are places.
            unsafe { thalweg_cpp_pop_slice(self.raw.as_ptr(), into.as_mut_ptr(), into.len()) }
        }
    }

    impl Drop for Consumer {
        fn drop(&mut self) {
            // SAFETY: from the bridge, and nobody uses it any more; its queue is alive.
            unsafe { thalweg_cpp_consumer_free(self.raw.as_ptr()) };
        }
    }
}
