//! flume's bounded channel, from a thread to a task.

use crate::machine::timed;
use crate::peers::tokio::runtime;
use crate::peers::{CAPACITY, Checked};
use crate::workloads::Chain;

/// A thread sends one by one, a task takes one by one.
pub fn outlet(chain: Chain) -> Checked {
    let runtime = runtime(1)?;
    let (check, timing) = timed(|| {
        let (tx, rx) = flume::bounded(CAPACITY);
        std::thread::scope(|scope| {
            scope.spawn(move || Chain::source(0..chain.messages).try_for_each(|message| tx.send(message)));
            runtime.block_on(async {
                let mut check = chain.check(0..chain.messages);
                while let Ok(message) = rx.recv_async().await {
                    check.add(message);
                }
                check
            })
        })
    });
    chain.verify(&[check])?;
    Ok(timing)
}
