//! What building a schedule costs, on the microsecond path of every collective call.
//!
//! A measurement, not a check: `cargo test --release -p oxmpi-schedules --test build_cost --
//! --ignored --nocapture`.

use std::hint::black_box;
use std::time::Instant;

use oxmpi_schedules::plan::{self, Call};
use oxmpi_schedules::{Hosts, Operand, Placement, Position};

#[test]
#[ignore = "a measurement: cargo test --release -p oxmpi-schedules --test build_cost -- --ignored --nocapture"]
fn build_cost() {
    let operand = |bytes| Operand {
        bytes,
        element_bytes: 8,
        commutative: true,
        in_place: false,
    };
    let calls = [
        ("barrier", Call::Barrier),
        ("bcast 8 B", Call::Bcast { bytes: 8, root: 0 }),
        ("allreduce 8 B", Call::Allreduce(operand(8))),
        ("allreduce 64 KiB", Call::Allreduce(operand(64 * 1024))),
        (
            "reduce 8 B",
            Call::Reduce {
                operand: operand(8),
                root: 0,
            },
        ),
        (
            "allgather 8 B",
            Call::Allgather {
                bytes: 8,
                in_place: false,
            },
        ),
        (
            "alltoall 64 B",
            Call::Alltoall {
                bytes: 64,
                in_place: false,
            },
        ),
    ];
    const REPEAT: u32 = 20_000;
    for (size, hosts_count) in [(2, 1), (4, 1), (16, 1), (64, 1), (4, 2), (16, 4), (64, 4)] {
        let hosts = Hosts::new((0..size).map(|rank| rank * hosts_count / size));
        let placement = match &hosts {
            None => Placement::one_host(size, size),
            Some(hosts) => Placement::several_hosts(hosts),
        };
        for (name, call) in &calls {
            let position = Position::new(size / 2, size);
            let begin = Instant::now();
            for _ in 0..REPEAT {
                black_box(plan::schedule(black_box(call), position, placement));
            }
            println!(
                "{size:3} ranks on {hosts_count} host(s), {name:17} {:6.0} ns",
                begin.elapsed().as_nanos() as f64 / f64::from(REPEAT)
            );
        }
    }
}
