//! Iterators and async streams: stages without queues, on one thread.

use futures::executor::block_on;
use futures::stream::{self, StreamExt};

use crate::machine::timed;
use crate::peers::Checked;
use crate::workloads::Chain;

/// `Box<dyn Iterator>` around every stage: one indirect call for each message and stage.
pub fn boxed(chain: Chain) -> Checked {
    let (check, timing) = timed(|| {
        let mut messages: Box<dyn Iterator<Item = u64>> = Box::new(Chain::source(0..chain.messages));
        for _ in 0..chain.stages {
            messages = Box::new(messages.map(Chain::stage));
        }
        let mut check = chain.check(0..chain.messages);
        messages.for_each(|v| check.add(v));
        check
    });
    chain.verify(&[check])?;
    Ok(timing)
}

/// `futures::stream`, one statically known `map`; for chains of one stage.
pub fn futures(chain: Chain) -> Checked {
    if chain.stages != 1 {
        return Err(format!("this contender has one stage, not {}", chain.stages).into());
    }
    let (check, timing) = timed(|| {
        let mut check = chain.check(0..chain.messages);
        let messages = stream::iter(Chain::source(0..chain.messages));
        block_on(messages.map(Chain::stage).for_each(|v| {
            check.add(v);
            std::future::ready(())
        }));
        check
    });
    chain.verify(&[check])?;
    Ok(timing)
}
