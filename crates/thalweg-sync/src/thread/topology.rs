//! The hardware threads that a program may use, and what they share.

use super::affinity::current_affinity;
use crate::engine;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// A hardware thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cpu {
    /// Its number, as the system counts.
    pub id: usize,
    /// Its core: the lowest number of a hardware thread on it.
    pub core: usize,
    /// Its socket.
    pub socket: usize,
    /// The memory that is near to it.
    pub node: usize,
}

/// A cache for data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cache {
    /// 1 is next to the core.
    pub level: u8,
    /// Its size; zero if the system does not tell.
    pub bytes: u64,
    /// The hardware threads that share it, ascending.
    pub cpus: Vec<usize>,
}

/// What two hardware threads share, the nearest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Shared {
    /// They are one.
    All,
    /// The core.
    Core,
    /// A cache of this level.
    Cache(u8),
    /// The memory node.
    Node,
    /// The socket.
    Socket,
    /// Nothing of these.
    Nothing,
}

/// The hardware threads that a program may use, and what they share: what the system says now. Plain data.
///
/// ```
/// use thalweg_sync::thread::{Topology, available_parallelism};
/// let machine = Topology::read();
/// assert!(!machine.cpus().is_empty());
/// let first = machine.places()[0];
/// assert!(machine.cpus().iter().any(|cpu| cpu.id == first));
/// assert!(machine.quota().is_none_or(|processors| processors > 0.0));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Topology {
    cpus: Vec<Cpu>,
    caches: Vec<Cache>,
    quota: Option<f64>,
}

impl Topology {
    /// Asks the system: on Linux `/sys`, the affinity mask and the control groups (versions 1 and 2). What it does not tell is taken to be the
    /// simplest: hardware threads that are cores of their own, in one socket. Under an engine it is so, with as many as the engine has.
    pub fn read() -> Self {
        let allowed: Vec<_> = match current_affinity() {
            Ok(affinity) => affinity.cpus().collect(),
            Err(_) => (0..super::available_parallelism()).collect(),
        };
        if engine::current().is_some() {
            return Self::under(Path::new("/nothing-is-here"), Path::new("/nothing-is-here"), &allowed);
        }
        Self::under(Path::new("/sys"), Path::new("/proc"), &allowed)
    }

    /// The hardware threads that this program may use, ascending. At least one.
    pub fn cpus(&self) -> &[Cpu] {
        &self.cpus
    }

    /// Their caches for data, by level.
    pub fn caches(&self) -> &[Cache] {
        &self.caches
    }

    /// How many processors' time the control groups give at most, if they limit it.
    pub fn quota(&self) -> Option<f64> {
        self.quota
    }

    fn cpu(&self, id: usize) -> Option<&Cpu> {
        self.cpus.iter().find(|cpu| cpu.id == id)
    }

    /// The cache of the highest level that a hardware thread has, by the lowest number of those that share it.
    fn last_level(&self, id: usize) -> Option<usize> {
        let caches = self.caches.iter().filter(|cache| cache.cpus.contains(&id));
        caches.max_by_key(|cache| cache.level).map(|cache| cache.cpus[0])
    }

    /// What two hardware threads share; `None` if this program may not use one of them.
    pub fn shared(&self, one: usize, other: usize) -> Option<Shared> {
        let (a, b) = (self.cpu(one)?, self.cpu(other)?);
        let both = |cache: &&Cache| cache.cpus.contains(&one) && cache.cpus.contains(&other);
        Some(if one == other {
            Shared::All
        } else if a.core == b.core {
            Shared::Core
        } else if let Some(cache) = self.caches.iter().filter(both).min_by_key(|cache| cache.level) {
            Shared::Cache(cache.level)
        } else if a.node == b.node {
            Shared::Node
        } else if a.socket == b.socket {
            Shared::Socket
        } else {
            Shared::Nothing
        })
    }

    /// The hardware threads in the order in which workers that talk to each other are put there: cores before their second hardware threads,
    /// and among those who share a cache first, then who share a memory node.
    pub fn places(&self) -> Vec<usize> {
        let mut on_core = BTreeMap::new();
        let mut order: Vec<_> = (self.cpus.iter())
            .map(|cpu| {
                let rank = on_core.entry(cpu.core).or_insert(0_usize);
                *rank += 1;
                (*rank, cpu.socket, cpu.node, self.last_level(cpu.id), cpu.core, cpu.id)
            })
            .collect();
        order.sort_unstable();
        order.into_iter().map(|(.., id)| id).collect()
    }

