//! Errors: what they say to people, what they tell programs, and that a rank can go on after one.

use oxmpi::ErrorKind;

fn main() -> oxmpi::Result<()> {
    let mpi = oxmpi::init()?;
    let world = mpi.world();
    let (rank, size) = (world.rank(), world.size());

    // The text names the call, the rank, the host, the values and what to try.
    let error = world.send(&[1.0], size + 3, 0).unwrap_err();
    println!("{error}");
    // The kind has the same facts for programs.
    assert_eq!(error.call(), "send");
    assert!(matches!(error.kind(), ErrorKind::Rank { rank, .. } if *rank == size + 3));

    // A tag out of bounds, a buffer of the wrong length: found before anything is sent.
    let error = world.send(&[1.0], rank, -5).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Tag { tag: -5 }));
    let error = world.allgather(&[1.0], &mut [0.0; 0]).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Length { got: 0, .. }));

    // A message that does not fit is received and reported; the next one is not disturbed.
    let (right, left) = ((rank + 1) % size, (rank + size - 1) % size);
    let (long, short) = ([rank; 10], [rank; 2]);
    let mut room = [0; 2];
    let error = world
        .send_recv(&long, right, 0, &mut room, left, 0)
        .unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Engine(_)), "{error}");
    world.send_recv(&short, right, 1, &mut room, left, 1)?;
    assert_eq!(room, [left; 2]);

    world.barrier()?;
    if rank == 0 {
        println!("every error was noticed, and all {size} ranks went on");
    }
    Ok(())
}
