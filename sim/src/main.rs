//! `cargo run -p oxmpi-sim -- …`: one run by seed, or many seeds in a row until one finds something.

use std::process::ExitCode;

use oxmpi::collectives::choose::Collective;
use oxmpi_sim::{Config, Kind, run};

const USAGE: &str = "\
usage: oxmpi-sim [--kind point|death|collective] [--seed N] [--ranks N] [--work N] [--only COLLECTIVE] [--runs N]
  --kind    what runs on the simulated job (point)
  --seed    first seed (1)
  --ranks   ranks, 1 to 4096 (8)
  --work    messages per rank, or number of collectives (50)
  --only    one collective, e.g. Allreduce
  --runs    how many seeds in a row (1)";

fn main() -> ExitCode {
    let (config, runs) = match parse(std::env::args().skip(1)) {
        Ok(parsed) => parsed,
        Err(reason) => {
            eprintln!("oxmpi-sim: {reason}\n{USAGE}");
            return ExitCode::from(2);
        }
    };
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
        let value = arguments
            .next()
            .ok_or_else(|| format!("{option} needs a value"))?;
        let number = || {
            value
                .parse::<u64>()
                .map_err(|_| format!("{option} needs a number, not {value:?}"))
        };
        match option.as_str() {
            "--kind" => config.kind = kind(&value)?,
            "--seed" => config.seed = number()?,
            "--ranks" => config.ranks = bounded(&option, number()?, 4096)?,
            "--work" => config.work = bounded(&option, number()?, 1_000_000)?,
            "--runs" => runs = number()?,
            "--only" => config.only = Some(collective(&value)?),
            _ => return Err(format!("unknown option {option:?}")),
        }
    }
    Ok((config, runs))
}

fn bounded(option: &str, number: u64, most: u32) -> Result<u32, String> {
    match u32::try_from(number) {
        Ok(number) if (1..=most).contains(&number) => Ok(number),
        _ => Err(format!("{option} must be 1 to {most}, not {number}")),
    }
}

fn kind(name: &str) -> Result<Kind, String> {
    match name {
        "point" => Ok(Kind::Point),
        "death" => Ok(Kind::Death),
        "collective" => Ok(Kind::Collective),
        _ => Err(format!(
            "--kind is point, death or collective, not {name:?}"
        )),
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
