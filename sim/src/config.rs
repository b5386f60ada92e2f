//! A run: its configuration, its report, and how a failure is told so that it can be repeated.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

use oxmpi_engine::protocol::Limits;
use oxmpi_schedules::choose::Collective;

use crate::collective::Collectives;
use crate::fabric::Faults;
use crate::point::{Point, Shape};
use crate::random::Random;
use crate::window::{self, Windows};
use crate::world::{Application, World};

/// What runs on the simulated job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Random sends and receives.
    Point,
    /// The same while ranks die.
    Death,
    /// The same while ranks go mad: they send what no process sends, and then nothing more.
    Garbage,
    /// Collectives.
    Collective,
    /// Windows.
    Window,
    /// The same while ranks die.
    WindowDeath,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Kind::Point => "point",
            Kind::Death => "death",
            Kind::Garbage => "garbage",
            Kind::Collective => "collective",
            Kind::Window => "window",
            Kind::WindowDeath => "window-death",
        })
    }
}

/// Everything that determines a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    /// What runs.
    pub kind: Kind,
    /// Where all chance comes from.
    pub seed: u64,
    /// Number of ranks.
    pub ranks: u32,
    /// Messages that each rank sends, collectives that all call, or rounds of epochs.
    pub work: u32,
    /// One collective instead of all.
    pub only: Option<Collective>,
}

impl Config {
    /// The command that repeats the run.
    pub fn command(&self) -> String {
        let Config {
            kind,
            seed,
            ranks,
            work,
            only,
        } = self;
        let only = only.map_or(String::new(), |only| format!(" --only {only:?}"));
        format!(
            "cargo run -p oxmpi-sim -- --kind {kind} --seed {seed} --ranks {ranks} --work {work}{only}"
        )
    }
}

/// What a run that went well did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Report {
    /// Events.
    pub events: u64,
    /// Packets.
    pub packets: u64,
}

/// A run that found something.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{what}\n  seed {}; to repeat: {}", config.seed, config.command())]
pub struct Failed {
    /// The run.
    pub config: Config,
    /// What was found.
    pub what: String,
}

/// Runs once. Panics inside the protocol become failures, so that they too tell their seed.
pub fn run(config: Config) -> Result<Report, Failed> {
    caught(|| run_inside(config)).map_err(|what| Failed { config, what })
}

/// What the run says, or the text of the panic that ended it.
pub(crate) fn caught<T>(run: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    let outcome = catch_unwind(AssertUnwindSafe(run));
    outcome.unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or(panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
        Err(format!("panic: {}", text.unwrap_or_default()))
    })
}

fn run_inside(config: Config) -> Result<Report, String> {
    let mut random = Random::new(config.seed);
    let limits = draw_limits(&mut random);
    let faults = draw_faults(&mut random);
    let mut world = World::new(config.ranks, limits, faults, random.fork());
    // Nobody can rely on a rank that went mad, as on one that died.
    let deaths = matches!(config.kind, Kind::Death | Kind::Garbage | Kind::WindowDeath);
    let mut application: Box<dyn Application> = match config.kind {
        Kind::Point | Kind::Death | Kind::Garbage => {
            let shape = Shape {
                size: config.ranks,
                messages: config.work,
                deaths,
            };
            Box::new(Point::new(config.seed, shape, &limits, random.fork()))
        }
        Kind::Collective => Box::new(Collectives::new(
            config.ranks,
            config.work,
            config.only,
            random.fork(),
        )),
        Kind::Window | Kind::WindowDeath => {
            let shape = window::Shape {
                size: config.ranks,
                rounds: config.work,
                deaths,
            };
            Box::new(Windows::new(shape, random.fork()))
        }
    };
    if deaths {
        // Most runs of moderate length take some hundred times the longest delay.
        let dying = 1 + random.below(u64::from(config.ranks.div_ceil(4)));
        for _ in 0..dying {
            let rank = random.below(u64::from(config.ranks)) as u32;
            let at = random.below(20 * (faults.delay_max + faults.compute_max));
            match config.kind {
                Kind::Garbage => world.madden(rank, at),
                _ => world.kill(rank, at),
            }
        }
    }
    let events = world.run(application.as_mut())?;
    Ok(Report {
        events,
        packets: world.packets(),
    })
}

/// Small limits: a thousand bytes cross every border that a megabyte would in the library, in tens
/// of packets.
fn draw_limits(random: &mut Random) -> Limits {
    let fragment_bytes_short: usize = random.pick(&[1, 7, 64, 512, 4096]);
    let short_bytes_max = random.pick(&[0, 16, 100, 1000]);
    let eager_bytes_max = random.pick(&[0, 16, 200, 1000, 5000]);
    let room_bytes = random.pick(&[64, 128, 1024, 16 * 1024]);
    Limits {
        eager_bytes_max,
        room_bytes,
        reserved_bytes: random.pick(&[0, room_bytes / 2]),
        kept_bytes_max: room_bytes,
        fragment_bytes: fragment_bytes_short.max(500),
        fragment_bytes_short: fragment_bytes_short.max(short_bytes_max as usize / 16),
        short_bytes_max,
        fetch_bytes_min: random.pick(&[0, 300, 3000, u64::MAX]),
        unexpected_max: 1 << 24,
        copied_bytes_max: random.pick(&[u64::MAX, u64::MAX, 100]),
    }
}

fn draw_faults(random: &mut Random) -> Faults {
    Faults {
        delay_max: random.pick(&[1, 10, 1000]),
        link_packets_max: random.pick(&[1, 2, 8, 1000]),
        full_percent: random.pick(&[0, 0, 5, 30]),
        fetch_refused_percent: random.pick(&[0, 0, 20, 100]),
        compute_max: random.pick(&[1, 10, 1000]),
    }
}