    fn under(sys: &Path, proc: &Path, allowed: &[usize]) -> Self {
        let devices = sys.join("devices/system/cpu");
        let node_of = nodes(&sys.join("devices/system/node"));
        let cpus = allowed.iter().map(|&id| {
            let topology = devices.join(format!("cpu{id}/topology"));
            let siblings =
                ["core_cpus_list", "thread_siblings_list"].iter().find_map(|name| list(&topology.join(name)));
            Cpu {
                id,
                core: siblings.and_then(|all| all.first().copied()).unwrap_or(id),
                // A system without sockets says -1.
                socket: text(&topology.join("physical_package_id")).and_then(|id| id.parse().ok()).unwrap_or(0),
                node: node_of.get(&id).copied().unwrap_or(0),
            }
        });
        let mut caches: Vec<Cache> = Vec::new();
        for &id in allowed {
            let entries = fs::read_dir(devices.join(format!("cpu{id}/cache"))).into_iter().flatten().flatten();
            for cache in entries.filter_map(|entry| cache(&entry.path())) {
                if cache.cpus.contains(&id) && !caches.contains(&cache) {
                    caches.push(cache);
                }
            }
        }
        caches.sort_by_key(|cache| (cache.level, cache.cpus[0]));
        let mut cpus: Vec<_> = cpus.collect();
        if cpus.is_empty() {
            cpus.push(Cpu { id: 0, core: 0, socket: 0, node: 0 });
        }
        Self { cpus, caches, quota: quota(&sys.join("fs/cgroup"), proc) }
    }
}

/// A file of one line.
fn text(path: &Path) -> Option<String> {
    fs::read_to_string(path).ok().map(|text| text.trim().to_owned())
}

/// A list such as `0-3,8`.
fn list(path: &Path) -> Option<Vec<usize>> {
    let mut all = Vec::new();
    for part in text(path)?.split(',').filter(|part| !part.is_empty()) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (usize, usize) = (first.parse().ok()?, last.parse().ok()?);
        // A wild number must not ask for a list of that length.
        (last < 1 << 20).then(|| all.extend(first..=last))?;
    }
    (!all.is_empty()).then_some(all)
}

/// A size such as `512K`.
fn size(text: &str) -> Option<u64> {
    let unit = match text.chars().last()? {
        'K' => 1 << 10,
        'M' => 1 << 20,
        'G' => 1 << 30,
        _ => return text.parse().ok(),
    };
    text[..text.len() - 1].parse::<u64>().ok()?.checked_mul(unit)
}

/// A cache for data, from its folder.
fn cache(folder: &Path) -> Option<Cache> {
    if text(&folder.join("type"))? == "Instruction" {
        return None;
    }
    Some(Cache {
        level: text(&folder.join("level"))?.parse().ok()?,
        bytes: text(&folder.join("size")).and_then(|text| size(&text)).unwrap_or(0),
        cpus: list(&folder.join("shared_cpu_list"))?,
    })
}

/// The memory node of each hardware thread.
fn nodes(folder: &Path) -> BTreeMap<usize, usize> {
    let mut node_of = BTreeMap::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let number = name.to_str().and_then(|name| name.strip_prefix("node")).and_then(|number| number.parse().ok());
        if let Some(node) = number {
            node_of.extend(list(&entry.path().join("cpulist")).into_iter().flatten().map(|cpu| (cpu, node)));
        }
    }
    node_of
}

/// The least that the control groups from this process's up to the root give, in processors.
fn quota(root: &Path, proc: &Path) -> Option<f64> {
    let groups = text(&proc.join("self/cgroup"))?;
    let mut least: Option<f64> = None;
    let mut note = |quota: f64, period: f64| {
        if quota > 0.0 && period > 0.0 {
            let processors = quota / period;
            least = Some(least.map_or(processors, |least| least.min(processors)));
        }
    };
    for line in groups.lines() {
        let mut fields = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (fields.next(), fields.next()) else { continue };
        if controllers.is_empty() {
            for folder in upwards(root, path) {
                if let Some((quota, period)) =
                    text(&folder.join("cpu.max")).as_deref().and_then(|max| max.split_once(' '))
                    && let (Ok(quota), Ok(period)) = (quota.parse(), period.parse())
                {
                    note(quota, period);
                }
            }
        } else if controllers.split(',').any(|controller| controller == "cpu") {
            for folder in upwards(&root.join(controllers), path).chain(upwards(&root.join("cpu"), path)) {
                let number = |name| text(&folder.join(name)).and_then(|text| text.parse::<f64>().ok());
                if let (Some(quota), Some(period)) = (number("cpu.cfs_quota_us"), number("cpu.cfs_period_us")) {
                    note(quota, period);
                }
            }
        }
    }
    least
}

