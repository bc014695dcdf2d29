/** Bounded queues whose ring is split into blocks: {@link thalweg.queue.BlockQueue} and {@link thalweg.queue.DropOldQueue}. */
module thalweg.queue {
    exports thalweg.queue;
}
