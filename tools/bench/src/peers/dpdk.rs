//! DPDK's `rte_ring`, if the lab was built with the feature `dpdk` on a machine that has it.

/// How the threads of one side go about one ring.
pub mod mode {
    /// One producer, one consumer.
    pub const SINGLE: i32 = 0;
    /// Many: each waits for those before it.
    pub const MULTI: i32 = 1;
    /// Many, one at a time.
    pub const HTS: i32 = 2;
    /// Many: the last one of those that are at work tells for all.
    pub const RTS: i32 = 3;
}

#[cfg(thalweg_dpdk)]
pub use bridge::Ring;

#[cfg(thalweg_dpdk)]
mod bridge {
    use std::ptr::NonNull;

    use crate::queues::Received;

    /// `struct rte_ring`, which only the bridge looks into.
    #[repr(C)]
    struct RteRing([u8; 0]);

    unsafe extern "C" {
        fn thalweg_dpdk_ring(count: u32, mode: i32) -> *mut RteRing;
        fn thalweg_dpdk_push(ring: *mut RteRing, values: *const u64, count: u32) -> u32;
        fn thalweg_dpdk_pop(ring: *mut RteRing, into: *mut u64, count: u32) -> u32;
        fn thalweg_dpdk_push_each(ring: *mut RteRing, first: u64, last: u64, attempts: u32) -> usize;
        fn thalweg_dpdk_pop_each(ring: *mut RteRing, received: *mut Received, most: usize, attempts: u32);
        fn thalweg_dpdk_free(ring: *mut RteRing);
    }

    /// A ring of numbers.
    #[derive(Debug)]
    pub struct Ring<const MODE: i32>(NonNull<RteRing>);

    // SAFETY: the ring is made for many threads; with one thread on each side, who builds it keeps to that.
    unsafe impl<const MODE: i32> Send for Ring<MODE> {}
    // SAFETY: as above.
    unsafe impl<const MODE: i32> Sync for Ring<MODE> {}

    impl<const MODE: i32> Ring<MODE> {
        /// A ring of `count` entries, a power of two, one of which is never used.
        pub fn new(count: usize) -> Self {
            // SAFETY: the mode is one of those the bridge knows; a wrong count gives null.
            let ring = unsafe { thalweg_dpdk_ring(count as u32, MODE) };
            Self(NonNull::new(ring).expect("a power of two, and memory for it"))
        }

        /// Pushes as many of `values` as there is room for. Returns how many.
        #[inline(always)]
        pub fn push(&self, values: &[u64]) -> usize {
            // SAFETY: the ring is alive, and the bridge reads as many values as there are.
            unsafe { thalweg_dpdk_push(self.0.as_ptr(), values.as_ptr(), values.len() as u32) as usize }
        }

        /// Pushes the numbers from `first` to `last`, one by one, until one of them is refused `attempts` times. Returns how many it pushed.
        pub fn push_each(&self, first: u64, last: u64, attempts: u32) -> usize {
            // SAFETY: the ring is alive.
            unsafe { thalweg_dpdk_push_each(self.0.as_ptr(), first, last, attempts) }
        }

        /// Pops up to `most` numbers, one by one, until nothing is there for `attempts` times, and takes them to `received`.
        pub(crate) fn pop_each(&self, received: &mut Received, most: u64, attempts: u32) {
            // SAFETY: the ring is alive, and both sides declare the same three words in `received`.
            unsafe { thalweg_dpdk_pop_each(self.0.as_ptr(), received, most as usize, attempts) };
        }

        /// Pops as many values as there are, or as there are places for. Returns how many.
        #[inline(always)]
        pub fn pop(&self, into: &mut [u64]) -> usize {
            // SAFETY: the ring is alive, and the bridge writes as many values as there are places.
            unsafe { thalweg_dpdk_pop(self.0.as_ptr(), into.as_mut_ptr(), into.len() as u32) as usize }
        }
    }

    impl<const MODE: i32> Drop for Ring<MODE> {
        fn drop(&mut self) {
            // SAFETY: from the bridge, and nobody uses it any more.
            unsafe { thalweg_dpdk_free(self.0.as_ptr()) };
        }
    }
}
