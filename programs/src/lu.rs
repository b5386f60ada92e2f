//! `lu`: P·A = L·U with partial pivoting.
//!
//! Columns are dealt out in blocks, round and round. The owner of a block factors it, everybody
//! gets it by broadcast, swaps its own rows accordingly and updates the columns to the right. The
//! check is the one of the LINPACK benchmark: the residual of L·U·x against P·A·x, scaled by size
//! and rounding, must stay below 16; A is made anew for it.

use std::ops::Range;

use oxmpi::op::{Max, Sum};
use oxmpi::{Communicator, Mpi};

use crate::arguments::{Arguments, Choice, Kind};
use crate::random::mixed;
use crate::{Entry, Failure, Program, setting};

pub(crate) const ENTRY: Entry = Entry {
    program: Program {
        name: "lu",
        about: "factor a matrix by LU decomposition with pivoting",
    },
    options: &[
        Choice {
            name: "size",
            about: "rows and columns of the matrix",
            kind: Kind::Number {
                default: 1000,
                min: 1,
                max: 1 << 15,
            },
        },
        Choice {
            name: "block",
            about: "columns factored at a time",
            kind: Kind::Number {
                default: 32,
                min: 1,
                max: 1 << 12,
            },
        },
    ],
    main,
};

/// LINPACK's bound for the scaled residual.
const RESIDUAL_MAX: f64 = 16.0;

fn main(mpi: &Mpi, arguments: &Arguments) -> Result<(), Failure> {
    let world = mpi.world();
    let shape = Shape {
        size: arguments.number("size") as usize,
        block: arguments.number("block") as usize,
        rank: world.rank() as usize,
        ranks: world.size() as usize,
    };
    let mut columns: Vec<Vec<f64>> = shape
        .own_columns()
        .map(|column| shape.fresh(column))
        .collect();

    world.barrier()?;
    let start = oxmpi::wtime();
    let pivots = factor(&world, shape, &mut columns)?;
    world.barrier()?;
    let seconds = oxmpi::wtime() - start;

    let residual = residual(&world, shape, &columns, &pivots)?;
    let size = shape.size;
    if world.rank() == 0 {
        let verdict = if residual < RESIDUAL_MAX {
            "correct"
        } else {
            "wrong"
        };
        println!(
            "{size} x {size} LU: scaled residual {residual:.4}, allowed {RESIDUAL_MAX}: {verdict}"
        );
        let gigaflops = 2.0 / 3.0 * (size as f64).powi(3) / seconds / 1e9;
        println!("{seconds:.4} s, {gigaflops:.2} Gflop/s; {}", setting(mpi));
    }
    if residual < RESIDUAL_MAX {
        return Ok(());
    }
    Err(Failure::Wrong(format!(
        "the scaled residual is {residual} on a {size} x {size} matrix"
    )))
}

/// The matrix and its distribution.
#[derive(Clone, Copy)]
struct Shape {
    size: usize,
    block: usize,
    rank: usize,
    ranks: usize,
}

impl Shape {
    fn owner(&self, column: usize) -> usize {
        column / self.block % self.ranks
    }

    /// The columns of this rank, from left to right.
    fn own_columns(self) -> impl Iterator<Item = usize> {
        (0..self.size).filter(move |&column| self.owner(column) == self.rank)
    }

    /// How many of this rank's columns lie left of `column`.
    fn own_before(&self, column: usize) -> usize {
        let (blocks, rest) = (column / self.block, column % self.block);
        let whole = blocks / self.ranks + usize::from(blocks % self.ranks > self.rank);
        whole * self.block
            + if blocks % self.ranks == self.rank {
                rest
            } else {
                0
            }
    }

    /// A column of the matrix to be factored: numbers from -0.5 to 0.5.
    fn fresh(&self, column: usize) -> Vec<f64> {
        let element = |row| (mixed(row, column) >> 11) as f64 / (1u64 << 53) as f64 - 0.5;
        (0..self.size).map(element).collect()
    }
}

/// Replaces the columns by those of L (below the diagonal) and U, and tells which row was exchanged
/// with which at each step.
fn factor(
    world: &Communicator<'_>,
    shape: Shape,
    columns: &mut [Vec<f64>],
) -> oxmpi::Result<Vec<usize>> {
    let mut pivots = Vec::with_capacity(shape.size);
    for first in (0..shape.size).step_by(shape.block) {
        let panel = first..(first + shape.block).min(shape.size);
        let owner = shape.owner(first);
        let mine = shape.own_before(first)..shape.own_before(panel.end);
        let (mut steps, mut factored) = (vec![0u64; panel.len()], Vec::new());
        if owner == shape.rank {
            factor_panel(&mut columns[mine.clone()], first, &mut steps);
            for column in &columns[mine.clone()] {
                factored.extend_from_slice(&column[first..]);
            }
        } else {
            factored = vec![0.0; panel.len() * (shape.size - first)];
        }
        world.bcast(&mut steps, owner as u32)?;
        world.bcast(&mut factored, owner as u32)?;
        let steps: Vec<usize> = steps.iter().map(|&row| row as usize).collect();
        for (index, column) in columns.iter_mut().enumerate() {
            if !mine.contains(&index) {
                swap_rows(column, first, &steps);
            }
        }
        update(&mut columns[mine.end..], panel, &factored);
        pivots.extend(steps);
    }
    Ok(pivots)
}

