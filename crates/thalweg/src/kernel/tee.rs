//! A kernel that gives each message to several.

use crate::error::BoxError;
use crate::kernel::Flow;
use crate::kernel::ported::{Binder, In, Io, Kernel, Out};
use std::marker::PhantomData;

/// Behind [`Graph::tee`](crate::Graph::tee): `N` copies of each message, the last of which is the message itself.
pub(crate) struct Tee<T, const N: usize>(pub(crate) PhantomData<fn(T) -> T>);

impl<T: Clone + Send, const N: usize> Kernel for Tee<T, N> {
    type Ports = (In<T>, [Out<T>; N]);

    fn ports(&mut self, bind: &mut Binder<'_>) -> Self::Ports {
        (bind.input("in"), std::array::from_fn(|copy| bind.output(&format!("copy {copy}"))))
    }

    fn run(&mut self, (input, copies): &Self::Ports, io: &mut Io<'_>) -> Result<Flow, BoxError> {
        let Some((last, others)) = copies.split_last() else { return Ok(Flow::Done) };
        while let Some(message) = io.pop(*input) {
            others.iter().for_each(|&copy| io.push(copy, message.clone()));
            io.push(*last, message);
        }
        Ok(Flow::More)
    }
}
