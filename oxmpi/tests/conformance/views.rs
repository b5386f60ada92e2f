//! Views with gaps in messages and collectives.

use oxmpi::collective;
use oxmpi::op::Sum;
use oxmpi::view::Shape;

const ROWS: usize = 30;
const COLUMNS: usize = 20;

fn matrix(rank: u32) -> Vec<u32> {
    (0..(ROWS * COLUMNS) as u32)
        .map(|i| i + 10_000 * rank)
        .collect()
}

oxmpi_harness::ranks! {
    fn columns_travel_without_packing([1, 2, 3]) {
        let mpi = oxmpi::init().unwrap();
        let world = mpi.world();
        let (rank, size) = (world.rank(), world.size());
        let (right, left) = ((rank + 1) % size, (rank + size - 1) % size);
        let column = Shape::strided(ROWS, 1, COLUMNS).unwrap();
        let mine = matrix(rank);
        let last = column.of(&mine[COLUMNS - 1..]).unwrap();
        let theirs = matrix(left);

        let mut whole = matrix(rank);
        let mut first = column.of_mut(&mut whole).unwrap();
        let status = world.send_recv(&last, right, 0, &mut first, left, 0).unwrap();
        assert_eq!(status.count::<u32>(), Some(ROWS));
        let check = |whole: &[u32], at: usize| {
            for (row, values) in whole.chunks(COLUMNS).enumerate() {
                for (place, &value) in values.iter().enumerate() {
                    let expected = match place == at {
                        true => theirs[row * COLUMNS + COLUMNS - 1],
                        false => mine[row * COLUMNS + place],
                    };
                    assert_eq!(value, expected, "row {row}, place {place}");
                }
            }
        };
        check(&whole, 0);

        // Begun in a scope, into a slice and from one.
        let mut flat = vec![0; ROWS];
        let mut whole = matrix(rank);
        let mut fifth = column.of_mut(&mut whole[5..]).unwrap();
        oxmpi::scope(|s| {
            let requests = [
                world.irecv(s, &mut fifth, left, 1)?,
                world.irecv(s, &mut flat, left, 2)?,
                world.isend(s, &last, right, 1)?,
                world.isend(s, &last, right, 2)?,
            ];
            let statuses = oxmpi::wait_all(requests)?;
            assert_eq!((statuses[0].source, statuses[0].count::<u32>()), (left, Some(ROWS)));
            Ok(())
        })
        .unwrap();
        check(&whole, 5);
        let expected: Vec<u32> = theirs.iter().copied().skip(COLUMNS - 1).step_by(COLUMNS).collect();
        assert_eq!(flat, expected);

        // A probed message, too.
        oxmpi::scope(|s| {
            let request = world.isend(s, &flat, right, 3)?;
            let mut whole = matrix(rank);
            let message = world.matched_probe(left, 3)?;
            message.recv(&mut column.of_mut(&mut whole)?)?;
            request.wait()
        })
        .unwrap();
    }

    fn parts_of_arrays_take_part_in_collectives([1, 2, 4]) {
        let mpi = oxmpi::init().unwrap();
        let world = mpi.world();
        let (rank, size) = (world.rank(), world.size());
        let inner = Shape::subarray(&[ROWS, COLUMNS], &[1..ROWS - 1, 2..5]).unwrap();
        let mine = matrix(rank);
        let mut sums = vec![7; ROWS * COLUMNS];
        let (from, mut to) = (inner.of(&mine).unwrap(), inner.of_mut(&mut sums).unwrap());
        world.allreduce(&from, &mut to, Sum).unwrap();
        let check = |sums: &[u32]| {
            for row in 0..ROWS {
                for place in 0..COLUMNS {
                    let at = row * COLUMNS + place;
                    let is_inner = (1..ROWS - 1).contains(&row) && (2..5).contains(&place);
                    let sum: u32 = (0..size).map(|rank| at as u32 + 10_000 * rank).sum();
                    assert_eq!(sums[at], if is_inner { sum } else { 7 });
                }
            }
        };
        check(&sums);
        let mut sums = vec![7; ROWS * COLUMNS];
        let mut to = inner.of_mut(&mut sums).unwrap();
        oxmpi::scope(|s| world.begin(s, collective::allreduce(&from, &mut to, Sum))?.wait()).unwrap();
        check(&sums);
    }
}
