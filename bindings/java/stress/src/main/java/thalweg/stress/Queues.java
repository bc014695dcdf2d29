package thalweg.stress;

import static org.openjdk.jcstress.annotations.Expect.ACCEPTABLE;
import static org.openjdk.jcstress.annotations.Expect.ACCEPTABLE_INTERESTING;
import static org.openjdk.jcstress.annotations.Expect.FORBIDDEN;

import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.III_Result;
import org.openjdk.jcstress.infra.results.II_Result;
import org.openjdk.jcstress.infra.results.ZII_Result;
import thalweg.queue.BlockQueue;

/**
 * What {@link BlockQueue} promises, one small test each. Queues have two blocks of one entry, so that every offer and every poll goes on to another
 * block. 0 stands for null.
 */
public final class Queues {
    private Queues() {
    }

    static int word(Integer item) {
        return item == null ? 0 : item;
    }

    /** Two producers: both items are in the queue afterwards, once each. */
    @JCStressTest
    @Outcome(id = {"1, 2", "2, 1"}, expect = ACCEPTABLE, desc = "each once")
    @Outcome(expect = FORBIDDEN, desc = "lost or doubled")
    @State
    public static class TwoProducers {
        final BlockQueue<Integer> queue = BlockQueue.mpmc(4, 1);

        @Actor
        public void one() {
            queue.offer(1);
        }

        @Actor
        public void two() {
            queue.offer(2);
        }

        @Arbiter
        public void after(II_Result r) {
            r.r1 = word(queue.poll());
            r.r2 = word(queue.poll());
        }
    }

    /** Two consumers of two items: each item goes to one of them. */
    @JCStressTest
    @Outcome(id = {"1, 2, 0", "2, 1, 0"}, expect = ACCEPTABLE, desc = "each once")
    @Outcome(expect = FORBIDDEN, desc = "lost, doubled, or found empty")
    @State
    public static class TwoConsumers {
        final BlockQueue<Integer> queue = BlockQueue.mpmc(4, 1);

        public TwoConsumers() {
            queue.offer(1);
            queue.offer(2);
        }

        @Actor
        public void one(III_Result r) {
            r.r1 = word(queue.poll());
        }

        @Actor
        public void two(III_Result r) {
            r.r2 = word(queue.poll());
        }

        @Arbiter
        public void after(III_Result r) {
            r.r3 = word(queue.poll());
        }
    }

    /** One producer, one consumer: what is polled comes in order, and what is not polled is there afterwards. */
    public abstract static class InOrder {
        final BlockQueue<Integer> queue;

        InOrder(BlockQueue<Integer> queue) {
            this.queue = queue;
        }

        public void produce() {
            queue.offer(1);
            queue.offer(2);
        }

        public void consume(III_Result r) {
            r.r1 = word(queue.poll());
            r.r2 = word(queue.poll());
        }

        public void rest(III_Result r) {
            for (int digit = word(queue.poll()); digit != 0; digit = word(queue.poll())) {
                r.r3 = 10 * r.r3 + digit;
            }
        }
    }

    /** The queue for many. */
    @JCStressTest
    @Outcome(id = {"0, 0, 12", "0, 1, 2", "1, 0, 2"}, expect = ACCEPTABLE, desc = "the consumer was early")
    @Outcome(id = "1, 2, 0", expect = ACCEPTABLE, desc = "the consumer has both")
    @Outcome(expect = FORBIDDEN, desc = "lost, doubled or out of order")
    @State
    public static class ManyInOrder extends InOrder {
        public ManyInOrder() {
            super(BlockQueue.mpmc(4, 1));
        }

        @Actor
        @Override
        public void produce() {
            super.produce();
        }

        @Actor
        @Override
        public void consume(III_Result r) {
            super.consume(r);
        }

        @Arbiter
        @Override
        public void rest(III_Result r) {
            super.rest(r);
        }
    }

