package thalweg.bench;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.io.UncheckedIOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.LocalDate;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.results.RunResult;
import org.openjdk.jmh.runner.Runner;
import org.openjdk.jmh.runner.RunnerException;
import org.openjdk.jmh.runner.options.ChainedOptionsBuilder;
import org.openjdk.jmh.runner.options.OptionsBuilder;
import org.openjdk.jmh.runner.options.VerboseMode;

/** Runs what is named, the contenders in turns, each in a process of its own, and writes medians with their ranges. */
final class Main {
    private static final List<String> QUEUES = List.of("thalweg", "thalweg mpmc", "thalweg by batches", "thalweg C", "Disruptor", "ArrayBlockingQueue", "JCTools",
            "JCTools mpmc", "Agrona");
    private static final List<String> OLD = List.of("thalweg", "thalweg C", "EvictingQueue", "CircularFifoQueue");

    private final int runs;
    private final int batch;
    private final Path folder;
    private final String machine;

    private Main(int runs, int batch, Path folder, String machine) {
        this.runs = runs;
        this.batch = batch;
        this.folder = folder;
        this.machine = machine;
    }

    public static void main(String[] args) throws Exception {
        if (args.length == 2 && args[0].equals("serve")) {
            serve(args[1]);
            return;
        }
        if (args.length < 5) {
            System.err.println("arguments: RUNS BATCH FOLDER MACHINE EXPERIMENT.., where an experiment is of: moving overwriting paced");
            System.exit(2);
        }
        Main main = new Main(Integer.parseInt(args[0]), Integer.parseInt(args[1]), Path.of(args[2]), args[3]);
        for (String name : List.of(args).subList(4, args.length)) {
            switch (name) {
                case "moving" -> main.moving();
                case "overwriting" -> main.overwriting();
                case "paced" -> main.paced();
                default -> throw new IllegalArgumentException("no experiment " + name);
            }
        }
    }

    /** By the clock, and in processor time. */
    private record Score(double clock, double cpu) { }

    private interface Measure {
        Score run(String contender, int producers, int consumers) throws Exception;
    }

    private void moving() throws Exception {
        Map<String, List<Score>> results = new LinkedHashMap<>();
        for (int[] shape : new int[][] {{1, 1}, {3, 1}, {1, 3}}) {
            turns(results, QUEUES, shape, (contender, producers, consumers) -> jmh("Moving.items", contender, producers, consumers, batch));
        }
        write("moving", "ns of an item, from the first offer to the last poll", "Disruptor's three programs, capacity " + Contender.CAPACITY
                + "; of three consumers each gets every item, by a queue each; by batches of " + batch
                + ", as many as Disruptor's handler got at once in a run before; who waits spins 100 times, then yields", results);
    }

    private void overwriting() throws Exception {
        Map<String, List<Score>> results = new LinkedHashMap<>();
        for (int[] shape : new int[][] {{1, 0}, {8, 0}, {1, 1}, {8, 1}}) {
            turns(results, OLD, shape, (contender, producers, consumers) -> jmh("Overwriting.offers", contender, producers, consumers, batch));
        }
        write("overwriting", "ns of an offer, over all producers", "drop-old, capacity " + Overwriting.CAPACITY
                + ", producers without pause, none or one consumer that polls without pause; the peers under a lock (Guava's synchronizedQueue)", results);
    }

    private void paced() throws Exception {
        Map<String, List<Score>> results = new LinkedHashMap<>();
        for (int[] shape : new int[][] {{1, 0}, {8, 0}, {1, 1}, {8, 1}}) {
            Paced.mean("thalweg", 1, 0);
            turns(results, OLD, shape, (contender, producers, consumers) -> new Score(Paced.mean(contender, producers, consumers), 0));
        }
        write("paced", "ns of an offer, the mean of a run", "drop-old, capacity " + Overwriting.CAPACITY
                + ", 10 000 offers a second of each producer, none or one consumer that polls 1000 times a second", results);
    }

    /** One process for each contender, which is asked again and again: so they take turns, each with code that is compiled for it alone. */
    private final Map<String, Server> servers = new HashMap<>();

