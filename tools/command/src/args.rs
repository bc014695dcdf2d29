//! The command line.

use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use thalweg_apps::frames::{Filter, Readdress, Reface};

/// Streams that do not block: applications on real input, and the experiments behind them.
#[derive(Debug, Parser)]
#[command(
    name = "thalweg",
    version,
    arg_required_else_help = true,
    after_help = "\
Examples:
  thalweg run search --term fn --input .
  thalweg run frames --help
  thalweg schemes"
)]
pub(crate) struct Thalweg {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Runs an application and reports what each of its kernels did
    Run(Box<RunArgs>),
    /// Shows the runs of other processes while they go on
    #[cfg(unix)]
    Top(TopArgs),
    /// Shares out the cores of this machine among the applications that run on it
    #[cfg(target_os = "linux")]
    Daemon(DaemonArgs),
    /// Compares runs that were recorded, and draws them
    Report(ReportArgs),
    /// Lists the schemes by which a graph can be run
    Schemes,
    /// Shows the hardware threads that a program may use here, what they share, and where `--pinned` puts workers
    Topology(Placement),
    /// Prints what makes a shell complete this command's words
    ///
    /// For bash: thalweg completions bash > ~/.local/share/bash-completion/completions/thalweg
    Completions {
        /// The shell
        #[arg(value_enum, value_name = "SHELL")]
        shell: Shell,
    },
    /// Writes a manual page for the command, and one for each of its subcommands
    Man {
        /// The folder to write them to, as thalweg.1, thalweg-run.1 and so on
        #[arg(value_name = "FOLDER")]
        folder: PathBuf,
    },
    /// Proves the queues: every execution of small clients; needs the feature `instrument`
    Proof(Proof),
    /// Runs the experiments; needs the feature `lab`
    #[command(disable_help_flag = true)]
    Lab {
        /// What the lab is told; `list` is a good start
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<String>,
    },
    /// Runs queues and streams on modelled machines; needs the feature `instrument`
    #[command(disable_help_flag = true)]
    Sim {
        /// What the simulator is told; `list` is a good start
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<String>,
    },
}

