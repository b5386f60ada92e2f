//! Packing through the C entry points: error classes, and how fast it is beside loops written by
//! hand.
//!
//! Speed: `cargo test --release -p oxmpi-abi --test packing -- --ignored --nocapture`.

use std::ffi::c_int;
use std::ptr::{null, null_mut};
use std::sync::Once;
use std::time::Instant;

use mpi_abi::constant::*;
use mpi_abi::generated::*;
use mpi_abi::handle::Handle;

/// Begins MPI with one process that gets its errors returned.
fn begin() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let mut provided = 0;
        // SAFETY: null stands for no arguments of the program, and the result has a place.
        unsafe {
            let code = PMPI_Init_thread(null_mut(), null_mut(), MPI_THREAD_MULTIPLE, &mut provided);
            assert_eq!(code, MPI_SUCCESS);
            PMPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
            PMPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
        }
    });
}

/// MPI_Pack into room that is there; the code and the position behind it.
fn pack<T>(
    from: &[T],
    count: c_int,
    datatype: Handle,
    out: &mut [u8],
    at: c_int,
) -> (c_int, c_int) {
    let (mut position, size) = (at, out.len() as c_int);
    let (from, out) = (from.as_ptr().cast(), out.as_mut_ptr().cast());
    // SAFETY: the tests give types that fit their slices.
    let code = unsafe {
        PMPI_Pack(
            from,
            count,
            datatype,
            out,
            size,
            &mut position,
            MPI_COMM_WORLD,
        )
    };
    (code, position)
}

fn vector(count: c_int, stride: c_int) -> Handle {
    let mut datatype = MPI_DATATYPE_NULL;
    // SAFETY: the result has a place.
    unsafe {
        assert_eq!(
            PMPI_Type_vector(count, 1, stride, MPI_DOUBLE, &mut datatype),
            MPI_SUCCESS
        );
        assert_eq!(PMPI_Type_commit(&mut datatype), MPI_SUCCESS);
    }
    datatype
}

#[test]
fn positions_and_classes() {
    begin();
    let (from, mut out) = ([1_i32, 2, 3, 4], [0_u8; 20]);
    assert_eq!(pack(&from, 4, MPI_INT, &mut out, 0), (MPI_SUCCESS, 16));
    assert_eq!(pack(&from, 0, MPI_INT, &mut out, 16), (MPI_SUCCESS, 16));
    assert_eq!(
        pack(&from, 2, MPI_INT, &mut out, 16),
        (MPI_ERR_TRUNCATE, 16)
    );
    assert_eq!(pack(&from, 1, MPI_INT, &mut out, 21), (MPI_ERR_ARG, 21));
    assert_eq!(pack(&from, 1, MPI_INT, &mut out, -1), (MPI_ERR_ARG, -1));
    assert_eq!(pack(&from, -1, MPI_INT, &mut out, 0), (MPI_ERR_COUNT, 0));
    assert_eq!(
        pack(&from, 1, MPI_DATATYPE_NULL, &mut out, 0),
        (MPI_ERR_TYPE, 0)
    );
    let (mut position, unknown) = (0_i64, c"native".as_ptr());
    // SAFETY: both buffers are long enough for one int.
    let code = unsafe {
        let (from, out) = (from.as_ptr().cast(), out.as_mut_ptr().cast());
        PMPI_Pack_external(unknown, from, 1, MPI_INT, out, 20, &mut position)
    };
    assert_eq!(code, MPI_ERR_ARG);
    let mut size = 0;
    // SAFETY: the result has a place.
    let code = unsafe { PMPI_Pack_size(1 << 30, MPI_INT, MPI_COMM_WORLD, &mut size) };
    assert_eq!((code, size), (MPI_SUCCESS, MPI_UNDEFINED));
}

#[test]
fn null_buffers_are_found() {
    begin();
    let (mut position, mut out) = (0, [0_u8; 8]);
    // SAFETY: null pointers are refused, and nothing else is read or written.
    unsafe {
        let to = out.as_mut_ptr().cast();
        let code = PMPI_Pack(null(), 1, MPI_INT, to, 8, &mut position, MPI_COMM_WORLD);
        assert_eq!(code, MPI_ERR_BUFFER);
        let code = PMPI_Pack(
            to.cast_const(),
            1,
            MPI_INT,
            null_mut(),
            8,
            &mut position,
            MPI_COMM_WORLD,
        );
        assert_eq!(code, MPI_ERR_BUFFER);
    }
}

/// Nanoseconds of the fastest of some rounds.
fn best(repeat: u32, mut work: impl FnMut()) -> f64 {
    let rounds = (0..25).map(|_| {
        let begin = Instant::now();
        (0..repeat).for_each(|_| work());
        begin.elapsed().as_secs_f64() * 1e9 / f64::from(repeat)
    });
    rounds.fold(f64::INFINITY, f64::min)
}

#[test]
#[ignore = "a measurement: cargo test --release -p oxmpi-abi --test packing -- --ignored --nocapture"]
fn vectors_of_doubles_take_at_most_twice_a_loops_time() {
    begin();
    for (count, stride) in [(100, 2), (1000, 2), (1000, 8), (100_000, 4)] {
        let from = vec![1.5_f64; count * stride];
        let (mut out, mut by_hand) = (vec![0_u8; count * 8], vec![0.0_f64; count]);
        let datatype = vector(count as c_int, stride as c_int);
        let repeat = (1_000_000 / count) as u32;
        let ours = best(repeat, || {
            std::hint::black_box(pack(&from, 1, datatype, &mut out, 0));
        });
        let hand = best(repeat, || {
            for (to, from) in by_hand.iter_mut().zip(from.iter().step_by(stride)) {
                *to = *from;
            }
            std::hint::black_box(&mut by_hand);
        });
        println!("{count} blocks of 8 at {stride}: {ours:.0} ns, by hand {hand:.0} ns");
        assert!(count < 1000 || ours < 2.0 * hand);
    }
}

#[test]
#[ignore = "a measurement: cargo test --release -p oxmpi-abi --test packing -- --ignored --nocapture"]
fn contiguous_bytes_go_at_the_speed_of_memory() {
    begin();
    for bytes in [8, 512, 32 << 10, 1 << 20] {
        let (from, mut out) = (vec![1_u8; bytes], vec![0_u8; bytes]);
        let repeat = ((16 << 20) / bytes).min(100_000) as u32;
        let ours = best(repeat, || {
            std::hint::black_box(pack(&from, bytes as c_int, MPI_BYTE, &mut out, 0));
        });
        let mut copy = vec![0_u8; bytes];
        let hand = best(repeat, || {
            copy.copy_from_slice(std::hint::black_box(&from));
            std::hint::black_box(&mut copy);
        });
        println!("{bytes} bytes: {ours:.0} ns, memcpy {hand:.0} ns");
        assert!(bytes < 1 << 20 || ours < 1.5 * hand);
    }
}
