//! What Virtual-Link's routing devices have, and its text: `entries=16,quota=4`.

use super::{lists, out_of_range};
use std::fmt;
use std::str::FromStr;
use thalweg_sync::link;

/// What Virtual-Link's routing devices have. The [default](Self::default) is the paper's: one device, 64 entries each, a
/// way of 14 cycles; and, which it does not have, one reserved slot for each queue, and answers awaited in order.
///
/// ```
/// let routing = thalweg_sim::Routing { entries: 16, ..Default::default() };
/// assert_eq!((routing.devices, routing.reserve), (1, 1));
/// ```
///
/// As a text it is what differs from the default, in the fields' names, a number each; `quota=none` is no quota, and
/// `in_order` is `on` or `off`.
///
/// ```
/// let routing: thalweg_sim::Routing = "entries=16,in_order=off".parse()?;
/// assert_eq!((routing.entries, routing.in_order, routing.quota), (16, false, None));
/// assert_eq!(routing.to_string(), "entries=16,in_order=off");
/// # Ok::<(), thalweg_sim::RoutingError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Routing {
    /// How many devices, from 1 to 16,384; a queue belongs to one of them.
    pub devices: usize,
    /// Rows of each device's linkTab: queues that can be open; from 1 to 65,536.
    pub links: usize,
    /// Slots of prodBuf and of consBuf, each; from 1 to 65,536.
    pub entries: usize,
    /// Slots of each buffer that belong to each open queue, no more than there are; while others have so many that these are not free, no queue is
    /// opened. With 0, one queue can take all slots, and a chain of stages may stand still for ever.
    pub reserve: usize,
    /// Slots of each buffer that a queue may have at most, if it is limited; at least one.
    pub quota: Option<usize>,
    /// A queue's next line leaves only when the last one's injection was answered. Without, a rejected line may be
    /// overtaken by the next.
    pub in_order: bool,
    /// Cycles from a core to the device, and from the device to a core; up to a million.
    pub way: u64,
}

impl Default for Routing {
    fn default() -> Self {
        Self { devices: 1, links: 64, entries: 64, reserve: 1, quota: None, in_order: true, way: 14 }
    }
}

/// A text that is no [`Routing`]. Its own text says what is wrong, and what would be right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoutingError(String);

impl fmt::Display for RoutingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for RoutingError {}

impl Routing {
    /// What is wrong with it, if no queue of it could ever be opened, or carry anything.
    pub(super) fn fault(&self) -> Option<String> {
        let Self { devices, links, entries, reserve, quota, way, .. } = *self;
        out_of_range("devices", devices, 1..=link::Target::DEVICES)
            .or_else(|| out_of_range("links", links, 1..=link::Target::QUEUES))
            .or_else(|| out_of_range("entries", entries, 1..=lists::Slots::MOST))
            .or_else(|| out_of_range("reserve", reserve, 0..=entries))
            .or_else(|| out_of_range("quota", quota.unwrap_or(usize::MAX), 1..=usize::MAX))
            .or_else(|| out_of_range("way", usize::try_from(way).unwrap_or(usize::MAX), 0..=1_000_000))
    }

    fn options(&self) -> [(&'static str, String); 7] {
        [
            ("devices", self.devices.to_string()),
            ("links", self.links.to_string()),
            ("entries", self.entries.to_string()),
            ("reserve", self.reserve.to_string()),
            ("quota", self.quota.map_or_else(|| "none".to_owned(), |quota| quota.to_string())),
            ("in_order", if self.in_order { "on" } else { "off" }.to_owned()),
            ("way", self.way.to_string()),
        ]
    }

    fn set(&mut self, option: &str, value: &str) -> Result<(), RoutingError> {
        let wants = |what| RoutingError(format!("{option} must be {what}, not {value:?}"));
        let number = || value.parse().map_err(|_| wants("a number"));
        match option {
            "devices" => self.devices = number()?,
            "links" => self.links = number()?,
            "entries" => self.entries = number()?,
            "reserve" => self.reserve = number()?,
            "quota" if value == "none" => self.quota = None,
            "quota" => self.quota = Some(value.parse().map_err(|_| wants("a number, or none"))?),
            "in_order" if value == "on" || value == "off" => self.in_order = value == "on",
            "in_order" => return Err(wants("on or off")),
            "way" => self.way = value.parse().map_err(|_| wants("a number of cycles"))?,
            _ => {
                let known = self.options().map(|(name, _)| name).join(", ");
                return Err(RoutingError(format!("a routing device has no {option:?}; it has {known}")));
            }
        }
        Ok(())
    }
}

impl FromStr for Routing {
    type Err = RoutingError;

    fn from_str(text: &str) -> Result<Self, RoutingError> {
        let mut routing = Self::default();
        let mut given: Vec<&str> = Vec::new();
        for part in text.split(',').filter(|_| !text.is_empty()) {
            let Some((option, value)) = part.split_once('=') else {
                return Err(RoutingError(format!("{part:?} has no value; write it as in entries=16,quota=4")));
            };
            if given.contains(&option) {
                return Err(RoutingError(format!("{option} is there twice; leave one out")));
            }
            given.push(option);
            routing.set(option, value)?;
        }
        routing.fault().map_or(Ok(routing), |fault| Err(RoutingError(fault)))
    }
}

impl fmt::Display for Routing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let usual = Self::default().options();
        let other = self.options().into_iter().zip(usual).filter(|(option, usual)| option != usual);
        let other: Vec<String> = other.map(|((option, value), _)| format!("{option}={value}")).collect();
        f.write_str(&other.join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_text_is_what_differs_and_reads_back() {
        let all = Routing { devices: 2, links: 8, entries: 16, reserve: 0, quota: Some(4), in_order: false, way: 30 };
        let text = "devices=2,links=8,entries=16,reserve=0,quota=4,in_order=off,way=30";
        assert_eq!((all.to_string().as_str(), text.parse()), (text, Ok(all)));
        assert_eq!((Routing::default().to_string().as_str(), "".parse()), ("", Ok(Routing::default())));
        assert_eq!("quota=none,in_order=on,way=14".parse(), Ok(Routing::default()));
    }

    #[test]
    fn what_is_wrong_is_named_with_what_is_right() {
        for (text, words) in [
            ("entry=4", ["\"entry\"", "devices, links, entries, reserve, quota, in_order, way"]),
            ("entries", ["\"entries\"", "entries=16"]),
            ("entries=4,", ["\"\"", "entries=16"]),
            ("entries=many", ["entries must be a number", "\"many\""]),
            ("quota=-1", ["quota must be a number, or none", "\"-1\""]),
            ("in_order=yes", ["in_order must be on or off", "\"yes\""]),
            ("way=", ["way must be a number of cycles", "\"\""]),
            ("way=1,way=2", ["way", "twice"]),
            ("entries=0", ["entries is 0", "from 1 to 65536"]),
            ("devices=16385", ["devices is 16385", "from 1 to 16384"]),
            ("way=1000001", ["way is 1000001", "from 0 to 1000000"]),
            ("entries=4,reserve=5", ["reserve is 5", "from 0 to 4"]),
        ] {
            let error = text.parse::<Routing>().unwrap_err().to_string();
            assert!(words.iter().all(|word| error.contains(word)), "{text}: {error}");
        }
    }
}
