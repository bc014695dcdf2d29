package thalweg.queue;

import java.util.AbstractQueue;
import java.util.Collection;
import java.util.Objects;
import java.util.function.Consumer;

/**
 * A bounded FIFO queue whose ring is split into blocks.
 *
 * <pre>{@code
 * try (BlockQueue<String> queue = BlockQueue.mpmc(1024)) {
 *     queue.offer("hello");
 *     assert queue.poll().equals("hello");
 * }
 * }</pre>
 *
 * <p><b>Which one.</b> {@link #mpmc(int)} for any number of producers and consumers; {@link #mpsc(int)}, {@link #spmc(int)} and
 * {@link #spsc(int)} where a side is one thread at a time, which is faster. Nothing checks that: two threads on a side for one lose or
 * double items. {@link DropOldQueue} overwrites the oldest items instead of refusing new ones.
 *
 * <p><b>Order.</b> First in, first out, and linearizable: {@link #offer} is refused when the queue is full at some instant of the call,
 * {@link #poll} answers null when it is empty at some instant. What a thread did before it offered an item is visible to the thread that
 * polled it.
 *
 * <p><b>Full.</b> A block is reused only when all of its items are taken. So a queue is full when at least
 * {@code capacity() - entries + 1} items are in it, of {@code entries} in each block. {@code mpmc(n)} and its siblings choose the blocks so that n items fit for
 * certain; {@link #capacity} says how many entries there are in all.
 *
 * <p><b>Progress.</b> Not lock-free: a thread that the system stops half-way through {@code offer} holds up those who poll behind it.
 * {@link #poll} and {@link #offer} wait for it on the processor; {@link #relaxedPoll} and {@link #relaxedOffer} return.
 *
 * <p><b>Closing.</b> {@link #close} refuses offers from then on. What was accepted stays to be polled; when the last of it is taken,
 * {@link #isDone} is true.
 *
 * <p>Null is refused with a {@link NullPointerException}. The iterator is weakly consistent and removes nothing.
 *
 * @param <E> what the queue holds
 */
public abstract sealed class BlockQueue<E> extends AbstractQueue<E> implements AutoCloseable permits RetryQueue, DropOldQueue {
    BlockQueue() {
    }

    /**
     * A queue for any number of producers and consumers.
     *
     * @param <E> what it holds
     * @param capacity how many items it has room for, at least
     * @return the queue
     * @throws IllegalArgumentException if the capacity is below 1 or above 2^29
     */
    public static <E> BlockQueue<E> mpmc(int capacity) {
        return new RetryQueue<>(Shape.withRoom(capacity), true, true, 0);
    }

    /**
     * As {@link #mpmc(int)}, with a shape of your own: more blocks let more items in before the oldest block is drained, larger ones mean fewer
     * steps from block to block.
     *
     * @param <E> what it holds
     * @param blocks how many blocks: a power of two, at least 2
     * @param entries how many items each of them holds, at least 1
     * @return the queue
     * @throws IllegalArgumentException if there can be no such ring
     */
    public static <E> BlockQueue<E> mpmc(int blocks, int entries) {
        return new RetryQueue<>(Shape.of(blocks, entries), true, true, 0);
    }

    /**
     * A queue for any number of producers and one consumer: one thread at a time polls, peeks and drains.
     *
     * @param <E> what it holds
     * @param capacity how many items it has room for, at least
     * @return the queue
     * @throws IllegalArgumentException if the capacity is below 1 or above 2^29
     */
    public static <E> BlockQueue<E> mpsc(int capacity) {
        return new RetryQueue<>(Shape.withRoom(capacity), true, false, 0);
    }

    /**
     * A queue for one producer and any number of consumers: one thread at a time offers, and it closes the queue.
     *
     * @param <E> what it holds
     * @param capacity how many items it has room for, at least
     * @return the queue
     * @throws IllegalArgumentException if the capacity is below 1 or above 2^29
     */
    public static <E> BlockQueue<E> spmc(int capacity) {
        return new RetryQueue<>(Shape.withRoom(capacity), false, true, 0);
    }

    /**
     * A queue for one producer, which closes it, and one consumer.
     *
     * @param <E> what it holds
     * @param capacity how many items it has room for, at least
     * @return the queue
     * @throws IllegalArgumentException if the capacity is below 1 or above 2^29
     */
    public static <E> BlockQueue<E> spsc(int capacity) {
        return new RetryQueue<>(Shape.withRoom(capacity), false, false, 0);
    }

    /**
     * Adds an item at the end, if there is room and the queue is not closed.
     *
     * @param item the item
     * @return whether it was added
     */
    @Override
    public abstract boolean offer(E item);

