//! What goes over the socket.
//!
//! ```text
//! thalweg-daemon 1 join 1 thalweg run search     from the application: weight, and what it was started as
//! thalweg-daemon 1 joined                        from the daemon, with the page
//! ..                                             from either side, from then on: look at the page
//!
//! thalweg-daemon 1 status                        from whoever wants to know
//! thalweg-daemon 1 cores 8 delay                 from the daemon, and a line for each application; then it closes
//! ```

use std::fs::{self, DirBuilder};
use std::io::{self, ErrorKind};
use std::mem;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::os::unix::net::UnixStream;
use std::path::Path;

use crate::page::checked;

/// What every line begins with: the protocol and its version.
pub(crate) const HELLO: &str = "thalweg-daemon 1 ";
/// The longest line.
pub(crate) const LONGEST: usize = 256;
/// The byte that asks for a look at the page.
pub(crate) const LOOK: u8 = b'.';

/// Who is on the other side of a socket.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Peer {
    pub(crate) pid: u32,
    pub(crate) uid: u32,
}

pub(crate) fn peer(stream: &UnixStream) -> io::Result<Peer> {
    // SAFETY: plain numbers, for which zeros are valid.
    let mut found: libc::ucred = unsafe { mem::zeroed() };
    let mut length = size_of_val(&found) as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes to what is borrowed here.
    checked(unsafe {
        libc::getsockopt(
            stream.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_PEERCRED,
            (&raw mut found).cast(),
            &raw mut length,
        )
    })?;
    Ok(Peer { pid: found.pid.unsigned_abs(), uid: found.uid })
}

/// The user that this process acts as.
pub(crate) fn own_uid() -> u32 {
    // SAFETY: asks for a number.
    unsafe { libc::geteuid() }
}

/// Room for one descriptor in a message, aligned as its header.
#[repr(C)]
union Ancillary {
    header: libc::cmsghdr,
    bytes: [u8; 64],
}

/// Sends `text`, and `file` with its first byte. All or nothing: whoever takes no short message at once is given up.
pub(crate) fn send_with(stream: &UnixStream, text: &str, file: &OwnedFd) -> io::Result<()> {
    let mut part = libc::iovec { iov_base: text.as_ptr().cast_mut().cast(), iov_len: text.len() };
    let mut room = Ancillary { bytes: [0; 64] };
    // SAFETY: plain numbers and pointers, for which zeros are valid.
    let mut message: libc::msghdr = unsafe { mem::zeroed() };
    message.msg_iov = &raw mut part;
    message.msg_iovlen = 1;
    message.msg_control = (&raw mut room).cast();
    // SAFETY: computes lengths.
    let (length, space) = unsafe { (libc::CMSG_LEN(4), libc::CMSG_SPACE(4)) };
    const { assert!(size_of::<Ancillary>() >= 24) };
    message.msg_controllen = space as _;
    // SAFETY: `room` has space for one header and one number behind it, and the kernel reads what the pointers show, which lives until it returns.
    let sent = unsafe {
        let header = libc::CMSG_FIRSTHDR(&raw const message);
        (*header).cmsg_level = libc::SOL_SOCKET;
        (*header).cmsg_type = libc::SCM_RIGHTS;
        (*header).cmsg_len = length as _;
        libc::CMSG_DATA(header).cast::<libc::c_int>().write_unaligned(file.as_raw_fd());
        libc::sendmsg(stream.as_raw_fd(), &raw const message, libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT)
    };
    match usize::try_from(sent) {
        Ok(sent) if sent == text.len() => Ok(()),
        Ok(_) => Err(ErrorKind::WouldBlock.into()),
        Err(_) => Err(io::Error::last_os_error()),
    }
}

/// Receives bytes, and the descriptor that came with them, if one did. Waits as long as the stream was told to.
pub(crate) fn receive_with(stream: &UnixStream, bytes: &mut [u8]) -> io::Result<(usize, Option<OwnedFd>)> {
    let mut part = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() };
    let mut room = Ancillary { bytes: [0; 64] };
    // SAFETY: as in `send_with`.
    let mut message: libc::msghdr = unsafe { mem::zeroed() };
    message.msg_iov = &raw mut part;
    message.msg_iovlen = 1;
    message.msg_control = (&raw mut room).cast();
    // SAFETY: computes a length. Room for one descriptor only: the kernel closes what else would come.
    message.msg_controllen = unsafe { libc::CMSG_SPACE(4) } as _;
    // SAFETY: the kernel writes within what is borrowed here.
    let got = unsafe { libc::recvmsg(stream.as_raw_fd(), &raw mut message, libc::MSG_CMSG_CLOEXEC) };
    let got = usize::try_from(got).map_err(|_| io::Error::last_os_error())?;
    // SAFETY: the kernel left `msg_controllen` bytes of headers; a whole one of rights has at least one descriptor, which is ours from now on.
    let file = unsafe {
        let header = libc::CMSG_FIRSTHDR(&raw const message);
        let is_file = !header.is_null()
            && (*header).cmsg_level == libc::SOL_SOCKET
            && (*header).cmsg_type == libc::SCM_RIGHTS
            && (*header).cmsg_len as usize >= libc::CMSG_LEN(4) as usize;
        is_file.then(|| OwnedFd::from_raw_fd(libc::CMSG_DATA(header).cast::<libc::c_int>().read_unaligned()))
    };
    Ok((got, file))
}

/// Goes to the daemon at `path`. Refused if it is another user's (D5).
pub(crate) fn connect(path: &Path) -> io::Result<UnixStream> {
    let tell = |error: io::Error| {
        let told = match error.kind() {
            ErrorKind::NotFound | ErrorKind::ConnectionRefused => {
                "no daemon runs there; `thalweg daemon` starts one".to_owned()
            }
            ErrorKind::PermissionDenied => "it belongs to another user".to_owned(),
            _ => error.to_string(),
        };
        io::Error::new(error.kind(), format!("{}: {told}", path.display()))
    };
    let stream = UnixStream::connect(path).map_err(tell)?;
    if peer(&stream)?.uid != own_uid() {
        return Err(tell(ErrorKind::PermissionDenied.into()));
    }
    Ok(stream)
}

/// Makes the folder of a socket if there is none, and refuses one that others may look into (D5).
pub(crate) fn private_folder(folder: &Path) -> io::Result<()> {
    let tell = |what: String| io::Error::new(ErrorKind::PermissionDenied, format!("{}: {what}", folder.display()));
    let made = DirBuilder::new().recursive(true).mode(0o700).create(folder);
    made.map_err(|error| io::Error::new(error.kind(), format!("cannot make {}: {error}", folder.display())))?;
    let found = fs::symlink_metadata(folder)?;
    if !found.is_dir() {
        return Err(tell("it is a link or a file; take another --socket".to_owned()));
    }
    if found.uid() != own_uid() {
        return Err(tell("it belongs to somebody else; take another --socket".to_owned()));
    }
    match found.permissions().mode() & 0o077 {
        0 => Ok(()),
        _ => Err(tell("others may look into it; `chmod 700` it, or take another --socket".to_owned())),
    }
}

/// Text that is one line of printable characters, and not too long.
pub(crate) fn plain(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(120).collect::<String>().trim().to_owned()
}
