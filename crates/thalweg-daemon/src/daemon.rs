//! The daemon: one thread, which sleeps until something happens on a socket.
//!
//! It waits for nobody: every socket is read and written without waiting, and whoever does not keep to the protocol is put out. Its state is what it has in hand, so a
//! successor needs nothing from it: applications join again.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::{AsRawFd, FromRawFd, IntoRawFd, OwnedFd};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use thalweg_sync::atomic::{AtomicI32, Ordering::Relaxed};
use thalweg_sync::thread;
use thalweg_sync::time::{Duration, Instant, now};

use crate::MOST_WEIGHT;
use crate::page::{Page, checked};
use crate::share::{Claim, Policy, Wish, share};
use crate::status::{MemberStatus, Status};
use crate::wire::{self, HELLO, LONGEST, LOOK, Peer};

/// The time between two changes of the grants, unless somebody came or went: blocks take some tens of microseconds, so this is some tens of them.
const PACE: Duration = Duration::from_millis(2);
/// The least time between two rounds: a flood of bytes costs no more (D4).
const ROUND: Duration = Duration::from_micros(500);
/// Who publishes nothing for so long could use nothing (D6).
const SILENT: Duration = Duration::from_secs(2);
/// Who connects and does not say why for so long is put out.
const PATIENCE: Duration = Duration::from_secs(1);
/// Sockets at once, at most.
const MOST: usize = 500;

/// What a daemon is started with.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// The cores that it shares out, 1 or more.
    pub cores: u32,
    /// By what.
    pub policy: Policy,
}

impl Default for Options {
    /// All hardware threads that this process may use, by [`Policy::Delay`].
    fn default() -> Self {
        Self { cores: thread::available_parallelism() as u32, policy: Policy::default() }
    }
}

/// Shares cores out. See the [crate's page](crate).
///
/// ```
/// use thalweg_daemon::{Daemon, Member, Options, Policy, Status, Wish};
///
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("private/daemon.sock");
/// let (mut daemon, stop) = Daemon::bind(&path, Options { cores: 8, policy: Policy::Fair })?;
/// let served = std::thread::spawn(move || daemon.run());
///
/// let mut member = Member::join(&path, 1, "crunch")?;
/// member.publish(Wish { could: 3, work: 0 }, 1);
/// assert_eq!(Status::of(&path)?.members[0].granted, 8); // nobody else is there
///
/// stop.stop();
/// served.join().unwrap()?;
/// assert_eq!(member.granted(), None); // it ended in good order: no bound is left
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct Daemon {
    path: PathBuf,
    options: Options,
    listener: UnixListener,
    /// Locked while this daemon lives: the system unlocks it however that ends.
    _lock: File,
    stopped: UnixStream,
    clients: Vec<Client>,
    /// When grants were last changed.
    shared: Instant,
}

/// Ends a daemon, from another thread. Dropping it ends the daemon too.
#[derive(Debug)]
pub struct Stop(UnixStream);

impl Stop {
    /// The daemon takes its bounds back, and ends.
    pub fn stop(&self) {
        let _ = (&self.0).write_all(b"!");
    }

    /// Does so at an interrupt (Ctrl-C), `SIGTERM` and `SIGHUP` too, from now on. One daemon of a process can have that, which is then not dropped.
    ///
    /// # Errors
    ///
    /// If another one has it, or the system takes no handler.
    pub fn at_signals(&self) -> io::Result<()> {
        let fd = self.0.try_clone()?.into_raw_fd();
        if SIGNALLED.compare_exchange(-1, fd, Relaxed, Relaxed).is_err() {
            // SAFETY: made above, and nobody else has its number.
            drop(unsafe { OwnedFd::from_raw_fd(fd) });
            return Err(io::Error::new(ErrorKind::AlreadyExists, "signals end another daemon of this process already"));
        }
        for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
            let handler = signalled as extern "C" fn(libc::c_int);
            // SAFETY: the handler does what a handler may: it reads an atomic, and writes to a descriptor that is never closed.
            if unsafe { libc::signal(signal, handler as libc::sighandler_t) } == libc::SIG_ERR {
                return Err(io::Error::last_os_error());
            }
        }
        Ok(())
    }
}

