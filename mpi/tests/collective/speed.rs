//! What a description costs: small collectives on buffers, and the typed ones for comparison, the
//! best of many rounds.

use std::hint::black_box;
use std::time::Instant;

use oxmpi_core::buffer::Buffer;
use oxmpi_core::collective::{Collective, Reduction, Root};
use oxmpi_datatypes::datatype::{Basic, Datatype};
use oxmpi_datatypes::op::Predefined;

use crate::case::join;

const CALLS: u32 = 2000;
const ROUNDS: u32 = 100;

/// Says how long a call took in the best round.
fn measure(rank: u32, name: &str, mut call: impl FnMut()) {
    let mut best = f64::MAX;
    for _ in 0..ROUNDS {
        let start = Instant::now();
        for _ in 0..CALLS {
            call();
        }
        best = best.min(start.elapsed().as_nanos() as f64 / f64::from(CALLS));
    }
    if rank == 0 {
        eprintln!("{name}: {best:.0} ns");
    }
}

/// Runs a body as two ranks and shows what they say.
fn show(path: &str, body: impl FnOnce()) {
    oxmpi_harness::run_and_judge(path, &[2], body, |outcome, text| {
        assert!(outcome.success(), "{text}");
        eprintln!("{path}\n{text}");
    });
}

/// `cargo test --release -p oxmpi-core --test collective -- --ignored --nocapture speed`
#[test]
#[ignore = "a measurement: cargo test --release -p oxmpi-core --test collective -- --ignored --nocapture"]
fn small_ones_described() {
    show(concat!(module_path!(), "::small_ones_described"), || {
        let (process, world) = join();
        let datatype = Datatype::named(Basic::Uint64);
        let (input, mut result) = ([1u64], [0u64]);
        // SAFETY: the numbers outlive the calls.
        let buffer = |data: *const u64| unsafe {
            Buffer::new(data.cast_mut().cast(), 1, &datatype).unwrap()
        };
        let target = result.as_mut_ptr();
        measure(world.rank(), "barrier", || {
            world.collective(Collective::Barrier).unwrap()
        });
        measure(world.rank(), "bcast", || {
            let (buffer, root) = (buffer(target), Root::Rank(0));
            world
                .collective(Collective::Bcast { buffer, root })
                .unwrap();
        });
        measure(world.rank(), "allreduce", || {
            let reduction = Reduction {
                op: Predefined::Sum.into(),
                datatype: datatype.clone(),
            };
            let (send, receive) = (Some(buffer(input.as_ptr())), buffer(target));
            world
                .collective(Collective::Allreduce {
                    send,
                    receive,
                    reduction,
                })
                .unwrap();
        });
        process.finalize();
    });
}

/// The same through the typed calls.
#[test]
#[ignore = "a measurement: cargo test --release -p oxmpi-core --test collective -- --ignored --nocapture"]
fn small_ones_typed() {
    show(concat!(module_path!(), "::small_ones_typed"), || {
        let mpi = oxmpi_core::init().unwrap();
        let world = mpi.world();
        measure(world.rank(), "barrier", || world.barrier().unwrap());
        measure(world.rank(), "bcast", || {
            world.bcast(black_box(&mut [0u64]), 0).unwrap()
        });
        measure(world.rank(), "allreduce", || {
            let mut result = [0u64];
            let sum = world.allreduce(&[1u64], black_box(&mut result), oxmpi_datatypes::op::Sum);
            sum.unwrap();
        });
    });
}
