//! Windows of a type: elements with gaps on both sides, and memory that is attached and detached.

use oxmpi::op::Sum;
use oxmpi::view::Shape;
use oxmpi::window::Attached;

use super::windows::{BOTH_WAYS, block_on, said};

const ROWS: usize = 30;
const COLUMNS: usize = 40;

/// The column `at` of a matrix.
fn column(matrix: &[u64], at: usize) -> Vec<u64> {
    matrix.iter().skip(at).step_by(COLUMNS).copied().collect()
}

oxmpi_harness::ranks! {
    fn elements_with_gaps_are_put_and_got([2, 3], BOTH_WAYS) {
        let mpi = oxmpi::init().unwrap();
        let world = mpi.world();
        let (me, size) = (world.rank(), world.size());
        let window = world.window::<u64>(ROWS * COLUMNS).unwrap();
        let right = (me + 1) % size;
        let left = (me + size - 1) % size;
        let shape = Shape::strided(ROWS, 1, COLUMNS).unwrap();
        let matrix: Vec<u64> = (0..(ROWS * COLUMNS) as u64).map(|at| at + 10_000 * u64::from(me)).collect();

        // A column of mine becomes another column of the next rank.
        let mine = shape.of(&matrix[3..]).unwrap();
        window.fence(|epoch| epoch.put(&mine, right, shape.at(7))).unwrap();
        let mut got = vec![0; ROWS * COLUMNS];
        window.fence(|epoch| epoch.get(&mut got, me, 0)).unwrap();
        let expected: Vec<u64> = column(&matrix, 3)
            .iter()
            .map(|value| value + 10_000 * u64::from(left) - 10_000 * u64::from(me))
            .collect();
        assert_eq!(column(&got, 7), expected);
        assert_eq!(got.iter().filter(|value| **value != 0).count(), ROWS - usize::from(left == 0 && expected[0] == 0));

        // Into a block of a matrix of my own, out of a column there; with a request and without.
        let block = Shape::subarray(&[ROWS, COLUMNS], &[2..7, 4..10]).unwrap();
        let mut field = vec![1; ROWS * COLUMNS];
        {
            let mut into = block.of_mut(&mut field).unwrap();
            window
                .lock_all(|epoch| block_on(epoch.rget(&mut into, right, shape.at(7))?))
                .unwrap();
        }
        let there: Vec<u64> = column(&matrix, 3);
        for (at, value) in field.iter().enumerate() {
            let (row, place) = (at / COLUMNS, at % COLUMNS);
            let inside = (2..7).contains(&row) && (4..10).contains(&place);
            let wanted = if inside { there[(row - 2) * 6 + place - 4] } else { 1 };
            assert_eq!(*value, wanted, "{row} {place}");
        }

        // Everybody adds a block of its own to a column of rank 0, atomically.
        world.barrier().unwrap();
        let ones = vec![1_u64; ROWS * COLUMNS];
        let mut before = vec![0_u64; ROWS];
        let lock = window.lock_shared(0).unwrap();
        lock.accumulate(&block.of(&ones).unwrap(), shape.at(20), Sum).unwrap();
        lock.get_accumulate(&block.of(&ones).unwrap(), &mut before, shape.at(21), Sum).unwrap();
        lock.unlock().unwrap();
        assert!(before.iter().all(|value| *value < u64::from(size)));
        world.barrier().unwrap();
        let lock = window.lock_shared(0).unwrap();
        let mut sums = [0; ROWS];
        for place in [20, 21] {
            lock.get(&mut sums, shape.at(place)).unwrap();
            assert_eq!(sums, [u64::from(size); ROWS]);
        }
        // Both sides must have the same number of elements, and lie inside.
        let short = said(lock.put(&[1, 2], shape.at(0)));
        assert!(short.contains("16 bytes and the target 240"), "{short}");
        let outside = said(lock.put(&sums, shape.at(COLUMNS)));
        assert!(outside.contains("of its window, which has 9600 bytes"), "{outside}");
        lock.unlock().unwrap();
        window.free().unwrap();
    }

    fn memory_is_attached_and_detached([2, 3], BOTH_WAYS) {
        let mpi = oxmpi::init().unwrap();
        let world = mpi.world();
        let (me, size) = (world.rank(), world.size());
        let window = world.dynamic_window::<u32>().unwrap();
        let first = window.attach((0..100).collect()).unwrap();
        let second = window.attach(vec![me; 50_000]).unwrap();
        assert_eq!((first.len(), second.len(), second.is_empty()), (100, 50_000, false));
        let mut places = vec![Attached::default(); 2 * size as usize];
        world.allgather(&[first, second], &mut places).unwrap();
        let right = (me + 1) % size;
        let [theirs, long] = [places[2 * right as usize], places[2 * right as usize + 1]];

        // Every kind of epoch.
        let mut got = vec![0; 50_000];
        let pair = [7, me];
        window.fence(|epoch| epoch.put(&pair, right, theirs.at(10))).unwrap();
        window.fence(|epoch| epoch.get(&mut got, right, long.at(0))).unwrap();
        assert!(got.iter().all(|value| *value == right));
        let lock = window.lock_shared(right).unwrap();
        assert_eq!(lock.fetch_add(1, theirs.at(99)).unwrap(), 99);
        assert_eq!(lock.compare_and_swap(98, 5, theirs.at(98)).unwrap(), 98);
        let beyond = lock.put(&[1], theirs.at(100)).and_then(|()| lock.flush());
        assert!(said(beyond).contains("attached"));
        lock.unlock().unwrap();
        world.barrier().unwrap();

        // The memory itself, under this rank's own lock, which keeps it attached.
        let mut own = window.lock(me).unwrap();
        let memory = own.attached_mut(first).unwrap();
        let left = (me + size - 1) % size;
        assert_eq!((memory[9], memory[10], memory[11], memory[98], memory[99]), (9, 7, left, 5, 100));
        memory[0] = 77;
        assert!(said(window.detach(first)).contains("holds its own lock alone"));
        assert!(said(own.as_mut_slice()).contains("MPI_Win_create_dynamic"));
        own.unlock().unwrap();
        let mut other = window.lock(right).unwrap();
        assert!(said(other.attached_mut(first)).contains("do not share memory"));
        other.unlock().unwrap();

        // What was detached is no longer there, and the rest is.
        world.barrier().unwrap();
        let memory = window.detach(first).unwrap();
        assert_eq!((memory.len(), memory[0], memory[10]), (100, 77, 7));
        assert!(said(window.detach(first)).contains("no memory was attached at"));
        world.barrier().unwrap();
        let lock = window.lock_shared(right).unwrap();
        let put = lock.put(&[1], theirs.at(0)).and_then(|()| lock.flush());
        assert!(said(put).contains("attached"));
        lock.store(8, long.at(49_999)).unwrap();
        lock.unlock().unwrap();
        world.barrier().unwrap();
        assert_eq!(window.detach(second).unwrap()[49_999], 8);
        window.free().unwrap();

        // Attaching is for dynamic windows.
        let fixed = world.window::<u32>(1).unwrap();
        assert!(said(fixed.attach(vec![1])).contains("needs a window made by MPI_Win_create_dynamic"));
        assert_eq!(fixed.into_memory().unwrap(), []);
    }
}
