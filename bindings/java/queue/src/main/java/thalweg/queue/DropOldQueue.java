package thalweg.queue;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.Iterator;
import java.util.NoSuchElementException;
import java.util.Objects;

/**
 * A queue that is never full: {@link #offer} overwrites the oldest block when there is no other. For traces, samples, state that is shown.
 *
 * <pre>{@code
 * DropOldQueue<Integer> queue = new DropOldQueue<>(4, 16);
 * for (int number = 0; number < 1000; number++) {
 *     queue.offer(number); // nobody reads
 * }
 * assert queue.poll() == 944; // the oldest that is left
 * assert queue.dropped() == 944;
 * }</pre>
 *
 * <p>Any number of producers and consumers. Kept are the newest {@code (blocks - 1) * entries} items, and those behind them in the block that is
 * being filled; what is older goes by whole blocks. Nothing is taken twice, and what was offered was taken, is left, or is in {@link #dropped}.
 * Producers never look at what consumers write.
 *
 * <p>{@link #offer} answers false if the queue is closed, or while an offer that a whole round of others has overtaken is half-way. The ring refers
 * to items that are taken until they are overwritten, so it keeps that many objects alive.
 *
 * @param <E> what the queue holds
 */
public final class DropOldQueue<E> extends BlockQueue<E> {
    /*
     * D1 A round of a block begins when every entry of the one before is marked. `allocated` may run past the end. The producers' head moves after it.
     * D2 Who writes an entry comes after all who wrote it in the round before, and after `allocated` of its round. So who has read an item of a
     *    later round also sees `allocated` there.
     * D3 `next` is where consumers go on: all before it is taken or dropped. It moves only by an exchange from the very place that was looked at.
     * D4 The mark of an entry is that of the round from when it is written, and until then that of the round before. Who sees `allocated` of a
     *    round sees no older ones.
     */
    private static final VarHandle LONGS = MethodHandles.arrayElementVarHandle(long[].class);
    private static final VarHandle SLOTS = MethodHandles.arrayElementVarHandle(Object[].class);
    private static final VarHandle MARKS = MethodHandles.arrayElementVarHandle(byte[].class);

    /** Where the cursors are in {@link #heads}: the block that producers fill, the place where consumers go on, and how many items are dropped. */
    private static final int PRODUCERS = Shape.APART;
    static final int NEXT = 2 * Shape.APART;
    private static final int DROPPED = NEXT + 1;

    /** In the producers' head, whose offset is 0: the queue is closed. */
    private static final long CLOSED = 1;

    final Shape shape;
    private final Object[] slots;
    private final byte[] marks;
    /** For each block, {@code allocated}: the next place to give to a producer. */
    final long[] producers;
    final long[] heads = new long[3 * Shape.APART + 1];
    /** The place behind the last item, once {@link #ended}. */
    private long end;
    private volatile boolean ended;

    /**
     * A queue of so many blocks of so many entries.
     *
     * @param blocks how many blocks: a power of two, at least 2. More of them lose less at a time
     * @param entries how many items each of them holds, at least 1
     * @throws IllegalArgumentException if there can be no such ring
     */
    public DropOldQueue(int blocks, int entries) {
        this(Shape.of(blocks, entries), 0);
    }

    /**
     * A queue that keeps at least the newest {@code capacity - 1} items, in blocks that are chosen.
     *
     * @param capacity that number
     * @throws IllegalArgumentException if the capacity is below 1 or above 2^29
     */
    public DropOldQueue(int capacity) {
        this(Shape.withRoom(capacity), 0);
    }

