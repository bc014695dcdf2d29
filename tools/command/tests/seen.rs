//! What a run counts, seen from outside: recorded, compared, looked at by another process and by a browser.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use thalweg_sync::thread;
use thalweg_sync::time::Duration;

fn thalweg(line: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_thalweg"));
    command.args(line.split(' ')).env_remove("THALWEG_OBSERVE").env("NO_COLOR", "1");
    command
}

fn texts(output: &Output) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (text(&output.stdout), text(&output.stderr))
}

/// A run in `dir` that goes on until its input ends, which is when the child's standard input is closed.
struct Stream(Child);

impl Stream {
    fn start(dir: &Path, more: &str) -> Self {
        let line = format!("run search --term fish --input - --count{more}");
        let mut command = thalweg(&line);
        command.current_dir(dir).env("THALWEG_OBSERVE", "1").env("XDG_RUNTIME_DIR", dir);
        Self(command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap())
    }

    fn end(mut self) -> (String, String) {
        drop(self.0.stdin.take());
        let output = self.0.wait_with_output().unwrap();
        // As grep has it: 1 if nothing was found.
        let found = output.stdout != b"0\n";
        assert_eq!(output.status.code(), Some(i32::from(!found)), "{output:?}");
        texts(&output)
    }
}

/// Tries until `attempt` gives something.
fn until<T>(mut attempt: impl FnMut() -> Option<T>) -> T {
    for _ in 0..600 {
        if let Some(value) = attempt() {
            return value;
        }
        thread::sleep(Duration::from_millis(50));
    }
    panic!("it never came");
}

fn fish(dir: &Path) {
    fs::write(dir.join("fish.txt"), "one fish\ntwo fish\n").unwrap();
}

#[test]
fn a_recorded_run_is_reported_beside_another_and_drawn() {
    let dir = tempfile::tempdir().unwrap();
    fish(dir.path());
    for (name, scheme) in [("a", "depth_first"), ("b", "raft")] {
        let line = format!("run search --term fish --input fish.txt --count --scheme {scheme} --record {name}.jsonl");
        let ran = thalweg(&line).current_dir(dir.path()).output().unwrap();
        assert_eq!(texts(&ran), ("2\n".into(), String::new()));
    }
    let ran =
        thalweg("report a.jsonl b.jsonl --html runs.html --svg graph.svg").current_dir(dir.path()).output().unwrap();
    let (table, _) = texts(&ran);
    let row =
        |name: &str| table.lines().find(|line| line.starts_with(name)).unwrap_or_else(|| panic!("{name}: {table}"));
    assert!(row("scheme").contains("depth_first") && row("scheme").ends_with("raft"), "{table}");
    assert!(row("ended").ends_with("complete") && row("time").contains(" %)"), "{table}");
    row("search: busy");
    row("search >> tally: messages/s");
    let page = fs::read_to_string(dir.path().join("runs.html")).unwrap();
    assert!(
        page.contains("<svg class=\"graph\"")
            && page.contains("class=\"history busy\"")
            && page.contains("prefers-color-scheme:dark")
    );
    assert!(
        !page.contains("http://")
            || page.matches("http://").count() == page.matches("http://www.w3.org/2000/svg").count(),
        "it loads nothing"
    );
    assert!(fs::read_to_string(dir.path().join("graph.svg")).unwrap().contains("id=\"k2\""));
}

#[test]
fn what_cannot_be_read_is_told_by_name() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("empty"), "").unwrap();
    fs::write(dir.path().join("other"), "{\"thalweg\":1}\n").unwrap();
    for (name, told) in [
        ("missing", "cannot read missing"),
        ("empty", "empty is not what `thalweg run APP --record empty` writes: there is no snapshot"),
        ("other", "line 1: it has no field `run`"),
    ] {
        let ran = thalweg(&format!("report {name}")).current_dir(dir.path()).output().unwrap();
        assert_eq!(ran.status.code(), Some(2));
        assert!(texts(&ran).1.contains(told), "{:?}", texts(&ran));
    }
}

