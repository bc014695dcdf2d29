package thalweg.queue.ffm;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Objects;

/**
 * A queue of the C library for words of 64 bits: numbers, indices, addresses. Its ring lies outside of the heap, and code in C, C++ and Rust may be
 * at its other end.
 *
 * {@snippet :
 * try (LongQueue queue = LongQueue.mpmc(8, 64); var producer = queue.producer(); var consumer = queue.consumer()) {
 *     producer.offer(7);
 *     assert consumer.poll(-1) == 7;
 * }
 * }
 *
 * <p><b>Threads.</b> Each thread makes its own {@link #producer} or {@link #consumer}, and one thread at a time uses it.
 *
 * <p><b>Closing.</b> When the queue and all of its producers are closed, consumers drain what is left ({@link Consumer#isDone}). When all of its
 * consumers are, offers are refused. Closing a handle that another thread is still using is a mistake that nothing catches.
 *
 * <p><b>Library.</b> It is the file that the system property {@code thalweg.queue.library} names, or else {@code thalweg_queue_c} on the library path.
 * An {@link ExceptionInInitializerError} says that there is none. Give this module native access ({@code --enable-native-access=thalweg.queue.ffm}).
 */
public final class LongQueue implements AutoCloseable {
    private final boolean dropOld;
    private MemorySegment producer;
    private MemorySegment consumer;

