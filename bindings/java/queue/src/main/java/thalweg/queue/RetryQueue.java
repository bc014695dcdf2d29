package thalweg.queue;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.Iterator;
import java.util.NoSuchElementException;
import java.util.Objects;

/**
 * BBQ in retry-new mode, for one or many on either side.
 *
 * <p>Different from the paper: a slot that holds an item says by itself that it is committed, and one that is null again that it is consumed, so
 * nothing is counted. A round begins when consumers have reserved all of the last one ({@code drained}) and every slot of it is null.
 *
 * <ul>
 * <li><b>J1</b> A place goes to one producer: the addition that moved {@code allocated} past it is its own; of one producer, it is the only one.
 * <li><b>J2</b> A place goes to one consumer, and only after its slot holds its item: the exchange that moved {@code reserved} past it is its own.
 * <li><b>J3</b> A round of a block begins for producers when every slot is null after the last round was reserved to its end, and for consumers
 * when producers have begun it and the block before is reserved to its end.
 * <li><b>J4</b> {@code reserved} is never ahead of {@code allocated}, and a head is at times behind, never ahead of its block's cursor.
 * <li><b>J5</b> Once the producers' head is marked as closed, it does not move, and the cursor of its block is past the end: nothing is allocated
 * any more. What is accepted ends at {@code end}.
 * </ul>
 */
final class RetryQueue<E> extends BlockQueue<E> {
    private static final VarHandle LONGS = MethodHandles.arrayElementVarHandle(long[].class);
    private static final VarHandle SLOTS = MethodHandles.arrayElementVarHandle(Object[].class);
    private static final VarHandle INTS = MethodHandles.arrayElementVarHandle(int[].class);

    /** Where the heads are in {@link #heads}. */
    private static final int PRODUCERS = Shape.APART;
    private static final int CONSUMERS = 2 * Shape.APART;

    /** Beside a block's {@code allocated}: the start of the last round that consumers have reserved to its end. */
    private static final int DRAINED = 1;

    /** In {@link #producer} and {@link #consumer}: the slot to write or read next, and the one behind the block. */
    private static final int SLOT = 2 * Shape.APART;
    private static final int LIMIT = SLOT + 1;

    /** In the producers' head, whose offset is 0: the queue is closed. */
    private static final long CLOSED = 1;

    /** What a look beyond the cursors says: try again, there is no room or item, or somebody is half-way. */
    enum Next { GO, NO, BUSY }

    final Shape shape;
    /** The numbers of {@link #shape}, at hand: a loop would load them through it again after each atomic operation. */
    private final int bits;
    private final int blockMask;
    private final int entries;
    private final boolean manyProducers;
    private final boolean manyConsumers;
    final Object[] slots;
    /** For each block, {@code allocated}: the next place to give to a producer of many, or some place of its round; and {@link #DRAINED}. */
    final long[] producers;
    /** For each block, {@code reserved}: the next place to give to a consumer of many. */
    final long[] consumers;
    /** The cursor of one producer, and of one consumer, which nobody else moves: in place of those of the blocks. */
    private final int[] producer = new int[4 * Shape.APART];
    private final int[] consumer = new int[4 * Shape.APART];
    private final long[] heads = new long[3 * Shape.APART + 1];
    /** The place behind the last item, once {@link #ended}. */
    private long end;
    private volatile boolean ended;

    /** A queue whose blocks are counted from {@code number} on: one that is old already, so that tests reach the wrap of its numbers. */
    RetryQueue(Shape shape, boolean manyProducers, boolean manyConsumers, long number) {
        this.shape = shape;
        bits = shape.bits();
        blockMask = shape.blocks() - 1;
        entries = shape.entries();
        this.manyProducers = manyProducers;
        this.manyConsumers = manyConsumers;
        slots = new Object[shape.capacity()];
        producers = shape.cursors();
        consumers = shape.cursors();
        long first = shape.block(number);
        for (long block = 0, start = first; block < shape.blocks(); block++, start = shape.after(start)) {
            // The first block is open; the others have just ended their last round.
            long last = shape.lastRound(start);
            long cursor = block == 0 ? start : last + shape.entries();
            producers[shape.cell(start)] = cursor;
            producers[shape.cell(start) + DRAINED] = last;
            consumers[shape.cell(start)] = cursor;
        }
        heads[PRODUCERS] = first;
        heads[CONSUMERS] = first;
        moveTo(producer, first);
        moveTo(consumer, first);
        // Whoever gets the queue by a race sees it whole.
        VarHandle.fullFence();
    }

    private int offset(long place) {
        return (int) (place & (1L << bits) - 1);
    }

    private int cell(long place) {
        return ((int) (place >> bits) & blockMask) * Shape.APART + Shape.APART;
    }

