//! The command as a user meets it: what it prints where, and its exit status.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Output, Stdio};

use thalweg::Scheme;
use thalweg_apps::frames::{Config, Rewrite, reference};

fn thalweg() -> Command {
    Command::new(env!("CARGO_BIN_EXE_thalweg"))
}

struct Ran {
    status: i32,
    stdout: String,
    stderr: String,
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Self { status: output.status.code().unwrap(), stdout: text(output.stdout), stderr: text(output.stderr) }
    }
}

/// Runs `thalweg` with the words of `line` in `dir`.
fn run(dir: &Path, line: &str) -> Ran {
    thalweg().args(line.split(' ')).current_dir(dir).output().unwrap().into()
}

fn tree() -> tempfile::TempDir {
    let top = tempfile::tempdir().unwrap();
    fs::create_dir(top.path().join("docs")).unwrap();
    fs::write(top.path().join("docs/a.txt"), "one fish\ntwo fish\n").unwrap();
    fs::write(top.path().join("docs/.hidden"), "red fish fish").unwrap();
    fs::write(top.path().join("b.txt"), "blue\n").unwrap();
    top
}

#[test]
fn search_counts_and_its_status_is_that_of_grep() {
    let top = tree();
    let ran = run(top.path(), "run search --term fish --input docs b.txt --count");
    assert_eq!((ran.status, ran.stdout.as_str(), ran.stderr.as_str()), (0, "4\n", ""));
    let ran = run(top.path(), "run search --term absent --input docs --count");
    assert_eq!((ran.status, ran.stdout.as_str()), (1, "0\n"));
    let ran = run(top.path(), "run search --term fish --input missing docs --count");
    assert_eq!((ran.status, ran.stdout.as_str()), (2, "4\n"));
    assert!(ran.stderr.contains("missing: "), "{}", ran.stderr);
}