    /**
     * As {@link #offer}, for callers that take a refusal for an error.
     *
     * @param item the item
     * @return true
     * @throws IllegalStateException if the queue is full or closed
     */
    @Override
    public boolean add(E item) {
        if (offer(item)) {
            return true;
        }
        throw new IllegalStateException(isClosed() ? "the queue is closed" : "the queue is full: capacity " + capacity());
    }

    /**
     * As {@link #offer}, but does not wait where room depends on another thread that is half-way through a poll.
     *
     * @param item the item
     * @return whether it was added
     */
    public abstract boolean relaxedOffer(E item);

    /**
     * Adds as many items of an array as there is room for, from the first on, with one atomic operation for each block. Those of one block stand one
     * behind the other in the queue.
     *
     * @param items where they are
     * @param from the first one
     * @param to behind the last one
     * @return how many were added
     */
    public abstract int offerMany(E[] items, int from, int to);

    /**
     * Takes the item at the front.
     *
     * @return the item, or null if the queue is empty
     */
    @Override
    public abstract E poll();

    /**
     * As {@link #poll}, but does not wait where the item at the front is still being offered.
     *
     * @return the item, or null if there is none now
     */
    public abstract E relaxedPoll();

    /**
     * Takes items that are there into an array, with one atomic operation for each block.
     *
     * @param into where they go
     * @param from the first place
     * @param to behind the last place
     * @return how many were taken
     */
    public abstract int pollMany(Object[] into, int from, int to);

    /**
     * The item at the front, which stays there.
     *
     * @return the item, or null if the queue is empty
     */
    @Override
    public abstract E peek();

    /**
     * Takes what is there, one by one, and gives it to {@code action}. If that throws, the item in its hands is gone and the others stay.
     *
     * @param action what to do with each
     * @return how many were taken
     */
    public int drain(Consumer<? super E> action) {
        return drain(action, Integer.MAX_VALUE);
    }

    /**
     * As {@link #drain(Consumer)}, so many items at most.
     *
     * @param action what to do with each
     * @param limit how many at most
     * @return how many were taken
     */
    public int drain(Consumer<? super E> action, int limit) {
        Objects.requireNonNull(action, "action");
        for (int count = 0; count < limit; count++) {
            E item = poll();
            if (item == null) {
                return count;
            }
            action.accept(item);
        }
        return Math.max(limit, 0);
    }

    /**
     * Takes what is there, so many items at most, and adds it to a collection.
     *
     * @param into where they go, another collection
     * @param limit how many at most
     * @return how many were taken
     */
    public int drainTo(Collection<? super E> into, int limit) {
        if (into == this) {
            throw new IllegalArgumentException("a queue cannot be drained into itself");
        }
        return drain(into::add, limit);
    }

    /**
     * Adds an item, and waits while there is no room: at first on the processor, then asleep for up to a millisecond at a time.
     *
     * @param item the item
     * @return true, or false if the queue is closed and the item was not added
     * @throws InterruptedException if the thread is interrupted while it waits
     */
    public boolean put(E item) throws InterruptedException {
        Idle idle = new Idle();
        while (!relaxedOffer(item)) {
            if (isClosed()) {
                return false;
            }
            idle.pause();
        }
        return true;
    }

    /**
     * Takes the item at the front, and waits while there is none, as {@link #put} does.
     *
     * @return the item, or null if the queue is closed and nothing is left
     * @throws InterruptedException if the thread is interrupted while it waits
     */
    public E take() throws InterruptedException {
        Idle idle = new Idle();
        for (;;) {
            E item = relaxedPoll();
            if (item != null || isDone()) {
                return item;
            }
            idle.pause();
        }
    }

    /**
     * How many items are in the queue, those included that are being offered. Exact when nobody else uses it.
     *
     * @return their number, at most {@link #capacity}
     */
    @Override
    public abstract int size();

    /**
     * How many entries all blocks have together.
     *
     * @return their number
     */
    public abstract int capacity();

    /**
     * Closes the queue: offers are refused from now on, and what is in it stays to be polled. Offers that go on meanwhile are either refused or
     * delivered. Closing again does nothing. On a queue for one producer, only that one closes, or somebody who comes after its last offer.
     */
    @Override
    public abstract void close();

    /**
     * Whether the queue is closed. Items may be left.
     *
     * @return whether it is
     */
    public abstract boolean isClosed();

    /**
     * Whether the queue is closed and everything in it is taken. Then it stays so.
     *
     * @return whether it is
     */
    public abstract boolean isDone();

    /**
     * What the queue is, without its items.
     *
     * @return a short text
     */
    @Override
    public String toString() {
        return "BlockQueue[size=" + size() + ", capacity=" + capacity() + (isClosed() ? ", closed]" : "]");
    }
}
