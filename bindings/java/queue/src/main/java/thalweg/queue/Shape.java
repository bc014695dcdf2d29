package thalweg.queue;

/**
 * The shape of a ring, and the arithmetic of places in it.
 *
 * <p>A <em>place</em> is one word: in its upper bits the number of a block, counted over all rounds, below them an offset in that block. The
 * offset has room to run past the end, by one for each thread and once by the length of the block, when the queue is closed. Numbers wrap: places
 * are compared by their difference.
 */
record Shape(int blocks, int entries, int bits) {
    /** How many threads may be inside {@code offer} at once. */
    private static final int THREADS = 1 << 20;

    /** How many longs lie between two cursors of different owners: two cache lines, as processors fetch lines in pairs. */
    static final int APART = 16;

    static Shape of(int blocks, int entries) {
        if (blocks < 2 || Integer.bitCount(blocks) != 1) {
            throw new IllegalArgumentException("blocks is " + blocks + ", and must be a power of two and at least 2");
        }
        int most = Math.min(1 << 29, (Integer.MAX_VALUE - 8) / blocks);
        if (entries < 1 || entries > most || blocks > 1 << 24) {
            throw new IllegalArgumentException(blocks + " blocks of " + entries + " entries: there may be 1 to " + most
                    + " entries in each of so many blocks, and at most " + (1 << 24) + " blocks");
        }
        return new Shape(blocks, entries, Long.SIZE - Long.numberOfLeadingZeros(2L * entries + THREADS));
    }

    /** Blocks for {@code capacity} entries by the rule of section 2.6.2.1 of the thesis, and entries so that as many items fit for certain. */
    static Shape withRoom(int capacity) {
        if (capacity < 1 || capacity > 1 << 29) {
            throw new IllegalArgumentException("capacity is " + capacity + ", and must be 1 to " + (1 << 29));
        }
        int blocks = 1 << Math.max(1, (31 - Integer.numberOfLeadingZeros(capacity)) / 4);
        // All blocks but one, and one entry more, can be filled wherever the queue begins.
        return of(blocks, Math.max(1, (capacity - 1 + blocks - 2) / (blocks - 1)));
    }

    int capacity() {
        return blocks * entries;
    }

    /** An array for one cursor of each block, with as much space in front of the first and behind the last. */
    long[] cursors() {
        return new long[(blocks + 2) * APART];
    }

    /** The start of the block of this number. */
    long block(long number) {
        return number << bits;
    }

    /** The start of the block of {@code place}. */
    long start(long place) {
        return place >> bits << bits;
    }

    /** The start of the block after that of {@code place}. */
    long after(long place) {
        return (place >> bits) + 1 << bits;
    }

    /** The same block one round earlier; {@code start} is its start. */
    long lastRound(long start) {
        return start - ((long) blocks << bits);
    }

    int offset(long place) {
        return (int) (place & (1L << bits) - 1);
    }

    boolean inOneBlock(long a, long b) {
        return a >> bits == b >> bits;
    }

    private int index(long place) {
        return (int) (place >> bits) & blocks - 1;
    }

    /** Where the cursor of the block of {@code place} is in {@link #cursors}. */
    int cell(long place) {
        return (index(place) + 1) * APART;
    }

    /** Which entry of the ring {@code place} is. Its offset is one of the block. */
    int slot(long place) {
        return index(place) * entries + offset(place);
    }

    /** What marks the entries of the block of {@code place} in its round: rounds of a block have two marks in turn. */
    byte mark(long place) {
        return (byte) ((place >> bits & blocks) == 0 ? 0 : 1);
    }

    /** How many entries lie between two places; negative if {@code to} is in front of {@code from}. What ran past an end counts as that end. */
    long distance(long from, long to) {
        long blocks = start(to) - start(from) >> bits;
        return blocks * entries + Math.min(offset(to), entries) - Math.min(offset(from), entries);
    }
}