/// The folder of a group under its root, and those above it. In a container the path may be that of another root; then only the root is there.
fn upwards(root: &Path, path: &str) -> impl Iterator<Item = PathBuf> {
    let folder = root.join(path.trim_start_matches('/'));
    let root = root.to_owned();
    let above: Vec<_> = folder.ancestors().take_while(|folder| folder.starts_with(&root)).map(Path::to_owned).collect();
    above.into_iter()
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// A folder of files that is gone with this.
    struct Tree(PathBuf);

    impl Tree {
        fn new(name: &str, files: &[(&str, &str)]) -> Self {
            let root = std::env::temp_dir().join(format!("thalweg-topology-{}-{name}", std::process::id()));
            let tree = Self(root);
            files.iter().for_each(|(path, text)| tree.add(path, text));
            tree
        }

        fn add(&self, path: &str, text: &str) {
            let path = self.0.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, format!("{text}\n")).unwrap();
        }

        fn read(&self, allowed: &[usize]) -> Topology {
            Topology::under(&self.0.join("sys"), &self.0.join("proc"), allowed)
        }
    }

    impl Drop for Tree {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    /// Two sockets, each of two cores with two hardware threads: 0 and 4 are one core.
    fn two_sockets(name: &str) -> Tree {
        let tree = Tree::new(name, &[]);
        for cpu in 0..8 {
            let (core, socket) = (cpu % 4, cpu % 4 / 2);
            let at = format!("sys/devices/system/cpu/cpu{cpu}");
            tree.add(&format!("{at}/topology/core_cpus_list"), &format!("{core},{}", core + 4));
            tree.add(&format!("{at}/topology/physical_package_id"), &socket.to_string());
            let first = 2 * socket;
            let shared = format!("{first}-{},{}-{}", first + 1, first + 4, first + 5);
            for (index, level, kind, size, cpus) in [
                (0, 1, "Data", "32K", format!("{core},{}", core + 4)),
                (1, 1, "Instruction", "32K", format!("{core},{}", core + 4)),
                (2, 3, "Unified", "16M", shared.clone()),
            ] {
                let at = format!("{at}/cache/index{index}");
                tree.add(&format!("{at}/level"), &level.to_string());
                tree.add(&format!("{at}/type"), kind);
                tree.add(&format!("{at}/size"), size);
                tree.add(&format!("{at}/shared_cpu_list"), &cpus);
            }
            tree.add(&format!("sys/devices/system/node/node{socket}/cpulist"), &shared);
        }
        tree
    }

    #[test]
    fn sockets_cores_and_caches_are_found() {
        let machine = two_sockets("two").read(&(0..8).collect::<Vec<_>>());
        assert_eq!(machine.cpus()[6], Cpu { id: 6, core: 2, socket: 1, node: 1 });
        assert_eq!(machine.caches().len(), 4 + 2);
        assert_eq!(machine.caches()[4], Cache { level: 3, bytes: 16 << 20, cpus: vec![0, 1, 4, 5] });
        let shared = |one, other| machine.shared(one, other).unwrap();
        assert_eq!(
            [shared(0, 0), shared(0, 4), shared(0, 5), shared(0, 2)],
            [Shared::All, Shared::Core, Shared::Cache(3), Shared::Nothing]
        );
        assert!(Shared::Core < Shared::Cache(1) && Shared::Cache(3) < Shared::Node);
        assert_eq!(machine.shared(0, 8), None);
    }

    #[test]
    fn workers_get_cores_of_one_socket_first() {
        let tree = two_sockets("places");
        assert_eq!(tree.read(&(0..8).collect::<Vec<_>>()).places(), [0, 1, 2, 3, 4, 5, 6, 7]);
        assert_eq!(tree.read(&[0, 2, 4, 5, 6]).places(), [0, 5, 2, 4, 6]);
    }

    #[test]
    fn what_the_system_does_not_tell_is_simple() {
        let machine = Tree::new("bare", &[]).read(&[3, 5]);
        assert_eq!((machine.places(), machine.quota(), machine.caches().len()), (vec![3, 5], None, 0));
        assert_eq!(machine.shared(3, 5), Some(Shared::Node));
        let odd = Tree::new(
            "odd",
            &[
                ("sys/devices/system/cpu/cpu0/topology/physical_package_id", "-1"),
                ("sys/devices/system/cpu/cpu0/topology/core_cpus_list", "0-99999999999"),
                ("sys/devices/system/cpu/cpu0/cache/index0/level", "1"),
                ("proc/self/cgroup", "nonsense"),
            ],
        );
        assert_eq!(odd.read(&[0]).cpus(), [Cpu { id: 0, core: 0, socket: 0, node: 0 }]);
    }

    #[test]
    fn the_smallest_quota_of_a_group_and_those_above_counts() {
        let two = Tree::new(
            "v2",
            &[
                ("proc/self/cgroup", "0::/outer/inner"),
                ("sys/fs/cgroup/outer/cpu.max", "150000 100000"),
                ("sys/fs/cgroup/outer/inner/cpu.max", "max 100000"),
            ],
        );
        assert_eq!(two.read(&[0]).quota(), Some(1.5));
        let one = Tree::new(
            "v1",
            &[
                ("proc/self/cgroup", "3:memory:/a\n2:cpu,cpuacct:/a/b"),
                ("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1"),
                ("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000"),
                ("sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us", "50000"),
                ("sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_period_us", "100000"),
            ],
        );
        assert_eq!(one.read(&[0]).quota(), Some(0.5));
        let free = Tree::new("free", &[("proc/self/cgroup", "0::/"), ("sys/fs/cgroup/cpu.max", "max 100000")]);
        assert_eq!(free.read(&[0]).quota(), None);
    }

    /// Each hardware thread stands there once, whatever machine this runs on.
    #[test]
    fn this_machine_has_places_for_all() {
        let machine = Topology::read();
        let mut places = machine.places();
        places.sort_unstable();
        assert!(places.iter().copied().eq(machine.cpus().iter().map(|cpu| cpu.id)));
    }
}
