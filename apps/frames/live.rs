//! Frames of an interface as they come, by a packet socket of Linux.
//!
//! They are given as a pcap file in nanoseconds, so whatever reads captures reads them.
//!
//! # Invariants
//!
//! - **L1** A descriptor is open as long as its `OwnedFd` is there.
//! - **L2** The system reads and writes no more bytes than the length that a call gives, and that memory lives longer than the call.
//! - **L3** What the system says of options and control messages are plain numbers: any bytes of their size are a value.

use std::ffi::CString;
use std::io::{self, ErrorKind, Read};
use std::mem::{self, size_of_val};
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::ptr;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;

use super::capture::LONGEST_FRAME;
use crate::{Error, Halt, Result, incoming};

/// What is asked for to hold frames that come faster than they are read, in bytes. The system may give less.
const ROOM: libc::c_int = 8 << 20;
/// `PACKET_IGNORE_OUTGOING` of Linux 4.20.
const IGNORE_OUTGOING: libc::c_int = 23;
/// Kinds of interfaces, and link types of captures.
const LOOPBACK: u32 = 772;
const LINK_TYPES: [(u32, u32); 4] = [(1, 1), (LOOPBACK, 1), (65_534, 101), (803, 127)];
/// Where a tag is put back that the system has taken out of an Ethernet frame.
const TAG: usize = 12;

/// An interface, read as a pcap file that ends when it is halted.
struct Interface {
    socket: OwnedFd,
    halt: Option<Halt>,
    /// What was not given yet, from `given` on: the header of the file, or a record.
    record: Vec<u8>,
    given: usize,
    frame: Box<[u8]>,
}

/// Who counts the frames that an interface has lost.
pub(super) struct Losses(OwnedFd);

/// What comes at the interface of that name, from now on.
pub(super) fn open(name: &str, halt: Option<Halt>) -> Result<(incoming::Input, Losses)> {
    let interface = Interface::open(name, halt)?;
    let losses = Losses(interface.socket.try_clone().map_err(|error| cannot(name, &error))?);
    Ok((Box::new(interface), losses))
}

fn cannot(name: &str, error: &io::Error) -> Error {
    Error::Refused(format!("cannot listen at the interface {name}: {error}"))
}

impl Interface {
    /// Listens at the interface of that name.
    fn open(name: &str, halt: Option<Halt>) -> Result<Self> {
        let cannot = |error: io::Error| cannot(name, &error);
        let index = CString::new(name).map_or(0, |name| {
            // SAFETY: it reads a string that ends with a zero (L2).
            unsafe { libc::if_nametoindex(name.as_ptr()) }
        });
        if index == 0 {
            let there = std::fs::read_dir("/sys/class/net").into_iter().flatten().flatten();
            let there: Vec<String> = there.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
            return Err(Error::Refused(format!("there is no interface {name}; there are {}", there.join(", "))));
        }
        let kind = std::fs::read_to_string(format!("/sys/class/net/{name}/type")).map_err(cannot)?;
        let kind: u32 = kind.trim().parse().unwrap_or(u32::MAX);
        let Some(&(_, link_type)) = LINK_TYPES.iter().find(|(known, _)| *known == kind) else {
            return Err(Error::Refused(format!(
                "the interface {name} is of kind {kind}, whose frames are not known here"
            )));
        };
        // SAFETY: a call without pointers. Of protocol 0, so nothing comes before it is bound to one interface.
        let socket = unsafe { libc::socket(libc::AF_PACKET, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 0) };
        if socket < 0 {
            let error = io::Error::last_os_error();
            if error.kind() != ErrorKind::PermissionDenied {
                return Err(cannot(error));
            }
            return Err(Error::Refused(format!(
                "cannot listen at the interface {name}: that takes the right CAP_NET_RAW; run it as root, or give the \
                 program the right by `setcap cap_net_raw+ep`"
            )));
        }
        // SAFETY: it is open, and nobody else's (L1).
        let socket = unsafe { OwnedFd::from_raw_fd(socket) };
        set(&socket, libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, 1).map_err(cannot)?;
        set(&socket, libc::SOL_PACKET, libc::PACKET_AUXDATA, 1).map_err(cannot)?;
        if kind == LOOPBACK {
            // What leaves there comes in again.
            set(&socket, libc::SOL_PACKET, IGNORE_OUTGOING, 1).map_err(cannot)?;
        }
        if set(&socket, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, ROOM).is_err() {
            set(&socket, libc::SOL_SOCKET, libc::SO_RCVBUF, ROOM).map_err(cannot)?;
        }
        // SAFETY: all zeros are an address (L3).
        let mut address: libc::sockaddr_ll = unsafe { mem::zeroed() };
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_protocol = (libc::ETH_P_ALL as u16).to_be();
        address.sll_ifindex = index as i32;
        let length = size_of_val(&address) as libc::socklen_t;
        // SAFETY: the descriptor is open (L1), and the address has that length (L2).
        if unsafe { libc::bind(socket.as_raw_fd(), ptr::from_ref(&address).cast(), length) } < 0 {
            return Err(cannot(io::Error::last_os_error()));
        }
        let version = [0xa1b2_3c4d_u32.to_le_bytes(), [2, 0, 4, 0], [0; 4], [0; 4]];
        let limits = [(LONGEST_FRAME as u32).to_le_bytes(), link_type.to_le_bytes()];
        let record = [version.concat(), limits.concat()].concat();
        Ok(Self { socket, halt, record, given: 0, frame: vec![0; LONGEST_FRAME].into_boxed_slice() })
    }

