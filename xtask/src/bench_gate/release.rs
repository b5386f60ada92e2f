//! The last release beside this state: found, built when needed, measured in turns.
//!
//! What it is compared with is a prefix, a commit, or without either the newest tag `v*`. A commit
//! is checked out and installed below `target/bench-gate`, once. `oxmpi bench --against` measures
//! both in turns on this machine; a figure that is worse in every round, by more than a margin, is a
//! failure, and so is one of which nothing can be said.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::install;
use crate::steps::{Expect, Steps, cargo, root, target};

/// What is compared: figures that need a minute or two in all.
const GROUPS: [&str; 5] = ["latency", "bandwidth", "rate", "collectives", "startup"];

/// Rounds that a verdict takes: with fewer, one disturbance is most of them.
pub const ROUNDS_MIN: u64 = 3;
/// Rounds if nothing is said.
const ROUNDS: u64 = 5;

/// A figure whose best round is below this is worse than before: what two runs of one build differ
/// by on a quiet machine lies above.
const WORSE: f64 = 0.95;

/// What is asked for.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wishes<'a> {
    /// A prefix or a commit to compare with; without it the last release.
    pub against: Option<&'a str>,
    /// Rounds, at least [`ROUNDS_MIN`].
    pub rounds: Option<u64>,
    /// Short measurements.
    pub quick: bool,
}

impl Wishes<'_> {
    fn rounds(&self) -> u64 {
        let usual = if self.quick { ROUNDS_MIN } else { ROUNDS };
        self.rounds.unwrap_or(usual)
    }
}

/// Compares with what was asked for, or with the last release.
pub fn run(steps: &mut Steps, wishes: Wishes<'_>) {
    const NAME: &str = "beside the last release";
    if !steps.selects(NAME) {
        return;
    }
    let reference = match wishes.against {
        Some(given) => Ok(given.to_owned()),
        None => newest_tag(),
    };
    let reference = match reference {
        Ok(reference) => reference,
        Err(error) => {
            steps.judge(NAME, Err(error));
            return;
        }
    };
    let before = match installed(&reference) {
        Ok(prefix) => prefix,
        Err(error) => {
            steps.judge(NAME, Err(error));
            return;
        }
    };
    let now = folder().join("now");
    if !install::run(&now, &install::Wishes::default()) {
        steps.judge(NAME, Err("this state cannot be installed".to_owned()));
        return;
    }
    let file = folder().join("found.json");
    // The shell's only part is the redirection.
    let mut bench = Command::new("sh");
    bench
        .args(["-c", "out=$1; shift; exec \"$@\" > \"$out\"", "sh"])
        .arg(&file)
        .arg(now.join("bin/oxmpi"))
        .args(["bench", "--json", "--against"])
        .arg(&before)
        .args(wishes.quick.then_some("--quick"))
        .arg(format!("--rounds={}", wishes.rounds()))
        .args(GROUPS);
    // Minutes; a round of the long kind takes two or three.
    let limit = 10 + 4 * wishes.rounds();
    if !steps.run_always(NAME, limit, Expect::Success, &mut bench) {
        return;
    }
    let text = fs::read_to_string(&file).unwrap_or_default();
    let verdict = compare(&text).and_then(|found| {
        println!("{}", table(&found, &reference));
        verdict(&found, &reference)
    });
    // The name has that of the measurement in it, so that --only means both or none.
    steps.judge(&format!("no figure is worse, {NAME}"), verdict);
}

fn folder() -> PathBuf {
    target().join("bench-gate")
}

/// The newest tag of a release.
fn newest_tag() -> Result<String, String> {
    let listed = git(&["tag", "--list", "v*", "--sort=-version:refname"])?;
    let newest = listed.lines().next().map(str::to_owned);
    newest.ok_or_else(|| {
        "no verdict: there is no release, which a tag v* would name; name a commit or an \
         installation by --against"
            .to_owned()
    })
}

fn git(words: &[&str]) -> Result<String, String> {
    let failed = |reason: &str| format!("git {}: {reason}", words.join(" "));
    let output = Command::new("git")
        .args(words)
        .current_dir(root())
        .output()
        .map_err(|error| failed(&error.to_string()))?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    match output.status.success() {
        true => Ok(text(&output.stdout)),
        false => Err(failed(&text(&output.stderr))),
    }
}

