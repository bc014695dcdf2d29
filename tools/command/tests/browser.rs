//! The page in a real browser: it loads, follows a run to its end, survives a reload and the process's end, and stays usable with 5000 kernels.
//!
//! Skipped where there is no Chromium.
#![cfg(unix)]

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};
use thalweg::prelude::*;
use thalweg_sync::thread;
use thalweg_sync::time::Duration;

/// A browser without a window, told by a pipe what to do (the DevTools protocol).
struct Browser {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    calls: u64,
    session: Option<String>,
    _profile: tempfile::TempDir,
}

fn chromium() -> Option<PathBuf> {
    let folders: Vec<_> = std::env::split_paths(&std::env::var_os("PATH")?).collect();
    let names = ["chromium", "chromium-browser", "google-chrome"];
    names.iter().flat_map(|name| folders.iter().map(move |folder| folder.join(name))).find(|path| path.is_file())
}

impl Browser {
    /// `None` if there is no browser.
    fn start() -> Option<Self> {
        let Some(path) = chromium() else {
            println!("skipped: there is no Chromium");
            return None;
        };
        let profile = tempfile::tempdir().unwrap();
        // It is told on descriptor 3, and answers on 4.
        let mut command = Command::new("sh");
        command.arg("-c").arg("exec \"$0\" \"$@\" 3<&0 4>&1 0</dev/null 1>/dev/null 2>/dev/null").arg(path);
        command.args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"]);
        command.args(["--disable-background-networking", "--disable-component-update", "--disable-sync"]);
        command.args(["--disable-dev-shm-usage", "--remote-debugging-pipe"]);
        command.arg(format!("--user-data-dir={}", profile.path().display())).env("HOME", profile.path());
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (input, output) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
        Some(Self { child, input, output, calls: 0, session: None, _profile: profile })
    }

    fn call(&mut self, method: &str, params: Value) -> Value {
        self.calls += 1;
        let mut message = json!({"id": self.calls, "method": method, "params": params});
        if let Some(session) = &self.session {
            message["sessionId"] = json!(session);
        }
        self.input.write_all(message.to_string().as_bytes()).unwrap();
        self.input.write_all(b"\0").unwrap();
        self.input.flush().unwrap();
        loop {
            let mut answer = Vec::new();
            self.output.read_until(0, &mut answer).unwrap();
            assert!(!answer.is_empty(), "the browser has ended");
            answer.pop();
            let answer: Value = serde_json::from_slice(&answer).unwrap();
            if answer["id"] == self.calls {
                assert!(answer["error"].is_null(), "{method}: {answer}");
                return answer["result"].clone();
            }
        }
    }

    fn open(&mut self, url: &str) {
        let target = self.call("Target.createTarget", json!({"url": url}));
        let attached = self.call("Target.attachToTarget", json!({"targetId": target["targetId"], "flatten": true}));
        self.session = attached["sessionId"].as_str().map(str::to_owned);
    }

    /// What an expression gives in the page.
    fn ask(&mut self, expression: &str) -> Value {
        let params = json!({"expression": expression, "returnByValue": true});
        let answer = self.call("Runtime.evaluate", params);
        // While the page is loaded anew nothing is there yet.
        answer["result"].get("value").cloned().unwrap_or(Value::Null)
    }

