/** The queues of thalweg's C library, by the foreign function interface: {@link thalweg.queue.ffm.LongQueue}. */
module thalweg.queue.ffm {
    exports thalweg.queue.ffm;
}