    /** A queue whose blocks are counted from {@code number} on: one that is old already, so that tests reach the wrap of its numbers. */
    DropOldQueue(Shape shape, long number) {
        this.shape = shape;
        slots = new Object[shape.capacity()];
        marks = new byte[shape.capacity()];
        producers = shape.cursors();
        long first = shape.block(number);
        for (long block = 0, start = first; block < shape.blocks(); block++, start = shape.after(start)) {
            long last = shape.lastRound(start);
            producers[shape.cell(start)] = block == 0 ? start : last + shape.entries();
            for (int entry = 0; entry < shape.entries(); entry++) {
                marks[shape.slot(start) + entry] = shape.mark(last);
            }
        }
        heads[PRODUCERS] = first;
        heads[NEXT] = first;
        // Whoever gets the queue by a race sees it whole.
        VarHandle.fullFence();
    }

    private long allocated(long place) {
        // Acquire, pairs with the exchange in `begin`: who sees a later round sees the blocks that were begun before.
        return (long) LONGS.getAcquire(producers, shape.cell(place));
    }

    @Override
    public boolean offer(E item) {
        Objects.requireNonNull(item, "item");
        for (;;) {
            // Acquire, pairs with `begin`: who sees the head sees its block begun.
            long head = (long) LONGS.getAcquire(heads, PRODUCERS);
            if ((head & CLOSED) != 0) {
                return false;
            }
            // It looks before it adds, so each thread runs past the end at most once a round.
            if (shape.offset(allocated(head)) < shape.entries()) {
                // The addition is an acquire too: who wrote the entry in the last round comes before (D2).
                long place = (long) LONGS.getAndAdd(producers, shape.cell(head), 1L);
                if (shape.offset(place) < shape.entries()) {
                    write(place, item);
                    return true;
                }
            }
            if (!begin(head)) {
                return false;
            }
        }
    }

    @Override
    public boolean relaxedOffer(E item) {
        return offer(item);
    }

    void write(long place, Object item) {
        int slot = shape.slot(place);
        // Release, pairs with the load in `poll`: who sees the item sees `allocated` of its round (D2), and what came before the offer.
        SLOTS.setRelease(slots, slot, item);
        // Release, pairs with `poll` and `begin`: who sees the mark sees the item.
        MARKS.setRelease(marks, slot, shape.mark(place));
    }

    @Override
    public int offerMany(E[] items, int from, int to) {
        Objects.checkFromToIndex(from, to, items.length);
        for (int at = from; at < to; at++) {
            Objects.requireNonNull(items[at], "item");
        }
        int done = from;
        while (done < to) {
            long head = (long) LONGS.getAcquire(heads, PRODUCERS);
            if ((head & CLOSED) != 0) {
                break;
            }
            long place = allocated(head);
            int count = Math.min(to - done, shape.entries() - shape.offset(place));
            if (count <= 0) {
                if (!begin(head)) {
                    break;
                }
            } else if (LONGS.compareAndSet(producers, shape.cell(head), place, place + count)) {
                for (int each = 0; each < count; each++) {
                    write(place + each, items[done++]);
                }
            }
        }
        return done - from;
    }

    /** Moves the producers on from the block at {@code head}, unless others have. False if an offer of the round before is half-way in the next one. */
    private boolean begin(long head) {
        long start = shape.after(head);
        long last = shape.lastRound(start);
        long allocated = allocated(start);
        if (shape.inOneBlock(allocated, last)) {
            byte mark = shape.mark(last);
            int first = shape.slot(start);
            for (int slot = first + shape.entries() - 1; slot >= first; slot--) {
                // Acquire, pairs with `write`; the exchange below passes it on to the writers of the next round (D1, D2).
                if ((byte) MARKS.getAcquire(marks, slot) != mark) {
                    // Marks of the round that begins look like missing ones.
                    if (shape.inOneBlock(allocated(start), last)) {
                        return false;
                    }
                    break;
                }
            }
            while (shape.inOneBlock(allocated, last)) {
                long seen = (long) LONGS.compareAndExchange(producers, shape.cell(start), allocated, start);
                if (seen == allocated) {
                    break;
                }
                // Another producer ran past the end meanwhile, or began the round.
                allocated = seen;
            }
        }
        // The head last: ahead of `allocated` it would have producers look again and again.
        LONGS.compareAndSet(heads, PRODUCERS, head, start);
        return true;
    }