#[test]
fn search_reads_standard_input() {
    let mut child = thalweg()
        .args(["run", "search", "--term=fish", "--input", "-", "--count"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(b"fish\nfish").unwrap();
    assert_eq!(Ran::from(child.wait_with_output().unwrap()).stdout, "2\n");
}

#[test]
fn search_prints_lines_as_grep_does() {
    let top = tree();
    let ran = run(top.path(), "run search -n --term fish --input docs/a.txt b.txt docs/.hidden");
    assert_eq!(ran.stdout, "docs/a.txt:1:one fish\ndocs/a.txt:2:two fish\ndocs/.hidden:1:red fish fish\n");
    assert!(ran.stderr.starts_with("2 of 3 files") && ran.stderr.contains("tally"), "{}", ran.stderr);
    for (line, expected) in [
        ("run search --lines -i --term BLUE --input b.txt", "blue\n"),
        ("run search -l --term fish --input docs/a.txt b.txt", "docs/a.txt\n"),
        ("run search -c --term fish --input docs/a.txt b.txt", "docs/a.txt:2\nb.txt:0\n"),
        ("run search -l --term e --input . --include b*", "./b.txt\n"),
        ("run search --lines --color always --term blue --input b.txt", "\u{1b}[1;31mblue\u{1b}[m\n"),
    ] {
        let ran = run(top.path(), &format!("{line} --report none"));
        assert_eq!((ran.status, ran.stdout.as_str(), ran.stderr.as_str()), (0, expected, ""), "{line}");
    }
    let ran = run(top.path(), "run search -n --term fish --input docs --report json");
    assert!(ran.status == 2 && ran.stderr.contains("standard output"), "{}", ran.stderr);
}

#[test]
fn lines_of_a_pipe_are_printed_as_they_come() {
    let line = ["run", "search", "-n", "--term=fish", "--input", "-", "--report=none"];
    let mut child = thalweg().args(line).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let (mut stdin, mut stdout) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
    for (text, printed) in [("one fish\ntw", "1:one fish\n"), ("o fish\n", "2:two fish\n")] {
        stdin.write_all(text.as_bytes()).unwrap();
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        assert_eq!(line, printed);
    }
    drop(stdin);
    assert!(child.wait().unwrap().success());
}

#[test]
fn search_shows_a_summary_and_the_report() {
    let top = tree();
    let ran = run(top.path(), "run search --term fish --input docs");
    assert!(ran.stdout.starts_with("4 matches in 2 of 2 files"), "{}", ran.stdout);
    assert!(["docs/a.txt", "docs/.hidden", "files"].iter().all(|word| ran.stdout.contains(word)), "{}", ran.stdout);
    assert_eq!(ran.stdout.lines().count(), 3, "results alone: {}", ran.stdout);
    assert!(["search", "tally", " polls, "].iter().all(|word| ran.stderr.contains(word)), "{}", ran.stderr);
    let ran = run(top.path(), "run search --term fish --input docs --report none");
    assert_eq!(ran.stdout.lines().count(), 3);
}

#[test]
fn a_report_for_programs_has_standard_output_to_itself() {
    let top = tree();
    let ran = run(top.path(), "run search --term fish --input docs --report json");
    assert!(ran.stdout.trim().starts_with('{') && ran.stdout.trim().ends_with('}'), "{}", ran.stdout);
    assert!(ran.stderr.contains("4 matches"));
    let ran = run(top.path(), "run search --term fish --input docs --report dot");
    assert!(ran.stdout.starts_with("digraph") && ran.stdout.trim().ends_with('}'), "{}", ran.stdout);
    assert!(ran.stderr.contains("4 matches"));
}

#[test]
fn the_scheme_and_the_workers_are_those_that_were_asked_for() {
    let top = tree();
    assert_eq!(run(top.path(), "run frames --generate 3 --output in.pcap").status, 0);
    assert_eq!(run(top.path(), "run fm --generate 2000 --output in.wav").status, 0);
    for app in
        ["search --term fish --input docs", "frames --input in.pcap --output out", "fm --input in.wav --output out"]
    {
        let ran = run(top.path(), &format!("run {app} --scheme mix_dyn --workers 3 --report json"));
        assert!(ran.stdout.starts_with(r#"{"scheme":"mix_dyn","workers":3,"#), "{app}: {}", ran.stdout);
    }
}

/// The guide names the schemes, and so does the error.
#[test]
fn a_partition_is_for_the_schemes_that_keep_to_it() {
    let top = tree();
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide/src/placement.md");
    let page = fs::read_to_string(page).unwrap();
    let sentence = page.lines().find(|line| line.contains("keep to a partition")).expect("the guide says which");
    let (keep, _) = sentence.split_once("keep to a partition").unwrap();
    for name in Scheme::names() {
        let ran = run(top.path(), &format!("run search --term fish --input docs --partitioned --scheme {name}"));
        let keeps = name == Scheme::default().name() || keep.contains(&format!("`{name}`"));
        assert_eq!((ran.status, ran.stdout.is_empty()), if keeps { (0, false) } else { (2, true) }, "{name}");
        let told = format!(
            "the scheme {name} does not keep to a partition; leave out --partitioned, or take one of depth_first pw pw_dyn mix mix_dyn"
        );
        assert!(keeps || ran.stderr.contains(&told), "{name}: {}", ran.stderr);
    }
}

/// The CPUs that a thread may use, by the text of its `status` in /proc.
#[cfg(target_os = "linux")]
fn cpus(status: &str) -> String {
    let line = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    line.expect("Linux tells").trim().to_owned()
}

/// Of each thread of a run that waits for more input.
#[cfg(target_os = "linux")]
fn cpus_of_threads(options: &str) -> Vec<String> {
    let args = format!("run search --term fish --input - --count --scheme pw --workers 1 {options}");
    let mut child =
        thalweg().args(args.split_whitespace()).stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    // Far more than a pipe holds, so that when it is written, the worker has read.
    child.stdin.as_mut().unwrap().write_all(&b"fish\n".repeat(100_000)).unwrap();
    let threads = fs::read_dir(format!("/proc/{}/task", child.id())).unwrap();
    // A thread that has just ended has no status.
    let statuses = threads.filter_map(|thread| fs::read_to_string(thread.unwrap().path().join("status")).ok());
    let found = statuses.map(|status| cpus(&status)).collect();
    assert!(child.wait().unwrap().success());
    found
}

#[test]
#[cfg(target_os = "linux")]
fn a_worker_is_pinned_when_asked_for_and_only_then() {
    let all = cpus(&fs::read_to_string("/proc/thread-self/status").unwrap());
    let free = cpus_of_threads("");
    assert!(free.iter().all(|cpus| *cpus == all), "{free:?}, not {all}");
    let pinned = cpus_of_threads("--pinned");
    assert!(pinned.iter().any(|cpus| cpus.parse::<usize>().is_ok()), "{pinned:?}");
}

#[test]
fn bad_values_are_refused_by_name_before_anything_runs() {
    let top = tree();
    for (line, told) in [
        ("run search --term fish --input docs --scheme nonsense", "nonsense"),
        ("run search --term fish --input docs --workers 0", "1..=1024"),
        ("run search --term fish --input docs --scheme raft --workers 1", "leave out --workers"),
        ("run search --term fish --input docs --scheme raft_dyn --workers 1", "leave out --workers"),
        ("run frames --input b.txt --output out --scheme qes --partitioned", "qes does not keep to a partition"),
        ("run mergesort --paper --scheme raft_dyn --partitioned", "raft_dyn does not keep to a partition"),
        ("run search --term fish --input docs --count --report json", "--report"),
        ("run search --term fish", "--input"),
        ("run frames --input b.txt --output out", "not a capture file"),
        ("run frames --input missing --output out", "missing"),
        ("run frames --input b.txt --output out --keep udpp", "udpp"),
        ("run frames --input b.txt --output out --rewrite-src 1.2.3.4", "OLD=NEW"),
        ("run frames --input - --output out", "the file ends"),
        ("run frames --input b.txt --output -", "not a capture file"),
        ("run frames --generate 3 --input b.txt --output out", "--generate"),
        ("run frames --generate 3 --output out --scheme nonsense", "cannot be used with"),
        ("run frames --generate 3 --output out --workers 9", "cannot be used with"),
        ("run frames --generate 3 --output out --pinned", "cannot be used with"),
        ("run frames --generate 3 --output out --report json", "cannot be used with"),
        ("run fm --input b.txt --output out", "--raw-rate"),
        ("run fm --input - --output out", "/dev/stdin"),
        ("run fm --input b.txt --output -", "`-`"),
        ("run fm --generate 3 --output -", "`-`"),
        ("run fm --generate 3 --output out --scheme nonsense", "cannot be used with"),
        ("run fm --generate 3 --output out --workers 9", "cannot be used with"),
        ("run fm --generate 3 --output out --pinned", "cannot be used with"),
        ("run fm --generate 3 --output out --report json", "cannot be used with"),
        ("run --list search --term fish --input docs", "cannot be used with"),
        ("run nonsense", "nonsense"),
    ] {
        let ran = run(top.path(), line);
        assert_eq!(ran.status, 2, "{line}");
        assert!(ran.stderr.contains(told), "{line}: {}", ran.stderr);
        assert!(ran.stdout.is_empty() && !top.path().join("out").exists(), "{line}");
        assert!(!top.path().join("-").exists(), "{line}");
    }
    let ran =
        thalweg().args(["run", "search", "--term", "", "--input", "docs"]).current_dir(top.path()).output().unwrap();
    assert!(Ran::from(ran).stderr.contains("empty"));
}

#[test]
fn frames_go_from_generate_to_a_rewritten_capture() {
    let top = tree();
    let ran = run(top.path(), "run frames --generate 500 --output in.pcap");
    assert_eq!((ran.status, ran.stdout.as_str()), (0, "500 made-up frames written to in.pcap\n"));
    let ran = run(top.path(), "run frames --input in.pcap --output same.pcap --report none");
    assert!(ran.stdout.starts_with("500 of 500 frames written to same.pcap"), "{}", ran.stdout);
    let read = |name: &str| fs::read(top.path().join(name)).unwrap();
    assert!(read("in.pcap") == read("same.pcap"));

    let capture = read("in.pcap");
    fs::write(top.path().join("cut.pcap"), &capture[..capture.len() - 1]).unwrap();
    let ran = run(top.path(), "run frames --input cut.pcap --output out.pcap");
    assert_eq!(ran.status, 2);
    assert!(ran.stdout.starts_with("499 of 499") && ran.stderr.contains("record 501"), "{}{}", ran.stdout, ran.stderr);
}

#[test]
fn frames_are_filtered_and_rewritten_as_the_options_say() {
    let top = tree();
    let path = |name: &str| top.path().join(name);
    assert_eq!(run(top.path(), "run frames --generate 500 --output in.pcap").status, 0);
    let ran = run(
        top.path(),
        "run frames --input in.pcap --output out.pcap --report none --keep ip --keep arp --drop vlan \
         --rewrite-src 10.0.0.1=10.0.1.1 --rewrite-src 10.0.0.2=10.0.1.2 --rewrite-dst 10.0.0.1=10.0.2.1 \
         --rewrite-src-mac 02:00:00:00:00:01=02:00:00:00:01:01 --rewrite-dst-mac 02:00:00:00:00:02=02:00:00:00:02:02",
    );
    let mut config = Config::new(path("in.pcap"), path("expected.pcap"));
    config.rules.keep = vec!["ip".parse().unwrap(), "arp".parse().unwrap()];
    config.rules.drop = vec!["vlan".parse().unwrap()];
    config.rules.rewrite = Rewrite {
        source: vec!["10.0.0.1=10.0.1.1".parse().unwrap(), "10.0.0.2=10.0.1.2".parse().unwrap()],
        destination: vec!["10.0.0.1=10.0.2.1".parse().unwrap()],
        source_mac: vec!["02:00:00:00:00:01=02:00:00:00:01:01".parse().unwrap()],
        destination_mac: vec!["02:00:00:00:00:02=02:00:00:00:02:02".parse().unwrap()],
    };
    let (counts, _) = reference(&config).unwrap();
    assert!(fs::read(path("out.pcap")).unwrap() == fs::read(path("expected.pcap")).unwrap());
    let told = format!("{} of 500 frames written to out.pcap, {} of them rewritten\n", counts.kept, counts.rewritten);
    assert!(ran.status == 0 && ran.stdout == told, "{}", ran.stdout);
}

/// The summary would go over what was written, or behind it.
#[test]
#[cfg(target_os = "linux")]
fn standard_output_is_no_output() {
    let top = tree();
    assert_eq!(run(top.path(), "run frames --generate 3 --output in.pcap").status, 0);
    assert_eq!(run(top.path(), "run fm --generate 2000 --output in.wav").status, 0);
    for line in [
        "run frames --generate 3 --output",
        "run frames --input in.pcap --output",
        "run fm --generate 3 --output",
        "run fm --input in.wav --output",
    ] {
        let ran = run(top.path(), &format!("{line} /dev/stdout"));
        assert!(ran.status == 2 && ran.stdout.is_empty(), "{line}: {}", ran.stdout);
        assert!(ran.stderr.contains("/dev/stdout is standard output"), "{line}: {}", ran.stderr);
        // By its own name too.
        let file = fs::File::create(top.path().join("same")).unwrap();
        let args = format!("{line} same");
        let ran: Ran = thalweg().args(args.split(' ')).current_dir(top.path()).stdout(file).output().unwrap().into();
        assert!(ran.status == 2 && ran.stderr.contains("same is standard output"), "{line}: {}", ran.stderr);
        assert!(fs::read(top.path().join("same")).unwrap().is_empty(), "{line}");
    }
    // What is lost anyway may have both.
    let null = thalweg()
        .args(["run", "frames", "--input", "in.pcap", "--output", "/dev/null"])
        .current_dir(top.path())
        .stdout(Stdio::null())
        .status();
    assert!(null.unwrap().success());
}

#[test]
fn frames_go_from_standard_input_to_standard_output() {
    let top = tree();
    let made = thalweg().args("run frames --generate 100 --output -".split(' ')).output().unwrap();
    assert!(made.status.success());
    let keep = ["--keep", "not (tcp or icmp) and port 53"];
    let mut child = thalweg()
        .args("run frames --input - --output - --rewrite-src 10.0.0.1=10.9.9.9".split(' '))
        .args(keep)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(&made.stdout).unwrap();
    let piped = child.wait_with_output().unwrap();
    let told = String::from_utf8(piped.stderr).unwrap();
    assert!(told.contains("of 100 frames written to standard output") && told.contains("application"), "{told}");

    fs::write(top.path().join("in.pcap"), &made.stdout).unwrap();
    let mut config = Config::new(top.path().join("in.pcap"), top.path().join("out.pcap"));
    config.rules.keep.push("udp and port 53".parse().unwrap());
    config.rules.rewrite.source.push("10.0.0.1=10.9.9.9".parse().unwrap());
    assert!(reference(&config).unwrap().0.kept > 0);
    assert!(piped.stdout == fs::read(&config.output).unwrap());
    for line in ["run frames --input in.pcap --output - --report dot", "run frames --input - --output - --report json"]
    {
        let ran = run(top.path(), line);
        assert!(ran.status == 2 && ran.stderr.contains("standard output has the capture"), "{}", ran.stderr);
    }
}

#[test]
fn fm_goes_from_generate_to_sound() {
    let top = tree();
    assert_eq!(run(top.path(), "run fm --iq --generate 24000 --output iq.wav").status, 0);
    let ran = run(top.path(), "run fm --iq --input iq.wav --output stereo.wav");
    assert!(ran.status == 0 && ran.stdout.contains("Hz from where it was expected"), "{} {}", ran.stdout, ran.stderr);
    assert_eq!(run(top.path(), "run fm --generate 2000 --output in.wav").status, 0);
    let ran = run(top.path(), "run fm --input in.wav --output out.wav");
    assert!(ran.status == 0 && ran.stdout.starts_with("247 samples of sound from 2,000 samples"), "{}", ran.stdout);

    // Written into a pipe, where nobody knows how long it will be.
    let mut piped = fs::read(top.path().join("in.wav")).unwrap();
    let data = piped.windows(4).position(|name| name == b"data").unwrap();
    piped[data + 4..data + 8].fill(0xff);
    fs::write(top.path().join("piped.wav"), piped).unwrap();
    let ran = run(top.path(), "run fm --input piped.wav --output again.wav --report none");
    assert!(ran.stderr.contains("piped.wav: the header does not say how many samples there are"), "{}", ran.stderr);
    assert_eq!(fs::read(top.path().join("again.wav")).unwrap(), fs::read(top.path().join("out.wav")).unwrap());

    // Raw samples are what is behind the header.
    let wav = fs::read(top.path().join("in.wav")).unwrap();
    fs::write(top.path().join("in.f32"), &wav[wav.len() - 4 * 2000..]).unwrap();
    let ran = run(top.path(), "run fm --input in.f32 --raw-rate 44100 --output raw.wav --report none");
    assert_eq!((ran.status, ran.stdout.as_str()), (0, "247 samples of sound from 2,000 samples written to raw.wav\n"));
    let sound = |name: &str| fs::read(top.path().join(name)).unwrap();
    assert_eq!(sound("raw.wav")[24..28], (44_100_u32 / 5).to_le_bytes(), "the rate in the header");
    assert!(sound("raw.wav").ends_with(&sound("out.wav")[wav.len() - 4 * 2000..]));
}

#[test]
fn the_machine_is_shown_with_a_place_for_each_worker() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let ran = run(here, "topology --workers 1");
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""));
    assert!(ran.stdout.contains("that this program may use, on"), "{}", ran.stdout);
    assert_eq!(ran.stdout.lines().filter(|line| line.ends_with("       0")).count(), 1, "{}", ran.stdout);
    assert!(run(here, "topology --workers 60000").stdout.contains("60000 workers are not pinned: there are "));
    let ran = run(here, "topology --json");
    assert!(ran.stdout.starts_with("{\"cpus\":[{\"cpu\":") && ran.stdout.ends_with("]}\n"), "{}", ran.stdout);
    assert!(run(here, "topology --workers 0").stderr.contains("0 is not in 1.."));
}

#[test]
fn the_lists_name_what_there_is() {
    let here = Path::new(".");
    let ran = run(here, "run --list");
    assert!(["search ", "frames ", "fm "].iter().all(|app| ran.stdout.contains(app)), "{}", ran.stdout);
    let list = ran.stdout;
    let ran = run(here, "schemes");
    for list in [&list, &ran.stdout] {
        let about = |line: &str| {
            line.split_once("  ").map(|(name, rest)| name.len() + 2 + rest.len() - rest.trim_start().len())
        };
        assert!(list.lines().all(|line| about(line) == list.lines().next().and_then(about)), "one column: {list}");
    }
    let schemes: Vec<_> = ran.stdout.lines().map(|line| line.split(' ').next().unwrap()).collect();
    assert_eq!((ran.status, schemes[0]), (0, Scheme::default().name()));
    assert_eq!(schemes, Scheme::names().collect::<Vec<_>>());
    // The default scheme has fewer workers if they help no more, and who asks for too many is not pinned.
    let help = run(here, "run search --help").stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(help.contains("the default scheme takes as many of them as help"), "{help}");
    assert!(help.contains("if there are as many cores as workers"), "{help}");
    for help in ["--help", "run --help", "run search --help", "run frames --help", "run fm --help"] {
        assert!(run(here, help).stdout.contains("thalweg run"), "{help}");
    }
}

#[test]
fn shells_and_man_know_the_command() {
    let top = tempfile::tempdir().unwrap();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let ran = run(top.path(), &format!("completions {shell}"));
        assert!(ran.status == 0 && ran.stdout.contains("schemes"), "{shell}: {}", ran.stderr);
        assert!(["publish", "calibrate", "longer"].iter().all(|word| ran.stdout.contains(word)), "{shell}");
    }
    assert_eq!(run(top.path(), "completions none").status, 2);
    let ran = run(top.path(), "man pages");
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""));
    for (page, has) in [
        ("thalweg.1", "schemes"),
        ("thalweg-run-search.1", "term"),
        ("thalweg-proof.1", "weaken"),
        ("thalweg-lab.1", "publish"),
        ("thalweg-lab-run.1", "seeds"),
        ("thalweg-sim.1", "calibrate"),
    ] {
        let text = std::fs::read_to_string(top.path().join("pages").join(page)).unwrap();
        assert!(text.contains(has), "{page}");
        let title = format!(".TH {} 1  \"thalweg {}\"", page.trim_end_matches(".1"), env!("CARGO_PKG_VERSION"));
        assert!(text.contains(&title), "{page}: {text}");
    }
    fs::write(top.path().join("file"), "").unwrap();
    let ran = run(top.path(), "man file");
    assert!(ran.status == 2 && ran.stderr.contains("cannot write to file"), "{}", ran.stderr);
}

