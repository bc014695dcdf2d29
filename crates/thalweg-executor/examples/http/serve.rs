//! The server: a task for each connection.

use crate::hyper_io::{Clock, Io};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use std::convert::Infallible;
use std::io;
use std::net::TcpListener;
use thalweg_executor::io::Async;
use thalweg_executor::spawn;

/// Serves whoever connects.
pub(crate) async fn serve(listener: Async<TcpListener>) -> io::Result<()> {
    loop {
        let (stream, _) = listener.accept().await?;
        // Answers are whole: they wait for nothing that could be sent with them.
        stream.get_ref().set_nodelay(true)?;
        drop(spawn(async move {
            let connection = http1::Builder::new().timer(Clock).serve_connection(Io(stream), service_fn(answer));
            if let Err(error) = connection.await {
                eprintln!("a connection failed: {error}");
            }
        }));
    }
}

async fn answer(request: Request<Incoming>) -> Result<Response<String>, Infallible> {
    let mut response = Response::new(format!("Hello from {}\n", request.uri().path()));
    if request.uri().path() == "/missing" {
        *response.status_mut() = StatusCode::NOT_FOUND;
    }
    Ok(response)
}
