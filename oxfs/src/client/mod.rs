//! A client in user space: a session with a server that outlives connections and starts of the
//! server. `session` has what must not be done twice, `tree` walks paths, `commands` are those of
//! `oxmpi fs`, `copy` is the one with the most to do.

pub mod commands;
mod copy;
mod output;
mod session;
mod tree;

pub use session::{Client, ClientError, Extra, Settings, User};
pub use tree::{Found, Remote, RemoteError};
