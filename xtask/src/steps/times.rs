//! How long each step took, beside the time of the run before: a table for people, kept in a file.
//!
//! The file is `target/xtask-times.tsv`: step, seconds, verdict, seconds of the run before, parted
//! by tabs. Steps that were not run this time keep their lines.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

/// One step's time.
#[derive(Debug, Clone, PartialEq)]
pub struct Time {
    /// The step.
    pub name: String,
    /// Wall time; with steps beside it, they share it.
    pub seconds: f64,
    /// Whether nothing of it failed.
    pub good: bool,
}

/// The times of a run, in the order in which the steps ended.
#[derive(Debug, Default)]
pub struct Times(Vec<Time>);

impl Times {
    /// A step has ended.
    pub fn add(&mut self, name: &str, time: Duration, good: bool) {
        let (name, seconds) = (name.to_owned(), time.as_secs_f64());
        self.0.push(Time {
            name,
            seconds,
            good,
        });
    }

    /// The table: the longest first, and nothing that took less than a second.
    pub fn table(&self, before: &Before) -> String {
        let mut rows: Vec<&Time> = self.0.iter().filter(|time| time.seconds >= 1.0).collect();
        rows.sort_by(|one, other| other.seconds.total_cmp(&one.seconds));
        let mut text = String::from("   seconds  before  step\n");
        for time in rows {
            let old = before.0.get(&time.name);
            let old = old.map_or(String::new(), |line| format!("{:.1}", line.seconds));
            let mark = if time.good { "" } else { "  FAILED" };
            // A text takes whatever is written to it.
            let _ = writeln!(text, "{:>10.1}{old:>8}  {}{mark}", time.seconds, time.name);
        }
        text
    }

    /// Writes the file; what it holds of steps that did not run stays.
    pub fn keep(&self, place: &Path, before: &Before) -> std::io::Result<()> {
        let mut text = String::from("step\tseconds\tverdict\tbefore\n");
        for time in &self.0 {
            let old = before.0.get(&time.name);
            let old = old.map_or(String::new(), |line| format!("{:.1}", line.seconds));
            let verdict = if time.good { "ok" } else { "FAILED" };
            let _ = writeln!(text, "{}\t{:.1}\t{verdict}\t{old}", time.name, time.seconds);
        }
        let mut others: Vec<&Line> = before.0.values().collect();
        others.retain(|line| self.0.iter().all(|time| time.name != line.name));
        others.sort_by_key(|line| line.index);
        for line in others {
            let _ = writeln!(text, "{}", line.text);
        }
        std::fs::write(place, text)
    }
}

/// The file of the run before, by step.
#[derive(Debug, Default)]
pub struct Before(HashMap<String, Line>);

#[derive(Debug)]
struct Line {
    index: usize,
    name: String,
    seconds: f64,
    text: String,
}

impl Before {
    /// What the file holds; without one, nothing.
    pub fn read(place: &Path) -> Before {
        let text = std::fs::read_to_string(place).unwrap_or_default();
        let lines = text.lines().enumerate().filter_map(|(index, text)| {
            let mut words = text.split('\t');
            let name = words.next()?.to_owned();
            let seconds = words.next()?.parse().ok()?;
            let text = text.to_owned();
            let line = Line {
                index,
                name: name.clone(),
                seconds,
                text,
            };
            Some((name, line))
        });
        Before(lines.collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_kept_beside_those_of_the_run_before() {
        let place = std::env::temp_dir().join(format!("xtask-times-{}", std::process::id()));
        let run = |steps: &[(&str, u64, bool)]| {
            let before = Before::read(&place);
            let mut times = Times::default();
            for (name, seconds, good) in steps {
                times.add(name, Duration::from_secs(*seconds), *good);
            }
            times.keep(&place, &before).unwrap();
            times.table(&before)
        };
        run(&[("tests", 100, true), ("loom", 20, true)]);
        let table = run(&[("tests", 50, false), ("fmt", 0, true), ("new", 70, true)]);
        let kept = std::fs::read_to_string(&place).unwrap();
        std::fs::remove_file(&place).unwrap();
        assert_eq!(
            table,
            "   seconds  before  step\n      70.0          new\n      50.0   100.0  tests  FAILED\n"
        );
        assert_eq!(
            kept,
            "step\tseconds\tverdict\tbefore\ntests\t50.0\tFAILED\t100.0\nfmt\t0.0\tok\t\n\
             new\t70.0\tok\t\nloom\t20.0\tok\t\n"
        );
    }
}
