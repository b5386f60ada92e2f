//! The rounds of a comparison: every job with OxMPI, then with each other library, and again.
//!
//! Neighbours in time are what is compared. A ratio is taken within a round and its median over the
//! rounds is the figure, so a machine that becomes slower half-way does not matter. Of a library's
//! settings the one with the best median counts, figure by figure; a setting that is beaten at all
//! of a job's figures is not run again. The networks that OxMPI is told to use are its settings
//! between hosts, and each of them is shown.

use std::collections::BTreeMap;

use indicatif::ProgressBar;

use super::execution::{self, Pace};
use super::files::Goal;
use super::hosts::Hosts;
use super::installation::{Family, Installation};
use super::plan::{self, Job};
use super::program::Programs;
use super::setting::{self, Setting};
use super::table::{Comparison, Peer, Row};
use crate::figure::{Spread, Unit};
use crate::floor::median;
use crate::net::Net;

/// A library with the program that measures it.
pub struct Library {
    /// What and where.
    pub installation: Installation,
    /// What runs with it.
    pub programs: Programs,
}

/// Which settings are run.
#[derive(Clone, Copy)]
pub struct Choice<'a> {
    /// The networks that OxMPI is told to use between hosts.
    pub nets: &'a [Net],
    /// Of slow jobs, only the settings that are known to be good.
    pub is_short: bool,
}

/// Times better that a setting must be in the first round to end another one.
const CLEARLY: f64 = 1.5;

/// Times longer that a slow job of OxMPI may take than one of the others.
const OUR_PATIENCE: u32 = 3;

/// Values of one figure under one setting, with the round each was measured in.
type Values = Vec<(usize, f64)>;

/// What one library did under one setting in one job.
#[derive(Default)]
struct Trial {
    values: BTreeMap<String, Values>,
    units: BTreeMap<String, Unit>,
    /// Not run again: it failed, or other settings are better at everything.
    over: bool,
}

/// The state of a comparison.
pub struct Rounds<'a> {
    libraries: &'a [Library],
    jobs: &'a [Job],
    hosts: Option<&'a Hosts>,
    choice: Choice<'a>,
    pace: Pace,
    /// By library, job, setting.
    trials: Vec<Vec<Vec<Trial>>>,
    names: Vec<Option<String>>,
    notes: Vec<String>,
}

