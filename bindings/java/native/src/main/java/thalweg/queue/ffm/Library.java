package thalweg.queue.ffm;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_BOOLEAN;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.SymbolLookup;
import java.lang.invoke.MethodHandle;
import java.nio.file.Path;

/** The functions of the C library, by their names in {@code thalweg_queue.h}. */
final class Library {
    static final int OK = 0;
    static final int WAIT_YIELD = 0;

    private static final Linker LINKER = Linker.nativeLinker();
    private static final SymbolLookup SYMBOLS = find();

    static final MethodHandle NEW = function("thalweg_bbq_new", JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_INT, ADDRESS, ADDRESS, ADDRESS, JAVA_LONG);
    static final MethodHandle NEW_DROP_OLD = function("thalweg_records_new_drop_old", JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_INT, ADDRESS,
            ADDRESS, ADDRESS, JAVA_LONG);
    static final End PRODUCER = End.of("bbq_producer", "bbq_try_push_many");
    static final End CONSUMER = End.of("bbq_consumer", "bbq_try_pop_many");
    static final End RECORDS_PRODUCER = End.of("records_producer", "records_try_push_many");
    static final End RECORDS_CONSUMER = End.of("records_consumer", "records_try_pop_many");
    /** The item is a pointer there, and any 64 bits here. */
    static final MethodHandle PUSH = quick("thalweg_bbq_try_push", JAVA_INT, ADDRESS, JAVA_LONG);
    static final MethodHandle POP = quick("thalweg_bbq_try_pop", JAVA_INT, ADDRESS, ADDRESS);
    static final MethodHandle RECORDS_PUSH = quick("thalweg_records_try_push", JAVA_INT, ADDRESS, ADDRESS);
    static final MethodHandle RECORDS_POP = quick("thalweg_records_try_pop", JAVA_INT, ADDRESS, ADDRESS);
    static final MethodHandle RECORDS_DROPPED = function("thalweg_records_consumer_dropped", JAVA_LONG, ADDRESS);

    /** The functions of one kind of handle. */
    record End(MethodHandle copy, MethodHandle free, MethodHandle closed, MethodHandle len, MethodHandle many) {
        static End of(String handle, String many) {
            String name = "thalweg_" + handle;
            return new End(function(name + "_clone", ADDRESS, ADDRESS),
                    LINKER.downcallHandle(SYMBOLS.find(name + "_free").orElseThrow(), FunctionDescriptor.ofVoid(ADDRESS)),
                    function(name + "_is_closed", JAVA_BOOLEAN, ADDRESS), function(name + "_len", JAVA_LONG, ADDRESS),
                    quick("thalweg_" + many, JAVA_INT, ADDRESS, ADDRESS, JAVA_LONG, ADDRESS));
        }
    }

    private Library() {
    }

    private static SymbolLookup find() {
        String file = System.getProperty("thalweg.queue.library");
        if (file != null) {
            return SymbolLookup.libraryLookup(Path.of(file), Arena.global());
        }
        System.loadLibrary("thalweg_queue_c");
        return SymbolLookup.loaderLookup();
    }

    private static MethodHandle function(String name, MemoryLayout result, MemoryLayout... arguments) {
        return LINKER.downcallHandle(SYMBOLS.find(name).orElseThrow(), FunctionDescriptor.of(result, arguments));
    }

    /**
     * One that never waits and calls nothing back: it is called without a change of the thread's state, and may touch arrays of the heap meanwhile, which
     * holds the collector up for so long.
     */
    private static MethodHandle quick(String name, MemoryLayout result, MemoryLayout... arguments) {
        return LINKER.downcallHandle(SYMBOLS.find(name).orElseThrow(), FunctionDescriptor.of(result, arguments), Linker.Option.critical(true));
    }
}
