//! `pi`: the area under 4 / (1 + x²) from 0 to 1.
//!
//! The first parallel program of every MPI course: rank 0 tells the others how fine to cut, each
//! rank adds up every size-th strip, and a reduction brings the sums together. The reference is the
//! constant everybody knows; the allowed error follows from the rule used.

use std::f64::consts::PI;

use oxmpi::Mpi;
use oxmpi::op::Sum;

use crate::arguments::{Arguments, Choice, Kind};
use crate::{Entry, Failure, Program, setting};

pub(crate) const ENTRY: Entry = Entry {
    program: Program {
        name: "pi",
        about: "compute π by integration",
    },
    options: &[Choice {
        name: "intervals",
        about: "strips under the curve",
        kind: Kind::Number {
            default: 50_000_000,
            min: 1,
            max: 1_000_000_000_000,
        },
    }],
    main,
};

fn main(mpi: &Mpi, arguments: &Arguments) -> Result<(), Failure> {
    let world = mpi.world();
    world.barrier()?;
    let start = oxmpi::wtime();

    let mut intervals = [0];
    if world.rank() == 0 {
        intervals = [arguments.number("intervals")];
    }
    world.bcast(&mut intervals, 0)?;
    let [intervals] = intervals;
    let part = strips(intervals, u64::from(world.rank()), u64::from(world.size()));
    let mut pi = [0.0];
    let root = world.rank() == 0;
    world.reduce(&[part], root.then_some(&mut pi[..]), Sum, 0)?;

    let seconds = oxmpi::wtime() - start;
    if !root {
        return Ok(());
    }
    let error = (pi[0] - PI).abs();
    let allowed = error_allowed(intervals);
    println!("pi = {:.15}", pi[0]);
    let verdict = if error <= allowed { "correct" } else { "wrong" };
    println!("error {error:.1e}, allowed {allowed:.1e}: {verdict}");
    println!("{intervals} intervals in {seconds:.4} s; {}", setting(mpi));
    if error <= allowed {
        return Ok(());
    }
    Err(Failure::Wrong(format!(
        "{} is {error:e} away from π",
        pi[0]
    )))
}

/// The area of the strips `first`, `first + step`, …, by their height in the middle.
fn strips(intervals: u64, first: u64, step: u64) -> f64 {
    // Sums of sums: adding fifty million numbers to one variable would lose digits.
    const GROUP: u64 = 4096;
    let width = 1.0 / intervals as f64;
    let count = if first < intervals {
        (intervals - first).div_ceil(step)
    } else {
        0
    };
    let mut total = 0.0;
    for group in (0..count).step_by(GROUP as usize) {
        let end = (group + GROUP).min(count);
        // Four sums at a time let the divisions overlap.
        let mut sums = [0.0; 4];
        for i in group..end {
            let x = ((first + i * step) as f64 + 0.5) * width;
            sums[(i % 4) as usize] += 4.0 / (1.0 + x * x);
        }
        total += sums.iter().sum::<f64>();
    }
    total * width
}

/// The midpoint rule errs by at most max|f''| / (24 n²), and |f''| ≤ 8 here; the rest is rounding.
fn error_allowed(intervals: u64) -> f64 {
    1.0 / (3.0 * (intervals as f64).powi(2)) + 1e-12
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_division_of_the_strips_gives_pi() {
        for intervals in [1, 2, 10, 4097, 100_000] {
            for ranks in [1, 2, 3, 8] {
                let pi: f64 = (0..ranks).map(|rank| strips(intervals, rank, ranks)).sum();
                assert!(
                    (pi - PI).abs() <= error_allowed(intervals),
                    "{intervals} on {ranks}: {pi}"
                );
            }
        }
    }
}