    private LongQueue(boolean dropOld, int blocks, int entries) {
        this.dropOld = dropOld;
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment ends = arena.allocate(ValueLayout.ADDRESS, 2);
            MemorySegment reason = arena.allocate(256);
            MemorySegment second = ends.asSlice(ValueLayout.ADDRESS.byteSize());
            int status = dropOld
                    ? (int) Library.NEW_DROP_OLD.invokeExact(8L, (long) blocks, (long) entries, Library.WAIT_YIELD, ends, second, reason, 256L)
                    : (int) Library.NEW.invokeExact((long) blocks, (long) entries, Library.WAIT_YIELD, ends, second, reason, 256L);
            if (status != Library.OK) {
                throw new IllegalArgumentException(reason.getString(0));
            }
            producer = ends.getAtIndex(ValueLayout.ADDRESS, 0);
            consumer = ends.getAtIndex(ValueLayout.ADDRESS, 1);
        } catch (RuntimeException | Error e) {
            throw e;
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    /**
     * A queue for any number of producers and consumers.
     *
     * @param blocks how many blocks: a power of two, at least 2
     * @param entries how many items each of them holds, at least 1
     * @return the queue
     * @throws IllegalArgumentException if the library refuses that, with its reason
     */
    public static LongQueue mpmc(int blocks, int entries) {
        return new LongQueue(false, blocks, entries);
    }

    /**
     * A queue that overwrites its oldest block instead of being full.
     *
     * @param blocks how many blocks: a power of two, at least 2
     * @param entries how many items each of them holds, at least 1
     * @return the queue
     * @throws IllegalArgumentException if the library refuses that, with its reason
     */
    public static LongQueue dropOld(int blocks, int entries) {
        return new LongQueue(true, blocks, entries);
    }

    /**
     * A writing end for one thread.
     *
     * @return the end, which the caller closes
     * @throws IllegalStateException if the queue is closed
     */
    public synchronized Producer producer() {
        return new Producer(cloned(dropOld ? Library.RECORDS_PRODUCER : Library.PRODUCER, producer), dropOld);
    }

    /**
     * A reading end for one thread.
     *
     * @return the end, which the caller closes
     * @throws IllegalStateException if the queue is closed
     */
    public synchronized Consumer consumer() {
        return new Consumer(cloned(dropOld ? Library.RECORDS_CONSUMER : Library.CONSUMER, consumer), dropOld);
    }

    private static MemorySegment cloned(Library.End end, MemorySegment of) {
        if (of == null) {
            throw new IllegalStateException("the queue is closed: make its ends before");
        }
        try {
            return (MemorySegment) end.copy().invokeExact(of);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static void free(Library.End end, MemorySegment handle) {
        try {
            end.free().invokeExact(handle);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    /** Makes no more ends. Those that there are go on; each is closed by its thread. */
    @Override
    public synchronized void close() {
        if (producer != null) {
            free(dropOld ? Library.RECORDS_PRODUCER : Library.PRODUCER, producer);
            free(dropOld ? Library.RECORDS_CONSUMER : Library.CONSUMER, consumer);
            producer = null;
            consumer = null;
        }
    }

    /** What both ends have. */
    abstract static sealed class End implements AutoCloseable {
        final Library.End functions;
        final boolean dropOld;
        /** The C function's place for an item. */
        final long[] item = new long[1];
        final MemorySegment place = MemorySegment.ofArray(item);
        final long[] count = new long[1];
        final MemorySegment counted = MemorySegment.ofArray(count);
        MemorySegment handle;

        End(Library.End functions, MemorySegment handle, boolean dropOld) {
            this.functions = functions;
            this.handle = handle;
            this.dropOld = dropOld;
        }

        final MemorySegment open() {
            if (handle == null) {
                throw new IllegalStateException("this end is closed");
            }
            return handle;
        }

        final int move(long[] items, int from, int to) {
            Objects.checkFromToIndex(from, to, items.length);
            MemorySegment range = MemorySegment.ofArray(items).asSlice((long) from * Long.BYTES, (long) (to - from) * Long.BYTES);
            int done = 0;
            try {
                // The library moves what is in one block, and says so.
                while (done < to - from) {
                    MemorySegment rest = range.asSlice((long) done * Long.BYTES);
                    if ((int) functions.many().invokeExact(open(), rest, (long) (to - from - done), counted) != Library.OK) {
                        break;
                    }
                    done += (int) count[0];
                }
            } catch (RuntimeException | Error e) {
                throw e;
            } catch (Throwable e) {
                throw new AssertionError(e);
            }
            return done;
        }

        /**
         * How many items are in the queue, lately.
         *
         * @return their number
         */
        public final long size() {
            try {
                return (long) functions.len().invokeExact(open());
            } catch (RuntimeException | Error e) {
                throw e;
            } catch (Throwable e) {
                throw new AssertionError(e);
            }
        }

        /** Gives the end back. Closing it again does nothing. */
        @Override
        public final void close() {
            if (handle != null) {
                free(functions, handle);
                handle = null;
            }
        }
    }

    /** A writing end, for one thread at a time. */
    public static final class Producer extends End {
        private Producer(MemorySegment handle, boolean dropOld) {
            super(dropOld ? Library.RECORDS_PRODUCER : Library.PRODUCER, handle, dropOld);
        }

        /**
         * Adds an item at the end.
         *
         * @param value the item
         * @return whether it was added: not if the queue is full, all consumers are closed, or another thread is half-way through an operation
         * that has to end first
         */
        public boolean offer(long value) {
            try {
                if (dropOld) {
                    item[0] = value;
                    return (int) Library.RECORDS_PUSH.invokeExact(open(), place) == Library.OK;
                }
                return (int) Library.PUSH.invokeExact(open(), value) == Library.OK;
            } catch (RuntimeException | Error e) {
                throw e;
            } catch (Throwable e) {
                throw new AssertionError(e);
            }
        }

        /**
         * Adds as many items as there is room for, from the first on.
         *
         * @param items where they are
         * @param from the first one
         * @param to behind the last one
         * @return how many were added
         */
        public int offerMany(long[] items, int from, int to) {
            return move(items, from, to);
        }
    }

    /** A reading end, for one thread at a time. */
    public static final class Consumer extends End {
        private Consumer(MemorySegment handle, boolean dropOld) {
            super(dropOld ? Library.RECORDS_CONSUMER : Library.CONSUMER, handle, dropOld);
        }

        /**
         * Takes the item at the front.
         *
         * @param none what to answer if there is none now
         * @return the item, or {@code none}
         */
        public long poll(long none) {
            try {
                int status = dropOld ? (int) Library.RECORDS_POP.invokeExact(open(), place) : (int) Library.POP.invokeExact(open(), place);
                return status == Library.OK ? item[0] : none;
            } catch (RuntimeException | Error e) {
                throw e;
            } catch (Throwable e) {
                throw new AssertionError(e);
            }
        }

        /**
         * Takes what is there.
         *
         * @param into where it goes
         * @param from the first place
         * @param to behind the last place
         * @return how many were taken
         */
        public int pollMany(long[] into, int from, int to) {
            return move(into, from, to);
        }

        /**
         * Whether every producer and the queue are closed, and everything is taken.
         *
         * @return whether it is so
         */
        public boolean isDone() {
            try {
                return (boolean) functions.closed().invokeExact(open()) && size() == 0;
            } catch (RuntimeException | Error e) {
                throw e;
            } catch (Throwable e) {
                throw new AssertionError(e);
            }
        }

        /**
         * How many items of a queue that overwrites were overwritten before anybody took them.
         *
         * @return their number
         */
        public long dropped() {
            try {
                return dropOld ? (long) Library.RECORDS_DROPPED.invokeExact(open()) : 0;
            } catch (RuntimeException | Error e) {
                throw e;
            } catch (Throwable e) {
                throw new AssertionError(e);
            }
        }
    }
}