    /** The place {@code count} entries further on, which is at most the end of the block. The end of a block is the start of the next one. */
    private long forward(long place, int count) {
        return shape.offset(place) + count >= shape.entries() ? shape.after(place) : place + count;
    }

    @Override
    public E poll() {
        return poll(true, true);
    }

    @Override
    public E relaxedPoll() {
        return poll(false, true);
    }

    @Override
    public E peek() {
        return poll(true, false);
    }

    private E poll(boolean patient, boolean take) {
        for (int turn = 0;;) {
            long next = (long) LONGS.getAcquire(heads, NEXT);
            long allocated = allocated(next);
            if (shape.inOneBlock(allocated, next)) {
                int slot = shape.slot(next);
                // After `allocated`: from here on marks are of this round or the last, or of a later one that is seen below (D4).
                if ((byte) MARKS.getAcquire(marks, slot) == shape.mark(next)) {
                    E item = read(next, take);
                    if (item != null) {
                        return item;
                    }
                    continue;
                }
                // Once more: a mark of the next round looks like a missing one, and who has seen one sees that round begun.
                allocated = allocated(next);
            }
            if (!shape.inOneBlock(allocated, next)) {
                if (allocated - next < 0) {
                    // Before its round, the block was not begun, and there is nothing behind it.
                    return null;
                }
                passOver(next, allocated);
            } else if (allocated == next || ended && shape.distance(end, next) >= 0) {
                return null;
            } else if ((long) LONGS.getAcquire(heads, NEXT) == next) {
                if (!patient) {
                    return null;
                }
                turn = Idle.halfWay(turn);
            }
        }
    }

    /** Reads the item at {@code next}, which is written, and takes it or leaves it there. Null if it was overwritten, or another consumer took it. */
    @SuppressWarnings("unchecked")
    E read(long next, boolean take) {
        // Acquire, pairs with `write`: if it is of a later round, the look below shows that round.
        Object item = SLOTS.getAcquire(slots, shape.slot(next));
        // If nobody has moved `next`, the item was the oldest when it was read (D3).
        return isCurrent(next) && (take ? move(next, 1) : (long) LONGS.getAcquire(heads, NEXT) == next) ? (E) item : null;
    }

    /** The same for several, all of one block. False if they were overwritten, or another consumer took them. */
    boolean readMany(long next, Object[] into, int from, int count) {
        int slot = shape.slot(next);
        for (int each = 0; each < count; each++) {
            into[from + each] = SLOTS.getAcquire(slots, slot + each);
        }
        return isCurrent(next) && move(next, count);
    }

    /** Whether what was read at {@code next} and behind it was of its round. If not, moves on. */
    private boolean isCurrent(long next) {
        long allocated = allocated(next);
        if (shape.inOneBlock(allocated, next)) {
            return true;
        }
        passOver(next, allocated);
        return false;
    }

    private boolean move(long next, int count) {
        return LONGS.compareAndSet(heads, NEXT, next, forward(next, count));
    }

    @Override
    public int pollMany(Object[] into, int from, int to) {
        Objects.checkFromToIndex(from, to, into.length);
        int done = from;
        while (done < to) {
            long next = (long) LONGS.getAcquire(heads, NEXT);
            int count = 0;
            if (shape.inOneBlock(allocated(next), next)) {
                int slot = shape.slot(next);
                int most = Math.min(to - done, shape.entries() - shape.offset(next));
                byte mark = shape.mark(next);
                while (count < most && (byte) MARKS.getAcquire(marks, slot + count) == mark) {
                    count++;
                }
            }
            if (count == 0) {
                // Nothing, or overrun: one by one it says which.
                E item = poll(done == from, true);
                if (item == null) {
                    break;
                }
                into[done++] = item;
                continue;
            }
            if (readMany(next, into, done, count)) {
                done += count;
            }
        }
        // What was read in vain is not left behind.
        for (int at = done; at < to; at++) {
            into[at] = null;
        }
        return done - from;
    }

