//! Heat spreads on a torus that is divided among the ranks in both directions: a grid of ranks,
//! columns that travel without being packed, and a collective that is prepared once.
//!
//! `oxmpi run -n 4 target/debug/examples/grid`

use oxmpi::collective;
use oxmpi::op::{Max, Sum};
use oxmpi::view::Shape;

/// Each rank's part of the field, and its width with a column of the neighbours on each side.
const ROWS: usize = 8;
const COLUMNS: usize = 12;
const WIDTH: usize = COLUMNS + 2;

/// Steps that are computed if the field does not come to rest before.
const STEPS_MAX: usize = 2000;

fn main() -> oxmpi::Result<()> {
    let mpi = oxmpi::init()?;
    let world = mpi.world();
    // As square as the number of ranks permits; both directions wrap around.
    let sizes = world.grid_sizes([0, 0])?;
    let grid = world
        .grid(&sizes, &[true, true])?
        .expect("a place for each rank");
    let (above, below) = grid.shift(0, 1)?;
    let (left, right) = grid.shift(1, 1)?;

    let mut field = vec![0.0; (ROWS + 2) * WIDTH];
    field[WIDTH + 1] = 1000.0 * f64::from(grid.rank() + 1);
    let heat = |field: &[f64]| -> oxmpi::Result<f64> {
        let rows = field.chunks(WIDTH).skip(1).take(ROWS);
        let mine = rows.flat_map(|row| &row[1..=COLUMNS]).sum();
        world.allreduce_one(mine, Sum)
    };
    let before = heat(&field)?;

    // ROWS blocks of one number, each WIDTH numbers after the one before.
    let column = Shape::strided(ROWS, 1, WIDTH)?;
    let (mut change, mut largest) = (0.0, 0.0);
    let steps = oxmpi::scope(|s| {
        // Checked and planned once, started in every step.
        let call = collective::allreduce(&mut change, &mut largest, Max);
        let mut largest_change = world.prepare(s, call)?;
        for step in 0..STEPS_MAX {
            let old = field.clone();
            let (first, last) = (WIDTH + 1, WIDTH + COLUMNS);
            let edge = column.of(&old[first..])?;
            let mut beyond = column.of_mut(&mut field[last + 1..])?;
            grid.send_recv(&edge, left, 0, &mut beyond, right, 0)?;
            let edge = column.of(&old[last..])?;
            let mut beyond = column.of_mut(&mut field[first - 1..])?;
            grid.send_recv(&edge, right, 1, &mut beyond, left, 1)?;
            let (top, bottom) = (WIDTH, ROWS * WIDTH);
            let beyond = &mut field[bottom + WIDTH..];
            grid.send_recv(&old[top..top + WIDTH], above, 2, beyond, below, 2)?;
            let beyond = &mut field[..WIDTH];
            grid.send_recv(&old[bottom..bottom + WIDTH], below, 3, beyond, above, 3)?;

            *largest_change.input_mut() = spread(&mut field);
            largest_change = largest_change.start()?.wait()?;
            if *largest_change.output() < 1e-3 {
                return Ok(step);
            }
        }
        Ok(STEPS_MAX)
    })?;

    let after = heat(&field)?;
    assert!(
        (after - before).abs() < 1e-6 * before,
        "{before} became {after}"
    );
    if world.rank() == 0 {
        println!("{sizes:?} ranks: at rest after {steps} steps, {after:.3} of heat as before");
    }
    Ok(())
}

/// Every place gives an eighth to each of its four neighbours; the largest change.
fn spread(field: &mut [f64]) -> f64 {
    let old = field.to_vec();
    let mut largest = 0.0f64;
    for row in 1..=ROWS {
        for column in 1..=COLUMNS {
            let at = row * WIDTH + column;
            let around = old[at - 1] + old[at + 1] + old[at - WIDTH] + old[at + WIDTH];
            field[at] = 0.5 * old[at] + 0.125 * around;
            largest = largest.max((field[at] - old[at]).abs());
        }
    }
    largest
}
