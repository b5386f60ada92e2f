//! `cargo xtask bench-gate`: every benchmark runs to its end, and says which targets it meets.
//!
//! Apart from the tests, because figures of a busy machine say nothing. A benchmark that fails is a
//! failure; a missed target is printed and is none: targets are goals. `release` compares this
//! state with the last release, and there a figure that became worse is a failure, and one on which
//! there is no verdict.

mod release;

pub use release::{ROUNDS_MIN, Wishes};

use std::process::Command;

use crate::install;
use crate::installed;
use crate::spread;
use crate::steps::{Expect, Steps, target};

/// Words after `oxmpi` on two hosts that a cable joins, and the text that says that it was
/// measured.
const BETWEEN_HOSTS: [(&str, &str); 2] = [("bench network", "targets met"), ("pmtest", "UDP")];

/// All of them; `wishes.quick`: in seconds each, with a wide spread.
pub fn run(steps: &mut Steps, wishes: Wishes<'_>) {
    if !steps.run_always("release build", 20, Expect::Success, &mut install::build()) {
        return;
    }
    let oxmpi = target().join("release/oxmpi");
    release::run(steps, wishes);
    let quick: &[&str] = if wishes.quick { &["--quick"] } else { &[] };
    let mut bench = Command::new(&oxmpi);
    bench.arg("bench").args(quick);
    steps.run("oxmpi bench", 60, Expect::Text("targets met"), &mut bench);
    installed::fetch(steps, "ip", "iproute2");
    let possible = spread::possible();
    for (words, text) in BETWEEN_HOSTS {
        let name = format!("oxmpi {words} between hosts");
        if let Err(reason) = &possible {
            steps.skip(&name, reason);
            continue;
        }
        let mut bench = spread::on_hosts_of(2, "--cable", &oxmpi);
        bench.arg(&oxmpi).args(words.split(' ')).args(quick);
        steps.run(&name, 30, Expect::Text(text), &mut bench);
    }
}
