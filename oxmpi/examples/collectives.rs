//! Collectives: the power method for the largest eigenvalue of a matrix whose rows are dealt out.
//!
//! Rank 0 has the matrix; scatter deals it out, allgather puts the vector together, allreduce finds
//! its length.

use oxmpi::op::Sum;

/// Rows for each rank.
const ROWS: usize = 8;

fn main() -> oxmpi::Result<()> {
    let mpi = oxmpi::init()?;
    let world = mpi.world();
    let n = ROWS * world.size() as usize;

    // The root passes Some, the others None.
    let matrix: Option<Vec<f64>> = (world.rank() == 0).then(|| laplace(n));
    let mut rows = vec![0.0; ROWS * n];
    world.scatter(matrix.as_deref(), &mut rows, 0)?;

    let mut vector: Vec<f64> = (1..=n).map(|i| i as f64).collect();
    let mut eigenvalue = [0.0];
    for _ in 0..2000 {
        let product: Vec<f64> = rows
            .chunks(n)
            .map(|row| row.iter().zip(&vector).map(|(a, b)| a * b).sum())
            .collect();
        let squares: f64 = product.iter().map(|x| x * x).sum();
        let mut length = [0.0];
        world.allreduce(&[squares], &mut length, Sum)?;
        eigenvalue = length.map(f64::sqrt);
        let part: Vec<f64> = product.iter().map(|x| x / eigenvalue[0]).collect();
        world.allgather(&part, &mut vector)?;
    }

    // Every rank has come to the same number; the root tells its own to be sure.
    let own = eigenvalue;
    world.bcast(&mut eigenvalue, 0)?;
    assert_eq!(own, eigenvalue);
    let exact = 2.0 + 2.0 * (std::f64::consts::PI / (n + 1) as f64).cos();
    assert!(
        (eigenvalue[0] - exact).abs() < 1e-3,
        "{} is not {exact}",
        eigenvalue[0]
    );
    if world.rank() == 0 {
        println!("largest eigenvalue of {n} x {n}: {:.4}", eigenvalue[0]);
    }
    Ok(())
}

/// 2 on the diagonal, -1 beside it.
fn laplace(n: usize) -> Vec<f64> {
    let entry = |(row, column): (usize, usize)| match row.abs_diff(column) {
        0 => 2.0,
        1 => -1.0,
        _ => 0.0,
    };
    (0..n * n).map(|i| entry((i / n, i % n))).collect()
}
