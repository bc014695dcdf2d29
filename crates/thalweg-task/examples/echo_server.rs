//! A server with a task for each connection, in plain blocking code, and clients that talk to it over loopback.
//!
//! `cargo run --example echo_server` prints what each client heard and how many bytes the server sent back; then it ends. Calls that block a thread are
//! made by `block_in_place`, on a helper thread: meanwhile the worker runs other tasks. For thousands of open connections take an executor
//! with a reactor, as the example `http` of `thalweg-executor` does.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use thalweg_task::{Runtime, block_in_place, spawn};

const CLIENTS: usize = 4;

/// Sends back what comes, until the client has said all.
fn echo(mut stream: TcpStream) -> io::Result<usize> {
    let (mut buffer, mut total) = ([0; 1024], 0);
    loop {
        let count = block_in_place(|| stream.read(&mut buffer))?;
        if count == 0 {
            return Ok(total);
        }
        block_in_place(|| stream.write_all(&buffer[..count]))?;
        total += count;
    }
}

fn serve(listener: &TcpListener) -> io::Result<usize> {
    let mut connections = Vec::new();
    for _ in 0..CLIENTS {
        let (stream, _) = block_in_place(|| listener.accept())?;
        connections.push(spawn(move || echo(stream)));
    }
    connections.into_iter().map(|connection| connection.join().expect("it does not panic")).sum()
}

fn ask(address: SocketAddr, client: usize) -> io::Result<String> {
    block_in_place(|| {
        let mut stream = TcpStream::connect(address)?;
        write!(stream, "hello from client {client}")?;
        stream.shutdown(std::net::Shutdown::Write)?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        Ok(answer)
    })
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    let runtime = Runtime::builder().workers(1).start()?;
    let sent = runtime.run(move || {
        let clients: Vec<_> = (0..CLIENTS).map(|client| spawn(move || ask(address, client))).collect();
        let sent = serve(&listener)?;
        for client in clients {
            println!("heard: {}", client.join().expect("it does not panic")?);
        }
        Ok::<_, io::Error>(sent)
    })?;
    println!("{sent} bytes sent back");
    Ok(())
}
