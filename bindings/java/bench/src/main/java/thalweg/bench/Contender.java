package thalweg.bench;

import com.google.common.collect.EvictingQueue;
import com.lmax.disruptor.EventHandler;
import com.lmax.disruptor.RingBuffer;
import com.lmax.disruptor.YieldingWaitStrategy;
import com.lmax.disruptor.dsl.Disruptor;
import com.lmax.disruptor.dsl.ProducerType;
import com.lmax.disruptor.util.DaemonThreadFactory;
import java.util.Queue;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.CountDownLatch;
import org.agrona.concurrent.ManyToOneConcurrentArrayQueue;
import org.agrona.concurrent.OneToOneConcurrentArrayQueue;
import org.apache.commons.collections4.queue.CircularFifoQueue;
import org.jctools.queues.MpmcArrayQueue;
import org.jctools.queues.MpscArrayQueue;
import org.jctools.queues.SpscArrayQueue;
import thalweg.queue.BlockQueue;
import thalweg.queue.DropOldQueue;
import thalweg.queue.ffm.LongQueue;

/** What is compared: each hands items from producers to consumers, and whoever finds no room or no item spins a hundred times and then yields. */
abstract class Contender implements AutoCloseable {
    /** As in Disruptor's own programs. */
    static final int CAPACITY = 1 << 16;

    /** As in Disruptor's {@link YieldingWaitStrategy}. */
    private static final int SPINS = 100;

    /** Made before, so that nothing is allocated for an item. */
    private static final Long[] ITEMS = new Long[1024];

    static {
        for (int item = 0; item < ITEMS.length; item++) {
            ITEMS[item] = (long) item;
        }
    }

    static Long item(int number) {
        return ITEMS[number % ITEMS.length];
    }

    /** What the items of one producer come to. */
    static long sum(int count) {
        long sum = 0;
        for (int number = 0; number < count; number++) {
            sum += item(number);
        }
        return sum;
    }

    static int idle(int turn) {
        if (turn < SPINS) {
            Thread.onSpinWait();
        } else {
            Thread.yield();
        }
        return turn + 1;
    }

    /** Moves as many items of each producer to the consumers, each of which gets them all. Returns what they come to, over all consumers. */
    abstract long move(int producers, int each) throws InterruptedException;

    @Override
    public void close() {
    }

    /** Of a name and a workload: producers, and consumers that see every item. */
    static Contender of(String name, int producers, int consumers, int batch) {
        boolean one = producers == 1;
        return switch (name) {
            case "thalweg" -> new Queues(consumers, () -> one ? BlockQueue.spsc(CAPACITY) : BlockQueue.mpsc(CAPACITY));
            case "thalweg mpmc" -> new Queues(consumers, () -> BlockQueue.mpmc(CAPACITY));
            case "thalweg by batches" -> new Batches(consumers, batch, () -> one ? BlockQueue.spsc(CAPACITY) : BlockQueue.mpsc(CAPACITY));
            case "thalweg C" -> new Native(consumers);
            case "Disruptor" -> new Ring(producers, consumers);
            case "ArrayBlockingQueue" -> new Queues(consumers, () -> new ArrayBlockingQueue<>(CAPACITY));
            case "JCTools" -> new Queues(consumers, () -> one ? new SpscArrayQueue<>(CAPACITY) : new MpscArrayQueue<>(CAPACITY));
            case "JCTools mpmc" -> new Queues(consumers, () -> new MpmcArrayQueue<>(CAPACITY));
            case "Agrona" -> new Queues(consumers,
                    () -> one ? new OneToOneConcurrentArrayQueue<>(CAPACITY) : new ManyToOneConcurrentArrayQueue<>(CAPACITY));
            default -> throw new IllegalArgumentException("no contender " + name);
        };
    }

    interface Body {
        void run() throws InterruptedException;
    }