#[derive(Debug, Args)]
pub(crate) struct Placement {
    /// How many workers are placed [default: one for each hardware thread]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) workers: Option<u16>,
    /// For programs: one object with `cpus`, `caches`, `quota` and `places`
    #[arg(long, conflicts_with = "workers")]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(
    arg_required_else_help = true,
    after_help = "\
Examples:
  cargo proof --list
  cargo proof bbq/1p1c-1 ff
  cargo proof --all --except bbq/late bwos
  cargo proof --weaken ff
  cargo proof --throughput
  cargo proof --weaken ff --from-sc
  cargo proof --litmus crates/thalweg-check/tests/litmus/rc11.litmus

Exit status: 0 if everything holds, 1 if something fails, 2 if there was trouble."
)]
#[cfg_attr(not(feature = "instrument"), allow(dead_code, reason = "only its own error is left of the subcommand"))]
pub(crate) struct Proof {
    /// Clients by name, or queues for all of their clients
    #[arg(value_name = "NAME", conflicts_with_all = ["all", "list", "litmus", "weaken", "throughput"])]
    pub(crate) names: Vec<String>,
    /// Runs all clients
    #[arg(long, conflicts_with_all = ["list", "litmus", "weaken", "throughput"])]
    pub(crate) all: bool,
    /// But for these clients, or those of these queues
    #[arg(long, value_name = "NAME", num_args = 1.., conflicts_with_all = ["list", "litmus", "weaken", "throughput"])]
    pub(crate) except: Vec<String>,
    /// Runs one execution of one client alone, for a look with a debugger; a client that fails prints it
    #[arg(
        long,
        value_name = "EXECUTION",
        allow_hyphen_values = true,
        requires = "names",
        conflicts_with_all = ["all", "list", "litmus", "weaken", "throughput", "jobs"]
    )]
    pub(crate) replay: Option<String>,
    /// Lists the clients, one on a line
    #[arg(long)]
    pub(crate) list: bool,
    /// Runs all litmus tests of these files
    #[arg(long, value_name = "FILE", num_args = 1.., conflicts_with_all = ["list", "weaken"])]
    pub(crate) litmus: Vec<PathBuf>,
    /// Makes each labelled ordering of a queue weaker, and looks which client fails
    #[arg(long, value_name = "QUEUE", conflicts_with = "list")]
    pub(crate) weaken: Option<String>,
    /// Compares the executions a second with loom's: the experiment `check/throughput`
    #[arg(long, conflicts_with_all = ["list", "litmus", "weaken"])]
    pub(crate) throughput: bool,
    /// Writes what `--throughput` found to a file, a line of JSON for each client and checker as the lab does; `-` is standard
    /// output
    #[arg(long, value_name = "FILE", requires = "throughput")]
    pub(crate) json: Option<PathBuf>,
    /// How many threads explore a client [default: one for each core]
    #[arg(long, value_name = "N", conflicts_with_all = ["list", "litmus", "throughput"])]
    pub(crate) jobs: Option<NonZeroUsize>,
    /// Shows all of an execution that fails, not only the end of the threads involved
    #[arg(long, conflicts_with_all = ["list", "litmus", "weaken", "throughput"])]
    pub(crate) verbose: bool,
    /// Writes the first execution that fails to a file too, as a picture for Graphviz (`dot -Tsvg FILE`)
    #[arg(long, value_name = "FILE", conflicts_with_all = ["list", "litmus", "weaken", "throughput"])]
    pub(crate) dot: Option<PathBuf>,
    /// Begins with every label sequentially consistent, and makes as many weaker as pass together
    #[arg(long, requires = "weaken")]
    pub(crate) from_sc: bool,
    /// How long one client, litmus test, label or comparison may take; with --throughput 30 at most
    #[arg(long, value_name = "N", default_value_t = 300, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) seconds: u64,
}

#[derive(Debug, Args)]
#[command(
    arg_required_else_help = true,
    args_conflicts_with_subcommands = true,
    after_help = "\
Each application has its own --help with examples, such as `thalweg run search --help`.

An interrupt (Ctrl-C) ends a run in good order: no more is read, what was read is finished, results and report are \
printed, and the exit status is 130. So do termination (143) and hang-up (129). A second one ends it at once, and takes \
temporary files away too."
)]
pub(crate) struct RunArgs {
    /// Lists the applications, one on a line
    #[arg(long)]
    pub(crate) list: bool,
    #[command(flatten)]
    pub(crate) looking: Looking,
    #[command(subcommand)]
    pub(crate) app: Option<App>,
}

/// What is seen of a run besides its report, whatever the application.
#[derive(Debug, Args)]
#[command(next_help_heading = "Seeing")]
pub(crate) struct Looking {
    /// Writes what is counted to a file, ten times a second, for `thalweg report FILE`
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) record: Option<PathBuf>,
    /// Writes what each worker did to a file that ui.perfetto.dev and chrome://tracing show: the last 100 000 events of each. With --latency too how long
    /// messages took
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) trace: Option<PathBuf>,
    /// Samples how long messages take from each source to each sink; the report, the page, the record and the trace have it
    #[arg(long, global = true)]
    pub(crate) latency: bool,
    /// Serves a page that shows the run while it goes on, and prints where [default: a free port of 127.0.0.1]
    #[arg(long, global = true, value_name = "ADDR:PORT", num_args = 0..=1, default_missing_value = "127.0.0.1:0")]
    pub(crate) live: Option<SocketAddr>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  thalweg run search --term fn --input . --record a.jsonl
  thalweg run search --term fn --input . --record b.jsonl --scheme raft
  thalweg report a.jsonl b.jsonl --html runs.html

  thalweg run search --term fn --input . --trace t.json
  thalweg report t.json --svg workers.svg