    /// Waits until an expression gives true.
    fn until(&mut self, expression: &str) {
        for _ in 0..1200 {
            if self.ask(expression) == json!(true) {
                return;
            }
            thread::sleep(Duration::from_millis(50));
        }
        let page = self.ask("document.body.innerText.slice(0, 2000)");
        panic!("it never came: {expression}: {page}");
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // It ends when it is told nothing more; and else by this.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn thalweg(line: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_thalweg"));
    command.args(line.split(' ')).env_remove("THALWEG_OBSERVE").env("NO_COLOR", "1");
    command
}

/// Where the page is, as the command says.
fn address(told: ChildStderr) -> (String, BufReader<ChildStderr>) {
    let mut told = BufReader::new(told);
    let mut line = String::new();
    told.read_line(&mut line).unwrap();
    let url = line.trim().strip_prefix("live at ").unwrap_or_else(|| panic!("{line}")).to_owned();
    (url, told)
}

/// A process that does not outlive its test.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn search(dir: &Path) -> Child {
    let mut command = thalweg("run search --term fish --input - --count --live --latency");
    command.current_dir(dir).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

#[test]
fn a_run_is_followed_to_its_end_through_a_reload() {
    let Some(mut browser) = Browser::start() else { return };
    let dir = tempfile::tempdir().unwrap();
    let mut child = search(dir.path());
    let (url, _told) = address(child.stderr.take().unwrap());
    child.stdin.as_mut().unwrap().write_all(b"a fish\n").unwrap();
    browser.open(&url);
    browser.until("document.querySelectorAll('.kernel').length === 3 && at('state').textContent.includes('runs')");
    browser.until("at('latencies').textContent.includes('latency from files to tally')");
    // A kernel is opened by its box, as with a mouse, and by its name.
    browser.ask("document.querySelector('#k1 rect').dispatchEvent(new MouseEvent('click', {bubbles: true}))");
    browser.until("!at('panel').hidden && at('name').textContent.startsWith('search')");
    browser.ask("at('find').value = 'tally'; at('find').dispatchEvent(new Event('change'))");
    browser.until("at('name').textContent.startsWith('tally') && at('k2').classList.contains('chosen')");
    browser.until("graphs['1'].history.length > 2");
    browser.ask("location.reload()");
    browser.until(
        "performance.getEntriesByType('navigation')[0].type === 'reload' && at('state').textContent.includes('runs')",
    );
    drop(child.stdin.take());
    assert_eq!(child.wait_with_output().unwrap().stdout, b"1\n");
    // The last numbers stay, and it is told that nobody answers any more.
    browser.until("document.title.startsWith('over: ') && graphs['1'].now.over");
    browser.until("at('state').textContent.includes('the process has ended')");
    assert_eq!(browser.ask("document.querySelectorAll('.kernel.done').length"), json!(3));
}

#[test]
fn a_graph_of_5000_kernels_stays_usable() {
    const KERNELS: usize = 5000;
    let Some(mut browser) = Browser::start() else { return };
    thalweg::observe::allow().unwrap();
    let mut graph = Graph::new();
    let last = graph.poll_source(|out: &mut Output<u64>| {
        out.push(1);
        Flow::PendingFor(Duration::from_millis(1))
    });
    graph.name(last, "numbers");
    let first = graph.map(|x: u64| x);
    graph += last >> first;
    let mut before = first;
    for number in 1..KERNELS - 2 {
        let next = graph.map(|x: u64| x);
        graph.name(next, &format!("kernel {number}"));
        graph += before >> next;
        before = next;
    }
    graph += before >> graph.sink(drop::<u64>);
    let stopper = graph.stopper();
    let running = thread::spawn(move || graph.run(Scheme::default()).unwrap().end);
    let mut command = thalweg(&format!("top {} --web=127.0.0.1:0 --interval 500", std::process::id()));
    let mut top = Ended(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap());
    let (url, _told) = address(top.0.stderr.take().unwrap());
    browser.open(&url);
    browser.until(&format!("boxes.length === {KERNELS} && edges.length === {}", KERNELS - 1));
    browser.ask("at('find').value = 'kernel 4321'; at('find').dispatchEvent(new Event('change'))");
    browser.until("at('name').textContent.startsWith('kernel 4321:')");
    // It follows: new numbers come, and are drawn.
    browser.ask("window.then = at('state').textContent");
    browser.until("at('state').textContent !== window.then && Object.values(graphs)[0].history.length > 3");
    let millis = browser.ask("(() => { const t = performance.now(); draw(); return performance.now() - t; })()");
    println!("drawing {KERNELS} kernels anew takes {millis} ms");
    stopper.cancel();
    assert_eq!(running.join().unwrap(), thalweg::End::Cancelled);
    browser.until("Object.values(graphs)[0].now.over && at('state').textContent.includes('cancelled')");
    drop(top);
    browser.until("at('state').textContent.includes('the process has ended')");
}