    static Thread start(Body body) {
        Thread thread = new Thread(() -> {
            try {
                body.run();
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        });
        thread.setDaemon(true);
        thread.start();
        return thread;
    }

    /** Threads that produce, and as many that consume as there are queues. */
    abstract static class Threads extends Contender {
        final int consumers;

        Threads(int consumers) {
            this.consumers = consumers;
        }

        abstract void produce(int each);

        abstract long consume(int consumer, int count);

        @Override
        long move(int producers, int each) throws InterruptedException {
            Thread[] threads = new Thread[producers + consumers];
            long[] sums = new long[consumers];
            for (int thread = 0; thread < threads.length; thread++) {
                int consumer = thread - producers;
                threads[thread] = start(() -> {
                    if (consumer < 0) {
                        produce(each);
                    } else {
                        sums[consumer] = consume(consumer, producers * each);
                    }
                });
            }
            long sum = 0;
            for (Thread thread : threads) {
                thread.join();
            }
            for (long consumed : sums) {
                sum += consumed;
            }
            return sum;
        }
    }

    interface Maker<Q> {
        Q make();
    }

    /** Any queue of Java's form, one item at a time: one for each consumer. */
    static final class Queues extends Threads {
        private final Queue<Long>[] queues;

        @SuppressWarnings("unchecked")
        Queues(int consumers, Maker<Queue<Long>> maker) {
            super(consumers);
            queues = new Queue[consumers];
            for (int each = 0; each < consumers; each++) {
                queues[each] = maker.make();
            }
        }

        @Override
        void produce(int each) {
            for (int number = 0; number < each; number++) {
                for (Queue<Long> queue : queues) {
                    for (int turn = 0; !queue.offer(item(number)); turn = idle(turn)) { }
                }
            }
        }

        @Override
        long consume(int consumer, int count) {
            Queue<Long> queue = queues[consumer];
            long sum = 0;
            for (int done = 0; done < count; done++) {
                Long item = queue.poll();
                for (int turn = 0; item == null; item = queue.poll()) {
                    turn = idle(turn);
                }
                sum += item;
            }
            return sum;
        }
    }

    /** Ours, by batches on both sides. */
    static final class Batches extends Threads {
        private final BlockQueue<Long>[] queues;
        private final int batch;

        @SuppressWarnings("unchecked")
        Batches(int consumers, int batch, Maker<BlockQueue<Long>> maker) {
            super(consumers);
            this.batch = batch;
            queues = new BlockQueue[consumers];
            for (int each = 0; each < consumers; each++) {
                queues[each] = maker.make();
            }
        }

        @Override
        void produce(int each) {
            Long[] items = new Long[batch];
            for (int number = 0; number < each; ) {
                int count = Math.min(batch, each - number);
                for (int at = 0; at < count; at++) {
                    items[at] = item(number++);
                }
                for (BlockQueue<Long> queue : queues) {
                    int done = queue.offerMany(items, 0, count);
                    for (int turn = 0; done < count; done += queue.offerMany(items, done, count)) {
                        turn = idle(turn);
                    }
                }
            }
        }

        @Override
        long consume(int consumer, int count) {
            BlockQueue<Long> queue = queues[consumer];
            Object[] into = new Object[batch];
            long sum = 0;
            for (int done = 0, turn = 0; done < count; ) {
                int taken = queue.pollMany(into, 0, Math.min(batch, count - done));
                for (int at = 0; at < taken; at++) {
                    sum += (Long) into[at];
                }
                done += taken;
                turn = taken == 0 ? idle(turn) : 0;
            }
            return sum;
        }
    }

    /** The C library's, whose items are words. */
    static final class Native extends Threads {
        private final LongQueue[] queues;

        Native(int consumers) {
            super(consumers);
            queues = new LongQueue[consumers];
            for (int each = 0; each < consumers; each++) {
                queues[each] = LongQueue.mpmc(16, CAPACITY / 16);
            }
        }

        @Override
        void produce(int each) {
            LongQueue.Producer[] ends = new LongQueue.Producer[queues.length];
            for (int end = 0; end < ends.length; end++) {
                ends[end] = queues[end].producer();
            }
            for (int number = 0; number < each; number++) {
                for (LongQueue.Producer end : ends) {
                    for (int turn = 0; !end.offer(item(number)); turn = idle(turn)) { }
                }
            }
            for (LongQueue.Producer end : ends) {
                end.close();
            }
        }

        @Override
        long consume(int consumer, int count) {
            long sum = 0;
            try (LongQueue.Consumer end = queues[consumer].consumer()) {
                for (int done = 0; done < count; done++) {
                    long item = end.poll(-1);
                    for (int turn = 0; item < 0; item = end.poll(-1)) {
                        turn = idle(turn);
                    }
                    sum += item;
                }
            }
            return sum;
        }

        @Override
        public void close() {
            for (LongQueue queue : queues) {
                queue.close();
            }
        }
    }

    /** Disruptor as in its own programs: numbers in events that are made before, a handler for each consumer. */
    static final class Ring extends Contender {
        /** How many items its handlers were given at once, over all runs: for the batches of others. */
        static long items;
        static long batches;

        private final Disruptor<Event> disruptor;
        private final Sum[] handlers;

        static final class Event {
            long value;
        }

        static final class Sum implements EventHandler<Event> {
            private long sum;
            private long left;
            private long ends;
            private CountDownLatch done;

            void expect(long count, CountDownLatch done) {
                this.done = done;
                sum = 0;
                ends = 0;
                left = count;
            }

            @Override
            public void onEvent(Event event, long sequence, boolean endOfBatch) {
                sum += event.value;
                if (endOfBatch) {
                    ends++;
                }
                if (--left == 0) {
                    done.countDown();
                }
            }
        }

        Ring(int producers, int consumers) {
            disruptor = new Disruptor<>(Event::new, CAPACITY, DaemonThreadFactory.INSTANCE, producers == 1 ? ProducerType.SINGLE : ProducerType.MULTI,
                    new YieldingWaitStrategy());
            handlers = new Sum[consumers];
            for (int each = 0; each < consumers; each++) {
                handlers[each] = new Sum();
            }
            disruptor.handleEventsWith(handlers);
            disruptor.start();
        }

        @Override
        long move(int producers, int each) throws InterruptedException {
            CountDownLatch done = new CountDownLatch(handlers.length);
            for (Sum handler : handlers) {
                handler.expect((long) producers * each, done);
            }
            RingBuffer<Event> ring = disruptor.getRingBuffer();
            for (int producer = 0; producer < producers; producer++) {
                start(() -> {
                    for (int number = 0; number < each; number++) {
                        long sequence = ring.next();
                        ring.get(sequence).value = item(number);
                        ring.publish(sequence);
                    }
                });
            }
            done.await();
            long sum = 0;
            for (Sum handler : handlers) {
                sum += handler.sum;
                items += (long) producers * each;
                batches += handler.ends;
            }
            return sum;
        }

        @Override
        public void close() {
            disruptor.halt();
        }
    }

    /** What overwrites the oldest: the word of a number goes in, and comes out or is overwritten. */
    interface Old extends AutoCloseable {
        void offer(int number);

        boolean poll();

        @Override
        default void close() {
        }
    }

    /** For each thread its own end of a queue of this name that keeps {@code capacity} items. */
    static Maker<Old> old(String name, int capacity) {
        switch (name) {
            case "thalweg" -> {
                DropOldQueue<Long> queue = new DropOldQueue<>(8, capacity / 8);
                return () -> new Ordinary(queue);
            }
            case "thalweg C" -> {
                LongQueue queue = LongQueue.dropOld(8, capacity / 8);
                return () -> {
                    LongQueue.Producer producer = queue.producer();
                    LongQueue.Consumer consumer = queue.consumer();
                    return new Old() {
                        @Override
                        public void offer(int number) {
                            producer.offer(item(number));
                        }

                        @Override
                        public boolean poll() {
                            return consumer.poll(-1) >= 0;
                        }

                        @Override
                        public void close() {
                            producer.close();
                            consumer.close();
                        }
                    };
                };
            }
            case "EvictingQueue" -> {
                Queue<Long> queue = com.google.common.collect.Queues.synchronizedQueue(EvictingQueue.create(capacity));
                return () -> new Ordinary(queue);
            }
            case "CircularFifoQueue" -> {
                Queue<Long> queue = com.google.common.collect.Queues.synchronizedQueue(new CircularFifoQueue<>(capacity));
                return () -> new Ordinary(queue);
            }
            default -> throw new IllegalArgumentException("no contender " + name);
        }
    }

    private record Ordinary(Queue<Long> queue) implements Old {
        @Override
        public void offer(int number) {
            queue.offer(item(number));
        }

        @Override
        public boolean poll() {
            return queue.poll() != null;
        }
    }
}
