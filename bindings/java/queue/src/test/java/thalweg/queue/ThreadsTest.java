package thalweg.queue;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.stream.Stream;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What many threads see. A test that hangs is red after two minutes. */
@Timeout(value = 2, unit = TimeUnit.MINUTES, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class ThreadsTest {
    /** So many items for each entry of a queue: small queues hand over from thread to thread item by item. */
    private static final int ROUNDS = Integer.getInteger("thalweg.rounds", 50);

    private static int items(int capacity) {
        return Math.max(300, ROUNDS * Math.min(capacity, 200));
    }

    /** Every item once, whole, and those of one producer in their order at each consumer. */
    @ParameterizedTest
    @MethodSource("thalweg.queue.Kinds#young")
    void everyItemArrivesOnceAndInOrder(Kinds.Kind kind) throws Exception {
        int producers = kind.manyProducers() ? 3 : 1;
        int consumers = kind.manyConsumers() ? 3 : 1;
        BlockQueue<Kinds.Item> queue = kind.queue();
        int items = items(queue.capacity());
        AtomicIntegerArray seen = new AtomicIntegerArray(producers * items);
        AtomicInteger producing = new AtomicInteger(producers);
        List<Callable<Void>> threads = new ArrayList<>();
        for (int producer = 0; producer < producers; producer++) {
            int self = producer;
            threads.add(() -> {
                produce(queue, self, items);
                if (producing.decrementAndGet() == 0) {
                    queue.close();
                }
                return null;
            });
        }
        for (int consumer = 0; consumer < consumers; consumer++) {
            int self = consumer;
            threads.add(() -> {
                int[] last = new int[producers];
                Object[] into = new Object[7];
                for (int turn = self; !queue.isDone(); turn++) {
                    int count = turn % 3 == 0 ? queue.pollMany(into, 0, into.length) : (into[0] = queue.poll()) == null ? 0 : 1;
                    for (int at = 0; at < count; at++) {
                        Kinds.Item item = (Kinds.Item) into[at];
                        assertTrue(item.isWhole(), "half an item");
                        assertTrue(item.number >= last[item.producer], item + " after " + last[item.producer]);
                        last[item.producer] = item.number + 1;
                        seen.incrementAndGet(item.producer * items + item.number);
                    }
                    if (count == 0) {
                        Thread.yield();
                    }
                }
                return null;
            });
        }
        run(threads);
        for (int at = 0; at < seen.length(); at++) {
            assertEquals(1, seen.get(at), "item " + at % items + " of producer " + at / items);
        }
        assertNull(queue.poll());
        assertEquals(0, queue.size());
    }

    private static void produce(BlockQueue<Kinds.Item> queue, int self, int items) throws InterruptedException {
        Kinds.Item[] batch = new Kinds.Item[5];
        for (int number = 0; number < items; ) {
            if (number % 3 != 0 || number + batch.length > items) {
                assertTrue(queue.put(new Kinds.Item(self, number++)));
                continue;
            }
            for (int at = 0; at < batch.length; at++) {
                batch[at] = new Kinds.Item(self, number + at);
            }
            for (int done = 0; done < batch.length; ) {
                int added = queue.offerMany(batch, done, batch.length);
                if (added == 0) {
                    Thread.yield();
                }
                done += added;
            }
            number += batch.length;
        }
    }

    static Stream<Kinds.Kind> many() {
        return Kinds.young().filter(kind -> kind.manyProducers() && kind.manyConsumers());
    }

    /** Whoever has offered and not polled finds an item: as many are in the queue as threads poll. */
    @ParameterizedTest
    @MethodSource("many")
    void neverEmptyWhereThereIsAnItem(Kinds.Kind kind) throws Exception {
        BlockQueue<Integer> queue = kind.queue();
        int count = Math.min(4, kind.room());
        int items = items(queue.capacity()) * 4;
        run(times(count, self -> {
            for (int turn = 0; turn < items; turn++) {
                assertTrue(queue.offer(self), "full with " + count + " at most");
                assertNotNull(queue.poll(), "empty");
            }
        }));
        assertTrue(queue.isEmpty());
    }

    /** Whoever has polled and not offered finds room. */
    @ParameterizedTest
    @MethodSource("many")
    void neverFullWhereThereIsRoom(Kinds.Kind kind) throws Exception {
        BlockQueue<Integer> queue = kind.queue();
        int count = Math.min(4, kind.room());
        int items = items(queue.capacity()) * 4;
        for (int number = 0; number < kind.room(); number++) {
            assertTrue(queue.offer(number));
        }
        run(times(count, self -> {
            for (int turn = 0; turn < items; turn++) {
                assertNotNull(queue.poll(), "empty");
                assertTrue(queue.offer(self), "full");
            }
        }));
        assertEquals(kind.room(), queue.size());
    }

    static Stream<Kinds.Kind> manyProducers() {
        return Kinds.young().filter(Kinds.Kind::manyProducers);
    }

    /** Closed while producers are at it: what was accepted arrives, what was refused does not. */
    @ParameterizedTest
    @MethodSource("manyProducers")
    void closingInTheMiddleLosesNothing(Kinds.Kind kind) throws Exception {
        for (int turn = 0; turn < 8; turn++) {
            BlockQueue<Kinds.Item> queue = kind.queue();
            AtomicInteger accepted = new AtomicInteger();
            AtomicInteger taken = new AtomicInteger();
            int when = 5 * turn;
            List<Callable<Void>> threads = times(3, self -> {
                for (int number = 0; queue.put(new Kinds.Item(self, number)); number++) {
                    accepted.incrementAndGet();
                    if (self == 0 && number == when) {
                        queue.close();
                    }
                }
            });
            for (int consumer = 0; consumer < (kind.manyConsumers() ? 2 : 1); consumer++) {
                threads.add(() -> {
                    while (queue.take() != null) {
                        taken.incrementAndGet();
                    }
                    return null;
                });
            }
            run(threads);
            assertEquals(accepted.get(), taken.get());
            assertEquals(0, queue.size());
        }
    }

    /** Of a queue that overwrites: nothing twice, nothing torn, order kept, and what is missing is counted. */
    @ParameterizedTest
    @ValueSource(ints = {1, 2, 16})
    void whatIsDroppedIsCounted(int entries) throws Exception {
        int producers = 3;
        DropOldQueue<Kinds.Item> queue = new DropOldQueue<>(4, entries);
        int items = items(queue.capacity()) * 10;
        AtomicIntegerArray seen = new AtomicIntegerArray(producers * items);
        AtomicInteger producing = new AtomicInteger(producers);
        AtomicInteger taken = new AtomicInteger();
        List<Callable<Void>> threads = times(producers, self -> {
            produce(queue, self, items);
            if (producing.decrementAndGet() == 0) {
                queue.close();
            }
        });
        threads.addAll(times(2, self -> {
            int[] last = new int[producers];
            Object[] into = new Object[7];
            for (int turn = self; !queue.isDone(); turn++) {
                int count = turn % 3 == 0 ? queue.pollMany(into, 0, into.length) : (into[0] = queue.poll()) == null ? 0 : 1;
                for (int at = 0; at < count; at++) {
                    Kinds.Item item = (Kinds.Item) into[at];
                    assertTrue(item.isWhole(), "half an item");
                    assertTrue(item.number >= last[item.producer], item + " after " + last[item.producer]);
                    last[item.producer] = item.number + 1;
                    assertEquals(1, seen.incrementAndGet(item.producer * items + item.number), item + " twice");
                }
                taken.addAndGet(count);
            }
        }));
        run(threads);
        assertEquals(producers * items, taken.get() + queue.dropped());
    }

    /** What is seen in passing is in order, whatever comes and goes. */
    @ParameterizedTest
    @MethodSource("thalweg.queue.Kinds#young")
    void iteratorsSeeItemsInOrder(Kinds.Kind kind) throws Exception {
        BlockQueue<Integer> queue = kind.queue();
        int items = items(queue.capacity());
        List<Callable<Void>> threads = times(1, self -> {
            for (int number = 0; number < items; number++) {
                queue.put(number);
            }
            queue.close();
        });
        threads.add(() -> {
            while (queue.take() != null) {
                Thread.onSpinWait();
            }
            return null;
        });
        threads.add(() -> {
            while (!queue.isDone()) {
                int last = -1;
                for (int number : queue) {
                    assertTrue(number > last, number + " after " + last);
                    last = number;
                }
                assertTrue(queue.size() <= queue.capacity());
            }
            return null;
        });
        run(threads);
    }

    private interface Body {
        void run(int self) throws Exception;
    }

    private static List<Callable<Void>> times(int count, Body body) {
        List<Callable<Void>> threads = new ArrayList<>();
        for (int each = 0; each < count; each++) {
            int self = each;
            threads.add(() -> {
                body.run(self);
                return null;
            });
        }
        return threads;
    }

    /** Runs them all, at one time. The first that fails ends the others. */
    private static void run(List<Callable<Void>> threads) throws Exception {
        CyclicBarrier start = new CyclicBarrier(threads.size());
        ExecutorService pool = Executors.newFixedThreadPool(threads.size(), body -> {
            Thread thread = new Thread(body);
            thread.setDaemon(true);
            return thread;
        });
        try {
            List<Future<Void>> running = new ArrayList<>();
            for (Callable<Void> body : threads) {
                running.add(pool.submit(() -> {
                    start.await();
                    return body.call();
                }));
            }
            // Whichever fails first is told first: the others may wait for it in vain.
            for (int left = running.size(); left > 0; ) {
                for (Future<Void> each : List.copyOf(running)) {
                    if (each.isDone()) {
                        each.get();
                        running.remove(each);
                        left--;
                    }
                }
                Thread.sleep(1);
            }
        } finally {
            pool.shutdownNow();
        }
    }
}
