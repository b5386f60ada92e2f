//! Partitioned messages: many threads fill one message piece by piece (MPI 5.0 §4).
//!
//! Both sides are introduced once: the sender's init call sends, under the message's tag, its
//! channel number and how it cuts the data, and introductions match in the order of the init calls,
//! as the standard demands. Every start then sends the data in *parcels*, each as soon as its
//! partitions are ready: a parcel is one partition, or several neighbours where there are very
//! many. Each parcel of a channel has a tag of its own, so it finds its place whenever it comes.
//! Introductions and parcels have a context of their own: no other receive can see them.
//!
//! `parcels` says which partitions and bytes a parcel has; `send` and `receive` are the two sides.

mod parcels;
mod receive;
mod send;

use oxmpi_engine::{Content, Envelope, Pattern};

use crate::communicator::{Comm, Context};

/// Tags of parcels: this bit, and a number. Introductions have the program's tag, which never has
/// the bit.
const CHANNEL: i32 = 1 << 30;

/// The tag of a parcel: a channel has as many numbers as parcels, from its own on.
fn tag_of(channel: u32, parcel: u32) -> i32 {
    CHANNEL | (channel.wrapping_add(parcel) & (CHANNEL as u32 - 1)) as i32
}

impl Comm {
    fn partitioned(&self, tag: i32, bytes: u64) -> Envelope {
        Envelope {
            context: self.context(Context::Partitioned),
            source: self.rank,
            tag,
            content: Content::new(bytes, 0),
        }
    }

    fn partitioned_pattern(&self, source: u32, tag: i32) -> (u32, Pattern) {
        let pattern = Pattern {
            context: self.context(Context::Partitioned),
            source: Some(source),
            tag: Some(tag),
            signature: 0,
        };
        (self.process_of(source), pattern)
    }
}
