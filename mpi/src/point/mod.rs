//! Messages between two ranks.
//!
//! `send_receive` holds the blocking calls, `scope` and `request` the ones that go on while the
//! program computes, `probe` looks at messages before receiving them, `port_buffer` saves copies by
//! memory that all processes of the host see, and `untyped` serves buffers of any datatype, with
//! `persistent`, `buffered`, `exchange` and `partitioned` for MPI's other forms of them. All of
//! them have the communicator check their arguments and hand the engine an envelope, an address and
//! a length.

mod buffered;
mod exchange;
mod partitioned;
pub(crate) mod persistent;
mod port_buffer;
mod probe;
mod request;
mod scope;
mod send_receive;
mod untyped;

pub use exchange::{Incoming, Outgoing};
pub use port_buffer::{InPlace, PortBuffer};
pub use probe::Message;
pub use request::{Request, wait_all, wait_any};
pub use scope::{Scope, scope};
pub use untyped::{Claimed, SendMode};