/// Where a signal writes; -1 while nobody wants it.
static SIGNALLED: AtomicI32 = AtomicI32::new(-1);

extern "C" fn signalled(_signal: libc::c_int) {
    // Relaxed: the handler was installed after it was set, by a call of the system.
    let fd = SIGNALLED.load(Relaxed);
    // SAFETY: one byte that lives; where it cannot be written, one is there already. The error number of what was interrupted is left as it was.
    unsafe {
        let number = *libc::__errno_location();
        libc::write(fd, b"!".as_ptr().cast(), 1);
        *libc::__errno_location() = number;
    }
}

#[derive(Debug)]
struct Client {
    stream: UnixStream,
    peer: Peer,
    state: State,
}

#[derive(Debug)]
enum State {
    /// It has not said yet why it came.
    New {
        since: Instant,
        said: Vec<u8>,
    },
    Joined(Joined),
    /// To be put out.
    Gone,
}

#[derive(Debug)]
struct Joined {
    page: Page,
    name: String,
    weight: u32,
    granted: u32,
    /// What it published last, and when that was seen first.
    beat: u64,
    since: Instant,
}

impl Joined {
    /// What it could use at `time`; nothing if it is silent (D6).
    fn wish(&mut self, time: Instant) -> Wish {
        let said = self.page.said();
        if said.beat != self.beat {
            (self.beat, self.since) = (said.beat, time);
        }
        if time.since(self.since) > SILENT { Wish::default() } else { said.wish }
    }
}

