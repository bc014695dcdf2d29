package thalweg.queue;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertIterableEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** What one thread sees: every answer is checked against a list. */
@Timeout(value = 2, unit = TimeUnit.MINUTES, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class OneThreadTest {
    @ParameterizedTest
    @MethodSource("thalweg.queue.Kinds#all")
    void agreesWithAList(Kinds.Kind kind) {
        BlockQueue<Integer> queue = kind.queue();
        ArrayDeque<Integer> list = new ArrayDeque<>();
        Random random = new Random(7);
        int next = 0;
        for (int step = 0; step < 5_000; step++) {
            switch (random.nextInt(7)) {
                case 0, 1 -> {
                    boolean added = random.nextBoolean() ? queue.offer(next) : queue.relaxedOffer(next);
                    assertTrue(added || list.size() >= kind.room(), "full with " + list.size());
                    assertTrue(!added || list.size() < kind.capacity(), "never full");
                    if (added) {
                        list.add(next++);
                    }
                }
                case 2, 3 -> assertEquals(list.poll(), random.nextBoolean() ? queue.poll() : queue.relaxedPoll());
                case 4 -> {
                    Integer[] items = new Integer[1 + random.nextInt(kind.capacity() + 2)];
                    Arrays.setAll(items, index -> index);
                    for (int at = 0; at < items.length; at++) {
                        items[at] = next + at;
                    }
                    int added = queue.offerMany(items, 0, items.length);
                    assertTrue(added == items.length || list.size() + added >= kind.room(), added + " added to " + list.size());
                    for (int at = 0; at < added; at++) {
                        list.add(next++);
                    }
                }
                case 5 -> {
                    Object[] into = new Object[1 + random.nextInt(kind.capacity())];
                    int taken = queue.pollMany(into, 0, into.length);
                    assertEquals(Math.min(into.length, list.size()), taken);
                    for (int at = 0; at < taken; at++) {
                        assertEquals(list.poll(), into[at]);
                    }
                }
                default -> {
                    assertEquals(list.peek(), queue.peek());
                    assertIterableEquals(list, queue);
                }
            }
            assertEquals(list.size(), queue.size());
            assertEquals(list.isEmpty(), queue.isEmpty());
        }
        assertTrue(next > 3 * kind.capacity());
    }

    @ParameterizedTest
    @MethodSource("thalweg.queue.Kinds#all")
    void closedItIsDrainedAndDone(Kinds.Kind kind) throws InterruptedException {
        for (int before = 0; before <= 2 * kind.capacity(); before++) {
            BlockQueue<Integer> queue = kind.queue();
            for (int number = 0; number < before; number++) {
                assertTrue(queue.offer(number));
                assertEquals(number, queue.poll());
            }
            int left = Math.min(before, kind.room() - 1);
            for (int number = 0; number < left; number++) {
                assertTrue(queue.offer(number));
            }
            assertFalse(queue.isClosed() || queue.isDone());
            queue.close();
            queue.close();
            assertTrue(queue.isClosed());
            assertFalse(queue.offer(9) || queue.relaxedOffer(9) || queue.put(9));
            assertEquals(0, queue.offerMany(new Integer[] {9}, 0, 1));
            assertEquals("the queue is closed", assertThrows(IllegalStateException.class, () -> queue.add(9)).getMessage());
            assertEquals(left, queue.size());
            for (int number = 0; number < left; number++) {
                assertFalse(queue.isDone());
                assertEquals(number, number % 2 == 0 ? queue.take() : queue.poll());
            }
            assertNull(queue.poll());
            assertNull(queue.peek());
            assertNull(queue.take());
            assertEquals(0, queue.pollMany(new Object[3], 0, 3));
            assertTrue(queue.isDone());
        }
    }

    @Test
    void roomIsForSoMany() {
        for (int capacity : new int[] {1, 2, 3, 7, 64, 100, 1000, 4096}) {
            for (BlockQueue<Integer> queue : List.of(BlockQueue.<Integer>spsc(capacity), BlockQueue.<Integer>spmc(capacity),
                    BlockQueue.<Integer>mpsc(capacity), BlockQueue.<Integer>mpmc(capacity))) {
                for (int begin = 0; begin < 70; begin++) {
                    for (int number = 0; number < capacity; number++) {
                        assertTrue(queue.offer(number), capacity + ": only " + number);
                    }
                    assertEquals(capacity, queue.drain(item -> { }, capacity));
                    queue.offer(0);
                    queue.poll();
                }
                assertTrue(queue.capacity() >= capacity);
            }
        }
        assertEquals(64, BlockQueue.mpmc(4, 16).capacity());
    }

    @Test
    void whatIsNotPossibleIsRefused() {
        assertEquals("blocks is 3, and must be a power of two and at least 2",
                assertThrows(IllegalArgumentException.class, () -> BlockQueue.mpmc(3, 8)).getMessage());
        assertThrows(IllegalArgumentException.class, () -> BlockQueue.mpmc(1, 8));
        assertThrows(IllegalArgumentException.class, () -> BlockQueue.mpmc(2, 0));
        assertThrows(IllegalArgumentException.class, () -> BlockQueue.mpmc(2, 1 << 30));
        assertThrows(IllegalArgumentException.class, () -> new DropOldQueue<>(0));
        assertEquals("capacity is 0, and must be 1 to 536870912",
                assertThrows(IllegalArgumentException.class, () -> BlockQueue.spsc(0)).getMessage());
        BlockQueue<Integer> queue = BlockQueue.mpmc(2, 1);
        assertThrows(NullPointerException.class, () -> queue.offer(null));
        assertThrows(NullPointerException.class, () -> queue.offerMany(new Integer[] {1, null}, 0, 2));
        assertThrows(IndexOutOfBoundsException.class, () -> queue.offerMany(new Integer[] {1}, 0, 2));
        assertThrows(IllegalArgumentException.class, () -> queue.drainTo(queue, 1));
        assertEquals(0, queue.size());
        queue.add(1);
        queue.add(2);
        assertEquals("the queue is full: capacity 2", assertThrows(IllegalStateException.class, () -> queue.add(3)).getMessage());
        assertEquals("BlockQueue[size=2, capacity=2]", queue.toString());
    }

    @Test
    void drainsIntoACollection() {
        try (BlockQueue<Integer> queue = BlockQueue.mpmc(10)) {
            for (int number = 0; number < 10; number++) {
                queue.add(number);
            }
            List<Integer> into = new ArrayList<>();
            assertEquals(4, queue.drainTo(into, 4));
            assertEquals(6, queue.drain(into::add));
            assertEquals(0, queue.drain(into::add, -1));
            assertIterableEquals(List.of(0, 1, 2, 3, 4, 5, 6, 7, 8, 9), into);
            queue.add(1);
            queue.add(2);
            assertThrows(IllegalStateException.class, () -> queue.drain(item -> {
                throw new IllegalStateException();
            }));
            assertEquals(2, queue.poll());
        }
    }

    /** What is taken can be collected: the ring does not refer to it any more. */
    @ParameterizedTest
    @MethodSource("thalweg.queue.Kinds#young")
    void takenItemsAreLetGo(Kinds.Kind kind) {
        RetryQueue<Object> queue = (RetryQueue<Object>) kind.<Object>queue();
        queue.offer(new Object());
        queue.offer(new Object());
        queue.poll();
        queue.pollMany(new Object[1], 0, 1);
        assertTrue(Arrays.stream(queue.slots).allMatch(Objects::isNull));
    }
}
