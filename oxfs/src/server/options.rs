//! What a server is told.

use std::path::PathBuf;
use std::time::Duration;

/// How a server is to be.
#[derive(Clone, Debug)]
pub struct Options {
    /// The exported folder.
    pub folder: PathBuf,
    /// Address and port.
    pub listen: String,
    /// Where the key is.
    pub key_file: PathBuf,
    /// Nothing is changed.
    pub read_only: bool,
    /// Where sessions and nodes are kept; without it `.oxfs` in the exported folder.
    pub state: Option<PathBuf>,
    /// Root of clients has the rights of nobody.
    pub root_squash: bool,
    /// How long a client may be silent.
    pub lease: Duration,
}