impl<'a> Rounds<'a> {
    /// None run yet. The first library is OxMPI, by these networks between hosts. Jobs on several
    /// hosts need `hosts`.
    pub fn new(
        libraries: &'a [Library],
        jobs: &'a [Job],
        hosts: Option<&'a Hosts>,
        choice: Choice<'a>,
        pace: Pace,
    ) -> Rounds<'a> {
        let trials = libraries
            .iter()
            .map(|library| {
                jobs.iter()
                    .map(|job| {
                        settings(library, job, choice)
                            .iter()
                            .map(|_| Trial::default())
                            .collect()
                    })
                    .collect()
            })
            .collect();
        Rounds {
            libraries,
            jobs,
            hosts,
            choice,
            pace,
            trials,
            names: vec![None; libraries.len()],
            notes: Vec::new(),
        }
    }

    /// Runs round number `round`.
    pub fn run(&mut self, round: usize, progress: &ProgressBar) {
        for (place, job) in self.jobs.iter().enumerate() {
            for index in 0..self.libraries.len() {
                let library = &self.libraries[index];
                for (which, setting) in settings(library, job, self.choice).iter().enumerate() {
                    let trials = &mut self.trials[index][place];
                    let refused = trials[..which].iter().all(|trial| trial.values.is_empty());
                    trials[which].over |= setting.last_resort && !refused;
                    if !trials[which].over {
                        let name = library.installation.family.name();
                        progress
                            .set_message(format!("{name}, {} ranks, {}", job.ranks, setting.name));
                        self.once(round, index, place, which, setting);
                    }
                }
                if index > 0 {
                    self.drop_the_beaten(index, place);
                }
            }
            progress.inc(1);
        }
    }

    fn once(&mut self, round: usize, index: usize, place: usize, which: usize, setting: &Setting) {
        let (library, job) = (&self.libraries[index], &self.jobs[place]);
        let mut pace = self.pace;
        if index == 0 {
            // Without OxMPI there is nothing to compare with.
            pace.slow_job *= OUR_PATIENCE;
        }
        let (found, error) = execution::run(
            job,
            &library.installation,
            library.programs.of(job.program),
            self.hosts,
            setting,
            pace,
        );
        let trial = &mut self.trials[index][place][which];
        for (figure, (value, unit)) in found.values {
            trial.units.insert(figure.clone(), unit);
            trial.values.entry(figure).or_default().push((round, value));
        }
        if let Some(name) = found.library {
            self.names[index].get_or_insert(name);
        }
        let who = library.installation.family.name();
        let mut by_reason: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (figure, reason) in found.missing {
            by_reason
                .entry(reason)
                .or_default()
                .push(job.title(&figure));
        }
        for (reason, titles) in by_reason {
            let titles = titles.join("; ");
            self.note(format!("{who}, {}: {titles}: {reason}", setting.name));
        }
        if let Some(error) = error {
            // It would fail again, and slowly.
            self.trials[index][place][which].over = true;
            self.note(format!("{who}, {}: {error}", setting.name));
        }
    }

    fn note(&mut self, note: String) {
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    /// Settings that are beaten at every figure of the job are not worth more time.
    fn drop_the_beaten(&mut self, index: usize, place: usize) {
        let trials = &mut self.trials[index][place];
        let figures = self.jobs[place].keys();
        let hopeless: Vec<bool> = trials
            .iter()
            .map(|trial| figures.iter().all(|figure| beaten(trials, trial, figure)))
            .collect();
        for (trial, hopeless) in trials.iter_mut().zip(hopeless) {
            trial.over |= hopeless;
        }
    }

    /// What all rounds found.
    pub fn comparison(self) -> Comparison {
        let mut names: Vec<String> = Vec::new();
        for (library, name) in self.libraries.iter().zip(&self.names) {
            let mut name = label(library.installation.family, name.as_deref());
            if names.contains(&name) {
                // Two builds of one library, or one against itself to see the noise.
                name = format!("{name} ({})", names.len());
            }
            names.push(name);
        }
        let mut rows = Vec::new();
        for (place, job) in self.jobs.iter().enumerate() {
            for figure in job.keys() {
                rows.extend(self.rows(place, job, figure, &names));
            }
        }
        rows.sort_by_key(|row: &Row| plan::GROUPS.iter().position(|(name, _)| *name == row.bench));
        let failures = self
            .trials
            .iter()
            .flatten()
            .filter(|trials| trials.iter().all(|trial| trial.values.is_empty()))
            .count();
        Comparison {
            rows,
            names,
            notes: self.notes,
            failures,
        }
    }

    /// A figure with OxMPI at its best, or a row for each network it was told to use.
    fn rows(&self, place: usize, job: &Job, figure: &str, names: &[String]) -> Vec<Row> {
        let tried = settings(&self.libraries[0], job, self.choice);
        let trials = &self.trials[0][place];
        if !is_by_net(job, self.choice.nets) {
            let ours = best_trial(trials, figure).map(|which| &trials[which].values[figure]);
            let row = self.row(place, job, figure, ours, names);
            return row.into_iter().collect();
        }
        let by_net = tried.iter().zip(trials).filter_map(|(setting, trial)| {
            let mut row = self.row(place, job, figure, trial.values.get(figure), names)?;
            row.name = format!("{}, {}", row.name, setting.name);
            Some(row)
        });
        by_net.collect()
    }

    fn row(
        &self,
        place: usize,
        job: &Job,
        figure: &str,
        ours: Option<&Values>,
        names: &[String],
    ) -> Option<Row> {
        let unit = self
            .trials
            .iter()
            .flat_map(|jobs| &jobs[place])
            .find_map(|trial| trial.units.get(figure))?;
        let peers = (1..self.libraries.len())
            .filter_map(|index| {
                let trials = &self.trials[index][place];
                let which = best_trial(trials, figure)?;
                let values = &trials[which].values[figure];
                let ratios = ours.map_or_else(Vec::new, |ours| ratios(*unit, ours, values));
                let tried = settings(&self.libraries[index], job, self.choice);
                Some(Peer {
                    library: names[index].clone(),
                    setting: (tried.len() > 1).then_some(tried[which].name),
                    value: spread(values),
                    ratio: (!ratios.is_empty()).then(|| Spread::of(&ratios)),
                })
            })
            .collect::<Vec<Peer>>();
        let goals = job.goals(figure);
        let goals = goals
            .iter()
            .filter_map(|goal| Some(goal.judge(self.reached(place, goal, ours?, &peers)?)));
        Some(Row {
            goals: goals.collect(),
            bench: job.group(figure),
            name: job.title(figure),
            ranks: job.ranks,
            unit: *unit,
            ours: ours.map(spread),
            peers,
        })
    }
}

