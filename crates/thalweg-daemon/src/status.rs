//! Who has what.

use std::fmt;
use std::io::{self, BufRead, BufReader, ErrorKind, Write};
use std::path::Path;
use std::time::Duration;

use crate::share::{Policy, Wish};
use crate::wire::{self, HELLO};

/// What a daemon says of itself. As text it is a table for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    /// The cores that it shares out.
    pub cores: u32,
    /// By what.
    pub policy: Policy,
    /// The applications, in the order in which they joined.
    pub members: Vec<MemberStatus>,
}

/// An application, as the daemon sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemberStatus {
    /// The number of its process.
    pub pid: u32,
    /// What it was started as.
    pub name: String,
    /// Its weight beside others.
    pub weight: u32,
    /// The cores that it may use.
    pub granted: u32,
    /// Threads that it said are at work.
    pub works: u32,
    /// What it said it could use; nothing if it has not said so for two seconds.
    pub wish: Wish,
}

impl Status {
    /// Asks the daemon at `path`.
    ///
    /// # Errors
    ///
    /// If there is none, it is another user's, or it does not answer within two seconds.
    pub fn of(path: &Path) -> io::Result<Self> {
        let mut stream = wire::connect(path)?;
        let patience = Some(Duration::from_secs(2));
        stream.set_read_timeout(patience)?;
        stream.set_write_timeout(patience)?;
        stream.write_all(format!("{HELLO}status\n").as_bytes())?;
        let lines: Vec<String> = BufReader::new(stream).lines().collect::<io::Result<_>>()?;
        Self::read(&lines).ok_or_else(|| {
            let first = lines.first().map_or("nothing", |line| line);
            let text = format!("{}: what answers is not this version's daemon: {first}", path.display());
            io::Error::new(ErrorKind::InvalidData, text)
        })
    }

    pub(crate) fn write(&self) -> String {
        let line = |member: &MemberStatus| {
            let MemberStatus { pid, name, weight, granted, works, wish } = member;
            format!("{pid} {weight} {granted} {works} {} {} {name}\n", wish.could, wish.work)
        };
        let members: String = self.members.iter().map(line).collect();
        format!("{HELLO}cores {} {}\n{members}end\n", self.cores, self.policy)
    }

    fn read(lines: &[String]) -> Option<Self> {
        let (first, rest) = lines.split_first()?;
        let (cores, policy) = first.strip_prefix(HELLO)?.strip_prefix("cores ")?.split_once(' ')?;
        let (last, members) = rest.split_last()?;
        let member = |line: &String| {
            let mut words = line.splitn(7, ' ');
            let mut number = || words.next()?.parse::<u64>().ok();
            let small = |number: u64| u32::try_from(number).ok();
            let (pid, weight, granted) = (small(number()?)?, small(number()?)?, small(number()?)?);
            let (works, wish) = (small(number()?)?, Wish { could: small(number()?)?, work: number()? });
            Some(MemberStatus { pid, name: words.next()?.to_owned(), weight, granted, works, wish })
        };
        (last == "end").then_some(())?;
        let members = members.iter().map(member).collect::<Option<_>>()?;
        Some(Self { cores: cores.parse().ok()?, policy: policy.parse().ok()?, members })
    }

    /// For programs, on one line: `cores`, `policy`, and for each of `applications` its `pid`, `name`, `weight`, `granted`, `works`, `could` and `work_ns`.
    pub fn to_json(&self) -> String {
        let escaped = |text: &str| text.replace('\\', "\\\\").replace('"', "\\\"");
        let member = |member: &MemberStatus| {
            let MemberStatus { pid, name, weight, granted, works, wish: Wish { could, work } } = member;
            format!(
                "{{\"pid\":{pid},\"name\":\"{}\",\"weight\":{weight},\"granted\":{granted},\"works\":{works},\"could\":{could},\"work_ns\":{work}}}",
                escaped(name)
            )
        };
        let members: Vec<_> = self.members.iter().map(member).collect();
        format!("{{\"cores\":{},\"policy\":\"{}\",\"applications\":[{}]}}", self.cores, self.policy, members.join(","))
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plural = |count: u32| if count == 1 { "" } else { "s" };
        write!(f, "{} core{}, shared out by `{}`", self.cores, plural(self.cores), self.policy)?;
        if self.members.is_empty() {
            return write!(f, "; no application has joined");
        }
        write!(f, "\n\n    pid  weight  granted  at work  could use   waiting  application")?;
        for member in &self.members {
            let MemberStatus { pid, name, weight, granted, works, wish } = member;
            let waiting = wish.work as f64 / f64::from(*granted) / 1e6;
            write!(f, "\n{pid:7}  {weight:6}  {granted:7}  {works:7}  {:9}  {waiting:5.1} ms  {name}", wish.could)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_and_half_of_it_is_not() {
        let member = MemberStatus {
            pid: 7,
            name: "thalweg run \"x\"".into(),
            weight: 2,
            granted: 3,
            works: 1,
            wish: Wish { could: 4, work: 5 },
        };
        let status = Status { cores: 8, policy: Policy::Fair, members: vec![member] };
        let lines: Vec<_> = status.write().lines().map(str::to_owned).collect();
        assert_eq!(Status::read(&lines), Some(status.clone()));
        for length in 0..lines.len() {
            assert_eq!(Status::read(&lines[..length]), None);
        }
        let json = "{\"cores\":8,\"policy\":\"fair\",\"applications\":[{\"pid\":7,\"name\":\"thalweg run \\\"x\\\"\",\"weight\":2,\"granted\":3,\"works\":1,\"could\":4,\"work_ns\":5}]}";
        assert_eq!(status.to_json(), json);
    }
}
