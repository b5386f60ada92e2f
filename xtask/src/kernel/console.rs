//! What the lines of the guest's console mean, added up.
//!
//! Cases report `ok NAME`, `FAIL NAME: why` and `skip NAME: why`; `init` reports `guest: WHAT
//! STATUS`; and a kernel that has something to complain about does so in words that are known. A
//! boot is good if every case is, if the modules could be loaded and unloaded and left nothing
//! behind, and if the kernel had no complaint.

use super::module::{MODULES, Module, at_boot};

/// What `init` must report, and the status it must report.
fn due() -> Vec<String> {
    let names = || at_boot().map(|module| module.name);
    let loaded = names().map(|name| format!("insmod {name} 0"));
    let unloaded = names().map(|name| format!("rmmod {name} 0"));
    let rest = ["battery 0", "end"].map(str::to_owned);
    loaded.chain(unloaded).chain(rest).collect()
}

/// What a module says when it is unloaded, before it says how many of what are left behind.
const LEFT_BEHIND: &str = ": left behind: ";

/// A kernel in distress.
const COMPLAINTS: [&str; 15] = [
    "BUG:",
    "BUG ",
    "WARNING:",
    "Oops",
    TRACE,
    "Kernel panic",
    "general protection fault",
    "stack segment:",
    "detected stall",
    "self-detected stall",
    "hung_task",
    "blocked for more than",
    "possible circular locking",
    "unreferenced object",
    "memory leaks",
];

/// The kernel shows where it was when a small piece of memory could not be had. It cannot be had
/// where its lack is injected, by cases that try that.
const SCARCE: &str = "vm_struct allocation failed";
const TRACE: &str = "Call Trace";

/// The tally of a boot.
#[derive(Default)]
pub struct Console {
    passed: u32,
    skipped: u32,
    failures: Vec<String>,
    reported: Vec<String>,
    /// Modules that have left nothing behind.
    clean: Vec<&'static str>,
    /// The next trace is of memory that could not be had.
    scarce: bool,
}

impl Console {
    /// One line.
    pub fn hear(&mut self, line: &str) {
        let line = line.trim_end_matches('\r');
        println!("{line}");
        let mut words = line.splitn(2, ' ');
        match (words.next(), words.next()) {
            (Some("ok"), Some(_)) => self.passed += 1,
            (Some("FAIL"), Some(_)) => self.failures.push(line.to_owned()),
            (Some("skip"), Some(_)) => self.skipped += 1,
            (Some("guest:"), Some(report)) => self.hear_report(report),
            _ if line.contains(LEFT_BEHIND) => match clean(line) {
                Some(module) => self.clean.push(module),
                None => self.blame(line),
            },
            _ if line.contains(SCARCE) => self.scarce = true,
            _ if line.contains(TRACE) && std::mem::take(&mut self.scarce) => {}
            _ if COMPLAINTS.iter().any(|text| line.contains(text)) => self.blame(line),
            _ => {}
        }
    }

    fn hear_report(&mut self, report: &str) {
        self.reported.push(report.to_owned());
        let failed = report.starts_with("trial ") && !report.ends_with(" 0");
        if failed || report.contains("cannot be loaded") {
            self.blame(report);
        }
    }

    /// Something that no line of a case has said.
    pub fn blame(&mut self, what: &str) {
        self.failures.push(format!("the guest: {what}"));
    }

    /// Prints the sum; true when all is well.
    pub fn close(mut self) -> bool {
        for due in due() {
            match self.reported.contains(&due) {
                true => self.passed += 1,
                false => self.blame(&format!("did not report {due:?}")),
            }
        }
        for Module { name, .. } in at_boot() {
            match self.clean.contains(name) {
                true => self.passed += 1,
                false => self.blame(&format!(
                    "{name}.ko left something behind, or did not say that it did not"
                )),
            }
        }
        println!();
        for failure in &self.failures {
            println!("{failure}");
        }
        let verdict = match self.failures.is_empty() {
            true => "ok",
            false => "FAILED",
        };
        println!(
            "test result: {verdict}. {} passed; {} failed; {} ignored",
            self.passed,
            self.failures.len(),
            self.skipped
        );
        self.failures.is_empty()
    }
}

/// The module whose line this is, if all its numbers are 0.
fn clean(line: &str) -> Option<&'static str> {
    let (start, counts) = line.split_once(LEFT_BEHIND)?;
    let name = start.rsplit(' ').next()?;
    let zero = |count: &str| count.trim().starts_with("0 ");
    let module = MODULES.iter().find(|module| module.name == name)?;
    counts.split(',').all(zero).then_some(module.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn boot(lines: &[String]) -> Console {
        let mut console = Console::default();
        for line in lines {
            console.hear(line);
        }
        console
    }

    fn good() -> Vec<String> {
        let reports = due().into_iter().map(|due| format!("guest: {due}\r"));
        let clean = at_boot().map(|Module { name, .. }| {
            format!("[   9.1] {name}: left behind: 0 pages pinned, 0 sockets")
        });
        reports.chain(clean).collect()
    }

    #[test]
    fn a_boot_that_reports_everything_is_good() {
        assert!(boot(&good()).close());
    }

    #[test]
    fn a_boot_that_leaves_one_report_out_is_not() {
        for left_out in 0..good().len() {
            let mut lines = good();
            let line = lines.remove(left_out);
            assert!(!boot(&lines).close(), "without {line}");
        }
    }

    #[test]
    fn a_module_that_leaves_something_behind_is_not_clean() {
        assert_eq!(
            clean("o2g: left behind: 0 sockets, 0 contexts"),
            Some("o2g")
        );
        assert_eq!(clean("o2g: left behind: 0 sockets, 10 contexts"), None);
        assert_eq!(clean("o2g: left behind: 1 sockets, 0 contexts"), None);
    }

    #[test]
    fn a_trace_is_a_complaint_unless_it_is_of_injected_failures() {
        let trace = "[  3.2] Call Trace:".to_owned();
        let scarce = "[  3.1] battery: vmalloc error: size 8224, vm_struct allocation failed";
        let mut lines = good();
        lines.extend([scarce.to_owned(), trace.clone()]);
        assert!(boot(&lines).close());
        lines.push(trace);
        assert!(!boot(&lines).close());
    }

    #[test]
    fn a_complaint_of_the_kernel_or_of_a_case_is_a_failure() {
        for line in [
            "[  3.2] BUG: sleeping function called from invalid context",
            "FAIL reset: no record",
            "[  3.2] rcu: INFO: rcu_preempt self-detected stall on CPU",
            "guest: trial /trials/is.sh 1",
            // Also if it is loaded again, and leaves nothing the next time.
            "[  3.2] oxk: left behind: 0 pages pinned, 1 endpoints",
        ] {
            let mut lines = good();
            lines.push(line.to_owned());
            assert!(!boot(&lines).close(), "{line}");
        }
    }
}
