package thalweg.queue;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Iterator;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What others see while a thread is stopped in the middle of an operation: the test takes its first step, and later the second. */
@Timeout(value = 2, unit = TimeUnit.MINUTES, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class HalfWayTest {
    private final RetryQueue<String> queue = new RetryQueue<>(Shape.of(2, 3), true, true, 0);
    private final int cell = queue.shape.cell(queue.shape.block(0));

    @Test
    void whatIsBehindAnOfferWaitsForIt() {
        queue.offer("a");
        queue.producers[cell]++;
        queue.offer("c");
        assertEquals(3, queue.size());
        assertEquals("a", queue.relaxedPoll());
        assertNull(queue.relaxedPoll());
        Iterator<String> seen = queue.iterator();
        assertEquals("c", seen.next());
        assertFalse(seen.hasNext());
        queue.close();
        assertNull(queue.relaxedPoll());
        assertFalse(queue.isDone());
        queue.slots[1] = "b";
        assertEquals("b", queue.poll());
        assertEquals("c", queue.poll());
        assertNull(queue.poll());
        assertTrue(queue.isDone());
    }

    @Test
    void theBlockOfAPollIsNotUsedAgain() {
        for (String item : "a b c d e f".split(" ")) {
            assertTrue(queue.offer(item));
        }
        assertEquals("a", queue.poll());
        assertTrue(queue.reserve(cell, queue.consumers[cell], 1));
        assertEquals("c", queue.poll());
        assertEquals("d", queue.poll());
        assertFalse(queue.relaxedOffer("g"));
        assertEquals("b", queue.slots[1]);
        queue.slots[1] = null;
        assertTrue(queue.offer("g"));
        assertEquals("g", queue.slots[0]);
    }

    /** The last entry of a block is reserved by a poll that says nothing yet; who polls in the next block has room afterwards. */
    @Test
    void aPollBehindAnotherMakesRoom() {
        RetryQueue<String> queue = new RetryQueue<>(Shape.of(2, 1), true, true, 0);
        queue.offer("a");
        queue.offer("b");
        // Reserved and empty, and not told to producers.
        queue.consumers[cell]++;
        queue.slots[0] = null;
        assertFalse(queue.relaxedOffer("c"));
        assertEquals("b", queue.poll());
        assertTrue(queue.relaxedOffer("c"));
        assertEquals("c", queue.poll());
    }

    @Test
    void closingIsTheLastOfAllOffers() {
        RetryQueue<String> queue = new RetryQueue<>(Shape.of(2, 3), true, true, 0);
        queue.offer("a");
        queue.close();
        // Who read the head before the queue was closed finds no entry in its block.
        assertTrue(queue.shape.offset(queue.producers[cell]) >= queue.shape.entries());
        DropOldQueue<String> old = new DropOldQueue<>(2, 3);
        old.offer("a");
        old.close();
        assertTrue(old.shape.offset(old.producers[cell]) >= old.shape.entries());
    }

    @Test
    void anOfferThatWasOvertakenByARoundHoldsUpTheNext() {
        DropOldQueue<Integer> old = new DropOldQueue<>(2, 3);
        assertTrue(old.offer(0));
        long late = old.producers[cell]++;
        for (int number = 2; number < 6; number++) {
            assertTrue(old.offer(number));
        }
        assertFalse(old.offer(6));
        assertEquals(0, old.offerMany(new Integer[] {6}, 0, 1));
        assertEquals(0, old.relaxedPoll());
        assertNull(old.relaxedPoll());
        old.write(late, 1);
        assertTrue(old.offer(6));
        assertEquals(3, old.poll());
        assertEquals(2, old.dropped());
        assertEquals(4, old.size() + 1);
    }

    @Test
    void whatIsOverwrittenWhileItIsReadIsNotTaken() {
        DropOldQueue<Integer> old = new DropOldQueue<>(2, 2);
        Object[] into = new Object[2];
        for (int number = 0; number < 5; number++) {
            old.offer(number);
        }
        long next = old.shape.block(0);
        assertEquals(next, old.heads[DropOldQueue.NEXT]);
        assertNull(old.read(next, true));
        assertEquals(2, old.dropped());
        assertFalse(old.readMany(next, into, 0, 2));
        long second = old.heads[DropOldQueue.NEXT];
        assertEquals(2, old.read(second, false));
        assertEquals(2, old.read(second, true));
        assertNull(old.read(second, true));
        assertFalse(old.readMany(second, into, 0, 1));
        assertEquals(3, old.poll());

        DropOldQueue<Integer> batches = new DropOldQueue<>(2, 2);
        for (int number = 0; number < 5; number++) {
            batches.offer(number);
        }
        assertFalse(batches.readMany(next, into, 0, 2));
        assertEquals(2, batches.pollMany(into, 0, 2));
        assertEquals(2, into[0]);
        assertEquals(2, batches.dropped());
    }

    /** A consumer that looked at an item which another one has taken since goes on to the next: the queue is not empty. */
    @Test
    void whatAnotherTookIsNotTheEnd() {
        for (boolean manyProducers : new boolean[] {false, true}) {
            RetryQueue<String> queue = new RetryQueue<>(Shape.of(2, 3), manyProducers, true, 0);
            queue.offer("a");
            queue.offer("b");
            long seen = queue.consumers[cell];
            assertEquals("a", queue.poll());
            assertEquals(RetryQueue.Next.GO, queue.look(cell, seen));
            assertEquals("b", queue.poll());
            assertEquals(RetryQueue.Next.NO, queue.look(cell, queue.consumers[cell]));
        }
    }
}