The table has a column for each run, and how it compares with the first one. Below it stands what a run shows of \
faults, such as a kernel that sets the pace, with the way out.")]
pub(crate) struct ReportArgs {
    /// What `thalweg run APP --record FILE` wrote; or one trace, of `--trace FILE` or a simulated machine's
    #[arg(value_name = "FILE", required = true, num_args = 1..)]
    pub(crate) files: Vec<PathBuf>,
    /// Draws all runs into one page that needs no other file
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Draws the graph of the last run; of a trace, where each worker's time went, which kernel it ran, and how full edges were
    #[arg(long, value_name = "FILE")]
    pub(crate) svg: Option<PathBuf>,
}

#[cfg(unix)]
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  THALWEG_OBSERVE=1 thalweg run search --term fn --input /usr &
  thalweg top
  thalweg top search
  thalweg top 4711 --plain
  thalweg top --web

A program lets its runs be seen if it is started with THALWEG_OBSERVE=1, or calls `thalweg::observe::allow()` (feature \
`observe` of the library). Only its own user can look: through a socket in $XDG_RUNTIME_DIR/thalweg, or thalweg-UID in \
the folder for temporary files.

Keys: arrows choose, Enter opens, Esc goes back, t shows a table, Space holds the picture, ? helps, q quits. NO_COLOR=1 \
does without colours.")]
pub(crate) struct TopArgs {
    /// The process to look at: its number, or a part of how it was started [default: all]
    #[arg(value_name = "PID|NAME")]
    pub(crate) process: Option<String>,
    /// Prints once what there is, as text
    #[arg(long, visible_alias = "once", conflicts_with = "web")]
    pub(crate) plain: bool,
    /// Serves a page instead, and prints where [default: a free port of 127.0.0.1]
    #[arg(long, value_name = "ADDR:PORT", num_args = 0..=1, default_missing_value = "127.0.0.1:0", require_equals = true)]
    pub(crate) web: Option<SocketAddr>,
    /// Milliseconds between two looks
    #[arg(long, value_name = "N", default_value_t = 500, value_parser = clap::value_parser!(u64).range(50..=60_000))]
    pub(crate) interval: u64,
}

#[cfg(target_os = "linux")]
#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "\
Examples:
  thalweg daemon &
  thalweg daemon --policy fair --cores 4
  thalweg daemon status
  THALWEG_DAEMON_WEIGHT=3 thalweg run search --term fn --input /usr

Two applications that each start a worker for every core get in each other's way. With a daemon each is told how many \
workers may work, by what the others could use at that moment, and changes that within milliseconds.

Applications find the daemon by themselves: those of this command, and programs that use the library with its feature \
`daemon`. They look at THALWEG_DAEMON, a path (0: take no part), or else in the default place: daemon.sock in \
$XDG_RUNTIME_DIR/thalweg, or in thalweg-UID in the folder for temporary files. A program that was started before the daemon \
joins with its next run, or at once if THALWEG_DAEMON is set. THALWEG_DAEMON_WEIGHT is the weight of a process, 1 to 100.

  delay  cores go to whose work waits longest; half of a fair share is sure
  fair   cores are shared by weight among those that could use more
  fixed  cores are shared by weight, whoever could use them or not

Each application has at least one core. An application that is killed gives its cores back at once. If the daemon is killed, all \
keep what they have, and find the next one; if it ends by an interrupt or SIGTERM, nobody is bounded any more. Nobody ever \
waits for it. Only processes of its own user are let in."
)]
pub(crate) struct DaemonArgs {
    /// How many cores are shared out [default: the hardware threads that it may use]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) cores: Option<u16>,
    /// By what they are shared out: `delay`, `fair` or `fixed` [default: delay]
    #[arg(long, value_name = "NAME")]
    pub(crate) policy: Option<thalweg_daemon::Policy>,
    /// Where it listens, in a folder that is the user's alone [default: THALWEG_DAEMON, or the place where applications look]
    #[arg(long, value_name = "PATH", global = true)]
    pub(crate) socket: Option<PathBuf>,
    #[command(subcommand)]
    pub(crate) query: Option<DaemonQuery>,
}