    /** Goes on from {@code next}, whose block was begun again in the round of {@code newer}, to the oldest item that survives. */
    private void passOver(long next, long newer) {
        long head = shape.start((long) LONGS.getAcquire(heads, PRODUCERS));
        newer = shape.start(newer);
        // The head may not have been moved to that block yet.
        long newest = head - newer < 0 ? newer : head;
        long oldest = shape.after(shape.lastRound(newest));
        if (LONGS.compareAndSet(heads, NEXT, next, oldest)) {
            LONGS.getAndAdd(heads, DROPPED, shape.distance(next, oldest));
        }
    }

    /**
     * How many items consumers have passed over, as they were overwritten before anybody took them. What is overwritten now counts when a consumer
     * finds it gone.
     *
     * @return their number
     */
    public long dropped() {
        return (long) LONGS.getAcquire(heads, DROPPED);
    }

    /** The next place to allocate, lately; perhaps past the end of its block. */
    private long back() {
        return ended ? end : allocated((long) LONGS.getAcquire(heads, PRODUCERS));
    }

    /** The place of the oldest item that survives, or of the next one to come, lately. */
    private long front() {
        long next = (long) LONGS.getAcquire(heads, NEXT);
        long head = shape.start((long) LONGS.getAcquire(heads, PRODUCERS));
        long oldest = shape.after(shape.lastRound(head));
        return next - oldest < 0 ? oldest : next;
    }

    @Override
    public int size() {
        // The consumers' side first: what is allocated, read after it, is not below it.
        long front = front();
        return (int) Math.max(0, Math.min(shape.distance(front, back()), capacity()));
    }

    @Override
    public int capacity() {
        return shape.capacity();
    }

    @Override
    public void close() {
        long head;
        do {
            head = (long) LONGS.getVolatile(heads, PRODUCERS);
            if ((head & CLOSED) != 0) {
                return;
            }
        } while (!LONGS.compareAndSet(heads, PRODUCERS, head, head | CLOSED));
        // The head does not move any more, so this is the last block. Its cursor goes past the end, for those who read the head before.
        long allocated = (long) LONGS.getAndAdd(producers, shape.cell(head), (long) shape.entries());
        end = forward(head, Math.min(shape.offset(allocated), shape.entries()));
        ended = true;
    }

    @Override
    public boolean isClosed() {
        return ((long) LONGS.getAcquire(heads, PRODUCERS) & CLOSED) != 0;
    }

    @Override
    public boolean isDone() {
        return ended && shape.distance(end, (long) LONGS.getAcquire(heads, NEXT)) >= 0;
    }

    @Override
    public Iterator<E> iterator() {
        return new Iterator<>() {
            private long place = front();
            private E next = find();

            @SuppressWarnings("unchecked")
            private E find() {
                for (;;) {
                    long from = front();
                    if (place - from < 0) {
                        place = from;
                    }
                    if (shape.distance(place, back()) <= 0) {
                        return null;
                    }
                    long here = place;
                    place = forward(place, 1);
                    int slot = shape.slot(here);
                    if (shape.inOneBlock(allocated(here), here) && (byte) MARKS.getAcquire(marks, slot) == shape.mark(here)) {
                        Object item = SLOTS.getAcquire(slots, slot);
                        if (shape.inOneBlock(allocated(here), here)) {
                            return (E) item;
                        }
                    }
                }
            }

            @Override
            public boolean hasNext() {
                return next != null;
            }

            @Override
            public E next() {
                E item = next;
                if (item == null) {
                    throw new NoSuchElementException();
                }
                next = find();
                return item;
            }
        };
    }
}
