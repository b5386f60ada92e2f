//! `cargo run -p oxmpi-sim -- …`: one run by seed, or many seeds in a row until one finds
//! something.

use std::ops::RangeInclusive;
use std::process::ExitCode;

use oxmpi_schedules::choose::Collective;
use oxmpi_sim::{Config, Kind, link, run};

const USAGE: &str = "\
usage: oxmpi-sim [--kind KIND] [--seed N] [--ranks N] [--work N] [--only COLLECTIVE] [--runs N]
  --kind    what runs on the simulated job: point, death, garbage, collective, window, window-death (point)
  --seed    first seed (1)
  --ranks   ranks, 1 to 4096 (8)
  --work    messages per rank, number of collectives, or rounds of epochs (50)
  --only    one collective, e.g. Allreduce
  --runs    how many seeds in a row (1)
or:    oxmpi-sim link [--seed N] [--nodes N] [--runs N] [--trace]
  the PM protocol on a simulated network; nodes are 2 to 256, and drawn from the seed if not given;
  --trace shows the scenario and every frame
or:    oxmpi-sim link-table [FILE]
  throughput over loss; written into FILE where its marks are, else printed";

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1).peekable();
    let outcome = match arguments.peek().map(String::as_str) {
        Some("link") => run_link(arguments.skip(1)),
        Some("link-table") => link_table(arguments.nth(1)),
        _ => parse(arguments).map(|(config, runs)| run_job(config, runs)),
    };
    outcome.unwrap_or_else(|reason| {
        eprintln!("oxmpi-sim: {reason}\n{USAGE}");
        ExitCode::from(2)
    })
}

fn run_job(config: Config, runs: u64) -> ExitCode {
    let (mut events, mut packets) = (0, 0);
    for seed in config.seed..config.seed.saturating_add(runs) {
        match run(Config { seed, ..config }) {
            Ok(report) => {
                events += report.events;
                packets += report.packets;
            }
            Err(failed) => {
                eprintln!("{failed}");
                return ExitCode::FAILURE;
            }
        }
    }
    println!(
        "{runs} runs of {} with {} ranks: {packets} packets, {events} events, nothing found",
        config.kind, config.ranks
    );
    ExitCode::SUCCESS
}

fn run_link(mut arguments: impl Iterator<Item = String>) -> Result<ExitCode, String> {
    let mut config = link::Config {
        seed: 1,
        nodes: None,
        trace: false,
    };
    let mut runs = 1;
    while let Some(option) = arguments.next() {
        if option == "--trace" {
            config.trace = true;
            continue;
        }
        let value = value(&option, &mut arguments)?;
        match option.as_str() {
            "--seed" => config.seed = number(&option, &value)?,
            "--runs" => runs = number(&option, &value)?,
            "--nodes" => config.nodes = Some(bounded(&option, number(&option, &value)?, 2..=256)?),
            _ => return Err(format!("unknown option {option:?}")),
        }
    }
    let mut sum = link::report::Report::default();
    for seed in config.seed..config.seed.saturating_add(runs) {
        match link::run(link::Config { seed, ..config }) {
            Ok(report) => sum.add(&report),
            Err(failed) => {
                eprintln!("{failed}");
                return Ok(ExitCode::FAILURE);
            }
        }
    }
    println!("{runs} runs of link: {sum}; nothing found");
    Ok(ExitCode::SUCCESS)
}

fn link_table(page: Option<String>) -> Result<ExitCode, String> {
    let table = link::table::generate()?;
    let Some(page) = page else {
        print!("{table}");
        return Ok(ExitCode::SUCCESS);
    };
    let text = std::fs::read_to_string(&page).map_err(|error| format!("{page}: {error}"))?;
    let text = link::table::replaced(&text, &table).ok_or_else(|| {
        format!(
            "{page} has no line {:?}, after which the table would stand",
            link::table::BEGIN
        )
    })?;
    std::fs::write(&page, text).map_err(|error| format!("{page}: {error}"))?;
    Ok(ExitCode::SUCCESS)
}

fn parse(mut arguments: impl Iterator<Item = String>) -> Result<(Config, u64), String> {
    let mut config = Config {
        kind: Kind::Point,
        seed: 1,
        ranks: 8,
        work: 50,
        only: None,
    };
    let mut runs = 1;
    while let Some(option) = arguments.next() {
        let value = value(&option, &mut arguments)?;
        let number = || number(&option, &value);
        match option.as_str() {
            "--kind" => config.kind = kind(&value)?,
            "--seed" => config.seed = number()?,
            "--ranks" => config.ranks = bounded(&option, number()?, 1..=4096)?,
            "--work" => config.work = bounded(&option, number()?, 1..=1_000_000)?,
            "--runs" => runs = number()?,
            "--only" => config.only = Some(collective(&value)?),
            _ => return Err(format!("unknown option {option:?}")),
        }
    }
    Ok((config, runs))
}

fn value(option: &str, arguments: &mut impl Iterator<Item = String>) -> Result<String, String> {
    arguments
        .next()
        .ok_or_else(|| format!("{option} needs a value"))
}

fn number(option: &str, value: &str) -> Result<u64, String> {
    value
        .parse()
        .map_err(|_| format!("{option} needs a number, not {value:?}"))
}

fn bounded(option: &str, number: u64, range: RangeInclusive<u32>) -> Result<u32, String> {
    match u32::try_from(number) {
        Ok(number) if range.contains(&number) => Ok(number),
        _ => Err(format!(
            "{option} must be {} to {}, not {number}",
            range.start(),
            range.end()
        )),
    }
}

fn kind(name: &str) -> Result<Kind, String> {
    match name {
        "point" => Ok(Kind::Point),
        "death" => Ok(Kind::Death),
        "garbage" => Ok(Kind::Garbage),
        "collective" => Ok(Kind::Collective),
        "window" => Ok(Kind::Window),
        "window-death" => Ok(Kind::WindowDeath),
        _ => Err(format!("no kind {name:?}")),
    }
}

fn collective(name: &str) -> Result<Collective, String> {
    let found = Collective::ALL
        .into_iter()
        .find(|collective| format!("{collective:?}").eq_ignore_ascii_case(name));
    found.ok_or_else(|| {
        let names: Vec<String> = Collective::ALL
            .iter()
            .map(|collective| format!("{collective:?}"))
            .collect();
        format!("no collective {name:?}; there are {}", names.join(", "))
    })
}
