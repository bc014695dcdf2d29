package thalweg.queue.ffm;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;

/** Where the system property {@code thalweg.queue.library} names the library. */
@EnabledIfSystemProperty(named = "thalweg.queue.library", matches = ".+")
@Timeout(value = 2, unit = TimeUnit.MINUTES, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class LongQueueTest {
    @Test
    void itemsComeInOrderUntilTheQueueIsDone() {
        LongQueue queue = LongQueue.mpmc(2, 4);
        LongQueue.Producer producer = queue.producer();
        LongQueue.Consumer consumer = queue.consumer();
        queue.close();
        for (long round = 0; round < 100; round++) {
            assertEquals(-1, consumer.poll(-1));
            for (long number = 0; number < 5; number++) {
                assertTrue(producer.offer(round * number - 2));
            }
            assertEquals(5, consumer.size());
            for (long number = 0; number < 5; number++) {
                assertEquals(round * number - 2, consumer.poll(-1));
            }
        }
        int count = 0;
        while (producer.offer(count)) {
            count++;
        }
        assertTrue(count >= 5 && count <= 8, count + " items");
        assertFalse(consumer.isDone());
        producer.close();
        producer.close();
        assertThrows(IllegalStateException.class, () -> producer.offer(1));
        for (int number = 0; number < count; number++) {
            assertFalse(consumer.isDone());
            assertEquals(number, consumer.poll(-1));
        }
        assertTrue(consumer.isDone());
        consumer.close();
        assertThrows(IllegalStateException.class, () -> consumer.poll(-1));
        assertThrows(IllegalStateException.class, queue::consumer);
    }

    @Test
    void batchesGoThroughArrays() {
        try (LongQueue queue = LongQueue.mpmc(4, 3); LongQueue.Producer producer = queue.producer(); LongQueue.Consumer consumer = queue.consumer()) {
            long[] items = {9, 1, 2, 3, 4, 5, 6, 7, 9};
            assertEquals(7, producer.offerMany(items, 1, 8));
            long[] into = new long[9];
            assertEquals(7, consumer.pollMany(into, 2, 9));
            assertArrayEquals(new long[] {0, 0, 1, 2, 3, 4, 5, 6, 7}, into);
            assertEquals(0, consumer.pollMany(into, 0, 9));
            assertThrows(IndexOutOfBoundsException.class, () -> producer.offerMany(items, 0, 10));
        }
    }

    @Test
    void oldItemsAreOverwritten() {
        try (LongQueue queue = LongQueue.dropOld(4, 16); LongQueue.Producer producer = queue.producer(); LongQueue.Consumer consumer = queue.consumer()) {
            for (long number = 0; number < 1000; number++) {
                assertTrue(producer.offer(number));
            }
            assertEquals(944, consumer.poll(-1));
            assertEquals(944, consumer.dropped());
            long[] into = new long[100];
            assertEquals(55, consumer.pollMany(into, 0, 100));
            assertEquals(999, into[54]);
        }
    }

    @Test
    void theLibrarySaysWhyItRefuses() {
        String reason = assertThrows(IllegalArgumentException.class, () -> LongQueue.mpmc(3, 8)).getMessage();
        assertTrue(reason.contains("3") && reason.contains("power of two"), reason);
    }

    @Test
    void threadsGetEachItemOnce() throws Exception {
        int items = 20_000;
        AtomicIntegerArray seen = new AtomicIntegerArray(2 * items);
        AtomicReference<Throwable> failed = new AtomicReference<>();
        List<Thread> threads = new ArrayList<>();
        try (LongQueue queue = LongQueue.mpmc(4, 16)) {
            AtomicInteger made = new AtomicInteger();
            for (int each = 0; each < 2; each++) {
                long first = (long) each * items;
                LongQueue.Producer producer = queue.producer();
                LongQueue.Consumer consumer = queue.consumer();
                threads.add(new Thread(() -> {
                    try (producer) {
                        for (long number = first; number < first + items; ) {
                            if (producer.offer(number)) {
                                number++;
                            } else {
                                Thread.yield();
                            }
                        }
                    }
                }));
                threads.add(new Thread(() -> {
                    try (consumer) {
                        long[] last = {-1, -1};
                        while (!consumer.isDone()) {
                            long number = consumer.poll(-1);
                            if (number < 0) {
                                Thread.yield();
                                continue;
                            }
                            int producerOf = (int) number / items;
                            assertTrue(number > last[producerOf], number + " after " + last[producerOf]);
                            last[producerOf] = number;
                            seen.incrementAndGet((int) number);
                            made.incrementAndGet();
                        }
                    }
                }));
            }
        }
        for (Thread thread : threads) {
            thread.setDaemon(true);
            thread.setUncaughtExceptionHandler((which, cause) -> failed.compareAndSet(null, cause));
            thread.start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
        assertEquals(null, failed.get());
        for (int number = 0; number < seen.length(); number++) {
            assertEquals(1, seen.get(number), "item " + number);
        }
    }
}
