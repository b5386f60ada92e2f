//! What the driver costs a ping-pong that does not need it: the same measurement with it on and
//! off, alternately.

use crate::figure::{Row, Target, Unit, size_name};
use crate::rank::Probe;
use crate::session::{BenchError, Session};

/// The engine's switch.
const SWITCH: &str = oxmpi_settings::DRIVER.name;

/// 8 B and 1 KiB.
pub fn run(session: &mut Session) -> Result<Vec<Row>, BenchError> {
    let mut rows = Vec::new();
    for bytes in [8, 1024] {
        let name = format!("{} one way, driver on", size_name(bytes));
        let probe = |session: &Session| Probe::Latency {
            bytes,
            time: session.repetition(),
        };
        let pairs = session.pairs(
            &name,
            |session| Ok(session.job(2, &probe(session), &[(SWITCH, "off")])?.0[0]),
            |session| Ok(session.job(2, &probe(session), &[(SWITCH, "on")])?.0[0]),
        )?;
        rows.push(
            Row::new("driver", name, Unit::Nanoseconds, &pairs.values)
                .on_floor("driver off", &pairs.values, &pairs.floors)
                .aiming(Target::RatioAtMost(1.05)),
        );
    }
    Ok(rows)
}
