//! The kind byte and the flags of a packet.
//!
//! The kind byte is built so that a packet of a kind that was added later can be skipped:
//!
//! | bits | meaning                                                                          |
//! |-----:|----------------------------------------------------------------------------------|
//! |  6-7 | words of the body, 0 to 3                                                        |
//! |    5 | the packet has no place in the order of its pair (it says itself where it belongs) |
//! |  0-4 | a number, from 1                                                                 |
//!
//! A receiver takes a packet of a kind that it does not know, or does not serve, by this rule: it
//! counts the packet's place in the order and takes its credit; if the flag [`ASKS`](flag::ASKS) is
//! set it answers [`Kind::Refused`](crate::Kind::Refused) with word 0 and the kind byte, else it
//! only counts the packet; its payload is thrown away.

/// The flag bits of the header. Low bits belong to the kind, the highest one to all kinds.
pub mod flag {
    /// `RequestToSend`: the address is an offset in the shared segment.
    pub const MAPPED: u8 = 1;
    /// `RequestToSend`: the receiver may read the bytes out of the sender's memory itself.
    pub const FETCHABLE: u8 = 2;
    /// `RequestToSend`: the sender waits for the match, even of a message that would fit elsewhere.
    pub const SYNC: u8 = 4;
    /// `CancelReply`: the message was taken back; without it the match came first.
    pub const CANCELLED: u8 = 8;
    /// `Put`, `Get`, `Accumulate`: the payload begins with a description of the target's datatype.
    pub const TYPED: u8 = 1;
    /// `Accumulate`: the sender wants what was there before.
    pub const FETCHING: u8 = 2;
    /// `Lock`: nobody else may hold the lock at the same time.
    pub const EXCLUSIVE: u8 = 1;
    /// Every kind that has it always sets it: word 0 is the sender's token, and a receiver that
    /// does not serve the kind says so in a `Refused` with this token.
    pub const ASKS: u8 = 0x80;
}

/// The kind byte of a header. Its bits are described in the [module](self).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Code {
    /// First fragment of a message whose bytes travel without asking.
    Eager = 0x01,
    /// Nothing but the header's credit.
    Credit = 0x02,
    /// The context is revoked: nothing more is sent or received in it.
    Revoke = 0x03,
    /// Further fragment of the eager message this sender began last.
    More = 0x41,
    /// The receiver fetched everything itself.
    Done = 0x42,
    /// The sender asks to take back an unmatched `RequestToSend`.
    Cancel = 0x43,
    /// The answer to `Cancel`.
    CancelReply = 0x44,
    /// The sender asks for the lock of a region.
    Lock = 0x45,
    /// The answer to `Lock`: the sender holds it now.
    Locked = 0x46,
    /// The sender gives the lock of a region back.
    Unlock = 0x47,
    /// The sender asks to be told when everything before it has taken effect.
    Flush = 0x48,
    /// The answer to `Put`, `Accumulate`, `Unlock` and `Flush`: it has taken effect.
    Served = 0x49,
    /// A message that waits at the sender until it is matched.
    RequestToSend = 0x81,
    /// The receiver has matched and awaits the data.
    ClearToSend = 0x82,
    /// The receiver does not serve the kind of a packet that asks.
    Refused = 0x83,
    /// Bytes for a region.
    Put = 0x84,
    /// The sender asks for bytes of a region.
    Get = 0x85,
    /// A process's part in an agreement.
    Agree = 0x86,
    /// What was agreed on.
    Agreed = 0x87,
    /// A process introduces itself to one that does not know it.
    Introduce = 0x88,
    /// The answer to `Introduce`.
    Introduced = 0x89,
    /// Fragment of a matched message.
    Data = 0xa1,
    /// The answer to `Get`, and to an `Accumulate` or a `CompareSwap` that fetches.
    Fetched = 0xa2,
    /// As `ClearToSend`, said by the receiver's kernel, which does not know the order.
    Cleared = 0xa3,
    /// Elements to be combined with those of a region.
    Accumulate = 0xc1,
    /// One element of a region is to be replaced if it has a certain value.
    CompareSwap = 0xc2,
}