    private record Server(Process process, BufferedReader answers) {
        static Server start(String contender) {
            List<String> command = new ArrayList<>(List.of(Path.of(System.getProperty("java.home"), "bin", "java").toString()));
            command.addAll(ManagementFactory.getRuntimeMXBean().getInputArguments());
            command.addAll(List.of("-cp", System.getProperty("java.class.path"), Main.class.getName(), "serve", contender));
            try {
                Process process = new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start();
                return new Server(process, process.inputReader());
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
    }

    private Score jmh(String benchmark, String contender, int producers, int consumers, int batch) throws IOException {
        Server server = servers.computeIfAbsent(benchmark + contender, key -> Server.start(contender));
        server.process.getOutputStream().write((benchmark + " " + producers + " " + consumers + " " + batch + "\n").getBytes());
        server.process.getOutputStream().flush();
        for (;;) {
            String line = server.answers.readLine();
            if (line == null) {
                throw new IllegalStateException(contender + " failed");
            } else if (line.startsWith("= ")) {
                String[] numbers = line.split(" ");
                System.err.println(benchmark + " " + contender + " " + producers + "p" + consumers + "c " + line);
                return new Score(Double.parseDouble(numbers[1]), Double.parseDouble(numbers[2]));
            }
        }
    }

    private void end() {
        servers.values().forEach(server -> server.process.destroy());
        servers.clear();
    }

    private static void serve(String contender) throws IOException, RunnerException {
        BufferedReader asked = new BufferedReader(new InputStreamReader(System.in));
        for (String line = asked.readLine(); line != null; line = asked.readLine()) {
            String[] words = line.split(" ");
            ChainedOptionsBuilder options = new OptionsBuilder().include("thalweg.bench." + words[0] + "$").param("contender", contender)
                    .param("producers", words[1]).param("consumers", words[2]).forks(0).mode(Mode.SingleShotTime).warmupIterations(2)
                    .measurementIterations(3).shouldFailOnError(true).verbosity(VerboseMode.SILENT).addProfiler(CpuTime.class);
            if (words[0].startsWith("Moving")) {
                options = options.param("batch", words[3]);
            }
            RunResult result = new Runner(options.build()).runSingle();
            System.out.println("= " + result.getPrimaryResult().getScore() + " " + result.getSecondaryResults().get(CpuTime.LABEL).getScore());
        }
    }

    private void turns(Map<String, List<Score>> results, List<String> contenders, int[] shape, Measure measure) throws Exception {
        // The first turn warms up.
        for (int run = -1; run < runs; run++) {
            for (String contender : contenders) {
                Score score = measure.run(contender, shape[0], shape[1]);
                if (run < 0) {
                    continue;
                }
                results.computeIfAbsent(contender + "\",\"workload\":\"" + shape[0] + "p" + shape[1] + "c", key -> new ArrayList<>()).add(score);
            }
        }
    }

    private void write(String name, String unit, String note, Map<String, List<Score>> results) throws IOException {
        end();
        Files.createDirectories(folder);
        boolean timed = results.values().stream().anyMatch(scores -> scores.get(0).cpu > 0);
        try (PrintStream file = new PrintStream(Files.newOutputStream(folder.resolve(name + ".jsonl")))) {
            file.printf(Locale.ROOT, "{\"unit\":\"%s%s\",\"note\":\"%s; load average %.0f\",\"command\":\"bindings/java/bench/run %d %d %s\",\"machine\":\"%s, Java %s\","
                    + "\"date\":\"%s\",\"runs\":%d}%n", unit, timed ? "; cpu: of processor time, over all threads" : "", note, ManagementFactory.getOperatingSystemMXBean().getSystemLoadAverage(), runs, batch, name, machine, Runtime.version(), LocalDate.now(), runs);
            results.forEach((contender, scores) -> {
                print(file, contender, scores.stream().mapToDouble(Score::clock).sorted().toArray());
                if (scores.get(0).cpu > 0) {
                    print(file, contender + " cpu", scores.stream().mapToDouble(Score::cpu).sorted().toArray());
                }
            });
        }
    }

    private static void print(PrintStream file, String contender, double[] sorted) {
        file.printf(Locale.ROOT, "{\"contender\":\"%s\",\"median\":%.1f,\"min\":%.1f,\"max\":%.1f}%n", contender, sorted[sorted.length / 2], sorted[0],
                sorted[sorted.length - 1]);
    }
}
