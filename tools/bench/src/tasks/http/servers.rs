//! The same server on each executor.

use std::convert::Infallible;
use std::io::{self, IoSlice};
use std::net::{SocketAddr, TcpListener};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use hyper::body::Incoming;
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use thalweg_executor::io::Async;
use thalweg_executor::{Executor, JoinHandle, LocalQueue, spawn};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::harness::BoxError;

#[path = "../../../../../crates/thalweg-executor/examples/http/hyper_io.rs"]
#[allow(dead_code, reason = "no connection has a timer here, as tokio's has none")]
mod hyper_io;

pub(super) const WORKERS: usize = 2;
/// What is answered, whatever is asked.
pub(super) const BODY: &str = "Hello, World!";

/// A server that runs. Ends when it is dropped, with all connections.
pub(super) trait Server: Sized {
    fn start() -> Result<Self, BoxError>;
    fn address(&self) -> SocketAddr;
    /// Percent of the polls that followed a steal; not a number where it is not counted.
    fn stolen(&self) -> f64;
}

async fn answer(_: Request<Incoming>) -> Result<Response<String>, Infallible> {
    Ok(Response::new(BODY.to_owned()))
}

/// Serves a connection to its end. How it ends is the clients' to judge.
async fn serve(io: impl Read + Write + Unpin) {
    let _ = http1::Builder::new().serve_connection(io, service_fn(answer)).await;
}

fn listen() -> Result<(TcpListener, SocketAddr), BoxError> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    Ok((listener, address))
}

pub(super) struct Thalweg<Q: LocalQueue> {
    executor: Executor<Q>,
    address: SocketAddr,
    _accepts: JoinHandle<()>,
}

impl<Q: LocalQueue> Server for Thalweg<Q> {
    fn start() -> Result<Self, BoxError> {
        let executor = Executor::builder().workers(WORKERS).queue::<Q>().start()?;
        let (listener, address) = listen()?;
        let listener = Async::new(listener)?;
        let accepts = executor.spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                if stream.get_ref().set_nodelay(true).is_ok() {
                    drop(spawn(serve(hyper_io::Io(stream))));
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

pub(super) struct Tokio {
    _runtime: tokio::runtime::Runtime,
    address: SocketAddr,
}

impl Server for Tokio {
    fn start() -> Result<Self, BoxError> {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(WORKERS).enable_io().build()?;
        let (listener, address) = listen()?;
        listener.set_nonblocking(true)?;
        runtime.spawn(async move {
            let listener = tokio::net::TcpListener::from_std(listener).expect("in its runtime");
            while let Ok((stream, _)) = listener.accept().await {
                if stream.set_nodelay(true).is_ok() {
                    drop(tokio::spawn(serve(Io(stream))));
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
struct Io(tokio::net::TcpStream);

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