#[cfg(target_os = "linux")]
#[derive(Debug, Subcommand)]
pub(crate) enum DaemonQuery {
    /// Shows who has what: the cores, and of each application what it is granted, has at work, could use, and how long its work waits
    Status {
        /// For programs: one object with `cores`, `policy` and `applications`
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum App {
    /// Counts a word in files and directories, or prints its lines as grep does, on all cores
    Search(crate::run::search::Search),
    /// Forwards, filters and rewrites the frames of a capture file
    Frames(Frames),
    /// Receives FM radio from a file of samples, or a station in stereo from a recording of I and Q
    Fm(crate::run::fm::Args),
    /// Filters samples by thirty filters in a row
    Fir(crate::run::fir::Fir),
    /// Sends messages from many kernels to one
    Incast(crate::run::incast::Incast),
    /// Sends messages from one kernel to many
    Outcast(crate::run::outcast::Outcast),
    /// Chases pointers through a table that is larger than the caches
    Chasing(crate::run::chasing::Chasing),
    /// Verifies the checksums of packets in four stages
    Pipeline(crate::run::pipeline::Pipeline),
    /// Sorts packets by whether their checksums are right
    Firewall(crate::run::firewall::Firewall),
    /// Counts the triangles of a network
    Tc(crate::run::tc::Tc),
    /// Counts the edges at each vertex of a network
    Dc(crate::run::dc::Dc),
    /// Finds the vertices of a network that lie between the others
    Bc(crate::run::bc::Bc),
    /// Finds the spectrum of a sound over time, as numbers or as a picture
    Fft(crate::run::fft::Args),
    /// Delays the pulses of a radar, by whole gates or parts of one
    Tde(crate::run::tde::Args),
    /// Changes how loud the bands of a sound are, by a bank of filters
    Filterbank(crate::run::filterbank::Args),
    /// Sorts lines or numbers, also more than there is memory for
    Mergesort(crate::run::mergesort::Args),
    /// Smooths pictures by a recursive Gaussian filter
    Gaussian(crate::run::gaussian::Args),
    /// Takes the speckle from pictures, by diffusion that spares edges
    Srad(crate::run::srad::Args),
}

/// How a graph runs.
#[derive(Debug, Args)]
#[command(next_help_heading = "Running")]
pub(crate) struct Running {
    /// The scheme that decides which kernel runs next; `thalweg schemes` lists them
    #[arg(long, value_name = "NAME")]
    pub(crate) scheme: Option<String>,
    /// How many workers run the kernels; not with `raft` and `raft_dyn`, which have a thread for each kernel [default: one for each
    /// core; the default scheme takes as many of them as help]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) workers: Option<u16>,
    /// Keeps each worker on a core of its own, if there are as many cores as workers
    #[arg(long)]
    pub(crate) pinned: bool,
    /// Gives each worker kernels to keep to, so that those with much traffic between them are near each other; includes `--pinned`. Only
    /// with the default scheme, `pw`, `pw_dyn`, `mix` and `mix_dyn`
    #[arg(long)]
    pub(crate) partitioned: bool,
    /// How the report is printed. As `json` or `dot`, standard output has nothing else
    #[arg(long, value_enum, default_value = "table")]
    pub(crate) report: ReportFormat,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReportFormat {
    /// For reading
    Table,
    /// For programs
    Json,
    /// For Graphviz: a picture of the graph
    Dot,
    /// Not at all
    None,
}

/// What makes no sense for a capture that is made up: nothing is forwarded, no graph runs.
const FORWARDING: [&str; 12] = [
    "input",
    "keep",
    "drop",
    "rewrite_src",
    "rewrite_dst",
    "rewrite_src_mac",
    "rewrite_dst_mac",
    "scheme",
    "workers",
    "pinned",
    "partitioned",
    "report",
];

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  thalweg run frames --generate 100000 --output in.pcap
  thalweg run frames --input in.pcap --output dns.pcap --keep 'udp and port 53'
  tcpdump -i eth0 -w - | thalweg run frames --input - --output - \\
      --drop 'arp or (udp and port 53)' | tcpdump -nr -
  thalweg run frames --interface eth0 --keep 'tcp and port 80' --output - | \\
      tcpdump -nr -
  thalweg run frames --input in.pcap --output moved.pcap \\
      --rewrite-src 10.0.0.1=192.168.0.1 --drop ip6

Words for --keep and --drop are those of tcpdump: ip, ip6, arp, rarp, vlan [N], mpls [N], pppoes, tcp, udp, sctp, icmp, \
icmp6, proto N, broadcast, multicast, host A, net A/BITS, port N and portrange N-M with src or dst in front, ether host MAC; \
joined by `and`, `or`, `not` and parentheses. A frame goes on if one --keep holds (or there is none) and no --drop does.

Reads pcap and pcapng, and writes the same format. Frames of Ethernet, Linux cooked captures (both versions), raw IP and the \
loopback of BSD are looked at, behind VLAN tags, MPLS labels, PPPoE and SNAP; frames of other link types pass as they are. \
Rewritten are the addresses of Ethernet, IPv4, IPv6 and ARP, and those of a packet that an ICMP error quotes. Left alone are \
packets within packets (tunnels, MPLS pseudowires), the nodes of source routes, addresses in the data of a protocol (as of \
neighbour discovery), and a check sequence that was captured at the end of a frame. Checksums of IPv4, TCP, UDP, UDP-Lite, \
DCCP, ICMPv6 and of ICMP errors follow a rewritten address. What is not rewritten stays as it is, byte by byte, but for the \
lengths of pcapng sections, which become unknown (-1).

From a capture that is cut off or corrupt, all frames before that are written, and the exit status is 2. Where it is \
corrupt is told in bytes and records; the header of a pcap file is record 1, and in pcapng each block is a record.

Both files can be pipes, and `-` for standard input and output. With the output there, the summary goes to standard error.")]
pub(crate) struct Frames {
    /// The capture to read; `-` is standard input
    #[arg(long, value_name = "FILE", required_unless_present_any = ["generate", "interface"])]
    pub(crate) input: Option<PathBuf>,
    /// Reads what comes at an interface instead, until an interrupt: on Linux, and with the right CAP_NET_RAW
    #[arg(long, value_name = "IF", conflicts_with_all = ["input", "generate"])]
    pub(crate) interface: Option<String>,
    /// The capture to write; replaced if it exists; `-` is standard output
    #[arg(long, value_name = "FILE")]
    pub(crate) output: PathBuf,
    /// Keeps only frames with this property; again for another one
    #[arg(long, value_name = "WORDS")]
    pub(crate) keep: Vec<Filter>,
    /// Drops frames with this property; again for another one
    #[arg(long, value_name = "WORDS")]
    pub(crate) drop: Vec<Filter>,
    /// Replaces a source address, IPv4 or IPv6
    #[arg(long, value_name = "OLD=NEW")]
    pub(crate) rewrite_src: Vec<Readdress>,
    /// Replaces a destination address, IPv4 or IPv6
    #[arg(long, value_name = "OLD=NEW")]
    pub(crate) rewrite_dst: Vec<Readdress>,
    /// Replaces a source hardware address
    #[arg(long, value_name = "OLD=NEW")]
    pub(crate) rewrite_src_mac: Vec<Reface>,
    /// Replaces a destination hardware address
    #[arg(long, value_name = "OLD=NEW")]
    pub(crate) rewrite_dst_mac: Vec<Reface>,
    /// Makes up a capture of N frames instead of forwarding one
    #[arg(long, value_name = "N", conflicts_with_all = FORWARDING)]
    pub(crate) generate: Option<u64>,
    #[command(flatten)]
    pub(crate) running: Running,
}
