//! What the lines of the guest's console mean, added up.
//!
//! Cases report `ok NAME`, `FAIL NAME: why` and `skip NAME: why`; `init` reports `guest: WHAT
//! STATUS`; and a kernel that has something to complain about does so in words that are known. A
//! boot is good if every case is, if the module could be loaded and unloaded and left nothing
//! behind, and if the kernel had no complaint.

/// What `init` must report, and the status it must report.
const DUE: [&str; 4] = ["insmod 0", "battery 0", "rmmod 0", "end"];

/// What the module says when it is unloaded, if all has been given back.
const CLEAN: &str = "o2g: left behind: 0 pages pinned, 0 sockets, 0 contexts";

/// A kernel in distress.
const COMPLAINTS: [&str; 15] = [
    "BUG:",
    "BUG ",
    "WARNING:",
    "Oops",
    "Call Trace",
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

/// The tally of a boot.
#[derive(Default)]
pub struct Console {
    passed: u32,
    skipped: u32,
    failures: Vec<String>,
    due: Vec<&'static str>,
    clean: bool,
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
            _ if line.contains(CLEAN) => self.clean = true,
            _ if COMPLAINTS.iter().any(|text| line.contains(text)) => self.blame(line),
            _ => {}
        }
    }

    fn hear_report(&mut self, report: &str) {
        if let Some(due) = DUE.iter().find(|due| **due == report) {
            self.due.push(due);
        }
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
        for due in DUE {
            match self.due.contains(&due) {
                true => self.passed += 1,
                false => self.blame(&format!("did not report {due:?}")),
            }
        }
        match self.clean {
            true => self.passed += 1,
            false => self.blame("the module left something behind, or did not say that it did not"),
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

#[cfg(test)]
mod tests {
    use super::*;

    fn boot(lines: &[&str]) -> Console {
        let mut console = Console::default();
        for line in lines {
            console.hear(line);
        }
        console
    }

    const GOOD: [&str; 6] = [
        "guest: insmod 0\r",
        "ok eager",
        "guest: battery 0",
        "guest: rmmod 0",
        "[   9.1] o2g: left behind: 0 pages pinned, 0 sockets, 0 contexts",
        "guest: end",
    ];

    #[test]
    fn a_boot_that_reports_everything_is_good() {
        assert!(boot(&GOOD).close());
    }

    #[test]
    fn a_boot_that_leaves_one_report_out_is_not() {
        for left_out in [0, 2, 3, 4, 5] {
            let mut lines = GOOD.to_vec();
            let line = lines.remove(left_out);
            assert!(!boot(&lines).close(), "without {line}");
        }
    }

    #[test]
    fn a_complaint_of_the_kernel_or_of_a_case_is_a_failure() {
        for line in [
            "[  3.2] BUG: sleeping function called from invalid context",
            "FAIL reset: no record",
            "[  3.2] rcu: INFO: rcu_preempt self-detected stall on CPU",
            "guest: trial /trials/is.sh 1",
        ] {
            let mut lines = GOOD.to_vec();
            lines.push(line);
            assert!(!boot(&lines).close(), "{line}");
        }
    }
}
