//! The examples run, and what they assert holds.

#[path = "../../examples/channels.rs"]
mod channels;
#[path = "../../examples/job_server.rs"]
mod job_server;
#[path = "../../examples/static_memory.rs"]
mod static_memory;
#[path = "../../examples/worker_pool.rs"]
mod worker_pool;

#[test]
fn channels() {
    channels::main().unwrap();
}

#[test]
fn job_server() {
    job_server::main().unwrap();
}

#[test]
fn static_memory() {
    static_memory::main().unwrap();
}

#[test]
fn worker_pool() {
    worker_pool::main().unwrap();
}