/// Bytes of the body behind a header with this kind byte, whether the kind is known or not.
#[inline(always)]
pub const fn body_bytes(kind: u8) -> usize {
    (kind >> 6) as usize * 8
}

/// Whether packets with this kind byte have a place in the order of their pair of processes.
#[inline(always)]
pub const fn is_ordered(kind: u8) -> bool {
    kind & 0x20 == 0
}

/// Whether some version may have this kind: no kind has the number 0, and a body of no words that
/// is unordered could not say where it belongs.
#[inline(always)]
pub const fn is_possible(kind: u8) -> bool {
    kind & 0x1f != 0 && (is_ordered(kind) || body_bytes(kind) > 0)
}

impl Code {
    /// All kinds of this version.
    pub const ALL: [Code; 26] = [
        Code::Eager,
        Code::Credit,
        Code::Revoke,
        Code::More,
        Code::Done,
        Code::Cancel,
        Code::CancelReply,
        Code::Lock,
        Code::Locked,
        Code::Unlock,
        Code::Flush,
        Code::Served,
        Code::RequestToSend,
        Code::ClearToSend,
        Code::Refused,
        Code::Put,
        Code::Get,
        Code::Agree,
        Code::Agreed,
        Code::Introduce,
        Code::Introduced,
        Code::Data,
        Code::Fetched,
        Code::Cleared,
        Code::Accumulate,
        Code::CompareSwap,
    ];

    /// The kind a kind byte names, if this version has it.
    #[inline]
    pub const fn from_byte(byte: u8) -> Option<Code> {
        Some(match byte {
            0x01 => Code::Eager,
            0x02 => Code::Credit,
            0x03 => Code::Revoke,
            0x41 => Code::More,
            0x42 => Code::Done,
            0x43 => Code::Cancel,
            0x44 => Code::CancelReply,
            0x45 => Code::Lock,
            0x46 => Code::Locked,
            0x47 => Code::Unlock,
            0x48 => Code::Flush,
            0x49 => Code::Served,
            0x81 => Code::RequestToSend,
            0x82 => Code::ClearToSend,
            0x83 => Code::Refused,
            0x84 => Code::Put,
            0x85 => Code::Get,
            0x86 => Code::Agree,
            0x87 => Code::Agreed,
            0x88 => Code::Introduce,
            0x89 => Code::Introduced,
            0xa1 => Code::Data,
            0xa2 => Code::Fetched,
            0xa3 => Code::Cleared,
            0xc1 => Code::Accumulate,
            0xc2 => Code::CompareSwap,
            _ => return None,
        })
    }

    /// Bytes of the body that follows the header of this kind.
    #[inline]
    pub const fn body_bytes(self) -> usize {
        body_bytes(self as u8)
    }

    /// Whether packets of this kind have a place in the order of their pair of processes.
    #[inline]
    pub const fn is_ordered(self) -> bool {
        is_ordered(self as u8)
    }

    /// The flags this kind may carry beside those it must.
    #[inline]
    pub const fn flags_allowed(self) -> u8 {
        match self {
            Code::RequestToSend => flag::MAPPED | flag::FETCHABLE | flag::SYNC,
            Code::CancelReply => flag::CANCELLED,
            Code::Put | Code::Get => flag::TYPED,
            Code::Accumulate => flag::TYPED | flag::FETCHING,
            Code::Lock => flag::EXCLUSIVE,
            _ => 0,
        }
    }

    /// The flags this kind must carry: [`flag::ASKS`], or none.
    #[inline]
    pub const fn flags_required(self) -> u8 {
        match self {
            Code::Put
            | Code::Get
            | Code::Accumulate
            | Code::CompareSwap
            | Code::Lock
            | Code::Unlock
            | Code::Flush
            | Code::Introduce
            | Code::Cleared => flag::ASKS,
            _ => 0,
        }
    }
}

/// Why a packet that asks was refused.
pub mod reason {
    /// This version does not know the kind.
    pub const UNKNOWN: u8 = 1;
    /// This version knows the kind, and the process does not serve it.
    pub const NOT_SERVED: u8 = 2;
}
