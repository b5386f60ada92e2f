//! Allocations of the kernel that fail at random, where it injects failures: a kernel that checks
//! itself does. Both batteries have this file.

use std::fs;
use std::io;

const FOLDER: &str = "/sys/kernel/debug/failslab";

/// Why nothing can be tried.
pub const MISSING: &str = "this kernel injects no failures of allocations";

/// So many allocations of a hundred fail, of those threads that are told so, while this lives.
pub struct FailSlab;

impl FailSlab {
    /// `None`: see [`MISSING`].
    pub fn begin(percent: u32) -> io::Result<Option<FailSlab>> {
        if fs::metadata(FOLDER).is_err() {
            return Ok(None);
        }
        let percent = percent.to_string();
        for (name, value) in [
            ("task-filter", "Y"),
            ("probability", percent.as_str()),
            ("interval", "1"),
            ("times", "-1"),
            ("verbose", "0"),
            ("ignore-gfp-wait", "N"),
        ] {
            fs::write(format!("{FOLDER}/{name}"), value)?;
        }
        Ok(Some(FailSlab))
    }
}

impl Drop for FailSlab {
    fn drop(&mut self) {
        let _ = fs::write(format!("{FOLDER}/probability"), "0");
    }
}

/// Does something while allocations of this thread may fail; if wanted, those of the kernel's
/// workers of any CPU, too.
pub fn failing<T>(workers: bool, work: impl FnOnce() -> T) -> io::Result<T> {
    let mut who = Vec::new();
    for entry in fs::read_dir("/proc")?.flatten().filter(|_| workers) {
        let name = fs::read_to_string(entry.path().join("comm")).unwrap_or_default();
        if name.starts_with("kworker/u") {
            who.push(entry.path().join("make-it-fail"));
        }
    }
    who.push("/proc/self/make-it-fail".into());
    for file in &who {
        // A worker may have ended.
        let _ = fs::write(file, "1");
    }
    let done = work();
    for file in who.iter().rev() {
        // This writing's own allocations may be those that fail; a worker that has ended is gone.
        let is_gone =
            |error: &io::Error| matches!(error.raw_os_error(), Some(libc::ENOENT | libc::ESRCH));
        while fs::write(file, "0").is_err_and(|error| !is_gone(&error)) {}
    }
    Ok(done)
}