    /** The queue for one and one. */
    @JCStressTest
    @Outcome(id = {"0, 0, 12", "0, 1, 2", "1, 0, 2"}, expect = ACCEPTABLE, desc = "the consumer was early")
    @Outcome(id = "1, 2, 0", expect = ACCEPTABLE, desc = "the consumer has both")
    @Outcome(expect = FORBIDDEN, desc = "lost, doubled or out of order")
    @State
    public static class OneInOrder extends InOrder {
        public OneInOrder() {
            super(BlockQueue.spsc(2));
        }

        @Actor
        @Override
        public void produce() {
            super.produce();
        }

        @Actor
        @Override
        public void consume(III_Result r) {
            super.consume(r);
        }

        @Arbiter
        @Override
        public void rest(III_Result r) {
            super.rest(r);
        }
    }

    /** What a thread wrote before it offered is seen by who polls. */
    @JCStressTest
    @Outcome(id = "0, 0", expect = ACCEPTABLE, desc = "too early")
    @Outcome(id = "1, 7", expect = ACCEPTABLE, desc = "seen")
    @Outcome(expect = FORBIDDEN, desc = "the item without what came before it")
    @State
    public static class Visible {
        final BlockQueue<Integer> queue = BlockQueue.mpmc(2, 1);
        int before;

        @Actor
        public void produce() {
            before = 7;
            queue.offer(1);
        }

        @Actor
        public void consume(II_Result r) {
            r.r1 = word(queue.poll());
            r.r2 = r.r1 == 0 ? 0 : before;
        }
    }

    /** Round the ring: a full queue refuses, or has room behind a poll; nothing is overwritten. */
    @JCStressTest
    @Outcome(id = "1, 2, 3", expect = ACCEPTABLE, desc = "offered behind the poll")
    @Outcome(id = "1, 2, 0", expect = ACCEPTABLE, desc = "refused before the poll")
    @Outcome(expect = FORBIDDEN, desc = "lost, doubled or out of order")
    @State
    public static class Full {
        final BlockQueue<Integer> queue = BlockQueue.mpmc(2, 1);

        public Full() {
            queue.offer(1);
            queue.offer(2);
        }

        @Actor
        public void produce() {
            queue.offer(3);
        }

        @Actor
        public void consume(III_Result r) {
            r.r1 = word(queue.poll());
        }

        @Arbiter
        public void after(III_Result r) {
            r.r2 = word(queue.poll());
            r.r3 = word(queue.poll());
        }
    }

    /** Close against an offer: what was accepted can be polled, what was refused cannot, and then the queue is done. */
    @JCStressTest
    @Outcome(id = "true, 1, 1", expect = ACCEPTABLE, desc = "accepted, delivered, done")
    @Outcome(id = "false, 0, 1", expect = ACCEPTABLE, desc = "refused, done")
    @Outcome(expect = FORBIDDEN, desc = "lost behind the close, or not done")
    @State
    public static class Close {
        final BlockQueue<Integer> queue = BlockQueue.mpmc(2, 1);

        @Actor
        public void produce(ZII_Result r) {
            r.r1 = queue.offer(1);
        }

        @Actor
        public void close() {
            queue.close();
        }

        @Arbiter
        public void after(ZII_Result r) {
            r.r2 = word(queue.poll());
            r.r3 = queue.isDone() ? 1 : 0;
        }
    }

    /** Who sees that a queue is done has missed nothing: it was closed behind an offer. */
    @JCStressTest
    @Outcome(id = "0, 0", expect = ACCEPTABLE, desc = "neither yet")
    @Outcome(id = "1, 0", expect = ACCEPTABLE, desc = "not done yet")
    @Outcome(id = "1, 1", expect = ACCEPTABLE_INTERESTING, desc = "taken, then done")
    @Outcome(expect = FORBIDDEN, desc = "done before the item was taken")
    @State
    public static class Done {
        final BlockQueue<Integer> queue = BlockQueue.mpmc(2, 1);

        @Actor
        public void produce() {
            queue.offer(1);
            queue.close();
        }

        @Actor
        public void consume(II_Result r) {
            r.r1 = word(queue.poll());
            r.r2 = queue.isDone() ? 1 : 0;
        }
    }
}