impl Daemon {
    /// Takes the place at `path`, in a folder that is made if there is none. A socket that a daemon left behind which is gone is replaced.
    ///
    /// # Errors
    ///
    /// If another daemon has the place, the folder is not this user's alone, or the socket cannot be made.
    pub fn bind(path: &Path, options: Options) -> io::Result<(Self, Stop)> {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).ok_or_else(|| {
            let text =
                format!("{}: a socket needs a folder that is its user's alone; give a whole path", path.display());
            io::Error::new(ErrorKind::InvalidInput, text)
        })?;
        wire::private_folder(folder)?;
        let cannot = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
        let lock = lock(&path.with_extension("lock")).map_err(|error| match error.kind() {
            ErrorKind::WouldBlock => {
                let text = format!("{}: a daemon runs there already; `thalweg daemon status` shows it", path.display());
                io::Error::new(ErrorKind::AddrInUse, text)
            }
            _ => cannot(error),
        })?;
        // Nobody else takes the place meanwhile: the lock is ours.
        match fs::remove_file(path) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(cannot(error)),
            _ => {}
        }
        let listener = UnixListener::bind(path).map_err(cannot)?;
        fs::set_permissions(path, Permissions::from_mode(0o600)).map_err(cannot)?;
        listener.set_nonblocking(true)?;
        let (stop, stopped) = UnixStream::pair()?;
        let options = Options { cores: options.cores.max(1), ..options };
        let path = path.to_owned();
        let daemon = Self { path, options, listener, _lock: lock, stopped, clients: Vec::new(), shared: now() };
        Ok((daemon, Stop(stop)))
    }

    /// Shares out until it is [stopped](Stop). Then nobody is bounded any more, and the socket is gone.
    ///
    /// # Errors
    ///
    /// If the system no longer says what happens on the sockets. Applications keep what they have.
    pub fn run(&mut self) -> io::Result<()> {
        let (mut dirty, mut last) = (false, now());
        loop {
            let round = ROUND.saturating_sub(last.elapsed());
            if !round.is_zero() {
                thread::sleep(round);
            }
            let ready = self.poll(self.limit(dirty))?;
            last = now();
            if ready.stopped {
                break;
            }
            let mut urgent = false;
            for &index in &ready.clients {
                let before = matches!(self.clients[index].state, State::Joined(_));
                self.hear(index, last);
                let after = matches!(self.clients[index].state, State::Joined(_));
                dirty |= before || after;
                urgent |= before != after;
            }
            self.clients.retain(|client| match &client.state {
                State::New { since, .. } => last.since(*since) < PATIENCE,
                State::Joined(_) => true,
                State::Gone => false,
            });
            if ready.listener {
                self.accept(last);
            }
            // D2: who went, or came, changes grants at once. Others are looked at now and then whatever they say (D6).
            let since = last.since(self.shared);
            if urgent || (dirty && since >= PACE) || since >= SILENT / 2 {
                self.share_out(last);
                dirty = false;
            }
        }
        for client in &self.clients {
            if let State::Joined(joined) = &client.state {
                joined.page.grant(0);
            }
        }
        self.clients.clear();
        let _ = fs::remove_file(&self.path);
        Ok(())
    }

    /// How long nothing needs to be done, if nothing happens.
    fn limit(&self, dirty: bool) -> Option<Duration> {
        if dirty {
            return Some(PACE.saturating_sub(self.shared.elapsed()));
        }
        // Somebody who could use something may fall silent, and somebody may not say why it came.
        (!self.clients.is_empty()).then_some(SILENT / 2)
    }

    fn poll(&self, limit: Option<Duration>) -> io::Result<Ready> {
        let wait = |fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
        let own = [wait(self.stopped.as_raw_fd()), wait(self.listener.as_raw_fd())];
        let clients = self.clients.iter().map(|client| wait(client.stream.as_raw_fd()));
        let mut all: Vec<_> = own.into_iter().chain(clients).collect();
        // Rounded up: a wait of no time would be asked for again and again.
        let millis = limit.map_or(-1, |limit| limit.as_micros().div_ceil(1000).min(60_000) as libc::c_int);
        // SAFETY: the kernel reads and writes so many entries of a vector that is borrowed here.
        let found = checked(unsafe { libc::poll(all.as_mut_ptr(), all.len() as libc::nfds_t, millis) });
        match found {
            Err(error) if error.kind() == ErrorKind::Interrupted => return Ok(Ready::default()),
            found => found?,
        };
        let happened = |entry: &libc::pollfd| entry.revents != 0;
        Ok(Ready {
            stopped: happened(&all[0]),
            listener: happened(&all[1]),
            clients: (0..self.clients.len()).filter(|&index| happened(&all[index + 2])).collect(),
        })
    }

    /// Lets in who knocks; a few each round.
    fn accept(&mut self, time: Instant) {
        for _ in 0..16 {
            // None, one that has gone already, or no descriptors left: the next round is another try.
            let Ok((stream, _)) = self.listener.accept() else { return };
            let Ok(peer) = wire::peer(&stream) else { continue };
            if stream.set_nonblocking(true).is_err() {
                continue;
            }
            // D5.
            if peer.uid != wire::own_uid() {
                refuse(&stream, "it is another user's; start a daemon of your own");
                continue;
            }
            if self.clients.len() >= MOST {
                refuse(&stream, &format!("{MOST} applications have joined already"));
                continue;
            }
            self.clients.push(Client { stream, peer, state: State::New { since: time, said: Vec::new() } });
        }
    }

    /// Reads what a client said, once.
    fn hear(&mut self, index: usize, time: Instant) {
        let client = &mut self.clients[index];
        let mut bytes = [0; LONGEST];
        let got = match client.stream.read(&mut bytes) {
            Ok(0) => None,
            Ok(got) => Some(&bytes[..got]),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => return,
            Err(_) => None,
        };
        let Some(got) = got else {
            client.state = State::Gone;
            return;
        };
        match &mut client.state {
            State::New { said, .. } => {
                said.extend_from_slice(got);
                if let Some(end) = said.iter().position(|&byte| byte == b'\n') {
                    // What comes behind the line belongs to nothing that was agreed on.
                    let line = (end + 1 == said.len()).then(|| String::from_utf8_lossy(&said[..end]).into_owned());
                    self.answer(index, line.as_deref().unwrap_or(""), time);
                } else if said.len() >= LONGEST {
                    self.answer(index, "", time);
                }
            }
            State::Joined(_) if got.iter().all(|&byte| byte == LOOK) => {}
            State::Joined(_) | State::Gone => client.state = State::Gone,
        }
    }

    /// Answers the line that a client came with.
    fn answer(&mut self, index: usize, line: &str, time: Instant) {
        let asked = line.strip_prefix(HELLO).and_then(|rest| {
            if rest == "status" {
                return Some(None);
            }
            let (weight, name) = rest.strip_prefix("join ")?.split_once(' ')?;
            Some(Some((weight.parse::<u32>().ok()?.clamp(1, MOST_WEIGHT), wire::plain(name))))
        });
        let status = matches!(asked, Some(None)).then(|| self.status(time).write());
        let client = &mut self.clients[index];
        client.state = match asked {
            Some(Some((weight, name))) => {
                let joined = Page::new().and_then(|(page, file)| {
                    // Until the grants are made, which is before anything else.
                    page.grant(1);
                    wire::send_with(&client.stream, &format!("{HELLO}joined\n"), &file)?;
                    Ok(Joined { beat: 0, page, name, weight, granted: 1, since: time })
                });
                joined.map_or(State::Gone, State::Joined)
            }
            Some(None) => {
                let _ = client.stream.write(status.unwrap_or_default().as_bytes());
                State::Gone
            }
            None => {
                refuse(
                    &client.stream,
                    "that is not this version's protocol; take the same version of thalweg for both",
                );
                State::Gone
            }
        };
    }

    fn joined(&mut self) -> impl Iterator<Item = (&UnixStream, Peer, &mut Joined)> {
        self.clients.iter_mut().filter_map(|client| match &mut client.state {
            State::Joined(joined) => Some((&client.stream, client.peer, joined)),
            State::New { .. } | State::Gone => None,
        })
    }

    /// Gives and takes cores, by what everybody says now.
    fn share_out(&mut self, time: Instant) {
        self.shared = time;
        let Options { cores, policy } = self.options;
        let claims: Vec<_> = self
            .joined()
            .map(|(_, _, joined)| Claim { wish: joined.wish(time), weight: joined.weight, had: joined.granted })
            .collect();
        let grants = share(cores, policy, &claims);
        for ((mut stream, _, joined), grant) in self.joined().zip(grants) {
            if joined.granted != grant {
                joined.granted = grant;
                joined.page.grant(grant);
                // Who does not read has bytes enough to look at.
                let _ = stream.write(&[LOOK]);
            }
        }
    }

    fn status(&mut self, time: Instant) -> Status {
        self.share_out(time);
        let Options { cores, policy } = self.options;
        let members = self.joined().map(|(_, peer, joined)| MemberStatus {
            pid: peer.pid,
            name: joined.name.clone(),
            weight: joined.weight,
            granted: joined.granted,
            works: joined.page.said().works,
            wish: joined.wish(time),
        });
        Status { members: members.collect(), cores, policy }
    }
}

