package thalweg.queue;

import java.util.List;
import java.util.stream.Stream;

/** The queues under test: of each kind, small ones, and such as are old enough for their numbers to wrap. */
final class Kinds {
    record Kind(String name, int blocks, int entries, boolean manyProducers, boolean manyConsumers, long from) {
        <E> BlockQueue<E> queue() {
            return new RetryQueue<>(Shape.of(blocks, entries), manyProducers, manyConsumers, from);
        }

        /** So many items fit wherever the queue begins. */
        int room() {
            return (blocks - 1) * entries + 1;
        }

        int capacity() {
            return blocks * entries;
        }

        @Override
        public String toString() {
            return name + " " + blocks + "x" + entries + (from == 0 ? "" : " from " + from);
        }
    }

    private Kinds() {
    }

    static Stream<Kind> all() {
        return Stream.of("spsc", "spmc", "mpsc", "mpmc").flatMap(name -> shapes().flatMap(shape -> froms(shape)
                .map(from -> new Kind(name, shape.blocks(), shape.entries(), name.startsWith("m"), name.startsWith("mc", 2), from))));
    }

    static Stream<Kind> young() {
        return all().filter(kind -> kind.from == 0);
    }

    static Stream<Shape> shapes() {
        return Stream.of(Shape.of(2, 1), Shape.of(2, 3), Shape.of(4, 2), Shape.of(8, 64));
    }

    /** Numbers of blocks from which a test soon reaches the end of the numbers, or of the positive ones. */
    static Stream<Long> froms(Shape shape) {
        return List.of(0L, -3L, (1L << 63 - shape.bits()) - 3).stream();
    }

    /** An item that says whose it is, and whether it arrived whole. */
    static final class Item {
        final int producer;
        final int number;
        private int check;

        Item(int producer, int number) {
            this.producer = producer;
            this.number = number;
            check = ~number;
        }

        boolean isWhole() {
            return check == ~number;
        }

        @Override
        public String toString() {
            return producer + ":" + number;
        }
    }
}
