//! The example's server answers over loopback, on executors with either form of queue.
#![cfg(not(loom))]

#[path = "../examples/http/hyper_io.rs"]
mod hyper_io;
#[path = "../examples/http/serve.rs"]
mod serve;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::Duration;
use thalweg_executor::io::Async;
use thalweg_executor::{Bwos, Executor, LocalQueue, Ring};
use thalweg_sync::thread;

const CONNECTIONS: usize = 8;
/// Far more than it takes: only a server that hangs is stopped by it.
const PATIENCE: Duration = Duration::from_secs(60);

fn ask(stream: &mut TcpStream, path: &str) -> String {
    write!(stream, "GET {path} HTTP/1.1\r\nHost: here\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    let mut byte = [0];
    while !answer.ends_with(b"\n") || answer.ends_with(b"\r\n") {
        stream.read_exact(&mut byte).expect("an answer to its end");
        answer.push(byte[0]);
    }
    String::from_utf8(answer).unwrap()
}

fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
}

/// Many clients at once, each with several requests on one connection.
fn clients_are_answered<Q: LocalQueue>() {
    let executor = Executor::builder().workers(2).queue::<Q>().start().unwrap();
    let listener = Async::new(TcpListener::bind("127.0.0.1:0").unwrap()).unwrap();
    let address = listener.get_ref().local_addr().unwrap();
    let server = executor.spawn(serve::serve(listener));
    let clients: Vec<_> = (0..CONNECTIONS)
        .map(|client| {
            thread::spawn(move || {
                let mut stream = connect(address);
                for request in 0..10 {
                    let path = format!("/{client}/{request}");
                    let answer = ask(&mut stream, &path);
                    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
                    assert!(answer.ends_with(&format!("\r\n\r\nHello from {path}\n")), "{answer}");
                }
                assert!(ask(&mut stream, "/missing").starts_with("HTTP/1.1 404 "));
            })
        })
        .collect();
    clients.into_iter().for_each(|client| client.join().unwrap());
    // Open connections are tasks too: they go with the executor, and their sockets with them.
    let mut open = connect(address);
    assert!(ask(&mut open, "/open").starts_with("HTTP/1.1 200 OK\r\n"));
    server.abort();
    drop(executor);
    let closed = open.read(&mut [0]);
    assert!(matches!(closed, Ok(0)) || closed.is_err_and(|error| error.kind() != std::io::ErrorKind::WouldBlock));
}

#[test]
fn clients_are_answered_with_blocks() {
    clients_are_answered::<Bwos>();
}

#[test]
fn clients_are_answered_with_a_ring() {
    clients_are_answered::<Ring>();
}
