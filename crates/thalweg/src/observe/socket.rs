//! A process lets others of its owner see its runs: a Unix socket in a folder that the owner alone may read.
//!
//! On a socket, whoever looks asks, and gets one answer each time; a run knows nothing of it. Who asks and does not read is given up after a
//! second, and keeps one thread waiting until then, which is none of the run's.
//!
//! ```text
//! thalweg 1 4711 thalweg run search    format, process, what it was started as
//! ?                                     from the other side
//! 1                                     graphs
//! 3 {"thalweg":1,...}                   a graph's number, its snapshot
//! ```

use super::{Eyes, Observer, Pane, Snapshot};
use std::fs;
use std::io::{self, BufRead, BufReader, ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process;
use thalweg_sync::atomic::{AtomicUsize, Ordering::*};
use thalweg_sync::sync::{Arc, Mutex, OnceLock, Weak};
use thalweg_sync::thread;
use thalweg_sync::time::Duration;

/// The protocol's number.
const PROTOCOL: &str = "1";
/// Who reads nothing for so long is given up.
const PATIENCE: Duration = Duration::from_secs(1);
/// Who look at once, at most.
const LOOKERS: usize = 16;
/// The variable of the environment by which whoever starts a process allows it.
const VARIABLE: &str = "THALWEG_OBSERVE";
/// Bytes of the line in which a process says who it is.
const LONGEST_NAME: usize = 120;

/// The graphs of this process that have run, by number.
#[derive(Default)]
struct Registry {
    graphs: Mutex<Vec<(u64, Weak<Pane>)>>,
    lookers: AtomicUsize,
}

static REGISTRY: OnceLock<Option<Arc<Registry>>> = OnceLock::new();

/// Lets other processes of the same owner see the runs of this one that begin from now on, with `thalweg top`. The variable `THALWEG_OBSERVE=1` of the
/// environment does the same without a line of code. Nothing of it costs a run anything while nobody looks.
///
/// ```
/// thalweg::observe::allow().expect("the folder for sockets can be written");
/// ```
///
/// # Errors
///
/// If the [folder](folder) cannot be made, is not the owner's alone, or the socket cannot be made in it.
pub fn allow() -> io::Result<()> {
    let mut failure = None;
    let registry = REGISTRY.get_or_init(|| serve().map_err(|error| failure = Some(error)).ok());
    match (failure, registry) {
        (Some(error), _) => Err(error),
        (None, Some(_)) => Ok(()),
        (None, None) => Err(io::Error::other("it was tried before, and failed; start the process again")),
    }
}

/// Where the sockets are: `thalweg` in `$XDG_RUNTIME_DIR`, or else `thalweg-USER` in the folder for temporary files.
pub fn folder() -> PathBuf {
    if let Some(folder) = std::env::var_os("XDG_RUNTIME_DIR").filter(|folder| !folder.is_empty()) {
        return Path::new(&folder).join("thalweg");
    }
    let user = fs::metadata("/proc/self").map(|own| own.uid().to_string());
    let user = user.or_else(|_| std::env::var("USER")).unwrap_or_else(|_| "nobody".to_owned());
    std::env::temp_dir().join(format!("thalweg-{}", user.replace('/', "-")))
}

/// Called when a run begins: others see it if that was allowed.
pub(crate) fn note(graph: u64, eyes: &Eyes) {
    if !thread::is_native() {
        return;
    }
    let is_wanted = || std::env::var_os(VARIABLE).is_some_and(|value| !value.is_empty() && value != "0");
    if REGISTRY.get().is_none() && !is_wanted() {
        return;
    }
    let registry = REGISTRY.get_or_init(|| {
        let started = serve();
        if let Err(error) = &started {
            // Whoever set the variable waits for this.
            let _ = writeln!(io::stderr(), "thalweg: {VARIABLE} is set, but nobody can look: {error}");
        }
        started.ok()
    });
    let Some(registry) = registry else { return };
    let mut graphs = registry.graphs.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    graphs.retain(|(_, pane)| pane.upgrade().is_some());
    if graphs.iter().all(|(number, _)| *number != graph) {
        graphs.push((graph, Arc::downgrade(&eyes.observe().pane)));
    }
}

fn serve() -> io::Result<Arc<Registry>> {
    let (folder, path) = (folder(), folder().join(format!("{}.sock", process::id())));
    let cannot = |what: &str, path: &Path, error: io::Error| {
        io::Error::new(error.kind(), format!("cannot {what} {}: {error}", path.display()))
    };
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(&folder)
        .map_err(|error| cannot("make", &folder, error))?;
    // Of a process that had this number before.
    let _ = fs::remove_file(&path);
    let listener = UnixListener::bind(&path).map_err(|error| cannot("make the socket", &path, error))?;
    if let Err(error) = is_private(&folder, &path) {
        let _ = fs::remove_file(&path);
        return Err(error);
    }
    let registry = Arc::new(Registry::default());
    let theirs = registry.clone();
    thread::try_start(spec("thalweg-observe"), move || {
        for stream in listener.incoming().flatten() {
            let (own, registry) = (theirs.clone(), theirs.clone());
            if own.lookers.fetch_add(1, Relaxed) >= LOOKERS {
                own.lookers.fetch_sub(1, Relaxed);
                let _ = (&stream).write_all(format!("thalweg {PROTOCOL} is busy: {LOOKERS} look already\n").as_bytes());
                continue;
            }
            let started = thread::try_start(spec("thalweg-look"), move || {
                // Who goes away, or does not read, is forgotten.
                let _ = registry.answer(&stream);
                registry.lookers.fetch_sub(1, Relaxed);
            });
            if started.is_err() {
                own.lookers.fetch_sub(1, Relaxed);
            }
        }
    })?;
    Ok(registry)
}

fn spec(name: &str) -> thread::Spec<'_> {
    thread::Spec { name, stack: None }
}

