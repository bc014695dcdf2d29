//! `executor/rpc`: the thesis' Figure 4.15 in small. tonic over hyper's HTTP/2, as `executor/http` is over HTTP/1.1.
//!
//! A call echoes 32 bytes. Each connection has one call at a time. Messages are bytes, so neither side has a compiler of protocols to thank. There is one method:
//! no router chooses it.

use crate::harness::{BoxError, Effort, Experiment, Group};

/// The entry for the registry.
pub(crate) const EXPERIMENT: Experiment = Experiment { name: "executor/rpc", plan };

const WORKLOAD: &str = "a call, answered over loopback";

#[cfg(not(feature = "rpc"))]
fn plan(_: &Effort) -> Result<Vec<Group>, BoxError> {
    Ok(vec![super::absent(WORKLOAD, crate::catalogue::optional::RPC)])
}

#[cfg(feature = "rpc")]
fn plan(effort: &Effort) -> Result<Vec<Group>, BoxError> {
    super::compare::<grpc::Grpc>(WORKLOAD, effort)
}

#[cfg(feature = "rpc")]
mod grpc {
    use std::convert::Infallible;
    use std::future::{Ready, ready};
    use std::net::SocketAddr;

    use bytes::{Buf, BufMut, Bytes};
    use http_body_util::{BodyExt, Full};
    use hyper::body::Incoming;
    use hyper::client::conn::http2 as client;
    use hyper::rt::{Executor, Read, Write};
    use hyper::server::conn::http2 as server;
    use hyper::service::service_fn;
    use hyper::{Request, Response, StatusCode};
    use tokio::net::TcpStream;
    use tonic::Status;
    use tonic::codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder};
    use tonic::server::UnaryService;

    use super::super::clients::Client;
    use super::super::servers::{Io, Protocol, Spawn};
    use crate::harness::BoxError;

    pub(super) struct Grpc;

    impl Protocol for Grpc {
        type Client = Caller;

        async fn serve<S: Spawn>(io: impl Read + Write + Unpin + Send + 'static, spawn: S) {
            let _ = server::Builder::new(Streams(spawn)).serve_connection(io, service_fn(answer)).await;
        }
    }

    async fn answer(request: Request<Incoming>) -> Result<Response<tonic::body::Body>, Infallible> {
        Ok(tonic::server::Grpc::new(Raw).unary(Echo, request).await)
    }

    /// Starts the tasks of a server's calls.
    #[derive(Clone, Copy)]
    struct Streams<S>(S);

    impl<S: Spawn, F: Future<Output = ()> + Send + 'static> Executor<F> for Streams<S> {
        fn execute(&self, task: F) {
            self.0.spawn(task);
        }
    }

    struct Echo;

    impl UnaryService<Bytes> for Echo {
        type Response = Bytes;
        type Future = Ready<Result<tonic::Response<Bytes>, Status>>;

        fn call(&mut self, request: tonic::Request<Bytes>) -> Self::Future {
            ready(Ok(tonic::Response::new(request.into_inner())))
        }
    }

    /// Messages that are bytes.
    #[derive(Clone, Copy)]
    struct Raw;

    impl Codec for Raw {
        type Encode = Bytes;
        type Decode = Bytes;
        type Encoder = Self;
        type Decoder = Self;

        fn encoder(&mut self) -> Self {
            *self
        }

        fn decoder(&mut self) -> Self {
            *self
        }
    }

    impl Encoder for Raw {
        type Item = Bytes;
        type Error = Status;

        fn encode(&mut self, item: Bytes, to: &mut EncodeBuf<'_>) -> Result<(), Status> {
            to.put(item);
            Ok(())
        }
    }

    impl Decoder for Raw {
        type Item = Bytes;
        type Error = Status;

        fn decode(&mut self, from: &mut DecodeBuf<'_>) -> Result<Option<Bytes>, Status> {
            Ok(Some(from.copy_to_bytes(from.remaining())))
        }
    }

    /// One connection, by hyper alone.
    pub(super) struct Caller {
        calls: client::SendRequest<Full<Bytes>>,
        /// As it travels in either direction: not compressed, its length, itself.
        message: Bytes,
    }

    /// Starts the tasks of a client's connection, on the thread of clients.
    #[derive(Clone, Copy)]
    struct Here;

    impl<F: Future + 'static> Executor<F> for Here {
        fn execute(&self, task: F) {
            tokio::task::spawn_local(async move { drop(task.await) });
        }
    }

    impl Client for Caller {
        async fn connect(server: SocketAddr) -> Result<Self, BoxError> {
            const LENGTH: u8 = 32;
            let stream = TcpStream::connect(server).await?;
            stream.set_nodelay(true)?;
            let (calls, connection) = client::handshake(Here, Io(stream)).await?;
            // How it ends is seen by the calls.
            Here.execute(connection);
            let message = [0, 0, 0, 0, LENGTH].into_iter().chain(0..LENGTH).collect();
            Ok(Self { calls, message })
        }

        async fn ask(&mut self) -> Result<(), BoxError> {
            let call = Request::post("http://127.0.0.1/thalweg.Echo/Echo")
                .header("content-type", "application/grpc")
                .header("te", "trailers")
                .body(Full::new(self.message.clone()))?;
            self.calls.ready().await?;
            let answer = self.calls.send_request(call).await?;
            let status = answer.status();
            let body = answer.into_body().collect().await?;
            let code = body.trailers().and_then(|trailers| trailers.get("grpc-status")).cloned();
            if status != StatusCode::OK || code.as_ref().is_none_or(|code| code != "0") {
                return Err(format!("an answer has the status {status}, and that of the call is {code:?}").into());
            }
            let echo = body.to_bytes();
            match echo == self.message {
                true => Ok(()),
                false => Err(format!("the echo is {echo:?}").into()),
            }
        }
    }
}

#[cfg(all(test, feature = "rpc"))]
mod tests {
    use super::*;
    use crate::harness::measure;

    #[test]
    fn every_server_answers_all_calls() {
        let outcome = measure(&EXPERIMENT, &Effort::TINY, &mut Vec::new()).unwrap();
        assert_eq!(outcome.failures, [""; 0]);
        assert_eq!(outcome.records.len(), 3 * super::super::UNITS.len() - 1);
    }
}
