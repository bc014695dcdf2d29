//! Kill storms: applications and the daemon are killed at random, and come back. After each few kills every core is granted, to those that live, and
//! everybody has found the daemon that there is.
//!
//! `THALWEG_STORM_KILLS=10000 cargo test --release -p thalweg-daemon --test storm -- --nocapture` kills longer than the default of 40.
#![cfg(target_os = "linux")]

use std::env;
use std::io::{ErrorKind, Read};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use thalweg_daemon::{Daemon, Member, Options, Policy, Status, Wish};
use thalweg_sync::random::Xorshift;
use thalweg_sync::thread;
use thalweg_sync::time::{Duration, now};

const ROLE: &str = "THALWEG_STORM_ROLE";
const CORES: u32 = 5;
const APPLICATIONS: usize = 4;
const SOON: Duration = Duration::from_secs(60);

/// What the processes of a storm do: this program again, told by the environment.
#[test]
fn role() {
    let Ok(role) = env::var(ROLE) else { return };
    // Nobody is left behind: whoever started this holds the other end.
    thread::spawn(|| {
        let _ = std::io::stdin().read(&mut [0]);
        std::process::exit(0);
    });
    let (kind, path) = role.split_once(' ').unwrap();
    let path = Path::new(path);
    match kind {
        "daemon" => {
            // The lock of one that was killed is free when it is buried.
            let (mut daemon, _stop) = loop {
                match Daemon::bind(path, Options { cores: CORES, policy: Policy::Delay }) {
                    Ok(bound) => break bound,
                    Err(_) => thread::sleep(Duration::from_millis(1)),
                }
            };
            daemon.run().unwrap();
        }
        "application" => {
            let mut random = Xorshift::new(u64::from(std::process::id()));
            loop {
                let Ok(mut member) = Member::join(path, 1, "storm") else {
                    thread::sleep(Duration::from_millis(2));
                    continue;
                };
                loop {
                    let could = random.below(4) as u32;
                    member.publish(Wish { could, work: random.below(1_000_000) }, could);
                    assert!(member.granted().is_some_and(|cores| (1..=CORES).contains(&cores)));
                    if member.wait(Duration::from_millis(3)).is_err() {
                        break;
                    }
                }
            }
        }
        "stranger" => {
            let mut stream = UnixStream::connect(path).unwrap();
            stream.set_read_timeout(Some(SOON)).unwrap();
            let mut answer = String::new();
            stream.read_to_string(&mut answer).unwrap();
            assert_eq!(answer, "thalweg-daemon 1 it is another user's; start a daemon of your own\n");
            // Nor does the library take grants from somebody else's daemon.
            let refused = Member::join(path, 1, "stranger").unwrap_err();
            assert!(refused.to_string().contains("it belongs to another user"), "{refused}");
            std::process::exit(77);
        }
        other => panic!("{other}"),
    }
}

fn role_of(kind: &str, path: &Path) -> Command {
    let mut command = Command::new(env::current_exe().unwrap());
    command.args(["role", "--exact", "--nocapture", "--test-threads", "1"]);
    command.env(ROLE, format!("{kind} {}", path.display()));
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

struct Process(Child);

impl Process {
    fn start(kind: &str, path: &Path) -> Self {
        Self(role_of(kind, path).spawn().unwrap())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Whether all that live have joined, nobody else has, and every core is granted once.
fn is_whole(status: &Status, living: &[u32]) -> Result<(), String> {
    let mut joined: Vec<_> = status.members.iter().map(|member| member.pid).collect();
    joined.sort_unstable();
    let counted: Vec<_> = status.members.iter().filter(|member| member.wish.could > 0).collect();
    let counted = if counted.is_empty() { status.members.iter().collect() } else { counted };
    let sum: u32 = counted.iter().map(|member| member.granted).sum();
    if joined != living {
        return Err(format!("{living:?} live, and {joined:?} have joined"));
    }
    if sum != CORES {
        return Err(format!("{sum} of {CORES} cores are granted:\n{status}"));
    }
    Ok(())
}

#[test]
fn kills_lose_no_core_and_leave_nobody_hanging() {
    let kills: u32 = env::var("THALWEG_STORM_KILLS").map_or(40, |kills| kills.parse().expect("a number of kills"));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("own/daemon.sock");
    let mut daemon = Process::start("daemon", &path);
    let mut applications: Vec<_> = (0..APPLICATIONS).map(|_| Process::start("application", &path)).collect();
    let mut random = Xorshift::new(1);
    for kill in 1..=kills {
        // Somewhere in the middle of what they do.
        thread::sleep(Duration::from_micros(random.below(4000)));
        match random.index(APPLICATIONS + 1) {
            APPLICATIONS => {
                drop(std::mem::replace(&mut daemon, Process::start("daemon", &path)));
            }
            index => {
                let next = Process::start("application", &path);
                drop(std::mem::replace(&mut applications[index], next));
            }
        }
        if kill % 8 != 0 && kill != kills {
            continue;
        }
        let mut living: Vec<_> = applications.iter().map(|application| application.0.id()).collect();
        living.sort_unstable();
        let start = now();
        loop {
            let found = Status::of(&path).map_err(|error| error.to_string());
            match found.and_then(|status| is_whole(&status, &living)) {
                Ok(()) => break,
                Err(why) => assert!(start.elapsed() < SOON, "after {kill} kills, and a minute: {why}"),
            }
            thread::sleep(Duration::from_millis(2));
        }
        if kill % 1000 == 0 {
            println!("{kill} kills");
        }
    }
}

/// D5. Where this runs as root, there is another user to try: with all modes opened up, so that only what the kernel says of the other side is left.
#[test]
fn another_user_is_refused() {
    use std::fs::{Permissions, set_permissions};
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    let folder = tempfile::tempdir().unwrap();
    if folder.path().metadata().unwrap().uid() != 0 {
        return println!("skipped: only root can be another user");
    }
    let path = folder.path().join("own/daemon.sock");
    let (mut daemon, stop) = Daemon::bind(&path, Options::default()).unwrap();
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    for folder in [folder.path(), path.parent().unwrap()] {
        set_permissions(folder, Permissions::from_mode(0o755)).unwrap();
    }
    set_permissions(&path, Permissions::from_mode(0o666)).unwrap();
    let served = thread::spawn(move || daemon.run());
    // A copy, where anybody may read it.
    let copy = folder.path().join("stranger");
    std::fs::copy(env::current_exe().unwrap(), &copy).unwrap();
    set_permissions(&copy, Permissions::from_mode(0o755)).unwrap();
    let mut command = Command::new(&copy);
    command.args(["role", "--exact", "--nocapture"]).env(ROLE, format!("stranger {}", path.display()));
    command.current_dir(folder.path()).stdin(Stdio::piped()).uid(65534).gid(65534);
    let mut child = loop {
        match command.spawn() {
            Ok(child) => break child,
            // A process that another test has just begun has the copy open for a moment, as this one had.
            Err(error) if error.kind() == ErrorKind::ExecutableFileBusy => thread::sleep(Duration::from_millis(5)),
            Err(error) => panic!("{error}"),
        }
    };
    // Waiting closes it, and then the child goes.
    let held = child.stdin.take();
    assert_eq!(child.wait().unwrap().code(), Some(77));
    drop(held);
    stop.stop();
    served.join().unwrap().unwrap();
}
