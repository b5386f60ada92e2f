//! One run of `oxmpi bench`: how long things are measured, on which CPUs, and in which order.
//!
//! The order is the point: a figure and its floor alternate, and a pair is thrown away when the
//! flag hop changed while it was measured. Hypervisors move virtual CPUs between cores every few
//! seconds; on one machine the hop was seen at 25, 52 and 200 ns within a minute, which would make
//! any ratio between different moments meaningless.

use std::cell::Cell;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use thiserror::Error;

use oxmpi_launch::Spread as Placement;

use crate::answer::JobError;
use crate::floor::stream::{self, Ring};
use crate::floor::{Cpus, Effort, FloorError, hop, median, pair};
use crate::net::Net;

/// Largest ratio between two looks at the flag hop for which a pair counts as measured on one
/// machine.
const HOP_CHANGE_MAX: f64 = 1.3;

/// Pairs thrown away at most, as a multiple of those wanted, before unsteady ones are taken after
/// all.
const DISCARDED_PER_PAIR_MAX: usize = 3;

/// Looks at each geometry of the ring.
const RING_LOOKS: usize = 5;

/// Load average, per CPU, above which somebody else is using the machine.
const LOAD_PER_CPU_MAX: f64 = 0.5;

/// Geometries a sensible author of a two-copy ring would try.
const RINGS: [Ring; 6] = [
    Ring {
        slot_bytes: 8 << 10,
        slots: 8,
    },
    Ring {
        slot_bytes: 16 << 10,
        slots: 16,
    },
    Ring {
        slot_bytes: 32 << 10,
        slots: 8,
    },
    Ring {
        slot_bytes: 64 << 10,
        slots: 8,
    },
    Ring {
        slot_bytes: 128 << 10,
        slots: 8,
    },
    Ring {
        slot_bytes: 256 << 10,
        slots: 4,
    },
];

/// Why a benchmark failed.
#[derive(Debug, Error)]
pub enum BenchError {
    /// A bare mechanism.
    #[error(transparent)]
    Floor(#[from] FloorError),
    /// A job of ranks.
    #[error(transparent)]
    Job(#[from] JobError),
    /// No network.
    #[error(
        "both ranks run on one host and talk through shared memory, so there is no network to measure; name two hosts \
         (OXMPI_HOST=a,b oxmpi bench network), make two on this machine (cargo xtask hosts 2 -- oxmpi bench network), or \
         measure TCP over loopback (OXMPI_SHARED_MEMORY=off oxmpi bench network)"
    )]
    OneHost,
    /// No network of those asked for.
    #[error(
        "none of the networks asked for can be used between these hosts; the notes say why, and `oxmpi info --net` what there is"
    )]
    NoNetwork,
}

/// Values with the floor measured beside each.
#[derive(Debug, Default)]
pub struct Pairs {
    /// Of the figure.
    pub values: Vec<f64>,
    /// Of its floor, in the same order.
    pub floors: Vec<f64>,
}

/// State of the run.
pub struct Session {
    /// Length of a repetition.
    pub effort: Effort,
    /// Repetitions of each figure.
    pub repetitions: usize,
    /// Where the two processes of a floor run.
    pub cpus: Cpus,
    /// Where ranks run, before the environment is asked.
    pub spread: Placement,
    /// Networks between hosts that are measured.
    pub nets: Vec<Net>,
    /// What a reader must know.
    pub notes: Vec<String>,
    /// What the engine says about how ranks talk.
    pub transport: Option<String>,
    /// Benchmarks that gave an error.
    pub failures: usize,
    progress: ProgressBar,
    unsteady: usize,
    /// Nothing is measured: every figure is 1, and only the steps count.
    rehearsing: bool,
    /// Steps that were announced in a rehearsal.
    rehearsed: Cell<u64>,
}

impl Session {
    /// A run on this machine, by these networks where it leaves it.
    pub fn new(quick: bool, nets: Vec<Net>) -> Session {
        let cpus = Cpus::usable();
        let mut notes = Vec::new();
        if cpus.shared() {
            notes.push(
                "only one CPU is usable: floors yield instead of spinning, and latency figures are hand-offs".to_owned(),
            );
        }
        notes.extend(load_note());
        let (effort, repetitions) = if quick {
            (Effort::Quick, 3)
        } else {
            (Effort::Full, 9)
        };
        Session {
            effort,
            repetitions,
            cpus,
            spread: Placement::default(),
            nets,
            notes,
            transport: None,
            failures: 0,
            progress: progress_bar(),
            unsteady: 0,
            rehearsing: false,
            rehearsed: Cell::new(0),
        }
    }

