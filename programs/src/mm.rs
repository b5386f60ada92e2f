//! `mm`: the product of two matrices by a master and its workers.
//!
//! The master (rank 0) gives B to everybody and deals out strips of A's rows; a worker multiplies a
//! strip and sends it back, and a fast worker gets more strips (the example of the user-level
//! messaging paper). Elements are small whole numbers, so every sum is exact and the check is exact
//! too.

use oxmpi::{ANY_SOURCE, ANY_TAG, Communicator, Mpi};

use crate::arguments::{Arguments, Choice, Kind};
use crate::random::mixed;
use crate::{Entry, Failure, Program, setting};

pub(crate) const ENTRY: Entry = Entry {
    program: Program {
        name: "mm",
        about: "multiply two matrices with a master and workers",
    },
    options: &[
        Choice {
            name: "size",
            about: "rows and columns of the matrices",
            kind: Kind::Number {
                default: 512,
                min: 1,
                max: 1 << 15,
            },
        },
        Choice {
            name: "strip",
            about: "rows dealt out at a time",
            kind: Kind::Number {
                default: 16,
                min: 1,
                max: 1 << 15,
            },
        },
    ],
    main,
};

/// Up to this size the whole product is computed again on one rank and compared.
const SERIAL_MAX: usize = 512;
/// Beyond it, this many random vectors; an error escapes one of them with a chance below 1/1000.
const VECTORS: usize = 8;
/// Strips a worker has at hand, so that it computes while the next one travels.
const AHEAD: usize = 2;

fn main(mpi: &Mpi, arguments: &Arguments) -> Result<(), Failure> {
    let world = mpi.world();
    let size = arguments.number("size") as usize;
    let strip = (arguments.number("strip") as usize).min(size);
    let mut b = if world.rank() == 0 {
        matrix(size, 1)
    } else {
        vec![0.0; size * size]
    };

    world.barrier()?;
    let start = oxmpi::wtime();
    world.bcast(&mut b, 0)?;
    if world.rank() > 0 {
        return Ok(work(&world, size, strip, &b)?);
    }
    let a = matrix(size, 0);
    let c = if world.size() == 1 {
        product(size, &a, &b)
    } else {
        deal(&world, size, strip, &a)?
    };
    let seconds = oxmpi::wtime() - start;

    let how = check(size, &a, &b, &c)?;
    println!("{size} x {size} matrix product {how}: correct");
    let gigaflops = 2.0 * (size as f64).powi(3) / seconds / 1e9;
    println!("{seconds:.4} s, {gigaflops:.2} Gflop/s; {}", setting(mpi));
    Ok(())
}

/// The master's part: a strip's tag is the number of its first row, in both directions, and an
/// empty strip means that there is no more.
fn deal(world: &Communicator<'_>, size: usize, strip: usize, a: &[f64]) -> oxmpi::Result<Vec<f64>> {
    let mut c = vec![0.0; size * size];
    let mut strips = (0..size).step_by(strip);
    let mut busy = 0;
    let rows = |first: usize| first * size..(first + strip).min(size) * size;
    let workers = 1..world.size();
    for _ in 0..AHEAD {
        for worker in workers.clone() {
            if let Some(first) = strips.next() {
                world.send(&a[rows(first)], worker, first as i32)?;
                busy += 1;
            }
        }
    }
    while busy > 0 {
        let status = world.probe(ANY_SOURCE, ANY_TAG)?;
        let first = status.tag as usize;
        world.recv(&mut c[rows(first)], status.source, status.tag)?;
        busy -= 1;
        if let Some(first) = strips.next() {
            world.send(&a[rows(first)], status.source, first as i32)?;
            busy += 1;
        }
    }
    for worker in workers {
        world.send(&[0f64; 0], worker, 0)?;
    }
    Ok(c)
}