/// What happened.
#[derive(Debug, Default)]
struct Ready {
    stopped: bool,
    listener: bool,
    clients: Vec<usize>,
}

fn refuse(mut stream: &UnixStream, reason: &str) {
    let _ = stream.write(format!("{HELLO}{reason}\n").as_bytes());
}

/// Locks a file, or fails with `WouldBlock` if somebody has it.
fn lock(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(path)?;
    // SAFETY: a call on a descriptor that is owned here.
    checked(unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) })?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Member;
    use thalweg_sync::random::Xorshift;

    const SOON: Duration = Duration::from_secs(60);

    /// A daemon with so many cores, what ends it, and where it is.
    fn served(cores: u32, policy: Policy) -> (tempfile::TempDir, PathBuf, Stop, thread::JoinHandle<()>) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("own/daemon.sock");
        let (mut daemon, stop) = Daemon::bind(&path, Options { cores, policy }).unwrap();
        let served = thread::spawn(move || daemon.run().unwrap());
        (folder, path, stop, served)
    }

    #[track_caller]
    fn soon<R>(mut look: impl FnMut() -> Option<R>) -> R {
        let start = now();
        loop {
            if let Some(found) = look() {
                return found;
            }
            assert!(start.elapsed() < SOON, "not within a minute");
            thread::sleep(Duration::from_millis(2));
        }
    }

    fn wish(could: u32) -> Wish {
        Wish { could, work: 1_000_000 }
    }

    #[test]
    fn cores_go_to_who_could_use_them_and_come_back_when_an_application_goes() {
        let (_folder, path, stop, served) = served(8, Policy::Fair);
        let mut one = Member::join(&path, 1, "one").unwrap();
        one.publish(wish(8), 1);
        soon(|| (one.granted() == Some(8)).then_some(()));
        let mut other = Member::join(&path, 3, "other\u{7}").unwrap();
        other.publish(wish(8), 1);
        soon(|| (one.granted() == Some(2) && other.granted() == Some(6)).then_some(()));
        assert!(soon(|| one.wait(Duration::from_millis(1)).unwrap().then_some(true)), "it was told");
        let status = Status::of(&path).unwrap();
        assert_eq!((status.cores, status.policy), (8, Policy::Fair));
        let told: Vec<_> =
            status.members.iter().map(|m| (&*m.name, m.weight, m.granted, m.works, m.wish.could)).collect();
        assert_eq!(told, [("one", 1, 2, 1, 8), ("other", 3, 6, 1, 8)]);
        assert_eq!(status.members[0].pid, std::process::id());
        other.publish(wish(0), 0);
        soon(|| (one.granted() == Some(8) && other.granted() == Some(1)).then_some(()));
        other.publish(wish(8), 1);
        soon(|| (one.granted() == Some(2)).then_some(()));
        drop(other);
        soon(|| (one.granted() == Some(8)).then_some(()));
        stop.stop();
        served.join().unwrap();
        soon(|| one.wait(SOON).is_err().then_some(()));
        assert_eq!(one.granted(), None, "nobody is bounded any more");
        assert!(!path.exists());
    }

    #[test]
    fn a_second_daemon_is_refused_and_a_successor_finds_the_place() {
        let (_folder, path, stop, served) = served(2, Policy::Delay);
        let refused = Daemon::bind(&path, Options::default()).unwrap_err();
        assert!(refused.to_string().contains("a daemon runs there already"), "{refused}");
        assert!(Status::of(&path).is_ok(), "the first one still has it");
        stop.stop();
        served.join().unwrap();
        let gone = Status::of(&path).unwrap_err();
        assert!(gone.to_string().contains("no daemon runs there; `thalweg daemon` starts one"), "{gone}");
        // As one leaves it that is killed.
        drop(UnixListener::bind(&path).unwrap());
        assert!(Daemon::bind(&path, Options::default()).is_ok());
    }

    #[test]
    fn a_folder_that_others_may_look_into_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), Permissions::from_mode(0o750)).unwrap();
        let refused = Daemon::bind(&folder.path().join("daemon.sock"), Options::default()).unwrap_err();
        assert!(refused.to_string().contains("others may look into it; `chmod 700` it"), "{refused}");
        let refused = Daemon::bind("daemon.sock".as_ref(), Options::default()).unwrap_err();
        assert!(refused.to_string().contains("give a whole path"), "{refused}");
    }

    /// D6.
    #[test]
    fn who_falls_silent_counts_no_more() {
        let (_folder, path, _stop, _served) = served(4, Policy::Delay);
        let (mut silent, mut other) =
            (Member::join(&path, 1, "silent").unwrap(), Member::join(&path, 1, "other").unwrap());
        silent.publish(wish(4), 4);
        soon(|| {
            other.publish(wish(4), 4);
            (other.granted() == Some(4) && silent.granted() == Some(1)).then_some(())
        });
        soon(|| {
            silent.publish(wish(4), 4);
            other.publish(wish(4), 4);
            (other.granted() == Some(2) && silent.granted() == Some(2)).then_some(())
        });
    }

    /// D4: random words in every place of a page, and what the others see of it: nothing but fewer cores, and no fewer than they are sure of.
    #[test]
    fn rubbish_in_a_page_harms_nobody_else() {
        for policy in Policy::ALL {
            let (_folder, path, _stop, _served) = served(8, policy);
            let (mut honest, liar) =
                (Member::join(&path, 1, "honest").unwrap(), Member::join(&path, 1, "liar").unwrap());
            let mut random = Xorshift::new(1);
            for round in 0..300 {
                for word in 0..64 {
                    let bits = random.number();
                    liar.page().scribble(word, if bits & 3 == 0 { u64::MAX >> (bits >> 58) } else { bits });
                }
                liar.page().scribble(random.index(8192), random.number());
                honest.publish(Wish { could: 4, work: round }, 3);
                let status = Status::of(&path).unwrap();
                let [ours, theirs] = &status.members[..] else { panic!("{status}") };
                assert_eq!((ours.wish, ours.works), (Wish { could: 4, work: round }, 3), "its page is its own");
                let sum =
                    ours.granted + if theirs.wish.could > 0 || policy == Policy::Fixed { theirs.granted } else { 0 };
                assert_eq!(sum, 8, "{policy}: {status}");
                // Half of a fair share is four halves.
                assert!(ours.granted >= 2, "{policy}: {status}");
            }
        }
    }

    /// D4: random bytes on the socket, before it has joined and behind that.
    #[test]
    fn rubbish_on_the_socket_puts_out_who_sends_it_and_nobody_else() {
        let (_folder, path, _stop, _served) = served(4, Policy::Fair);
        let mut honest = Member::join(&path, 1, "honest").unwrap();
        let mut random = Xorshift::new(2);
        for round in 0..200 {
            honest.publish(wish(4), 1);
            let mut stream = UnixStream::connect(&path).unwrap();
            if round % 2 == 0 {
                stream.write_all(format!("{HELLO}join {} x\n", random.number() as u32).as_bytes()).unwrap();
                let (got, page) = wire::receive_with(&stream, &mut [0; LONGEST]).unwrap();
                assert!(got > 0 && page.is_some());
            }
            let mut bytes: Vec<_> = (0..1 + random.below(600)).map(|_| random.number() as u8).collect();
            // Something in it is not what may be said.
            bytes.push(b'?');
            bytes.push(b'\n');
            let _ = stream.write_all(&bytes);
            stream.set_read_timeout(Some(SOON)).unwrap();
            let mut rest = Vec::new();
            match stream.read_to_end(&mut rest) {
                Ok(_) => {}
                // It was put out while it still talked.
                Err(error) => assert_eq!(error.kind(), ErrorKind::ConnectionReset),
            }
            soon(|| (honest.granted() == Some(4)).then_some(()));
            assert_eq!(Status::of(&path).unwrap().members.len(), 1);
        }
        // One that says nothing at all goes too.
        let mut mute = UnixStream::connect(&path).unwrap();
        mute.set_read_timeout(Some(SOON)).unwrap();
        assert_eq!(mute.read(&mut [0]).unwrap(), 0);
    }

    /// A flood of bytes that are allowed, without an end: others are still served.
    #[test]
    fn a_flood_keeps_nobody_from_being_served() {
        let (_folder, path, _stop, _served) = served(4, Policy::Fair);
        let mut flood = UnixStream::connect(&path).unwrap();
        flood.write_all(format!("{HELLO}join 1 flood\n").as_bytes()).unwrap();
        assert!(wire::receive_with(&flood, &mut [0; LONGEST]).unwrap().1.is_some());
        let flooding = thread::spawn(move || {
            flood.set_write_timeout(Some(SOON)).unwrap();
            (0..500).try_for_each(|_| flood.write_all(&[LOOK; 1024]))
        });
        for could in [4, 1, 3, 2].into_iter().cycle().take(40) {
            let mut member = Member::join(&path, 1, "member").unwrap();
            member.publish(wish(could), 1);
            soon(|| {
                let status = Status::of(&path).unwrap();
                (status.members.last()?.wish.could == could).then_some(())
            });
        }
        flooding.join().unwrap().unwrap();
    }
}