/// Without the bench, its peers and the engines.
#[test]
fn lists_are_in_every_build() {
    for (line, has) in [
        ("lab list", ["streams/pipe3", "thesis/2.8 ", "check/throughput"]),
        ("sim list", ["ff/figure8", "vl/queues", "sim/farm"]),
        ("proof --list", ["ff/1p1c ", "bbq/1p1c-1 ", "wait/2c "]),
    ] {
        let ran = run(Path::new("."), line);
        assert_eq!((ran.status, ran.stderr.as_str()), (0, ""), "{line}");
        assert!(has.iter().all(|name| ran.stdout.contains(name)), "{line}: {}", ran.stdout);
    }
}

/// Also what needs another build is understood here: what makes no sense is refused, and help given, before one is asked for.
#[test]
#[cfg(not(feature = "lab"))]
fn what_is_not_built_in_says_how_to_get_it() {
    let ran = run(Path::new("."), "lab run queues");
    assert_eq!(ran.status, 2);
    assert!(ran.stderr.contains("`cargo lab run queues`"), "{}", ran.stderr);
    for (line, told) in [
        ("lab run queues --quik", "--quick"),
        ("lab run queues --seeds 3", "--on <MACHINE"),
        ("lab run queues --on x86-40 --runs 7", "--runs <N>"),
        ("sim run queues", "--on <MACHINE"),
    ] {
        let ran = run(Path::new("."), line);
        assert!(ran.status == 2 && ran.stderr.contains(told), "{line}: {}", ran.stderr);
    }
}

