//! [`Matcher`]: receive queues below this process.

use super::{Cancel, Match, Put, PutError, Receive};

/// Something below this process that takes posted receives and matches messages with them: a driver
/// in the kernel. It writes into the receives' memory.
pub trait Matcher {
    /// Gives it a receive.
    ///
    /// # Safety
    /// The buffer must stay valid for writing, and untouched by others, until the receive's message
    /// is complete by its packets, [`Matcher::cancel`] has answered [`Cancel::Cancelled`] or
    /// [`Cancel::Unknown`], or the matcher is [closed](Matcher::close).
    #[allow(unsafe_code)]
    unsafe fn put(&mut self, receive: &Receive) -> Result<Put, PutError>;

    /// Takes a receive back. [`Cancel::Again`]: it has a message, and packets say or will say so.
    fn cancel(&mut self, cookie: u64) -> Cancel;

    /// The receive that the message of the last [`Event::Packet`](super::Event::Packet) was matched
    /// with, if it was. Payload that has been placed there does not follow.
    fn matched(&self) -> Option<Match>;

    /// It writes no memory of this process any more, for good.
    fn close(&mut self);
}