    /// How many steps a benchmark will have, by going through it without measuring.
    pub fn rehearse<T>(&self, bench: impl FnOnce(&mut Session) -> T) -> u64 {
        let mut rehearsal = Session {
            spread: self.spread.clone(),
            nets: self.nets.clone(),
            notes: Vec::new(),
            transport: None,
            progress: ProgressBar::hidden(),
            rehearsing: true,
            rehearsed: Cell::new(0),
            ..*self
        };
        bench(&mut rehearsal);
        rehearsal.rehearsed.get()
    }

    /// Whether this is a rehearsal.
    pub fn is_rehearsing(&self) -> bool {
        self.rehearsing
    }

    /// The steps of the whole run.
    pub fn expect(&self, steps: u64) {
        self.progress.set_length(steps);
    }

    /// So many steps of the run lie behind, whatever was measured of them: a benchmark that failed
    /// leaves some out.
    pub fn reached(&self, steps: u64) {
        self.progress.set_position(steps);
    }

    /// Says what is measured next, in so many steps.
    pub fn announce(&self, what: impl Into<String>, steps: usize) {
        self.rehearsed.set(self.rehearsed.get() + steps as u64);
        self.progress.set_message(what.into());
    }

    /// A step of the bar is done.
    pub fn step(&self) {
        self.progress.inc(1);
    }

    /// Measures `figure` and `floor` alternately, in changing order, `repetitions` times.
    pub fn pairs(
        &mut self,
        what: &str,
        mut floor: impl FnMut(&mut Session) -> Result<f64, BenchError>,
        mut figure: impl FnMut(&mut Session) -> Result<f64, BenchError>,
    ) -> Result<Pairs, BenchError> {
        self.announce(what, self.repetitions);
        if self.rehearsing {
            let ones = vec![1.0; self.repetitions];
            return Ok(Pairs {
                values: ones.clone(),
                floors: ones,
            });
        }
        let mut pairs = Pairs::default();
        let mut patience = DISCARDED_PER_PAIR_MAX * self.repetitions;
        while pairs.values.len() < self.repetitions {
            let before = self.hop()?;
            let figure_first = (pairs.values.len() % 2 == 1)
                .then(|| figure(self))
                .transpose()?;
            let floor = floor(self)?;
            let between = self.hop()?;
            let value = match figure_first {
                Some(value) => value,
                None => figure(self)?,
            };
            let looks = [before, between, self.hop()?];
            if self.moved(&looks, &mut patience) {
                continue;
            }
            pairs.values.push(value);
            pairs.floors.push(floor);
            self.step();
        }
        Ok(pairs)
    }

    /// The same where one job measures both, in the order it is told: the floor first, if true.
    pub fn pairs_of_jobs(
        &mut self,
        what: &str,
        repetitions: usize,
        mut both: impl FnMut(&mut Session, bool) -> Result<(f64, f64), BenchError>,
    ) -> Result<Pairs, BenchError> {
        let found = self.steadily(what, repetitions, |session, round| {
            both(session, round.is_multiple_of(2))
        })?;
        let (values, floors) = found.into_iter().unzip();
        Ok(Pairs { values, floors })
    }

    /// Whatever belongs together, `repetitions` times, each time at a moment when the CPUs did not
    /// move. Told which time it is.
    pub fn steadily<T>(
        &mut self,
        what: &str,
        repetitions: usize,
        mut round: impl FnMut(&mut Session, usize) -> Result<T, BenchError>,
    ) -> Result<Vec<T>, BenchError> {
        self.announce(what, repetitions);
        let mut found = Vec::new();
        let mut patience = DISCARDED_PER_PAIR_MAX * repetitions;
        while found.len() < repetitions {
            let before = self.hop()?;
            let values = round(self, found.len())?;
            let looks = [before, self.hop()?];
            if self.moved(&looks, &mut patience) {
                continue;
            }
            found.push(values);
            self.step();
        }
        Ok(found)
    }

    /// Whether the two CPUs have moved between these looks at the flag hop, while there is patience
    /// to measure again.
    fn moved(&mut self, looks: &[f64], patience: &mut usize) -> bool {
        let change = looks.iter().copied().fold(f64::MIN, f64::max)
            / looks.iter().copied().fold(f64::MAX, f64::min);
        let moved = change > HOP_CHANGE_MAX && *patience > 0;
        if moved {
            *patience -= 1;
            self.unsteady += 1;
        }
        moved
    }