/// Whether nobody but the owner may look into `folder`, in which this process has just made `file`.
fn is_private(folder: &Path, file: &Path) -> io::Result<()> {
    let (whole, own) = (fs::symlink_metadata(folder)?, fs::symlink_metadata(file)?);
    let mode = whole.permissions().mode() & 0o777;
    let fault = if !whole.is_dir() {
        "it is a link or a file"
    } else if whole.uid() != own.uid() {
        "it belongs to somebody else"
    } else if mode & 0o077 != 0 {
        "others may look into it: `chmod 700` it"
    } else {
        return Ok(());
    };
    let text =
        format!("{} is not this user's alone: {fault}, or set XDG_RUNTIME_DIR to a folder that is", folder.display());
    Err(io::Error::new(ErrorKind::PermissionDenied, text))
}

impl Registry {
    fn answer(&self, mut stream: &UnixStream) -> io::Result<()> {
        stream.set_write_timeout(Some(PATIENCE))?;
        stream.write_all(format!("thalweg {PROTOCOL} {} {}\n", process::id(), own_name()).as_bytes())?;
        let mut requests = BufReader::new(stream);
        let mut request = String::new();
        loop {
            request.clear();
            // Nobody asks for more than a character.
            if io::Read::take(&mut requests, 64).read_line(&mut request)? == 0 {
                return Ok(());
            }
            let panes: Vec<_> = {
                let graphs = self.graphs.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
                graphs.iter().filter_map(|(number, pane)| Some((*number, Observer { pane: pane.upgrade()? }))).collect()
            };
            let lines: Vec<_> = (panes.iter())
                .filter_map(|(number, observer)| Some(format!("{number} {}\n", observer.snapshot()?.to_json())))
                .collect();
            stream.write_all(format!("{}\n{}", lines.len(), lines.concat()).as_bytes())?;
        }
    }
}

/// How this process was started, on one line.
pub(crate) fn own_name() -> String {
    let mut args = std::env::args_os();
    let first = args.next().map(PathBuf::from);
    let first = first.as_deref().and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned());
    let words = first.into_iter().chain(args.map(|word| word.to_string_lossy().into_owned()));
    let name = words.collect::<Vec<_>>().join(" ");
    name.chars().map(|c| if c.is_control() { ' ' } else { c }).take(LONGEST_NAME).collect()
}

/// A process that lets its runs be seen.
#[derive(Debug)]
pub struct Process {
    /// Its number.
    pub id: u32,
    /// How it was started.
    pub name: String,
    stream: BufReader<UnixStream>,
}

