//! A program that takes part where a daemon shares out the cores: it says what it could use, and keeps to what it is granted.
//!
//! `cargo run -p thalweg-daemon --example client` starts a daemon of eight cores for itself, joins it twice, and prints what each is granted as their work
//! changes. With the path of a socket it joins the daemon there, as `thalweg daemon` has one. It needs Linux.

#![allow(clippy::disallowed_methods, reason = "a program of its own has std's threads")]

#[cfg(target_os = "linux")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    use std::thread;
    use thalweg_daemon::{Daemon, Options, Policy};

    if let Some(path) = std::env::args().nth(1) {
        return member::take_part(path.as_ref());
    }
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("private/daemon.sock");
    let (mut daemon, stop) = Daemon::bind(&path, Options { cores: 8, policy: Policy::Fair })?;
    let served = thread::spawn(move || daemon.run());
    let result = member::take_part(&path);
    stop.stop();
    served.join().expect("it does not panic")?;
    result
}

#[cfg(not(target_os = "linux"))]
fn main() {
    println!("a daemon needs Linux");
}

#[cfg(target_os = "linux")]
mod member {
    use std::error::Error;
    use std::path::Path;
    use std::time::Duration;
    use thalweg_daemon::{Gone, Member, Wish};

    /// Threads that have something to do, each with 20 ms of work.
    fn wish(threads: u32) -> Wish {
        Wish { could: threads, work: u64::from(threads) * 20_000_000 }
    }

    /// Waits until the grant stays as it is for a while. A program would go on with its work meanwhile, and look now and then.
    fn steady_grant(member: &mut Member) -> Result<Option<u32>, Gone> {
        while member.wait(Duration::from_millis(100))? {}
        Ok(member.granted())
    }

    pub(crate) fn take_part(path: &Path) -> Result<(), Box<dyn Error>> {
        let mut crunch = Member::join(path, 1, "crunch")?;
        crunch.publish(wish(8), 1);
        println!("alone, with work for 8 threads: {:?} cores", steady_grant(&mut crunch)?);

        let mut other = Member::join(path, 1, "other")?;
        other.publish(wish(8), 1);
        crunch.publish(wish(8), 8);
        println!("beside another one: {:?} and {:?}", steady_grant(&mut crunch)?, steady_grant(&mut other)?);

        other.publish(wish(2), 2);
        crunch.publish(wish(8), 4);
        println!("which has work for 2: {:?} and {:?}", steady_grant(&mut crunch)?, steady_grant(&mut other)?);

        drop(other);
        crunch.publish(wish(8), 6);
        println!("when it has gone: {:?} cores", steady_grant(&mut crunch)?);
        Ok(())
    }
}