    private int slot(long place) {
        return ((int) (place >> bits) & blockMask) * entries + offset(place);
    }

    @Override
    public boolean offer(E item) {
        return !manyProducers && write(item) || offer(item, true);
    }

    @Override
    public boolean relaxedOffer(E item) {
        return !manyProducers && write(item) || offer(item, false);
    }

    /** What one producer does most of the time, short enough to be compiled into its caller. False at the end of a block. */
    private boolean write(E item) {
        int slot = producer[SLOT];
        if (slot >= producer[LIMIT]) {
            return false;
        }
        // Release, pairs with the load in `poll`: who sees the item sees what came before it.
        SLOTS.setRelease(slots, slot, Objects.requireNonNull(item, "item"));
        INTS.setRelease(producer, SLOT, slot + 1);
        return true;
    }

    private boolean offer(E item, boolean patient) {
        Objects.requireNonNull(item, "item");
        for (int turn = 0;;) {
            if (!manyProducers && write(item)) {
                return true;
            }
            // Acquire, pairs with the exchange in `begin`: who sees the head sees its block begun.
            long head = (long) LONGS.getAcquire(heads, PRODUCERS);
            if ((head & CLOSED) != 0) {
                return false;
            }
            int cell = cell(head);
            if (manyProducers && offset((long) LONGS.getAcquire(producers, cell)) < entries) {
                // It looked before it adds, so each thread runs past the end at most once a round. Of whatever round the block is in now: its
                // entries are the next to fill all the same (J1).
                long allocated = (long) LONGS.getAndAdd(producers, cell, 1L);
                if (offset(allocated) < entries) {
                    SLOTS.setRelease(slots, slot(allocated), item);
                    return true;
                }
            }
            Next next = begin(head);
            if (next == Next.NO || next == Next.BUSY && !patient) {
                return false;
            }
            if (next == Next.BUSY) {
                turn = Idle.halfWay(turn);
            }
        }
    }

    @Override
    public int offerMany(E[] items, int from, int to) {
        Objects.checkFromToIndex(from, to, items.length);
        for (int at = from; at < to; at++) {
            Objects.requireNonNull(items[at], "item");
        }
        int done = from;
        int turn = 0;
        while (done < to) {
            long head = (long) LONGS.getAcquire(heads, PRODUCERS);
            if ((head & CLOSED) != 0) {
                break;
            }
            int cell = cell(head);
            long allocated = allocated(head);
            int count = Math.min(to - done, entries - offset(allocated));
            if (count <= 0) {
                Next next = begin(head);
                if (next == Next.NO) {
                    break;
                }
                if (next == Next.BUSY) {
                    turn = Idle.halfWay(turn);
                }
                continue;
            }
            // By an exact exchange: an addition of many would run far past the end.
            if (manyProducers && !LONGS.compareAndSet(producers, cell, allocated, allocated + count)) {
                continue;
            }
            int slot = slot(allocated);
            for (int each = 0; each < count; each++) {
                SLOTS.setRelease(slots, slot + each, items[done + each]);
            }
            if (!manyProducers) {
                INTS.setRelease(producer, SLOT, slot + count);
            }
            done += count;
        }
        return done - from;
    }

    /** Moves the producers on from the block at {@code head}, which they have filled, unless others have; or says why they stay. */
    private Next begin(long head) {
        long start = shape.after(head);
        long last = shape.lastRound(start);
        int cell = cell(start);
        // Acquire: who sees the round begun sees what led to it.
        long allocated = (long) LONGS.getAcquire(producers, cell);
        if (shape.inOneBlock(allocated, last)) {
            // Acquire, pairs with `drain`: every item of the last round is written, so that a null below is one that was taken.
            if ((long) LONGS.getAcquire(producers, cell + DRAINED) - last < 0) {
                return Next.NO;
            }
            if (manyConsumers && !isCleared(start)) {
                return Next.BUSY;
            }
            if (!manyProducers) {
                LONGS.setRelease(producers, cell, start);
                moveTo(producer, start);
            }
            while (manyProducers && shape.inOneBlock(allocated, last)) {
                long seen = (long) LONGS.compareAndExchange(producers, cell, allocated, start);
                if (seen == allocated) {
                    break;
                }
                // Another producer ran past the end meanwhile, or began the round.
                allocated = seen;
            }
        }
        // The head last: ahead of the block's cursor it would have producers look again and again (J4).
        if (manyProducers) {
            LONGS.compareAndSet(heads, PRODUCERS, head, start);
        } else {
            LONGS.setRelease(heads, PRODUCERS, start);
        }
        return Next.GO;
    }

