//! Messages as a stream of bytes: [`std::io::Write`] and [`std::io::Read`].

use super::mode::{Mode, RetryNew};
use super::{Consumer, Producer, PushBytesError};
use crate::wait::{Ordinary, Wait};
use alloc::vec::Vec;
use std::io::{self, BufRead, Read, Write};

/// Each write is a message, as long as a message may be at most: what does not fit into one is left for the next write, as `write_all` does. A
/// write waits while there is no room, and is never `WouldBlock`. One of no bytes does nothing. Who reads by a [`Reader`] sees the bytes one after
/// the other, whoever wrote them; who pops sees the messages.
impl<W: Wait, M: Mode> Write for &Producer<W, M> {
    /// # Errors
    ///
    /// `BrokenPipe` if every consumer is gone, or the queue was closed.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let message = &bytes[..bytes.len().min(self.max_message())];
        // An empty message would be one, and a reader would see nothing of it.
        if !message.is_empty() {
            self.push(message).map_err(|refused| match refused {
                PushBytesError::Closed => io::Error::new(io::ErrorKind::BrokenPipe, refused),
                refused => io::Error::other(refused),
            })?;
        }
        Ok(message.len())
    }

    /// Nothing is kept back.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// As of a reference.
impl<W: Wait, M: Mode> Write for Producer<W, M> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        (&mut &*self).write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A consumer whose messages are read as a stream of bytes. Made by [`Consumer::into_reader`].
///
/// A read waits while there is nothing, and is never `WouldBlock`; it gives bytes of one message, as many as there is room for, so it may give
/// fewer than are in the queue. The `Reader` keeps what is left of a message that was read in part; dropped, it drops that. A message without bytes
/// is passed over. The end of the queue is the end of the stream: zero bytes, from then on.
#[derive(Debug)]
pub struct Reader<W: Wait = Ordinary, M: Mode = RetryNew> {
    rx: Consumer<W, M>,
    message: Vec<u8>,
    /// How many bytes of it are read.
    read: usize,
}

impl<W: Wait, M: Mode> Consumer<W, M> {
    /// This end as a stream of bytes.
    ///
    /// ```
    /// use std::io::{BufRead, Write};
    ///
    /// let (mut tx, rx) = thalweg_queue::bytes::channel(4096)?;
    /// let writer = std::thread::spawn(move || (1..=3).try_for_each(|n| writeln!(tx, "line {n}")));
    /// let lines: Result<Vec<_>, _> = rx.into_reader().lines().collect();
    /// assert_eq!(lines?, ["line 1", "line 2", "line 3"]);
    /// writer.join().unwrap()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn into_reader(self) -> Reader<W, M> {
        Reader { rx: self, message: Vec::new(), read: 0 }
    }
}

impl<W: Wait, M: Mode> BufRead for Reader<W, M> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        while self.read == self.message.len() {
            self.message.clear();
            self.read = 0;
            if self.rx.pop(&mut self.message).is_err() {
                break;
            }
        }
        Ok(&self.message[self.read..])
    }

    fn consume(&mut self, count: usize) {
        self.read = (self.read + count).min(self.message.len());
    }
}

impl<W: Wait, M: Mode> Read for Reader<W, M> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if into.is_empty() {
            // There is nothing to wait for.
            return Ok(0);
        }
        let there = self.fill_buf()?;
        let count = there.len().min(into.len());
        into[..count].copy_from_slice(&there[..count]);
        self.consume(count);
        Ok(count)
    }
}
