//! hyper over the executor: what a connection reads, writes and waits by.

#![allow(clippy::disallowed_types, reason = "hyper's trait has the standard library's clock")]

use hyper::rt::{Read, ReadBufCursor, Sleep, Timer, Write};
use std::future::Future;
use std::io::{self, IoSlice, Read as _, Write as _};
use std::net::{Shutdown, TcpStream};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};
use thalweg_executor::io::Async;

/// A connection.
#[derive(Debug)]
pub(crate) struct Io(pub(crate) Async<TcpStream>);

impl Io {
    /// Calls the system until it does not say that it would block.
    fn again<R>(
        &self,
        ready: impl Fn(&Async<TcpStream>, &mut Context<'_>) -> Poll<io::Result<()>>,
        context: &mut Context<'_>,
        mut call: impl FnMut(&TcpStream) -> io::Result<R>,
    ) -> Poll<io::Result<R>> {
        loop {
            match call(self.0.get_ref()) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => ready!(ready(&self.0, context))?,
                done => return Poll::Ready(done),
            }
        }
    }
}

impl Read for Io {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, mut buf: ReadBufCursor<'_>) -> Poll<io::Result<()>> {
        let room = buf.initialize_unfilled();
        let read = ready!(self.again(Async::poll_readable, context, |mut stream| stream.read(room)))?;
        // SAFETY: all of the room was initialized above, and no more was read than it has.
        unsafe { buf.advance(read) };
        Poll::Ready(Ok(()))
    }
}

impl Write for Io {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.again(Async::poll_writable, context, |mut stream| stream.write(bytes))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(())) // a socket has no buffer of ours
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(self.0.get_ref().shutdown(Shutdown::Write))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.again(Async::poll_writable, context, |mut stream| stream.write_vectored(parts))
    }
}

/// By which hyper gives up clients that send no request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock;

impl Timer for Clock {
    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Sleep>> {
        Box::pin(Alarm(thalweg_executor::io::Timer::after(duration)))
    }

    fn sleep_until(&self, deadline: Instant) -> Pin<Box<dyn Sleep>> {
        Box::pin(Alarm(thalweg_executor::io::Timer::at(deadline)))
    }
}

struct Alarm(thalweg_executor::io::Timer);

impl Future for Alarm {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        Pin::new(&mut self.0).poll(context).map(|_| ())
    }
}

impl Sleep for Alarm {}
