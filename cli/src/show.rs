//! Standard output of the commands that only tell something (`info`, `doctor`, help …).
//!
//! `println!` panics when the reader has gone (`oxmpi info | head`) or the disk is full. Here the
//! first ends the command quietly, with the status that a job has then; the second is an error.

use std::fmt::Arguments;
use std::io::{self, ErrorKind, Write};
use std::process::exit;

/// The exit status when nothing reads the output any more (docs/run.md).
const UNREAD: i32 = 141;

/// Like `print!`.
macro_rules! show {
    ($($text:tt)*) => { $crate::show::write(format_args!($($text)*)) };
}

/// Like `println!`.
macro_rules! show_line {
    () => { $crate::show::write(format_args!("\n")) };
    ($($text:tt)*) => {{
        $crate::show::write(format_args!($($text)*));
        $crate::show::write(format_args!("\n"));
    }};
}

pub(crate) use {show, show_line};

/// Writes to standard output, or ends the process.
pub(crate) fn write(text: Arguments<'_>) {
    let mut out = io::stdout().lock();
    match out.write_fmt(text) {
        Ok(()) => {}
        Err(error) if error.kind() == ErrorKind::BrokenPipe => exit(UNREAD),
        Err(error) => {
            eprintln!("oxmpi: cannot write the output: {error}");
            exit(1)
        }
    }
}