    /// Measures something that has no floor, `repetitions` times.
    pub fn repeat(
        &mut self,
        what: &str,
        repetitions: usize,
        mut figure: impl FnMut(&mut Session) -> Result<f64, BenchError>,
    ) -> Result<Vec<f64>, BenchError> {
        self.announce(what, repetitions);
        if self.rehearsing {
            return Ok(vec![1.0; repetitions]);
        }
        let mut values = Vec::new();
        for _ in 0..repetitions {
            values.push(figure(self)?);
            self.step();
        }
        Ok(values)
    }

    /// The best geometry of the two-copy ring for messages of `bytes`: the best median of a few
    /// short looks at each, taken in turns, so that a disturbance does not decide.
    pub fn best_ring(&mut self, bytes: usize) -> Result<Ring, BenchError> {
        self.announce("ring geometry", RINGS.len() * RING_LOOKS);
        if self.rehearsing {
            return Ok(RINGS[0]);
        }
        let mut rates = vec![Vec::new(); RINGS.len()];
        for _ in 0..RING_LOOKS {
            for (ring, rates) in RINGS.iter().zip(&mut rates) {
                rates.push(stream::ring_gbps(self.cpus, bytes, *ring, Effort::Look)?);
                self.step();
            }
        }
        let medians = rates.iter_mut().map(|rates| median(rates));
        let best = RINGS
            .iter()
            .zip(medians)
            .max_by(|left, right| left.1.total_cmp(&right.1));
        Ok(best.map_or(RINGS[0], |(ring, _)| *ring))
    }

    /// A short look at the flag hop. On one CPU there is nothing to notice, because nothing can
    /// move.
    fn hop(&self) -> Result<f64, BenchError> {
        if self.cpus.shared() || self.rehearsing {
            Ok(1.0)
        } else {
            Ok(hop::flag_ns(self.cpus, Effort::Look)?)
        }
    }

    /// Remembers that a benchmark could not be measured.
    pub fn failed(&mut self, name: &str, error: &dyn std::fmt::Display) {
        self.failures += 1;
        self.progress
            .suspend(|| eprintln!("oxmpi bench: {name}: {error}"));
        self.notes
            .push(format!("{name} could not be measured: {error}"));
    }

    /// Whether ranks can be on several hosts.
    pub fn has_hosts(&self) -> bool {
        let spread = self.spread.clone().or_env();
        spread.is_ok_and(|spread| spread.hosts.is_some_and(|hosts| hosts.len() > 1))
    }

    /// Remembers that something was left out, which is no failure: not every machine has
    /// everything.
    pub fn left_out(&mut self, what: &str, why: &BenchError) {
        self.notes.push(format!("{what} is left out: {why}"));
    }

    /// Says which ways of copying the library has chosen on this machine.
    pub fn note_learned(&mut self) {
        if let Ok(learned) = self.learned() {
            let told = |(name, value)| format!("copying here, {name}: {value}");
            self.notes.extend(learned.into_iter().map(told));
        }
    }

    /// Takes the bar off the screen and says what happened on the way.
    pub fn finish(&mut self) {
        self.progress.finish_and_clear();
        if self.unsteady > 0 {
            self.notes.push(format!(
                "{} measurements were repeated because the distance between the two CPUs changed meanwhile; on a virtual \
                 machine the host moves them",
                self.unsteady
            ));
        }
    }

    /// Time a rank should spend on one repetition.
    pub fn repetition(&self) -> Duration {
        self.effort.repetition()
    }
}

/// Drawn on standard error, and only when that is a terminal.
pub(crate) fn progress_bar() -> ProgressBar {
    let progress = ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::stderr());
    match ProgressStyle::with_template("{elapsed_precise} [{bar:30}] {pos}/{len} {msg}") {
        Ok(style) => progress.with_style(style.progress_chars("=> ")),
        Err(_) => progress,
    }
}

/// What to say when somebody else is using the machine.
pub(crate) fn load_note() -> Option<String> {
    let load = load_average();
    (load > LOAD_PER_CPU_MAX * pair::usable_cpus().len() as f64).then(|| {
        format!(
            "the machine is not idle (load {load:.1} at the start): figures are worse than it can do, and ratios wider"
        )
    })
}

/// Of the last minute; 0 where the kernel does not tell.
fn load_average() -> f64 {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ')
        .next()
        .and_then(|load| load.parse().ok())
        .unwrap_or(0.0)
}