    /** Whether consumers have taken every item of the block. They are done with the last one latest, as a rule. */
    private boolean isCleared(long start) {
        int first = slot(start);
        for (int slot = first + entries - 1; slot >= first; slot--) {
            // Acquire, pairs with the stores of null: the read of the item comes before the next write.
            if (SLOTS.getAcquire(slots, slot) != null) {
                return false;
            }
        }
        return true;
    }

    @Override
    public E poll() {
        E item = manyConsumers ? null : read();
        return item != null ? item : poll(true, true);
    }

    @Override
    public E relaxedPoll() {
        E item = manyConsumers ? null : read();
        return item != null ? item : poll(false, true);
    }

    @Override
    public E peek() {
        return poll(true, false);
    }

    /** What one consumer does most of the time, short enough to be compiled into its caller. Null at the end of a block, or of the items. */
    @SuppressWarnings("unchecked")
    private E read() {
        int slot = consumer[SLOT];
        if (slot >= consumer[LIMIT]) {
            return null;
        }
        // Acquire, pairs with the stores of items.
        Object item = SLOTS.getAcquire(slots, slot);
        if (item != null) {
            SLOTS.setRelease(slots, slot, null);
            consumed(slot + 1);
        }
        return (E) item;
    }

    @SuppressWarnings("unchecked")
    private E poll(boolean patient, boolean take) {
        for (int turn = 0;;) {
            if (!manyConsumers && take) {
                E item = read();
                if (item != null) {
                    return item;
                }
            }
            // Acquire, pairs with the exchange in `enter`: who sees the head sees its block entered.
            long head = (long) LONGS.getAcquire(heads, CONSUMERS);
            int cell = cell(head);
            // Acquire, pairs with `enter`: the slots are those of this round.
            long reserved = reserved(head);
            Next next;
            if (offset(reserved) < entries) {
                int slot = slot(reserved);
                // Acquire, pairs with the stores of items.
                Object item = SLOTS.getAcquire(slots, slot);
                if (item != null) {
                    if (!take) {
                        if (reserved(head) == reserved) {
                            return (E) item;
                        }
                    } else if (manyConsumers && reserve(cell, reserved, 1)) {
                        SLOTS.setRelease(slots, slot, null);
                        return (E) item;
                    }
                    continue;
                }
                next = look(cell, reserved);
            } else {
                next = enter(reserved);
            }
            if (next == Next.NO || next == Next.BUSY && !patient) {
                return null;
            }
            if (next == Next.BUSY) {
                turn = Idle.halfWay(turn);
            }
        }
    }

    @Override
    public int pollMany(Object[] into, int from, int to) {
        Objects.checkFromToIndex(from, to, into.length);
        int done = from;
        int turn = 0;
        while (done < to) {
            long head = (long) LONGS.getAcquire(heads, CONSUMERS);
            int cell = cell(head);
            long reserved = reserved(head);
            int offset = offset(reserved);
            Next next;
            if (offset < entries) {
                int first = slot(reserved);
                int most = Math.min(to - done, entries - offset);
                int count = 0;
                while (count < most && SLOTS.getAcquire(slots, first + count) != null) {
                    count++;
                }
                if (count > 0) {
                    if (!manyConsumers || reserve(cell, reserved, count)) {
                        for (int slot = first; slot < first + count; slot++) {
                            into[done++] = slots[slot];
                            SLOTS.setRelease(slots, slot, null);
                        }
                        if (!manyConsumers) {
                            consumed(first + count);
                        }
                    }
                    continue;
                }
                next = look(cell, reserved);
            } else {
                next = enter(reserved);
            }
            // What is there already is more than a wait for more.
            if (next == Next.NO || next == Next.BUSY && done > from) {
                break;
            }
            if (next == Next.BUSY) {
                turn = Idle.halfWay(turn);
            }
        }
        return done - from;
    }

    /** Takes so many places from {@code reserved} on, whose slots hold items, for one of many. False if another consumer was faster. */
    boolean reserve(int cell, long reserved, int count) {
        if (!LONGS.compareAndSet(consumers, cell, reserved, reserved + count)) {
            return false;
        }
        if (offset(reserved) + count == entries) {
            drain(cell, shape.start(reserved));
        }
        return true;
    }

    /** Moves the cursor of one consumer to {@code slot}, after those before it are null. */
    private void consumed(int slot) {
        INTS.setRelease(consumer, SLOT, slot);
        if (slot == consumer[LIMIT]) {
            long head = heads[CONSUMERS];
            // Release, pairs with `begin`: the slots are null.
            LONGS.setRelease(producers, cell(head) + DRAINED, head);
        }
    }

