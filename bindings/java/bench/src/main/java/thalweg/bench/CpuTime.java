package thalweg.bench;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.util.Collection;
import java.util.List;
import org.openjdk.jmh.infra.BenchmarkParams;
import org.openjdk.jmh.infra.IterationParams;
import org.openjdk.jmh.profile.InternalProfiler;
import org.openjdk.jmh.results.AggregationPolicy;
import org.openjdk.jmh.results.IterationResult;
import org.openjdk.jmh.results.Result;
import org.openjdk.jmh.results.ScalarResult;

/** The processor time of the whole process for an operation: on a machine that others use, it says more than the clock. */
public final class CpuTime implements InternalProfiler {
    static final String LABEL = "cpu";

    /** Linux's {@code CLOCK_PROCESS_CPUTIME_ID}. What the JDK has counts in steps of 10 ms. */
    private static final int PROCESS = 2;

    private final MemorySegment time = Arena.global().allocate(ValueLayout.JAVA_LONG, 2);
    private final MethodHandle clock = Linker.nativeLinker().downcallHandle(Linker.nativeLinker().defaultLookup().find("clock_gettime").orElseThrow(),
            FunctionDescriptor.of(ValueLayout.JAVA_INT, ValueLayout.JAVA_INT, ValueLayout.ADDRESS));
    private long before;

    private long now() {
        try {
            int failed = (int) clock.invokeExact(PROCESS, time);
            return failed != 0 ? 0 : time.getAtIndex(ValueLayout.JAVA_LONG, 0) * 1_000_000_000 + time.getAtIndex(ValueLayout.JAVA_LONG, 1);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    @Override
    public String getDescription() {
        return "processor time of the process";
    }

    @Override
    public void beforeIteration(BenchmarkParams benchmark, IterationParams iteration) {
        before = now();
    }

    @Override
    public Collection<? extends Result> afterIteration(BenchmarkParams benchmark, IterationParams iteration, IterationResult result) {
        double each = (double) (now() - before) / result.getMetadata().getAllOps();
        return List.of(new ScalarResult(LABEL, each, "ns/op", AggregationPolicy.AVG));
    }
}