    /// Waits for a frame; false if the interface was halted.
    fn wait(&self) -> io::Result<bool> {
        let halt = self.halt.as_ref().map(Halt::waited_for);
        let ends = [self.socket.as_fd(), halt.unwrap_or(self.socket.as_fd())];
        loop {
            match poll(&mut ends.map(|end| PollFd::from_borrowed_fd(end, PollFlags::IN)), None) {
                Ok(_) => return Ok(!self.halt.as_ref().is_some_and(Halt::is_halted)),
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Makes a record of the next frame; false if there is none yet.
    fn receive(&mut self) -> io::Result<bool> {
        // Control messages are aligned as sizes are.
        let mut control = [0_usize; 32];
        let mut part = libc::iovec { iov_base: self.frame.as_mut_ptr().cast(), iov_len: self.frame.len() };
        // SAFETY: all zeros are a header that says nothing (L3).
        let mut header: libc::msghdr = unsafe { mem::zeroed() };
        header.msg_iov = &raw mut part;
        header.msg_iovlen = 1;
        header.msg_control = control.as_mut_ptr().cast();
        header.msg_controllen = size_of_val(&control) as _;
        let flags = libc::MSG_DONTWAIT | libc::MSG_TRUNC;
        // SAFETY: the descriptor is open (L1); the frame and the control messages are there, of the lengths that were said (L2).
        let length = unsafe { libc::recvmsg(self.socket.as_raw_fd(), &raw mut header, flags) };
        let Ok(length) = usize::try_from(length) else {
            let error = io::Error::last_os_error();
            return match error.kind() {
                ErrorKind::WouldBlock | ErrorKind::Interrupted => Ok(false),
                _ => Err(error),
            };
        };
        let (mut time, mut tag) = ([0; 2], None);
        // SAFETY: the header is as the system has filled it, so each message is within `control` (L2), and has what its type says (L3).
        unsafe {
            let mut message = libc::CMSG_FIRSTHDR(&raw const header);
            while let Some(&libc::cmsghdr { cmsg_level, cmsg_type, .. }) = message.as_ref() {
                let data = libc::CMSG_DATA(message);
                match (cmsg_level, cmsg_type) {
                    (libc::SOL_SOCKET, libc::SO_TIMESTAMPNS) => {
                        let at: libc::timespec = data.cast::<libc::timespec>().read_unaligned();
                        time = [at.tv_sec as u32, at.tv_nsec as u32];
                    }
                    (libc::SOL_PACKET, libc::PACKET_AUXDATA) => {
                        tag = tag_of(&data.cast::<libc::tpacket_auxdata>().read_unaligned());
                    }
                    _ => {}
                }
                message = libc::CMSG_NXTHDR(&raw const header, message);
            }
        }
        let kept = &self.frame[..length.min(self.frame.len())];
        let (addresses, rest) = kept.split_at(TAG.min(kept.len()));
        let tag = tag.as_ref().map_or(&[][..], |tag| tag);
        // A frame as long as frames can be has no room for a tag.
        let rest = &rest[..rest.len().min(LONGEST_FRAME - addresses.len() - tag.len())];
        let lengths = [addresses.len() + tag.len() + rest.len(), length + tag.len()].map(|length| length as u32);
        self.record.clear();
        self.record.extend([time, lengths].as_flattened().iter().flat_map(|word| word.to_le_bytes()));
        self.record.extend_from_slice(addresses);
        self.record.extend_from_slice(tag);
        self.record.extend_from_slice(rest);
        self.given = 0;
        Ok(true)
    }
}

/// The tag that was taken out of a frame, as it stood there.
fn tag_of(about: &libc::tpacket_auxdata) -> Option<[u8; 4]> {
    let is = |flag: libc::c_uint| about.tp_status & flag != 0;
    let kind = if is(libc::TP_STATUS_VLAN_TPID_VALID) { about.tp_vlan_tpid } else { 0x8100 };
    let ([k0, k1], [t0, t1]) = (kind.to_be_bytes(), about.tp_vlan_tci.to_be_bytes());
    is(libc::TP_STATUS_VLAN_VALID).then_some([k0, k1, t0, t1])
}

/// Gives the frames that are there, and waits only if there is none.
impl Read for Interface {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut filled = 0;
        while filled < buffer.len() {
            if self.given == self.record.len() && !self.receive()? {
                if filled > 0 {
                    break;
                }
                if !self.wait()? {
                    return Ok(0);
                }
                continue;
            }
            let some = (self.record.len() - self.given).min(buffer.len() - filled);
            buffer[filled..filled + some].copy_from_slice(&self.record[self.given..self.given + some]);
            (self.given, filled) = (self.given + some, filled + some);
        }
        Ok(filled)
    }
}

impl Losses {
    /// How many frames there was no room for since the last time.
    pub(super) fn count(&self) -> io::Result<u64> {
        // SAFETY: all zeros are counts (L3).
        let mut counts: libc::tpacket_stats = unsafe { mem::zeroed() };
        let mut length = size_of_val(&counts) as libc::socklen_t;
        let (socket, to) = (self.0.as_raw_fd(), ptr::from_mut(&mut counts).cast());
        // SAFETY: the descriptor is open (L1), and the counts have that length (L2).
        match unsafe { libc::getsockopt(socket, libc::SOL_PACKET, libc::PACKET_STATISTICS, to, &raw mut length) } {
            0 => Ok(counts.tp_drops.into()),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

/// Sets an option that is a number.
fn set(socket: &OwnedFd, level: libc::c_int, option: libc::c_int, value: libc::c_int) -> io::Result<()> {
    let length = size_of_val(&value) as libc::socklen_t;
    // SAFETY: the descriptor is open (L1), and the value has that length (L2).
    match unsafe { libc::setsockopt(socket.as_raw_fd(), level, option, ptr::from_ref(&value).cast(), length) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_is_put_back_as_it_was() {
        // SAFETY: all zeros are a value (L3).
        let mut about: libc::tpacket_auxdata = unsafe { mem::zeroed() };
        (about.tp_vlan_tci, about.tp_vlan_tpid) = (0x2007, 0x88a8);
        assert_eq!(tag_of(&about), None);
        about.tp_status = libc::TP_STATUS_VLAN_VALID;
        assert_eq!(tag_of(&about), Some([0x81, 0, 0x20, 7]));
        about.tp_status |= libc::TP_STATUS_VLAN_TPID_VALID;
        assert_eq!(tag_of(&about), Some([0x88, 0xa8, 0x20, 7]));
    }
}
