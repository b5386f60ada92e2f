//! `oxmpi hosts N -- COMMAND`: the hidden command by which `oxmpi bench papers` has hosts on this
//! machine, and the tasks that it starts `oxmpi` again for.
//!
//! People have `cargo xtask hosts`, which is the same.

use std::ffi::OsString;
use std::path::Path;

use oxmpi_test_hosts::{self as hosts, HostsError};

/// What messages begin with.
const PROGRAM: &str = "oxmpi";
const HOSTS: &str = "hosts";

/// Does what the words ask for, if that is about such hosts; gives the status to end with.
pub(crate) fn serve(words: &[OsString]) -> Option<u8> {
    let name = Path::new(words.first()?).file_name()?;
    // Under its other names this program does other things.
    if name != PROGRAM && name != "ssh" {
        return None;
    }
    if name == PROGRAM && words.get(1).is_some_and(|word| word == HOSTS) {
        let status = make(&words[2..]);
        return Some(status.unwrap_or_else(|error| {
            eprintln!("{PROGRAM} {HOSTS}: {error}");
            2
        }));
    }
    hosts::serve(words, PROGRAM)
}

/// The folder with ssh is one of its own, which goes when the command has ended.
fn make(words: &[OsString]) -> Result<u8, HostsError> {
    let folder = std::env::temp_dir().join(format!("oxmpi-hosts-{}", std::process::id()));
    let status = hosts::run(words, &folder);
    // It may not have been made.
    let _ = std::fs::remove_dir_all(folder);
    status
}
