//! An HTTP server: hyper on the executor. `cargo run -p thalweg-executor --example http`, then `curl http://127.0.0.1:3000/hello`.
//! An argument is another address.

mod hyper_io;
mod serve;

use std::net::TcpListener;
use thalweg_executor::Executor;
use thalweg_executor::io::Async;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let address = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:3000".to_owned());
    let listener = Async::new(TcpListener::bind(address)?)?;
    println!("http://{}", listener.get_ref().local_addr()?);
    Executor::new()?.run(serve::serve(listener))?;
    Ok(())
}