/// A worker's part: the next strip is on its way while this one is multiplied. Because its receive
/// is posted before the result is sent, master and worker can never both wait for the other to
/// receive.
fn work(world: &Communicator<'_>, size: usize, strip: usize, b: &[f64]) -> oxmpi::Result<()> {
    let (mut rows, mut status) = world.recv_vec::<f64>(0, ANY_TAG)?;
    let mut next = vec![0.0; strip * size];
    while !rows.is_empty() {
        status = oxmpi::scope(|s| {
            let following = world.irecv(s, &mut next, 0, ANY_TAG)?;
            world.send(&product(size, &rows, b), 0, status.tag)?;
            following.wait()
        })?;
        rows.clear();
        rows.extend_from_slice(&next[..status.count::<f64>().unwrap_or(0)]);
    }
    Ok(())
}

/// Some rows times B, in tiles that stay in the first-level cache.
fn product(size: usize, rows: &[f64], b: &[f64]) -> Vec<f64> {
    const TILE: usize = 64;
    let mut result = vec![0.0; rows.len()];
    for tile in (0..size).step_by(TILE) {
        let inner = tile..(tile + TILE).min(size);
        for (row, out) in rows.chunks(size).zip(result.chunks_mut(size)) {
            for k in inner.clone() {
                let factor = row[k];
                for (out, b) in out.iter_mut().zip(&b[k * size..(k + 1) * size]) {
                    *out += factor * b;
                }
            }
        }
    }
    result
}

/// A matrix of whole numbers from -8 to 7.
fn matrix(size: usize, which: usize) -> Vec<f64> {
    let element = |i: usize| (mixed(i, which) >> 60) as f64 - 8.0;
    (0..size * size).map(element).collect()
}

/// Compares with the reference and tells how.
fn check(size: usize, a: &[f64], b: &[f64], c: &[f64]) -> Result<&'static str, Failure> {
    if size <= SERIAL_MAX {
        return match product(size, a, b)
            .iter()
            .zip(c)
            .position(|(want, got)| want != got)
        {
            None => Ok("equals the serial one"),
            Some(at) => Err(wrong(at / size, at % size)),
        };
    }
    for vector in 0..VECTORS {
        // Freivalds: A (B x) and C x differ for nearly every x when C is wrong. All sums are below
        // 2^53.
        let x: Vec<f64> = (0..size)
            .map(|i| (mixed(i, 2 + vector) >> 54) as f64)
            .collect();
        let expected = apply(size, a, &apply(size, b, &x));
        if let Some(row) = apply(size, c, &x)
            .iter()
            .zip(&expected)
            .position(|(got, want)| got != want)
        {
            return Err(Failure::Wrong(format!("row {row} of the product is wrong")));
        }
    }
    Ok("agrees on random vectors (Freivalds)")
}

fn wrong(row: usize, column: usize) -> Failure {
    Failure::Wrong(format!(
        "element ({row}, {column}) differs from the serial product"
    ))
}

fn apply(size: usize, matrix: &[f64], x: &[f64]) -> Vec<f64> {
    matrix
        .chunks(size)
        .map(|row| row.iter().zip(x).map(|(a, x)| a * x).sum())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiles_do_not_change_the_product() {
        let size = 70;
        let (a, b) = (matrix(size, 0), matrix(size, 1));
        let c = product(size, &a, &b);
        let plain = |i: usize, j: usize| (0..size).map(|k| a[i * size + k] * b[k * size + j]).sum();
        for (i, j) in [(0, 0), (69, 69), (3, 65), (64, 2)] {
            let expected: f64 = plain(i, j);
            assert_eq!(c[i * size + j], expected);
        }
    }

    #[test]
    fn both_checks_find_a_single_wrong_element() {
        for size in [20, SERIAL_MAX + 8] {
            let (a, b) = (matrix(size, 0), matrix(size, 1));
            let mut c = product(size, &a, &b);
            assert!(check(size, &a, &b, &c).is_ok());
            c[5 * size + 7] += 1.0;
            assert!(check(size, &a, &b, &c).is_err());
        }
    }
}