/// Factors the columns of one block, whose diagonal begins at row `first`.
fn factor_panel(panel: &mut [Vec<f64>], first: usize, steps: &mut [u64]) {
    for k in 0..panel.len() {
        let diagonal = first + k;
        let pivot = largest(&panel[k], diagonal);
        steps[k] = pivot as u64;
        for column in panel.iter_mut() {
            column.swap(diagonal, pivot);
        }
        let (done, right) = panel.split_at_mut(k + 1);
        let multipliers = &mut done[k][diagonal..];
        let (head, below) = multipliers
            .split_first_mut()
            .expect("the diagonal is inside the matrix");
        // A column of zeros has nothing to eliminate; the matrix is singular and U says so.
        if *head != 0.0 {
            below.iter_mut().for_each(|value| *value /= *head);
        }
        for column in right {
            let factor = column[diagonal];
            subtract(&mut column[diagonal + 1..], factor, below);
        }
    }
}

/// The row at or below `from` with the largest element.
fn largest(column: &[f64], from: usize) -> usize {
    let mut best = from;
    for row in from + 1..column.len() {
        if column[row].abs() > column[best].abs() {
            best = row;
        }
    }
    best
}

fn swap_rows(column: &mut [f64], first: usize, steps: &[usize]) {
    for (k, &pivot) in steps.iter().enumerate() {
        column.swap(first + k, pivot);
    }
}

/// Applies a factored block to the columns right of it. `factored` holds the block's columns from
/// the row where its diagonal begins.
fn update(columns: &mut [Vec<f64>], panel: Range<usize>, factored: &[f64]) {
    let Some(size) = columns.first().map(Vec::len) else {
        return;
    };
    for column in columns {
        for (k, multipliers) in factored.chunks(size - panel.start).enumerate() {
            let factor = column[panel.start + k];
            subtract(
                &mut column[panel.start + k + 1..],
                factor,
                &multipliers[k + 1..],
            );
        }
    }
}

fn subtract(from: &mut [f64], factor: f64, values: &[f64]) {
    from.iter_mut()
        .zip(values)
        .for_each(|(from, value)| *from -= factor * value);
}

/// ‖L·U·x − P·A·x‖ / (‖A‖ · ‖x‖ · size · ε) in the maximum norm.
fn residual(
    world: &Communicator<'_>,
    shape: Shape,
    columns: &[Vec<f64>],
    pivots: &[usize],
) -> oxmpi::Result<f64> {
    let size = shape.size;
    let x: Vec<f64> = (0..size)
        .map(|i| (mixed(i, size) >> 11) as f64 / (1u64 << 53) as f64)
        .collect();
    let sum_of_columns = |part: &dyn Fn(usize, usize, &mut [f64])| -> oxmpi::Result<Vec<f64>> {
        let mut sum = vec![0.0; size];
        shape
            .own_columns()
            .enumerate()
            .for_each(|(index, column)| part(index, column, &mut sum));
        world.allreduce_in_place(&mut sum, Sum)?;
        Ok(sum)
    };
    let ux = sum_of_columns(&|index, column, sum| {
        subtract(&mut sum[..=column], -x[column], &columns[index][..=column]);
    })?;
    let lux = sum_of_columns(&|index, column, sum| {
        sum[column] += ux[column];
        subtract(
            &mut sum[column + 1..],
            -ux[column],
            &columns[index][column + 1..],
        );
    })?;
    let mut pax =
        sum_of_columns(&|_, column, sum| subtract(sum, -x[column], &shape.fresh(column)))?;
    swap_rows(&mut pax, 0, pivots);
    let mut norm = vec![0.0; size];
    shape.own_columns().for_each(|column| {
        norm.iter_mut()
            .zip(shape.fresh(column))
            .for_each(|(norm, a)| *norm += a.abs());
    });
    world.allreduce_in_place(&mut norm, Sum)?;

    let error = lux
        .iter()
        .zip(&pax)
        .map(|(a, b)| (a - b).abs())
        .fold(0.0, f64::max);
    let greatest = |values: &[f64]| values.iter().copied().fold(0.0, f64::max);
    let mut scaled = [error / (greatest(&norm) * greatest(&x) * size as f64 * f64::EPSILON)];
    // NaN must not pass as small.
    if scaled[0].is_nan() {
        scaled[0] = f64::INFINITY;
    }
    world.allreduce_in_place(&mut scaled, Max)?;
    Ok(scaled[0])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_column_has_one_owner_and_place() {
        for (size, block, ranks) in [(10, 3, 2), (7, 1, 3), (64, 16, 4), (5, 8, 3)] {
            let mut seen = 0;
            for rank in 0..ranks {
                let shape = Shape {
                    size,
                    block,
                    rank,
                    ranks,
                };
                for (index, column) in shape.own_columns().enumerate() {
                    assert_eq!(shape.own_before(column), index);
                    seen += 1;
                }
            }
            assert_eq!(seen, size);
        }
    }

    #[test]
    fn a_panel_is_factored() {
        let mut panel = vec![vec![2.0, 4.0, 8.0], vec![4.0, 3.0, 8.0]];
        let mut steps = [0; 2];
        factor_panel(&mut panel, 0, &mut steps);
        // Row 2 comes up first; then 3 - 4 and 4 - 2 remain of the second column, and the latter is
        // larger.
        assert_eq!(steps, [2, 2]);
        assert_eq!(panel[0], [8.0, 0.25, 0.5]);
        assert_eq!(panel[1], [8.0, 2.0, -0.5]);
    }
}