#[test]
#[cfg(not(feature = "instrument"))]
fn engines_that_are_not_built_in_say_how_to_get_them() {
    for (line, told) in
        [("proof --all", "`cargo proof`"), ("sim run sim/bbq --on x86-88t", "`cargo sim run sim/bbq --on x86-88t`")]
    {
        let ran = run(Path::new("."), line);
        assert!(ran.status == 2 && ran.stdout.is_empty() && ran.stderr.contains(told), "{line}: {}", ran.stderr);
    }
}

#[test]
#[cfg(unix)]
fn a_reader_that_goes_away_is_no_trouble() {
    let top = tree();
    let mut child = thalweg()
        .args(["run", "search", "--term", "fish", "--input", "docs"])
        .current_dir(top.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let ran = Ran::from(child.wait_with_output().unwrap());
    // The report alone, which goes where results do not.
    let told = ran.stderr.trim_start();
    assert!(ran.status == 0 && told.starts_with("complete in ") && !told.contains("pipe"), "{}", ran.stderr);
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_is_trouble() {
    let top = tree();
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = thalweg().args(["run", "--list"]).current_dir(top.path()).stdout(full).output().unwrap();
    let ran = Ran::from(output);
    assert!(ran.status == 2 && ran.stderr.contains("standard output"), "{}", ran.stderr);
}

#[test]
#[cfg(not(target_os = "linux"))]
fn interrupts() {
    eprintln!("skipped: interrupts are tested on Linux only, by tests/interrupt.rs");
}