    /** Moves the cursor of one producer or consumer to the start of a block. */
    private void moveTo(int[] cursor, long start) {
        cursor[LIMIT] = slot(start) + entries;
        INTS.setRelease(cursor, SLOT, slot(start));
    }

    /** The place in the block at {@code head} where the cursor of one is. */
    private long placeOf(int[] cursor, long head) {
        return head + Math.max(0, Math.min((int) INTS.getAcquire(cursor, SLOT) - slot(head), entries));
    }

    /** The next place to give to a producer of the block at {@code head}; perhaps past its end, perhaps in a later round. */
    private long allocated(long head) {
        return manyProducers ? (long) LONGS.getAcquire(producers, cell(head)) : placeOf(producer, head);
    }

    /** The next place to give to a consumer of the block at {@code head}; perhaps in a later round. */
    private long reserved(long head) {
        return manyConsumers ? (long) LONGS.getAcquire(consumers, cell(head)) : placeOf(consumer, head);
    }

    /** Tells producers that the round from {@code start} on is reserved to its end. One that comes a round late does nothing. */
    private void drain(int cell, long start) {
        LONGS.compareAndSet(producers, cell + DRAINED, shape.lastRound(start), start);
    }

    /** What it means that the slot at {@code reserved} is null. */
    Next look(int cell, long reserved) {
        if (!manyProducers) {
            // There is nothing, unless another consumer took it.
            return !manyConsumers || (long) LONGS.getAcquire(consumers, cell) == reserved ? Next.NO : Next.GO;
        }
        // After `reserved`: if it is not ahead, nothing was in the queue at this moment (J4).
        long allocated = (long) LONGS.getAcquire(producers, cell);
        if (allocated == reserved) {
            return Next.NO;
        }
        if (manyConsumers && (long) LONGS.getAcquire(consumers, cell) != reserved) {
            return Next.GO;
        }
        // Of one consumer alone, the item may have come since.
        if (SLOTS.getAcquire(slots, slot(reserved)) != null) {
            return Next.GO;
        }
        // By closing, the cursor has run past entries that nobody fills (J5).
        return ended && shape.distance(end, reserved) >= 0 ? Next.NO : Next.BUSY;
    }

    /** Moves the consumers on from the block that {@code reserved} is at the end of, unless others have; or says that nothing is there. */
    private Next enter(long reserved) {
        long before = shape.start(reserved);
        long start = shape.after(reserved);
        int cell = cell(start);
        // Acquire, pairs with `begin`: every slot was null then.
        long allocated = (long) LONGS.getAcquire(producers, cell);
        if (!shape.inOneBlock(allocated, start)) {
            return allocated - start < 0 ? Next.NO : Next.GO;
        }
        if (manyConsumers) {
            // Before anybody polls in the next block, else who did and then offers could find the queue full when it is empty.
            drain(cell(before), before);
            LONGS.compareAndSet(consumers, cell, shape.lastRound(start) + entries, start);
            // The head last, as in `begin`.
            LONGS.compareAndSet(heads, CONSUMERS, before, start);
        } else {
            moveTo(consumer, start);
            LONGS.setRelease(heads, CONSUMERS, start);
        }
        return Next.GO;
    }

    /** The next place to reserve, lately. */
    private long front() {
        return reserved((long) LONGS.getAcquire(heads, CONSUMERS));
    }

    /** The next place to allocate, lately; perhaps past the end of its block. */
    private long back() {
        return ended ? end : allocated((long) LONGS.getAcquire(heads, PRODUCERS) & ~CLOSED);
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
        int cell = cell(head);
        // The head does not move any more, so this is the last block. Its cursor goes past the end, for those who read the head before.
        long allocated = manyProducers ? (long) LONGS.getAndAdd(producers, cell, (long) entries) : allocated(head);
        // The one producer finds no entry either.
        producer[LIMIT] = 0;
        end = head + Math.min(offset(allocated), entries);
        ended = true;
    }

    @Override
    public boolean isClosed() {
        return ((long) LONGS.getAcquire(heads, PRODUCERS) & CLOSED) != 0;
    }

    @Override
    public boolean isDone() {
        return ended && shape.distance(end, front()) >= 0;
    }

    @Override
    public Iterator<E> iterator() {
        return new Iterator<>() {
            private long place = front();
            private E next = find();

            @SuppressWarnings("unchecked")
            private E find() {
                for (;;) {
                    if (offset(place) >= entries) {
                        place = shape.after(place);
                    }
                    if (shape.distance(place, back()) <= 0) {
                        return null;
                    }
                    long here = place++;
                    Object item = SLOTS.getAcquire(slots, slot(here));
                    // Not taken yet, so it is the item of that place, and of no later round.
                    if (item != null && shape.distance(front(), here) >= 0) {
                        return (E) item;
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