#[test]
fn a_file_that_cannot_be_made_is_told_before_the_run_and_a_full_disk_stops_nothing() {
    let dir = tempfile::tempdir().unwrap();
    fish(dir.path());
    let run = |record: &str| {
        let line = format!("run search --term fish --input fish.txt --count --record {record}");
        thalweg(&line).current_dir(dir.path()).output().unwrap()
    };
    let ran = run("no/such/folder");
    assert_eq!((ran.status.code(), texts(&ran).0), (Some(2), String::new()));
    assert!(texts(&ran).1.contains("cannot write to no/such/folder"), "{:?}", texts(&ran));
    if Path::new("/dev/full").exists() {
        let ran = run("/dev/full");
        assert_eq!((ran.status.code(), texts(&ran).0), (Some(0), "2\n".into()));
        assert!(texts(&ran).1.contains("cannot record to /dev/full any further"), "{:?}", texts(&ran));
    }
}

#[test]
fn a_trace_is_what_perfetto_reads() {
    let dir = tempfile::tempdir().unwrap();
    fish(dir.path());
    let line = "run search --term fish --input fish.txt --count --trace trace.json";
    let ran = thalweg(line).current_dir(dir.path()).output().unwrap();
    assert_eq!(texts(&ran), ("2\n".into(), String::new()));
    let trace = fs::read_to_string(dir.path().join("trace.json")).unwrap();
    assert!(trace.contains("\"name\":\"search\",\"cat\":\"run\"") && trace.contains("\"lost_events\":0"), "{trace}");
}

#[cfg(unix)]
#[test]
fn another_process_sees_a_run_that_allows_it() {
    use std::os::unix::fs::PermissionsExt;

    let dir = tempfile::tempdir().unwrap();
    let top = |line: &str| thalweg(line).current_dir(dir.path()).env("XDG_RUNTIME_DIR", dir.path()).output().unwrap();
    let nobody = top("top --plain");
    assert_eq!(nobody.status.code(), Some(2));
    assert!(texts(&nobody).1.contains("no process lets its runs be seen; start one with THALWEG_OBSERVE=1"));
    let mut stream = Stream::start(dir.path(), "");
    stream.0.stdin.as_mut().unwrap().write_all(b"a fish\n").unwrap();
    let id = stream.0.id();
    let text = until(|| {
        Some(texts(&top(&format!("top {id} --plain --interval 50"))).0).filter(|text| text.contains("worker 0"))
    });
    assert!(
        text.contains(&format!("thalweg run search --term fish --input - --count ({id}), graph 1: run 1, runs,")),
        "{text}"
    );
    assert!(text.contains("search *") && text.contains("files >> search"), "{text}");
    // By name too; and not by another's.
    assert_eq!(texts(&top("top search --once --interval 50")).0.lines().count(), text.lines().count());
    assert!(texts(&top("top fishmonger --plain")).1.contains("called fishmonger"));
    let folder = dir.path().join("thalweg");
    assert_eq!(fs::metadata(&folder).unwrap().permissions().mode() & 0o777, 0o700);
    assert_eq!(stream.end().0, "1\n");
    // Its socket is left, and removed by whoever finds nobody there.
    assert!(folder.join(format!("{id}.sock")).exists());
    assert!(texts(&top(&format!("top {id} --plain"))).1.contains("its process has ended"));
    assert!(!folder.join(format!("{id}.sock")).exists());
}

#[cfg(unix)]
#[test]
fn a_folder_that_others_can_look_into_is_refused_and_the_run_goes_on() {
    use std::os::unix::fs::PermissionsExt;

    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("thalweg")).unwrap();
    fs::set_permissions(dir.path().join("thalweg"), fs::Permissions::from_mode(0o755)).unwrap();
    let (stdout, stderr) = Stream::start(dir.path(), "").end();
    assert_eq!(stdout, "0\n");
    assert!(
        stderr.contains("THALWEG_OBSERVE is set, but nobody can look") && stderr.contains("`chmod 700` it"),
        "{stderr}"
    );
}

