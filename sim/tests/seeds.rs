//! A moderate number of seeds of every kind on every `cargo test`; the long run is one variable
//! away: `OXMPI_SIM_TIMES=50 cargo test --release -p oxmpi-sim` runs fifty times as many seeds, and
//! all algorithms at 1 024 ranks. A failure prints its seed and the command that repeats it.

use oxmpi_schedules::choose::Collective;
use oxmpi_sim::{Config, Kind, run};

/// How many times as many seeds as usual.
fn times() -> u64 {
    std::env::var("OXMPI_SIM_TIMES")
        .ok()
        .and_then(|times| times.parse().ok())
        .unwrap_or(1)
}

fn seeds(kind: Kind, ranks: u32, work: u32, seeds: u64) {
    // Other sizes see other seeds: what a seed draws does not depend on the size.
    let first = u64::from(ranks) << 32;
    for seed in first..first + seeds * times() {
        let config = Config {
            kind,
            seed,
            ranks,
            work,
            only: None,
        };
        if let Err(failed) = run(config) {
            panic!("{failed}");
        }
    }
}

fn collectives(ranks: u32, work: u32, seed: u64) {
    for only in Collective::ALL {
        let config = Config {
            kind: Kind::Collective,
            seed,
            ranks,
            work,
            only: Some(only),
        };
        if let Err(failed) = run(config) {
            panic!("{failed}");
        }
    }
}

#[test]
fn messages_between_few_ranks() {
    for ranks in 1..=4 {
        seeds(Kind::Point, ranks, 100, 30);
    }
}

#[test]
fn messages_between_eight_ranks() {
    seeds(Kind::Point, 8, 60, 40);
}

#[test]
fn messages_between_many_ranks() {
    seeds(Kind::Point, 60, 30, 4);
    seeds(Kind::Point, 1000, 8, 1);
}

#[test]
fn messages_while_ranks_die() {
    for ranks in 2..=5 {
        seeds(Kind::Death, ranks, 60, 15);
    }
    seeds(Kind::Death, 20, 40, 10);
    seeds(Kind::Death, 300, 8, 1);
}

#[test]
fn messages_while_ranks_send_garbage() {
    seeds(Kind::Garbage, 4, 60, 60);
    seeds(Kind::Garbage, 20, 40, 6);
}

#[test]
fn windows() {
    for ranks in 1..=5 {
        seeds(Kind::Window, ranks, 10, 40);
    }
    seeds(Kind::Window, 8, 10, 40);
    seeds(Kind::Window, 20, 10, 5);
}

#[test]
fn windows_while_ranks_die() {
    for ranks in 2..=5 {
        seeds(Kind::WindowDeath, ranks, 10, 60);
    }
    seeds(Kind::WindowDeath, 8, 10, 40);
    seeds(Kind::WindowDeath, 20, 10, 5);
}

#[test]
fn collectives_of_few_ranks() {
    for ranks in 1..=17 {
        seeds(Kind::Collective, ranks, 30, 2);
    }
}

#[test]
fn every_algorithm_with_many_ranks() {
    collectives(100, 6, 1);
    collectives(128, 6, 2);
}

#[test]
fn every_collective_with_1024_ranks() {
    // As many calls as a table has algorithms would try each; the first one of each must do for
    // every day.
    collectives(1024, if times() > 1 { 6 } else { 1 }, 3);
}

#[test]
fn a_failure_tells_its_seed_and_its_command() {
    let config = Config {
        kind: Kind::Collective,
        seed: 7,
        ranks: 3,
        work: 2,
        only: Some(Collective::Scan),
    };
    let failed = oxmpi_sim::Failed {
        config,
        what: "rank 1 got something else".into(),
    };
    assert_eq!(
        failed.to_string(),
        "rank 1 got something else\n  seed 7; to repeat: cargo run -p oxmpi-sim -- --kind collective --seed 7 \
         --ranks 3 --work 2 --only Scan"
    );
}

#[test]
fn the_same_seed_gives_the_same_run() {
    for kind in [
        Kind::Point,
        Kind::Death,
        Kind::Garbage,
        Kind::Collective,
        Kind::Window,
        Kind::WindowDeath,
    ] {
        let config = Config {
            kind,
            seed: 11,
            ranks: 6,
            work: 20,
            only: None,
        };
        let first = run(config).expect("nothing to find");
        assert_eq!(first, run(config).expect("nothing to find"));
    }
}
