//! The PM protocol by seed: 500 random scenarios on every `cargo test`, 10 000 in the long run
//! (`OXMPI_SIM_TIMES=20` or more). A failure prints its seed and the command that repeats it; with
//! `--trace` that command shows the scenario and every frame.

use oxmpi_sim::link::{Config, Failed, run};

/// How many times as many seeds as usual; at most twenty times, which are 10 000.
fn times() -> u64 {
    std::env::var("OXMPI_SIM_TIMES")
        .ok()
        .and_then(|times| times.parse().ok())
        .unwrap_or(1)
        .min(20)
}

fn seeds(first: u64, seeds: u64, nodes: Option<u32>) {
    for seed in first..first + seeds * times() {
        if let Err(failed) = run(Config {
            seed,
            nodes,
            trace: false,
        }) {
            panic!("{failed}");
        }
    }
}

#[test]
fn random_scenarios() {
    seeds(1, 125, None);
}

#[test]
fn more_random_scenarios() {
    seeds(1_000_000, 125, None);
}

#[test]
fn still_more_random_scenarios() {
    seeds(2_000_000, 125, None);
}

#[test]
fn two_nodes() {
    seeds(3_000_000, 110, Some(2));
}

#[test]
fn few_and_many_nodes() {
    for nodes in [3, 5, 16, 64, 256] {
        seeds(4_000_000 + u64::from(nodes), 3, Some(nodes));
    }
}

#[test]
fn a_failure_tells_its_seed_and_its_command() {
    let config = Config {
        seed: 7,
        nodes: Some(3),
        trace: false,
    };
    let failed = Failed {
        config,
        what: "node 1 to 2: message 4 is released instead of 3".into(),
    };
    assert_eq!(
        failed.to_string(),
        "node 1 to 2: message 4 is released instead of 3\n  seed 7; to repeat: cargo run -p oxmpi-sim -- link --seed 7 --nodes 3"
    );
}

#[test]
fn the_same_seed_gives_the_same_run() {
    for seed in 11..16 {
        let config = Config {
            seed,
            nodes: None,
            trace: false,
        };
        let first = run(config).expect("nothing to find");
        assert_eq!(first, run(config).expect("nothing to find"));
    }
}
