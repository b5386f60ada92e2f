//! The bare mechanisms for themselves.

use crate::figure::{Row, Unit, size_name};
use crate::floor::{hop, stream};
use crate::session::{BenchError, Session};

const NAME: &str = "floor";

/// Flag hop, slots, yield hand-off, copies.
pub fn run(session: &mut Session) -> Result<Vec<Row>, BenchError> {
    let (cpus, effort, repetitions) = (session.cpus, session.effort, session.repetitions);
    let mut rows = Vec::new();
    let mut add =
        |session: &mut Session,
         name: String,
         unit: Unit,
         series: &str,
         x: Option<usize>,
         measure: &mut dyn FnMut() -> Result<f64, crate::floor::FloorError>| {
            let values = session.repeat(&name, repetitions, |_| Ok(measure()?))?;
            let mut row = Row::new(NAME, name, unit, &values);
            if let Some(x) = x {
                row = row.plotted(series, "bytes", x as f64);
            }
            rows.push(row);
            Ok::<(), BenchError>(())
        };
    add(
        session,
        "flag hop, one way".into(),
        Unit::Nanoseconds,
        "",
        None,
        &mut || hop::flag_ns(cpus, effort),
    )?;
    for bytes in [8, 1024] {
        let name = format!("slot, {} copied in and out", size_name(bytes));
        add(session, name, Unit::Nanoseconds, "", None, &mut || {
            hop::slot_ns(cpus, bytes, effort)
        })?;
    }
    add(
        session,
        "yield hand-off on one core".into(),
        Unit::Nanoseconds,
        "",
        None,
        &mut || hop::yield_ns(cpus, effort),
    )?;
    for bytes in [64 << 10, 1 << 20, 4 << 20] {
        let size = size_name(bytes);
        let rate = Unit::GigabytesPerSecond;
        add(
            session,
            format!("memcpy, {size}"),
            rate,
            "memcpy",
            Some(bytes),
            &mut || stream::memcpy_gbps(cpus, bytes, effort),
        )?;
        let ring = session.best_ring(bytes)?;
        let name = format!(
            "two-copy ring, {size} ({} slots of {})",
            ring.slots,
            size_name(ring.slot_bytes)
        );
        add(
            session,
            name,
            rate,
            "two-copy ring",
            Some(bytes),
            &mut || stream::ring_gbps(cpus, bytes, ring, effort),
        )?;
        match stream::readv_gbps(cpus, bytes, effort) {
            Ok(_) => add(
                session,
                format!("process_vm_readv, {size}"),
                rate,
                "process_vm_readv",
                Some(bytes),
                &mut || stream::readv_gbps(cpus, bytes, effort),
            )?,
            Err(error) => session.notes.push(error.to_string()),
        }
        add(
            session,
            format!("copy out of shared memory, {size}"),
            rate,
            "one copy",
            Some(bytes),
            &mut || stream::mapped_gbps(cpus, bytes, effort),
        )?;
    }
    Ok(rows)
}
