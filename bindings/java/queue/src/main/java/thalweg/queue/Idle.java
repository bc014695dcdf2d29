package thalweg.queue;

import java.util.concurrent.locks.LockSupport;

/** How a thread waits that found nothing to do: on the processor for some microseconds, then for one time slice after the other, then asleep. */
final class Idle {
    private static final int SPINS = 200;
    private static final int YIELDS = 10;
    private static final long SHORTEST = 1_000;
    private static final long LONGEST = 1_000_000;

    /** For so long another thread that is half-way is waited for on the processor; then it may need ours. */
    private static final int HALF_WAY = 100;

    private int turns;
    private long nanos = SHORTEST;

    /** Waits for another thread that is half-way through an operation, for the {@code turn}-th time. Returns the next turn. */
    static int halfWay(int turn) {
        if (turn < HALF_WAY) {
            Thread.onSpinWait();
        } else {
            Thread.yield();
        }
        return turn + 1;
    }

    /** Waits a little, each time longer, at most a millisecond. */
    void pause() throws InterruptedException {
        if (turns < SPINS + YIELDS) {
            turns++;
        }
        if (turns < SPINS) {
            Thread.onSpinWait();
            return;
        }
        if (Thread.interrupted()) {
            throw new InterruptedException("interrupted while waiting for a queue");
        }
        if (turns < SPINS + YIELDS) {
            Thread.yield();
            return;
        }
        LockSupport.parkNanos(this, nanos);
        nanos = Math.min(2 * nanos, LONGEST);
    }
}