/// The prefix of a reference: itself, or that of the commit, which is built the first time.
fn installed(reference: &str) -> Result<PathBuf, String> {
    let is_prefix = |prefix: &Path| prefix.join("bin/oxmpi").is_file();
    if is_prefix(Path::new(reference)) {
        return Ok(reference.into());
    }
    let commit = git(&["rev-parse", "--verify", &format!("{reference}^{{commit}}")])
        .map_err(|error| format!("{reference} is neither an installation nor a commit: {error}"))?;
    let prefix = folder().join(&commit);
    if is_prefix(&prefix) {
        return Ok(prefix);
    }
    let source = folder().join("source");
    // What an interrupted run has left.
    let _ = git(&["worktree", "remove", "--force", &source.to_string_lossy()]);
    git(&[
        "worktree",
        "add",
        "--detach",
        &source.to_string_lossy(),
        &commit,
    ])?;
    let built = cargo(&["xtask", "install", "--prefix"])
        .arg(&prefix)
        .current_dir(&source)
        .env("CARGO_TARGET_DIR", folder().join("target"))
        .status();
    let _ = git(&["worktree", "remove", "--force", &source.to_string_lossy()]);
    match built {
        Ok(status) if status.success() && is_prefix(&prefix) => Ok(prefix),
        Ok(status) => Err(format!("{reference} cannot be installed: {status}")),
        Err(error) => Err(format!("{reference} cannot be installed: {error}")),
    }
}

/// One figure of both.
#[derive(Debug, PartialEq)]
struct Figure {
    name: String,
    unit: String,
    /// What was found, if both have the figure.
    found: Option<Found>,
}

/// What was found of both.
#[derive(Debug, PartialEq)]
struct Found {
    now: f64,
    before: f64,
    /// How many times better it is now: median, least and most of the rounds.
    better: [f64; 3],
    /// How many rounds there were.
    rounds: u64,
}

impl Figure {
    fn verdict(&self) -> Verdict {
        match &self.found {
            None => Verdict::Missing,
            Some(found) if found.rounds < ROUNDS_MIN => Verdict::TooFewRounds,
            Some(found) if found.better[2] < WORSE => Verdict::Worse,
            Some(_) => Verdict::Good,
        }
    }
}

/// What can be said of a figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Good,
    Worse,
    TooFewRounds,
    /// One of the two has no such figure: it failed, or had no time for it.
    Missing,
}

impl Verdict {
    fn text(self) -> &'static str {
        match self {
            Verdict::Good => "",
            Verdict::Worse => "WORSE",
            Verdict::TooFewRounds => "no verdict: too few rounds",
            Verdict::Missing => "no verdict: one of the two has no such figure",
        }
    }
}

/// All figures together: an error names those that are worse, and those of which nothing can be
/// said.
fn verdict(figures: &[Figure], reference: &str) -> Result<(), String> {
    let names = |wanted: &dyn Fn(Verdict) -> bool| -> Vec<&str> {
        let wanted = figures.iter().filter(|figure| wanted(figure.verdict()));
        wanted.map(|figure| figure.name.as_str()).collect()
    };
    let worse = names(&|verdict| verdict == Verdict::Worse);
    let open = names(&|verdict| matches!(verdict, Verdict::TooFewRounds | Verdict::Missing));
    let mut errors = Vec::new();
    if !worse.is_empty() {
        errors.push(format!("worse than {reference}: {}", worse.join("; ")));
    }
    if !open.is_empty() {
        errors.push(format!("no verdict on {}", open.join("; ")));
    }
    match errors.is_empty() {
        true => Ok(()),
        false => Err(errors.join(". ")),
    }
}

/// The figures, out of the JSON of a comparison with one other library.
fn compare(text: &str) -> Result<Vec<Figure>, String> {
    let found: Value = serde_json::from_str(text).map_err(|error| format!("no JSON: {error}"))?;
    let rows = found["rows"].as_array().ok_or("the JSON has no rows")?;
    let figure = |row: &Value| {
        let peer = &row["peers"][0];
        let ratio = |name: &str| peer["ratio"][name].as_f64();
        let found = || {
            Some(Found {
                now: row["ours"]["median"].as_f64()?,
                before: peer["value"]["median"].as_f64()?,
                better: [ratio("median")?, ratio("low")?, ratio("high")?],
                rounds: peer["ratio"]["repetitions"].as_u64()?,
            })
        };
        Some(Figure {
            name: format!("{}: {}", row["bench"].as_str()?, row["name"].as_str()?),
            unit: row["unit"].as_str()?.to_owned(),
            found: found(),
        })
    };
    let figures: Vec<Figure> = rows.iter().filter_map(figure).collect();
    match figures.iter().any(|figure| figure.found.is_some()) {
        true => Ok(figures),
        false => Err("no verdict: there is no figure that both have".to_owned()),
    }
}