impl Rounds<'_> {
    /// How near a figure of OxMPI came to a goal; none if what it is held against is missing.
    fn reached(&self, place: usize, goal: &Goal, ours: &Values, peers: &[Peer]) -> Option<f64> {
        match goal {
            Goal::Peers(_) => {
                let ratios = peers.iter().filter_map(|peer| Some(peer.ratio?.median));
                ratios.min_by(f64::total_cmp)
            }
            Goal::Figure(other, _) => {
                let trials = &self.trials[0][place];
                let beside = &trials[best_trial(trials, other)?].values[other];
                let ratios = ratios(Unit::GigabytesPerSecond, ours, beside);
                (!ratios.is_empty()).then(|| Spread::of(&ratios).median)
            }
            Goal::Percent(_) => Some(spread(ours).median),
        }
    }
}

/// Whether OxMPI runs a job once for each network.
fn is_by_net(job: &Job, nets: &[Net]) -> bool {
    job.hosts > 1 && !nets.is_empty()
}

fn settings(library: &Library, job: &Job, choice: Choice<'_>) -> Vec<Setting> {
    let family = library.installation.family;
    if family == Family::Oxmpi && is_by_net(job, choice.nets) {
        return choice
            .nets
            .iter()
            .map(|net| setting::by_net(*net))
            .collect();
    }
    if choice.is_short && job.is_slow() {
        return setting::likely(family, job.crowded).to_vec();
    }
    setting::settings(family, job.hosts > 1, job.crowded).to_vec()
}

fn spread(values: &Values) -> Spread {
    let values: Vec<f64> = values.iter().map(|(_, value)| *value).collect();
    Spread::of(&values)
}

/// Whether a small value of this unit is a good one.
fn small_is_good(unit: Unit) -> bool {
    matches!(
        unit,
        Unit::Nanoseconds | Unit::Microseconds | Unit::Milliseconds | Unit::Bytes
    )
}

/// The median of a figure, as a number that is better when it is smaller.
fn score(trial: &Trial, figure: &str) -> Option<f64> {
    let values = trial.values.get(figure)?;
    let unit = trial.units.get(figure)?;
    let middle = median(&mut values.iter().map(|(_, value)| *value).collect::<Vec<_>>());
    Some(if small_is_good(*unit) {
        middle
    } else {
        1.0 / middle
    })
}

/// The setting with the best median of a figure, among those that were measured often enough to be
/// believed: a setting that was dropped early and lucky once does not count.
fn best_trial(trials: &[Trial], figure: &str) -> Option<usize> {
    let count = |trial: &Trial| trial.values.get(figure).map_or(0, Vec::len);
    let most = trials.iter().map(count).max()?;
    trials
        .iter()
        .enumerate()
        .filter(|(_, trial)| 2 * count(trial) >= most)
        .filter_map(|(which, trial)| Some((which, score(trial, figure)?)))
        .min_by(|left, right| left.1.total_cmp(&right.1))
        .map(|(which, _)| which)
}