impl Process {
    /// The sockets that there are, each with its process's number; of processes that have ended too.
    ///
    /// # Errors
    ///
    /// If the folder is there and cannot be read.
    pub fn sockets() -> io::Result<Vec<(u32, PathBuf)>> {
        let folder = folder();
        let entries = match fs::read_dir(&folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => {
                return Err(io::Error::new(error.kind(), format!("cannot look into {}: {error}", folder.display())));
            }
        };
        let mut sockets = Vec::new();
        for entry in entries {
            let path = entry?.path();
            let number = path.file_stem().and_then(|stem| stem.to_str()?.parse().ok());
            if let (Some(number), Some("sock")) = (number, path.extension().and_then(|extension| extension.to_str())) {
                sockets.push((number, path));
            }
        }
        sockets.sort_unstable();
        Ok(sockets)
    }

    /// Goes to the process at this socket. One that has ended leaves its socket behind: it is removed.
    ///
    /// # Errors
    ///
    /// If the process has ended, its socket is not this user's, or it is of another version.
    pub fn connect(path: &Path) -> io::Result<Self> {
        let stream = UnixStream::connect(path).map_err(|error| {
            let told = match error.kind() {
                ErrorKind::ConnectionRefused => {
                    let _ = fs::remove_file(path);
                    "its process has ended".to_owned()
                }
                ErrorKind::NotFound => {
                    "there is no such process, or it does not let its runs be seen: start it with THALWEG_OBSERVE=1"
                        .to_owned()
                }
                ErrorKind::PermissionDenied => "it belongs to another user".to_owned(),
                _ => error.to_string(),
            };
            io::Error::new(error.kind(), format!("{}: {told}", path.display()))
        })?;
        stream.set_read_timeout(Some(2 * PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        let mut stream = BufReader::new(stream);
        let hello = line(&mut stream, path)?;
        let mut words = hello.splitn(4, ' ');
        let told = (words.next(), words.next(), words.next(), words.next().unwrap_or(""));
        let (Some("thalweg"), Some(protocol), Some(id), name) = told else {
            return Err(io::Error::new(
                ErrorKind::InvalidData,
                format!("{}: who answers is not thalweg", path.display()),
            ));
        };
        if protocol != PROTOCOL {
            let text = format!(
                "{}: its process speaks version {protocol}, this command version {PROTOCOL}; take the same version of thalweg for both",
                path.display()
            );
            return Err(io::Error::new(ErrorKind::InvalidData, text));
        }
        match id.parse() {
            Ok(id) => Ok(Self { id, name: name.to_owned(), stream }),
            Err(_) => Err(io::Error::new(ErrorKind::ResourceBusy, format!("{}: {hello}", path.display()))),
        }
    }

    /// The graphs that have run and are not dropped: their numbers within the process, and what they count now.
    ///
    /// # Errors
    ///
    /// If the process has ended, does not answer for five seconds, or says what is no snapshot.
    pub fn look(&mut self) -> io::Result<Vec<(u64, Snapshot)>> {
        let name = PathBuf::from(format!("process {}", self.id));
        // A large graph takes its time where there is much else to do.
        self.stream.get_ref().set_read_timeout(Some(5 * PATIENCE))?;
        self.stream.get_mut().write_all(b"?\n").map_err(|error| ended(error, &name))?;
        let odd = |text: String| io::Error::new(ErrorKind::InvalidData, format!("{}: {text}", name.display()));
        let count: usize =
            line(&mut self.stream, &name)?.parse().map_err(|_| odd("its answer has no number".into()))?;
        (0..count)
            .map(|_| {
                let line = line(&mut self.stream, &name)?;
                let (number, json) = line.split_once(' ').unwrap_or(("", &line));
                let number = number.parse().map_err(|_| odd("its answer has no graph's number".into()))?;
                Ok((number, Snapshot::from_json(json).map_err(|error| odd(error.to_string()))?))
            })
            .collect()
    }
}

fn ended(error: io::Error, who: &Path) -> io::Error {
    let told = match error.kind() {
        ErrorKind::WouldBlock | ErrorKind::TimedOut => "it does not answer: it may be stopped".to_owned(),
        ErrorKind::BrokenPipe | ErrorKind::ConnectionReset | ErrorKind::UnexpectedEof => "it has ended".to_owned(),
        _ => error.to_string(),
    };
    io::Error::new(error.kind(), format!("{}: {told}", who.display()))
}

/// A line without its end.
fn line(stream: &mut BufReader<UnixStream>, who: &Path) -> io::Result<String> {
    let mut line = String::new();
    let length = stream.read_line(&mut line).map_err(|error| ended(error, who))?;
    if length == 0 || !line.ends_with('\n') {
        return Err(ended(ErrorKind::UnexpectedEof.into(), who));
    }
    line.pop();
    Ok(line)
}
