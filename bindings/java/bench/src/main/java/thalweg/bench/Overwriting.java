package thalweg.bench;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;

/** Queues that overwrite the oldest: the time of an offer, over all producers, beside none or one consumer that polls as fast as it can. */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.SingleShotTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
public class Overwriting {
    private static final int ITEMS = 200_000;
    static final int CAPACITY = 4096;

    @Param("1")
    int producers;
    @Param("0")
    int consumers;
    @Param("thalweg")
    String contender;

    private Contender.Maker<Contender.Old> ends;

    @Setup
    public void make() {
        ends = Contender.old(contender, CAPACITY);
    }

    @Benchmark
    @OperationsPerInvocation(ITEMS)
    public void offers() throws InterruptedException {
        AtomicBoolean over = new AtomicBoolean();
        Thread[] threads = new Thread[producers];
        for (int producer = 0; producer < producers; producer++) {
            Contender.Old end = ends.make();
            threads[producer] = Contender.start(() -> {
                for (int number = 0; number < ITEMS / producers; number++) {
                    end.offer(number);
                }
                end.close();
            });
        }
        Thread[] others = new Thread[consumers];
        for (int consumer = 0; consumer < consumers; consumer++) {
            Contender.Old end = ends.make();
            others[consumer] = Contender.start(() -> {
                for (int turn = 0; !over.get(); ) {
                    turn = end.poll() ? 0 : Contender.idle(turn);
                }
                end.close();
            });
        }
        for (Thread thread : threads) {
            thread.join();
        }
        over.set(true);
        for (Thread thread : others) {
            thread.join();
        }
    }
}
