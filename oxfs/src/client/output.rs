//! How attributes and progress look to people.

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

use crate::protocol::Attr;

/// A mode as `ls -l` shows it.
pub(crate) fn mode(mode: u32) -> String {
    let kind = match mode & libc::S_IFMT {
        libc::S_IFDIR => 'd',
        libc::S_IFLNK => 'l',
        libc::S_IFIFO => 'p',
        libc::S_IFSOCK => 's',
        libc::S_IFBLK => 'b',
        libc::S_IFCHR => 'c',
        _ => '-',
    };
    let mut text = String::from(kind);
    for (shift, special, letter) in [(6, 0o4000, 's'), (3, 0o2000, 's'), (0, 0o1000, 't')] {
        let bits = mode >> shift;
        text.push(if bits & 4 != 0 { 'r' } else { '-' });
        text.push(if bits & 2 != 0 { 'w' } else { '-' });
        text.push(match (mode & special != 0, bits & 1 != 0) {
            (false, false) => '-',
            (false, true) => 'x',
            (true, false) => letter.to_ascii_uppercase(),
            (true, true) => letter,
        });
    }
    text
}

/// A moment in UTC: 2026-01-31 12:00:00.
pub(crate) fn time(seconds: i64) -> String {
    let (days, rest) = (seconds.div_euclid(86400), seconds.rem_euclid(86400));
    // Days since 0000-03-01, in eras of 400 years.
    let days = days + 719_468;
    let (era, day) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (day - day / 1460 + day / 36524 - day / 146_096) / 365;
    let of_year = day - (365 * year + year / 4 - year / 100);
    let shifted = (5 * of_year + 2) / 153;
    let month = if shifted < 10 {
        shifted + 3
    } else {
        shifted - 9
    };
    let year = year + era * 400 + i64::from(month <= 2);
    let day = of_year - (153 * shifted + 2) / 5 + 1;
    let (hour, minute, second) = (rest / 3600, rest / 60 % 60, rest % 60);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}")
}

/// A line of `ls -l`, without the name.
pub(crate) fn long(attr: &Attr) -> String {
    let size = match attr.mode & libc::S_IFMT {
        libc::S_IFBLK | libc::S_IFCHR => {
            format!("{}, {}", attr.device >> 32, attr.device as u32)
        }
        _ => attr.size.to_string(),
    };
    format!(
        "{} {:>3} {:>5} {:>5} {size:>12} {}",
        mode(attr.mode),
        attr.links,
        attr.uid,
        attr.gid,
        time(attr.modified.seconds)
    )
}

/// Tells how far a long copy has come, if somebody looks.
pub(crate) struct Progress {
    shown: bool,
    name: String,
    total: u64,
    done: u64,
    begun: Instant,
    last: Instant,
}

impl Progress {
    /// Nothing is shown of what takes less than this.
    const QUIET: Duration = Duration::from_millis(700);
    const EVERY: Duration = Duration::from_millis(200);

    pub(crate) fn new(name: String, total: u64) -> Progress {
        let now = Instant::now();
        Progress {
            shown: false,
            name,
            total,
            done: 0,
            begun: now,
            last: now,
        }
    }

    pub(crate) fn add(&mut self, bytes: u64) {
        self.done += bytes;
        let due = self.begun.elapsed() > Self::QUIET && self.last.elapsed() > Self::EVERY;
        if !due || !std::io::stderr().is_terminal() {
            return;
        }
        self.last = Instant::now();
        self.shown = true;
        let percent = (self.done * 100).checked_div(self.total).unwrap_or(100);
        let rate = self.done as f64 / self.begun.elapsed().as_secs_f64() / 1e6;
        eprint!("\r{} {percent}% {rate:.0} MB/s \x1b[K", self.name);
        let _ = std::io::stderr().flush();
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.shown {
            eprint!("\r\x1b[K");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_look_as_ls_shows_them() {
        assert_eq!(mode(0o100644), "-rw-r--r--");
        assert_eq!(mode(0o041777), "drwxrwxrwt");
        assert_eq!(mode(0o104711), "-rws--x--x");
        assert_eq!(mode(0o102640), "-rw-r-S---");
        assert_eq!(mode(0o120777), "lrwxrwxrwx");
    }

    #[test]
    fn times_are_dates() {
        assert_eq!(time(0), "1970-01-01 00:00:00");
        assert_eq!(time(951_782_400), "2000-02-29 00:00:00");
        assert_eq!(time(1_767_225_599), "2025-12-31 23:59:59");
        assert_eq!(time(-1), "1969-12-31 23:59:59");
    }
}
