//! As much of HTTP as a page needs: GET, a few headers, and answers that go on.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream};

use thalweg_sync::time::Duration;

/// Bytes of a request, at most.
const LONGEST: u64 = 16 << 10;
/// Who sends or takes nothing for so long is given up.
pub(super) const PATIENCE: Duration = Duration::from_secs(2);

/// Who may ask.
#[derive(Debug)]
pub(super) struct Door {
    address: SocketAddr,
    /// Asked for where others than this machine's users may come.
    token: Option<String>,
}

/// Why a request gets no answer but this.
#[derive(Debug, PartialEq)]
pub(super) struct Refused(pub(super) &'static str, pub(super) &'static str);

impl Door {
    pub(super) fn new(address: SocketAddr) -> Self {
        let token = (!address.ip().is_loopback()).then(|| {
            // The keys are the system's random numbers.
            let half = || RandomState::new().build_hasher().finish();
            format!("{:016x}{:016x}", half(), half())
        });
        Self { address, token }
    }

    /// Where the page is.
    pub(super) fn url(&self) -> String {
        let query = self.token.as_ref().map_or_else(String::new, |token| format!("?token={token}"));
        format!("http://{}/{query}", self.address)
    }

    /// Reads a request; gives the path that is asked for.
    pub(super) fn admit(&self, stream: &TcpStream) -> io::Result<Result<String, Refused>> {
        let mut lines = BufReader::new(stream.take(LONGEST));
        let mut line = || {
            let mut text = String::new();
            lines.read_line(&mut text)?;
            if text.ends_with('\n') {
                Ok(text.trim_end().to_owned())
            } else {
                Err(io::Error::from(io::ErrorKind::UnexpectedEof))
            }
        };
        let first = line()?;
        let (mut host, mut origin) = (None, None);
        loop {
            let header = line()?;
            if header.is_empty() {
                break;
            }
            if let Some((name, value)) = header.split_once(':') {
                match name.to_ascii_lowercase().as_str() {
                    "host" => host = Some(value.trim().to_owned()),
                    "origin" => origin = Some(value.trim().to_owned()),
                    _ => {}
                }
            }
        }
        Ok(self.check(&first, host.as_deref(), origin.as_deref()))
    }

    fn check(&self, first: &str, host: Option<&str>, origin: Option<&str>) -> Result<String, Refused> {
        let mut words = first.split(' ');
        let (Some(method), Some(target)) = (words.next(), words.next()) else {
            return Err(Refused("400 Bad Request", "this is no request\n"));
        };
        if method != "GET" {
            return Err(Refused("405 Method Not Allowed", "there is nothing to change here: only GET\n"));
        }
        // A name that somebody else's server gives this address to is not ours: pages from there must not read this one.
        let host = host.unwrap_or("");
        if !self.is_own(host) {
            return Err(Refused("403 Forbidden", "the page is asked for under another name than its address\n"));
        }
        if origin.is_some_and(|origin| origin != format!("http://{host}")) {
            return Err(Refused("403 Forbidden", "pages of other origins may not read this one\n"));
        }
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        if let Some(token) = &self.token {
            let given = query.split('&').find_map(|pair| pair.strip_prefix("token=")).unwrap_or("");
            if !is_same(given.as_bytes(), token.as_bytes()) {
                return Err(Refused("403 Forbidden", "the address needs the token that the command printed\n"));
            }
        }
        Ok(path.to_owned())
    }

    /// Whether `host` is an address, or on this machine its name for itself.
    fn is_own(&self, host: &str) -> bool {
        let name = match host.rsplit_once(':') {
            Some((name, port)) if port.parse() == Ok(self.address.port()) => name,
            _ if self.address.port() == 80 => host,
            _ => return false,
        };
        let address: Option<IpAddr> = name.trim_start_matches('[').trim_end_matches(']').parse().ok();
        match address {
            Some(address) => address == self.address.ip() || self.address.ip().is_unspecified(),
            None => name == "localhost" && self.address.ip().is_loopback(),
        }
    }
}

/// Compares in a time that says nothing of where they differ.
fn is_same(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.iter().zip(b).fold(0, |all, (a, b)| all | (a ^ b)) == 0
}

/// The head of an answer. Nothing is loaded from elsewhere, and nobody keeps it.
pub(super) fn head(status: &str, kind: &str, length: Option<usize>) -> String {
    let length = length.map_or_else(String::new, |length| format!("Content-Length: {length}\r\n"));
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\n{length}Cache-Control: no-store\r\nReferrer-Policy: no-referrer\r\nX-Content-Type-Options: nosniff\r\n\
         Cross-Origin-Resource-Policy: same-origin\r\nContent-Security-Policy: default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'; \
         base-uri 'none'; frame-ancestors 'none'\r\nConnection: close\r\n\r\n"
    )
}

/// A whole answer.
pub(super) fn answer(mut stream: &TcpStream, status: &str, kind: &str, body: &str) -> io::Result<()> {
    stream.write_all(head(status, kind, Some(body.len())).as_bytes())?;
    stream.write_all(body.as_bytes())?;
    stream.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_address_itself_may_be_asked_for() {
        let door = Door::new("127.0.0.1:7000".parse().unwrap());
        let ask = |host, origin| door.check("GET /events HTTP/1.1", Some(host), origin);
        assert_eq!(ask("127.0.0.1:7000", None), Ok("/events".to_owned()));
        assert_eq!(ask("localhost:7000", Some("http://localhost:7000")), Ok("/events".to_owned()));
        for (host, origin) in [
            ("evil.example:7000", None),
            ("127.0.0.1:7001", None),
            ("127.0.0.1", None),
            ("10.0.0.1:7000", None),
            ("", None),
            ("127.0.0.1:7000", Some("http://evil.example")),
            ("127.0.0.1:7000", Some("null")),
        ] {
            assert_eq!(ask(host, origin).unwrap_err().0, "403 Forbidden", "{host} {origin:?}");
        }
        let post = door.check("POST / HTTP/1.1", Some("127.0.0.1:7000"), None);
        assert_eq!(post.unwrap_err().0, "405 Method Not Allowed");
        assert_eq!(door.url(), "http://127.0.0.1:7000/");
    }

    #[test]
    fn others_than_this_machine_need_the_token() {
        let door = Door::new("0.0.0.0:7000".parse().unwrap());
        let token = door.token.clone().unwrap();
        assert!(token.len() == 32 && door.url().ends_with(&format!("/?token={token}")));
        assert_ne!(Door::new("0.0.0.0:7000".parse().unwrap()).token.unwrap(), token);
        let ask = |target: String| door.check(&format!("GET {target} HTTP/1.1"), Some("192.168.0.7:7000"), None);
        assert_eq!(ask(format!("/?token={token}")), Ok("/".to_owned()));
        for target in
            ["/".to_owned(), "/?token=".to_owned(), format!("/?token={}", &token[1..]), format!("/?token={token}x")]
        {
            assert_eq!(ask(target.clone()).unwrap_err().0, "403 Forbidden", "{target}");
        }
    }
}