/// Whether another setting is better at a figure; after a single round, clearly better.
fn beaten(trials: &[Trial], trial: &Trial, figure: &str) -> bool {
    let best = best_trial(trials, figure).and_then(|which| score(&trials[which], figure));
    let slack = if trial.values.get(figure).map_or(0, Vec::len) < 2 {
        CLEARLY
    } else {
        1.0
    };
    match (best, score(trial, figure)) {
        (Some(best), Some(score)) => score > best * slack,
        (best, _) => best.is_some(),
    }
}

/// How many times better OxMPI was, round by round.
fn ratios(unit: Unit, ours: &Values, theirs: &Values) -> Vec<f64> {
    theirs
        .iter()
        .filter_map(|(round, their)| {
            let (_, our) = ours.iter().find(|(other, _)| other == round)?;
            Some(if small_is_good(unit) {
                their / our
            } else {
                our / their
            })
        })
        .collect()
}

/// A library's name and version: "Open MPI 5.0.11". What libraries call themselves differs too much
/// to be shown.
fn label(family: Family, text: Option<&str>) -> String {
    let version = text
        .unwrap_or_default()
        .split_whitespace()
        .find_map(|word| {
            let word = word
                .trim_start_matches('v')
                .trim_end_matches([',', ';', ':', '.']);
            (word.starts_with(|letter: char| letter.is_ascii_digit()) && word.contains('.'))
                .then_some(word)
        });
    match (family, version) {
        (Family::Unknown, _) => text.unwrap_or(family.name()).chars().take(40).collect(),
        (_, Some(version)) => format!("{} {version}", family.name()),
        (_, None) => family.name().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_name_and_version() {
        for (family, text, expected) in [
            (Family::Mpich, "MPICH Version:      5.0.2", "MPICH 5.0.2"),
            (
                Family::OpenMpi,
                "Open MPI v5.0.11, package: Open MPI user@host",
                "Open MPI 5.0.11",
            ),
            (
                Family::Intel,
                "Intel(R) MPI Library 2021.18.1 for Linux* OS",
                "Intel MPI 2021.18.1",
            ),
            (Family::Unknown, "Some MPI 7", "Some MPI 7"),
        ] {
            assert_eq!(label(family, Some(text)), expected);
        }
        assert_eq!(label(Family::Mpich, None), "MPICH");
    }

    #[test]
    fn a_ratio_above_one_means_that_oxmpi_is_better_whatever_the_unit() {
        let (ours, theirs) = (vec![(0, 2.0), (1, 4.0)], vec![(1, 8.0), (2, 1.0)]);
        assert_eq!(ratios(Unit::Nanoseconds, &ours, &theirs), [2.0]);
        assert_eq!(ratios(Unit::MillionPerSecond, &ours, &theirs), [0.5]);
    }

    #[test]
    fn the_best_setting_counts() {
        let trial = |unit: Unit, values: &[f64]| Trial {
            values: [(
                "x".to_owned(),
                values.iter().map(|value| (0, *value)).collect(),
            )]
            .into(),
            units: [("x".to_owned(), unit)].into(),
            over: false,
        };
        let times = [&[5.0, 6.0][..], &[1.0, 2.0], &[3.0]].map(|v| trial(Unit::Microseconds, v));
        assert_eq!(best_trial(&times, "x"), Some(1));
        let lucky = [&[5.0, 6.0, 7.0][..], &[1.0]].map(|v| trial(Unit::Microseconds, v));
        assert_eq!(best_trial(&lucky, "x"), Some(0));
        let close = [&[3.0][..], &[4.0], &[9.0]].map(|v| trial(Unit::Microseconds, v));
        let over = close.each_ref().map(|trial| beaten(&close, trial, "x"));
        assert_eq!(over, [false, false, true]);
        let sure = [&[3.0, 3.0][..], &[4.0, 4.0]].map(|v| trial(Unit::Microseconds, v));
        assert!(beaten(&sure, &sure[1], "x") && !beaten(&sure, &sure[0], "x"));
        let rates = [&[5.0, 6.0][..], &[1.0, 2.0]].map(|v| trial(Unit::GigabytesPerSecond, v));
        assert_eq!(best_trial(&rates, "x"), Some(0));
        assert_eq!(best_trial(&times, "y"), None);
    }
}
