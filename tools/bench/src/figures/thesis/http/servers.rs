//! The same server on each executor.

use std::io::{self, IoSlice};
use std::net::{SocketAddr, TcpListener};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use hyper::rt::{Read, ReadBufCursor, Write};
use thalweg_executor::io::Async;
use thalweg_executor::{Executor, JoinHandle, LocalQueue};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::clients::Client;
use crate::harness::BoxError;

#[path = "../../../../../../crates/thalweg-executor/examples/http/hyper_io.rs"]
#[allow(dead_code, reason = "no connection has a timer here, as tokio's has none")]
mod hyper_io;

pub(super) const WORKERS: usize = 2;

/// What is spoken on a connection.
pub(super) trait Protocol: 'static {
    type Client: Client;

    /// Serves a connection to its end. How it ends is the clients' to judge.
    fn serve<S: Spawn>(io: impl Read + Write + Unpin + Send + 'static, spawn: S) -> impl Future<Output = ()> + Send;
}

/// Starts tasks on the executor that it is called on.
pub(super) trait Spawn: Copy + Send + Sync + 'static {
    fn spawn(self, task: impl Future<Output = ()> + Send + 'static);
}

/// A server that runs. Ends when it is dropped, with all connections.
pub(super) trait Server: Sized {
    fn start<P: Protocol>() -> Result<Self, BoxError>;
    fn address(&self) -> SocketAddr;
    /// Percent of the polls that followed a steal; not a number where it is not counted.
    fn stolen(&self) -> f64;
}

fn listen() -> Result<(TcpListener, SocketAddr), BoxError> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    Ok((listener, address))
}

#[derive(Clone, Copy)]
struct OnThalweg;

impl Spawn for OnThalweg {
    fn spawn(self, task: impl Future<Output = ()> + Send + 'static) {
        drop(thalweg_executor::spawn(task));
    }
}

pub(super) struct Thalweg<Q: LocalQueue> {
    executor: Executor<Q>,
    address: SocketAddr,
    _accepts: JoinHandle<()>,
}

impl<Q: LocalQueue> Server for Thalweg<Q> {
    fn start<P: Protocol>() -> Result<Self, BoxError> {
        let executor = Executor::builder().workers(WORKERS).queue::<Q>().start()?;
        let (listener, address) = listen()?;
        let listener = Async::new(listener)?;
        let accepts = executor.spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                if stream.get_ref().set_nodelay(true).is_ok() {
                    OnThalweg.spawn(P::serve(hyper_io::Io(stream), OnThalweg));
                }
            }
        });
        Ok(Self { executor, address, _accepts: accepts })
    }

    fn address(&self) -> SocketAddr {
        self.address
    }

    fn stolen(&self) -> f64 {
        let counts = self.executor.counts();
        100.0 * counts.stolen as f64 / counts.polls.max(1) as f64
    }
}

#[derive(Clone, Copy)]
struct OnTokio;

impl Spawn for OnTokio {
    fn spawn(self, task: impl Future<Output = ()> + Send + 'static) {
        drop(tokio::spawn(task));
    }
}

pub(super) struct Tokio {
    _runtime: tokio::runtime::Runtime,
    address: SocketAddr,
}

impl Server for Tokio {
    fn start<P: Protocol>() -> Result<Self, BoxError> {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(WORKERS).enable_io().build()?;
        let (listener, address) = listen()?;
        listener.set_nonblocking(true)?;
        runtime.spawn(async move {
            let listener = tokio::net::TcpListener::from_std(listener).expect("in its runtime");
            while let Ok((stream, _)) = listener.accept().await {
                if stream.set_nodelay(true).is_ok() {
                    OnTokio.spawn(P::serve(Io(stream), OnTokio));
                }
            }
        });
        Ok(Self { _runtime: runtime, address })
    }

    fn address(&self) -> SocketAddr {
        self.address
    }

    fn stolen(&self) -> f64 {
        f64::NAN
    }
}

/// A connection of tokio's.
pub(super) struct Io(pub(super) tokio::net::TcpStream);

impl Read for Io {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        mut buf: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        let mut room = ReadBuf::new(buf.initialize_unfilled());
        ready!(Pin::new(&mut self.0).poll_read(context, &mut room))?;
        let read = room.filled().len();
        // SAFETY: all of the room was initialized above, and no more was read than it has.
        unsafe { buf.advance(read) };
        Poll::Ready(Ok(()))
    }
}

impl Write for Io {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write_vectored(context, parts)
    }
}
