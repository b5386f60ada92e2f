//! Scattered data as a datatype, against packing and unpacking it by hand around contiguous
//! messages.

use crate::figure::{Row, Target, Unit, size_name};
use crate::rank::Probe;
use crate::session::{BenchError, Session};

/// A ping-pong of doubles with gaps, 2 ranks.
pub fn run(session: &mut Session) -> Result<Vec<Row>, BenchError> {
    let mut rows = Vec::new();
    for bytes in [128, 4 << 10, 64 << 10, 1 << 20] {
        let name = format!("{} one way", size_name(bytes));
        let probe = |by_hand, session: &Session| Probe::Typed {
            bytes,
            by_hand,
            time: session.repetition(),
        };
        let pairs = session.pairs(
            &format!("typed {name}"),
            |session| session.figure(2, &probe(true, session)),
            |session| session.figure(2, &probe(false, session)),
        )?;
        let mut row = Row::new("typed", name, Unit::Nanoseconds, &pairs.values)
            .on_floor("packed by hand", &pairs.values, &pairs.floors)
            .plotted("one way", "bytes", bytes as f64);
        if bytes >= 64 << 10 {
            row = row.aiming(Target::RatioAtMost(1.3));
        }
        rows.push(row);
    }
    Ok(rows)
}