#[cfg(unix)]
#[test]
fn other_versions_strangers_and_lookers_that_never_read_are_met() {
    use std::os::unix::net::{UnixListener, UnixStream};

    let dir = tempfile::tempdir().unwrap();
    let stream = Stream::start(dir.path(), "");
    let folder = dir.path().join("thalweg");
    let socket = folder.join(format!("{}.sock", stream.0.id()));
    // They ask and ask, and read nothing.
    let mut deaf: Vec<_> = (0..3).map(|_| until(|| UnixStream::connect(&socket).ok())).collect();
    for deaf in &mut deaf {
        deaf.set_nonblocking(true).unwrap();
        for _ in 0..100_000 {
            if deaf.write(b"?\n").is_err() {
                break;
            }
        }
    }
    for (number, hello) in [(1, "thalweg 99 1 x\n"), (2, "HTTP/1.1 400 Bad Request\n")] {
        let listener = UnixListener::bind(folder.join(format!("{number}.sock"))).unwrap();
        drop(thread::spawn(move || {
            listener.incoming().flatten().for_each(|mut stream| drop(stream.write_all(hello.as_bytes())))
        }));
    }
    let top = thalweg("top --plain --interval 50").env("XDG_RUNTIME_DIR", dir.path()).output().unwrap();
    let (text, _) = texts(&top);
    assert!(text.contains("speaks version 99, this command version 1; take the same version"), "{text}");
    assert!(text.contains("2.sock: who answers is not thalweg"), "{text}");
    assert!(text.contains("graph 1: run 1, runs"), "{text}");
    assert_eq!(stream.end().0, "0\n");
}

/// The head and the body of what a GET of `target` gives.
fn get(address: &str, target: &str, headers: &str) -> (String, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "GET {target} HTTP/1.1\r\nHost: {address}\r\n{headers}\r\n").unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    (head.to_owned(), body.to_owned())
}

#[test]
fn a_browser_follows_a_run_to_its_end() {
    let dir = tempfile::tempdir().unwrap();
    let mut stream = Stream::start(dir.path(), " --live");
    stream.0.stdin.as_mut().unwrap().write_all(b"a fish\n").unwrap();
    let mut told = BufReader::new(stream.0.stderr.take().unwrap());
    let mut line = String::new();
    told.read_line(&mut line).unwrap();
    let address = line
        .trim()
        .strip_prefix("live at http://")
        .unwrap_or_else(|| panic!("{line}"))
        .trim_end_matches('/')
        .to_owned();
    let (head, page) = get(&address, "/", "");
    assert!(head.starts_with("HTTP/1.1 200 OK") && head.contains("default-src 'none'"), "{head}");
    assert!(page.contains("EventSource") && page.contains("prefers-color-scheme:dark"));
    assert!(get(&address, "/nothing", "").0.starts_with("HTTP/1.1 404"));
    assert!(get(&address, "/", "Origin: http://evil.example\r\n").0.starts_with("HTTP/1.1 403"));
    let metrics = until(|| Some(get(&address, "/metrics", "").1).filter(|text| !text.is_empty()));
    assert!(metrics.contains("thalweg_kernel_messages_out_total{graph=\"1\",kernel=\"files\"}"), "{metrics}");
    let snapshots = get(&address, "/snapshots", "").1;
    assert!(
        thalweg::Snapshot::from_json(snapshots.trim().trim_start_matches('[').trim_end_matches(']')).is_ok(),
        "{snapshots}"
    );
    // One that never reads, and one that reads to the end.
    let mut deaf = TcpStream::connect(&address).unwrap();
    write!(deaf, "GET /events HTTP/1.1\r\nHost: {address}\r\n\r\n").unwrap();
    let reader = thread::spawn(move || get(&address, "/events", "").1);
    thread::sleep(Duration::from_millis(200));
    let (stdout, _) = stream.end();
    assert_eq!(stdout, "1\n");
    let events = reader.join().unwrap();
    assert!(events.contains("event: shape\ndata: {\"graph\":1,\"svg\":\"<svg"), "{events}");
    assert!(
        events.contains("\"title\":\"thalweg run search --term fish") && events.contains("\"over\":true"),
        "{events}"
    );
    drop(deaf);
}

#[test]
fn an_address_in_the_place_of_a_process_is_told() {
    let (out, err) = texts(&thalweg("top --web 127.0.0.1:0").output().unwrap());
    assert!(
        out.is_empty() && err.contains("127.0.0.1:0 is an address, not a process: write --web=127.0.0.1:0"),
        "{err}"
    );
}

#[test]
fn an_address_that_is_taken_is_told_before_the_run() {
    let dir = tempfile::tempdir().unwrap();
    fish(dir.path());
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let line = format!("run search --term fish --input fish.txt --count --live {}", taken.local_addr().unwrap());
    let ran = thalweg(&line).current_dir(dir.path()).output().unwrap();
    assert_eq!((ran.status.code(), texts(&ran).0), (Some(2), String::new()));
    assert!(texts(&ran).1.contains("no page can be served at"), "{:?}", texts(&ran));
}
