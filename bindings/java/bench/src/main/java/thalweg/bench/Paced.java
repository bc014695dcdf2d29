package thalweg.bench;

import java.util.Arrays;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;

/** Producers of 10 000 items a second each, and none or one consumer of 1000: how long an offer takes, by the clock, whose own time is taken off. */
final class Paced {
    private static final int OFFERS = 2000;
    private static final long PACE = 100_000;
    private static final long SLOW = 1_000_000;

    private Paced() {
    }

    /** The mean of all offers, in ns. */
    static double mean(String contender, int producers, int consumers) throws InterruptedException {
        Contender.Maker<Contender.Old> ends = Contender.old(contender, Overwriting.CAPACITY);
        AtomicBoolean over = new AtomicBoolean();
        long[][] times = new long[producers][OFFERS];
        Thread[] threads = new Thread[producers];
        for (int producer = 0; producer < producers; producer++) {
            Contender.Old end = ends.make();
            long[] own = times[producer];
            threads[producer] = Contender.start(() -> {
                long next = System.nanoTime();
                for (int number = 0; number < OFFERS; number++) {
                    LockSupport.parkNanos(next - System.nanoTime());
                    long before = System.nanoTime();
                    end.offer(number);
                    own[number] = System.nanoTime() - before;
                    next += PACE;
                }
                end.close();
            });
        }
        if (consumers > 0) {
            Contender.Old end = ends.make();
            Contender.start(() -> {
                while (!over.get()) {
                    LockSupport.parkNanos(SLOW);
                    end.poll();
                }
                end.close();
            });
        }
        for (Thread thread : threads) {
            thread.join();
        }
        over.set(true);
        // The first quarter is a warm-up.
        double all = Arrays.stream(times).flatMapToLong(own -> Arrays.stream(own, OFFERS / 4, OFFERS)).average().orElseThrow();
        return all - clock();
    }

    private static double clock() {
        long start = System.nanoTime();
        for (int turn = 0; turn < 9_999; turn++) {
            System.nanoTime();
        }
        return (System.nanoTime() - start) / 1e4;
    }
}
