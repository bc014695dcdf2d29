package thalweg.queue;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The guide's programs run, and print what it says. */
class GuideTest {
    private static final Path GUIDE = Path.of("../../../docs/guide/src/java.md");

    @Test
    @Timeout(value = 2, unit = TimeUnit.MINUTES)
    void programsPrintWhatThePageSays(@TempDir Path folder) throws IOException, InterruptedException {
        String page = Files.readString(GUIDE);
        Matcher programs = Pattern.compile("```java\n(.*?)```.*?```text\n(.*?)```", Pattern.DOTALL).matcher(page);
        int count = 0;
        while (programs.find()) {
            Path file = folder.resolve("Program" + count++ + ".java");
            Files.writeString(file, programs.group(1));
            Process program = new ProcessBuilder(Path.of(System.getProperty("java.home"), "bin", "java").toString(), "-ea", "-cp", "target/classes",
                    file.toString()).redirectErrorStream(true).start();
            assertEquals(programs.group(2), new String(program.getInputStream().readAllBytes()));
            assertEquals(0, program.waitFor());
        }
        assertTrue(count == 3, count + " programs");
    }
}
