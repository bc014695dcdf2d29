//! HTTP/1.1, whose every request has one short answer.

use std::convert::Infallible;
use std::net::SocketAddr;

use hyper::body::Incoming;
use hyper::rt::{Read, Write};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::clients::Client;
use super::servers::{Protocol, Spawn};
use crate::harness::BoxError;

const REQUEST: &[u8] = b"GET /plaintext HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n";
const BODY: &str = "Hello, World!";
/// Longer than any answer.
const MOST: usize = 512;

pub(super) struct Http1;

impl Protocol for Http1 {
    type Client = Plain;

    async fn serve<S: Spawn>(io: impl Read + Write + Unpin + Send + 'static, _: S) {
        let _ = http1::Builder::new().serve_connection(io, service_fn(answer)).await;
    }
}

async fn answer(_: Request<Incoming>) -> Result<Response<String>, Infallible> {
    Ok(Response::new(BODY.to_owned()))
}

/// Bytes that are always the same, and an answer whose end is known: no client of HTTP is measured.
pub(super) struct Plain {
    stream: TcpStream,
    buffer: [u8; MOST],
}

impl Client for Plain {
    async fn connect(server: SocketAddr) -> Result<Self, BoxError> {
        let stream = TcpStream::connect(server).await?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, buffer: [0; MOST] })
    }

    async fn ask(&mut self) -> Result<(), BoxError> {
        let Self { stream, buffer } = self;
        stream.write_all(REQUEST).await?;
        let mut filled = 0;
        while !buffer[..filled].ends_with(BODY.as_bytes()) {
            let read = stream.read(&mut buffer[filled..]).await?;
            if read == 0 {
                let got = String::from_utf8_lossy(&buffer[..filled]);
                return Err(format!("the connection ended in the middle of an answer: {got:?}").into());
            }
            filled += read;
        }
        match buffer.starts_with(b"HTTP/1.1 200 OK\r\n") {
            true => Ok(()),
            false => Err(format!("an answer begins with {:?}", String::from_utf8_lossy(&buffer[..32])).into()),
        }
    }
}