/// As docs/benchmarks.md has it: a column for each of the two.
fn table(figures: &[Figure], reference: &str) -> String {
    let mut text =
        format!("| figure | {reference} | now | times better |  |\n|---|--:|--:|--:|---|\n");
    for figure in figures {
        let Figure { name, unit, found } = figure;
        let values = match found {
            None => " | | ".to_owned(),
            Some(Found {
                now,
                before,
                better: [median, low, high],
                ..
            }) => {
                format!("{before:.2} {unit} | {now:.2} {unit} | {median:.2} [{low:.2} – {high:.2}]")
            }
        };
        let _ = writeln!(text, "| {name} | {values} | {} |", figure.verdict().text());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const FOUND: &str = r#"{"rows":[
        {"bench":"latency","name":"8 B one way","unit":"ns","ours":{"median":90.0},
         "peers":[{"value":{"median":100.0},"ratio":{"median":1.11,"low":0.9,"high":1.2,"repetitions":3}}]},
        {"bench":"rate","name":"8 B","unit":"M/s","ours":{"median":7.0},
         "peers":[{"value":{"median":9.0},"ratio":{"median":0.78,"low":0.7,"high":0.9,"repetitions":3}}]},
        {"bench":"rate","name":"64 B","unit":"M/s","ours":{"median":7.0},
         "peers":[{"value":{"median":9.0},"ratio":{"median":0.8,"low":0.7,"high":0.9,"repetitions":2}}]},
        {"bench":"startup","name":"2 ranks","unit":"ms","ours":{"median":4.0},"peers":[]}]}"#;

    #[test]
    fn a_figure_is_worse_only_if_it_is_so_in_every_round() {
        let found = compare(FOUND).unwrap();
        let verdicts: Vec<Verdict> = found.iter().map(Figure::verdict).collect();
        use Verdict::*;
        assert_eq!(verdicts, [Good, Worse, TooFewRounds, Missing]);
        assert_eq!(
            table(&found, "v0.1.0"),
            "| figure | v0.1.0 | now | times better |  |\n|---|--:|--:|--:|---|\n\
             | latency: 8 B one way | 100.00 ns | 90.00 ns | 1.11 [0.90 – 1.20] |  |\n\
             | rate: 8 B | 9.00 M/s | 7.00 M/s | 0.78 [0.70 – 0.90] | WORSE |\n\
             | rate: 64 B | 9.00 M/s | 7.00 M/s | 0.80 [0.70 – 0.90] | no verdict: too few rounds |\n\
             | startup: 2 ranks |  | |  | no verdict: one of the two has no such figure |\n"
        );
    }

    #[test]
    fn nothing_said_of_a_figure_is_a_failure() {
        let mut found = compare(FOUND).unwrap();
        assert_eq!(
            verdict(&found, "v0.1.0").unwrap_err(),
            "worse than v0.1.0: rate: 8 B. no verdict on rate: 64 B; startup: 2 ranks"
        );
        found.remove(1);
        let error = verdict(&found, "v0.1.0").unwrap_err();
        assert_eq!(error, "no verdict on rate: 64 B; startup: 2 ranks");
        found.truncate(1);
        assert_eq!(verdict(&found, "v0.1.0"), Ok(()));
    }

    #[test]
    fn rounds_suffice_for_a_verdict_unless_others_are_asked_for() {
        let mut wishes = Wishes::default();
        assert_eq!(wishes.rounds(), ROUNDS);
        wishes.quick = true;
        assert_eq!(wishes.rounds(), ROUNDS_MIN);
        wishes.rounds = Some(9);
        assert_eq!(wishes.rounds(), 9);
    }

    #[test]
    fn errors_say_what_is_missing() {
        assert!(compare("").unwrap_err().starts_with("no JSON"));
        let empty = compare("{\"rows\":[]}").unwrap_err();
        assert_eq!(empty, "no verdict: there is no figure that both have");
        let error = installed("/nonexistent").unwrap_err();
        assert!(
            error.starts_with("/nonexistent is neither an installation nor a commit"),
            "{error}"
        );
    }
}
