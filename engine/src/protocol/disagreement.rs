//! Sender and receiver that take a message's data for different things.
//!
//! A message carries a *signature*, a byte about its data, and a receive has one, too. What it says
//! is the affair of the layer above, which also decides what becomes of a difference: the engine
//! only tells, and delivers the message as ever.

use std::sync::Arc;

use oxmpi_wire::Envelope;

/// A message that met a receive with another signature. Neither of the two is 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Disagreement {
    /// The process that sent the message.
    pub from: u32,
    /// The message, with the sender's signature.
    pub envelope: Envelope,
    /// The receive's signature.
    pub expected: u8,
}

/// Who is told. It is called under the engine's lock, so it must not call the engine.
pub type Notice = Arc<dyn Fn(&Disagreement) + Send + Sync>;

impl Disagreement {
    /// Tells of two signatures that are not the same, unless one of them says nothing.
    #[cold]
    #[inline(never)]
    pub(super) fn tell(expected: u8, envelope: &Envelope, from: u32, notice: &Option<Notice>) {
        if let Some(notice) = notice
            && expected != 0
            && envelope.signature() != 0
        {
            notice(&Disagreement {
                from,
                envelope: *envelope,
                expected,
            });
        }
    }
}
