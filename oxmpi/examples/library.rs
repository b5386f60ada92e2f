//! A library that needs nothing from its program: it opens a session of its own, and keeps what it
//! has worked out with its communicator.

use oxmpi::attribute::Key;
use oxmpi::op::Sum;
use oxmpi::thread::Multiple;
use oxmpi::{Communicator, Result, Session};

/// What the library works out once for each communicator.
struct Weights(Vec<f64>);

static WEIGHTS: Key<Weights> = Key::new();

/// The mean of a value that every rank has, the later ranks weighing more.
fn mean(communicator: &Communicator<'_, Multiple>, value: f64) -> Result<f64> {
    let weights = communicator.attribute_or_insert_with(&WEIGHTS, || {
        let size = communicator.size();
        let total = f64::from(size * (size + 1) / 2);
        Weights((1..=size).map(|rank| f64::from(rank) / total).collect())
    });
    let own = value * weights.0[communicator.rank() as usize];
    communicator.allreduce_one(own, Sum)
}

fn main() -> Result<()> {
    let session = Session::open()?;
    let everybody = session.group("mpi://WORLD")?;
    // All who make it say the same name.
    let communicator = session.communicator(&everybody, "a library")?;
    for round in 0..3 {
        let found = mean(&communicator, f64::from(round))?;
        assert!((found - f64::from(round)).abs() < 1e-9);
    }
    Ok(())
}
