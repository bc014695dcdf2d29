package thalweg.bench;

import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;

/** Disruptor's programs: so many producers, and consumers that each get every item. The time of an item, from the first offer to the last poll. */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.SingleShotTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
public class Moving {
    static final int ITEMS = 200_000;

    @Param("1")
    int producers;
    @Param("1")
    int consumers;
    @Param("1")
    int batch;
    @Param("thalweg")
    String contender;

    private Contender queue;

    @Setup
    public void make() {
        queue = Contender.of(contender, producers, consumers, batch);
    }

    @Benchmark
    @OperationsPerInvocation(ITEMS)
    public long items() throws InterruptedException {
        int each = ITEMS / producers;
        long sum = queue.move(producers, each);
        if (sum != Contender.sum(each) * producers * consumers) {
            throw new IllegalStateException("items were lost or doubled: " + sum);
        }
        return sum;
    }

    @TearDown
    public void end() {
        queue.close();
        if (contender.equals("Disruptor")) {
            System.out.println("mean batch: " + (double) Contender.Ring.items / Contender.Ring.batches);
        }
    }
}
