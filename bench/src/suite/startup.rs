//! Start and end of jobs whose ranks only initialise and finalise.
//!
//! The floor is the same number of bare processes of the same executable that end at once: fork,
//! exec, wait.

use std::process::{Command, Stdio};
use std::time::Instant;

use crate::figure::{Row, Target, Unit};
use crate::rank::Probe;
use crate::session::{BenchError, Session};

/// Ranks, and the wall time they may take on two cores, ms.
const PLAN: [(u32, f64); 3] = [(2, 20.0), (16, 80.0), (64, 400.0)];

/// 2, 16 and 64 ranks.
pub fn run(session: &mut Session) -> Result<Vec<Row>, BenchError> {
    let mut rows = Vec::new();
    for (ranks, most) in PLAN {
        let name = format!("{ranks} ranks");
        let pairs = session.pairs(
            &format!("startup {name}"),
            |_| Ok(bare_ms(ranks)),
            |session| Ok(session.job(ranks, &Probe::Nothing, &[])?.1.as_secs_f64() * 1000.0),
        )?;
        rows.push(
            Row::new("startup", name, Unit::Milliseconds, &pairs.values)
                .on_floor("fork, exec, wait", &pairs.values, &pairs.floors)
                .aiming(Target::AtMost(most))
                .plotted("start and end", "ranks", f64::from(ranks)),
        );
    }
    Ok(rows)
}

fn bare_ms(processes: u32) -> f64 {
    let start = Instant::now();
    let path = std::env::current_exe().unwrap_or_else(|_| "/proc/self/exe".into());
    let children: Vec<_> = (0..processes)
        .filter_map(|_| {
            let mut command = Command::new(&path);
            command
                .args(["bench", crate::BARE])
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null());
            command.spawn().ok()
        })
        .collect();
    for mut child in children {
        // A child that cannot be waited for has ended; there is nothing else to learn from it.
        let _ = child.wait();
    }
    start.elapsed().as_secs_f64() * 1000.0
}
