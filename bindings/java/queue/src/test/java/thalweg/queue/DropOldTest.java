package thalweg.queue;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** What one thread sees of a queue that overwrites. */
@Timeout(value = 2, unit = TimeUnit.MINUTES, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class DropOldTest {
    static Stream<Arguments> old() {
        return Kinds.shapes().flatMap(shape -> Kinds.froms(shape).map(from -> Arguments.of(shape, from)));
    }

    @Test
    void keepsTheNewest() {
        DropOldQueue<Integer> queue = new DropOldQueue<>(4, 16);
        for (int number = 0; number < 1000; number++) {
            assertTrue(queue.offer(number));
        }
        assertEquals(944, queue.peek());
        assertEquals(56, queue.size());
        assertEquals(944, queue.poll());
        assertEquals(944, queue.dropped());
        assertEquals(945, queue.iterator().next());
    }

    @ParameterizedTest
    @MethodSource("old")
    void whatIsOfferedIsTakenOrLeftOrDropped(Shape shape, long from) {
        DropOldQueue<Integer> queue = new DropOldQueue<>(shape, from);
        int kept = (shape.blocks() - 1) * shape.entries();
        Random random = new Random(3);
        int offered = 0;
        int taken = 0;
        // The next item, if none is dropped before.
        int next = 0;
        for (int step = 0; step < 5_000; step++) {
            int many = 1 + random.nextInt(random.nextInt(8) == 0 ? 3 * shape.capacity() : 3);
            if (random.nextBoolean()) {
                if (random.nextBoolean()) {
                    assertTrue(queue.offer(offered++));
                } else {
                    Integer[] items = new Integer[many];
                    for (int at = 0; at < many; at++) {
                        items[at] = offered++;
                    }
                    assertEquals(many, queue.offerMany(items, 0, many));
                }
                int left = offered - Math.max(next, offered - shape.capacity());
                assertTrue(queue.size() <= left && queue.size() >= Math.min(kept, left), queue.size() + " of " + left);
            } else {
                int size = queue.size();
                Object[] into = new Object[many + 1];
                int count = random.nextBoolean() ? queue.pollMany(into, 0, many) : (into[0] = queue.poll()) == null ? 0 : 1;
                assertNull(into[count]);
                assertEquals(0, size == 0 ? count : 0);
                for (int at = 0; at < count; at++) {
                    int item = (Integer) into[at];
                    assertTrue(item >= next && (at == 0 || item == next), item + " after " + next);
                    taken += 1;
                    next = item + 1;
                    assertEquals(next, taken + queue.dropped());
                }
                assertEquals(size - count, queue.size());
                int expected = next;
                for (int item : queue) {
                    assertEquals(expected++, item);
                }
                assertEquals(offered, expected + (count == 0 && size > 0 ? 1 : 0));
                assertEquals(offered == next ? null : (Integer) next, queue.peek());
            }
        }
        assertTrue(queue.dropped() > 0 && taken > 100);
    }

    @ParameterizedTest
    @MethodSource("old")
    void closedItIsDrainedAndDone(Shape shape, long from) {
        for (int before = 0; before < 3 * shape.capacity(); before++) {
            DropOldQueue<Integer> queue = new DropOldQueue<>(shape, from);
            for (int number = 0; number < before; number++) {
                queue.offer(number);
            }
            queue.close();
            assertFalse(queue.offer(9));
            assertEquals(0, queue.offerMany(new Integer[] {9}, 0, 1));
            assertEquals(before == 0, queue.isDone());
            int left = queue.size();
            for (int number = before - left; number < before; number++) {
                assertFalse(queue.isDone());
                assertEquals(number, queue.poll());
            }
            assertNull(queue.poll());
            assertTrue(queue.isDone() && queue.isClosed());
            assertEquals(before - left, queue.dropped());
        }
    }
}
