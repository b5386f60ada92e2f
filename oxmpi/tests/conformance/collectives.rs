//! Every collective against a naive reference, at sizes 1 to 8 and at lengths that reach each
//! algorithm.
//!
//! Every rank can compute every rank's input, so every rank checks its result alone.

use oxmpi::op::{self, Max, Min, Sum};
use oxmpi::{Communicator, Plain};

/// Lengths in elements of eight bytes.
const LENGTHS: [usize; 8] = [0, 1, 3, 8, 100, 1025, 9000, 70_000];

const SIZES: [u32; 8] = [1, 2, 3, 4, 5, 6, 7, 8];

/// On boards where they are small enough, and by messages alone.
const BOTH: [oxmpi_harness::Setting; 2] = [&[], &[("OXMPI_BOARDS", "off")]];

/// What a rank contributes at a place.
fn input(rank: u32, length: usize) -> Vec<u64> {
    (0..length)
        .map(|i| (u64::from(rank) + 1) * 1_000_003 + (i as u64) * 7)
        .collect()
}

/// Maps x -> a * x + b modulo 2^64: associative, not commutative.
#[derive(Clone, Copy, Debug, PartialEq, Plain)]
#[repr(C)]
struct Affine {
    a: u32,
    b: u32,
}

fn compose(f: &Affine, g: &Affine) -> Affine {
    Affine {
        a: f.a.wrapping_mul(g.a),
        b: f.a.wrapping_mul(g.b).wrapping_add(f.b),
    }
}

fn affine(rank: u32, length: usize) -> Vec<Affine> {
    let one = |i| Affine {
        a: 2 * (rank * 31 + i as u32) + 1,
        b: rank + 3 * i as u32,
    };
    (0..length).map(one).collect()
}

/// The combination of some ranks' inputs, in order.
fn combined<T: Plain>(
    ranks: impl Iterator<Item = u32>,
    input: impl Fn(u32) -> Vec<T>,
    combine: impl Fn(&T, &T) -> T,
) -> Vec<T> {
    ranks
        .map(input)
        .reduce(|left, right| {
            left.iter()
                .zip(&right)
                .map(|(l, r)| combine(l, r))
                .collect()
        })
        .unwrap_or_default()
}

fn everybody(world: &Communicator<'_>) -> std::ops::Range<u32> {
    0..world.size()
}

oxmpi_harness::ranks! {
    fn barrier_holds_everybody_back(SIZES, BOTH) {
        let mpi = oxmpi::init().unwrap();
        let world = mpi.world();
        for round in 0..20 {
            let late = round % world.size();
            let start = std::time::Instant::now();
            world.barrier().unwrap();
            if round < 4 {
                let pause = std::time::Duration::from_millis(20);
                if world.rank() == late {
                    std::thread::sleep(pause);
                }
                world.barrier().unwrap();
                assert!(start.elapsed() >= pause);
            }
        }
    }

    fn bcast_from_every_root(SIZES, BOTH) {
        let mpi = oxmpi::init().unwrap();
        let world = mpi.world();
        for length in LENGTHS {
            for root in everybody(&world) {
                let mut data = if world.rank() == root { input(root, length) } else { vec![0; length] };
                world.bcast(&mut data, root).unwrap();
                assert!(data == input(root, length), "{length} from {root}");
            }
        }
    }

    fn reduce_to_every_root(SIZES, BOTH) {
        let mpi = oxmpi::init().unwrap();
        let world = mpi.world();
        let ordered = op::user(false, compose);
        for length in LENGTHS {
            for root in everybody(&world) {
                let at_root = world.rank() == root;
                let mut result = vec![0; length];
                world.reduce(&input(world.rank(), length), at_root.then_some(&mut result[..]), Sum, root).unwrap();
                let expected = combined(everybody(&world), |r| input(r, length), |a, b| a + b);
                assert!(!at_root || result == expected, "sum of {length} at {root}");

                let mut result = vec![Affine { a: 0, b: 0 }; length];
                world
                    .reduce(&affine(world.rank(), length), at_root.then_some(&mut result[..]), ordered, root)
                    .unwrap();
                let expected = combined(everybody(&world), |r| affine(r, length), compose);
                assert!(!at_root || result == expected, "composition of {length} at {root}");
            }
        }
    }

    fn allreduce_in_every_form(SIZES, BOTH) {
        let mpi = oxmpi::init().unwrap();
        let world = mpi.world();
        for length in LENGTHS {
            let own = input(world.rank(), length);
            let mut result = vec![0; length];
            world.allreduce(&own, &mut result, Sum).unwrap();
            let expected = combined(everybody(&world), |r| input(r, length), |a, b| a + b);
            assert!(result == expected, "sum of {length}");
            let mut in_place = own.clone();
            world.allreduce_in_place(&mut in_place, Sum).unwrap();
            assert!(in_place == expected, "sum of {length} in place");
            world.allreduce(&own, &mut result, Max).unwrap();
            assert!(result == input(world.size() - 1, length), "maximum of {length}");
            world.allreduce(&own, &mut result, Min).unwrap();
            assert!(result == input(0, length), "minimum of {length}");

            let expected = combined(everybody(&world), |r| affine(r, length), compose);
            let mut result = affine(world.rank(), length);
            world.allreduce_in_place(&mut result, op::user(false, compose)).unwrap();
            assert!(result == expected, "composition of {length} in place");
            let own = affine(world.rank(), length);
            let mut result = own.clone();
            world.allreduce(&own, &mut result, op::user(false, compose)).unwrap();
            assert!(result == expected, "composition of {length}");
        }
    }

    fn floating_point_sums_are_the_same_everywhere(SIZES, BOTH) {
        let mpi = oxmpi::init().unwrap();
        let world = mpi.world();
        for length in [1, 100, 50_000] {
            let own: Vec<f64> = (0..length).map(|i| 0.1 * f64::from(world.rank() + 1) + f64::from(i)).collect();
            let mut sum = vec![0.0; own.len()];
            world.allreduce(&own, &mut sum, Sum).unwrap();
            let mut first = sum.clone();
            world.bcast(&mut first, 0).unwrap();
            let same = |(a, b): (&f64, &f64)| a.to_bits() == b.to_bits();
            assert!(sum.iter().zip(&first).all(same), "ranks disagree on a sum of {length}");
        }
    }

    fn scans_stop_at_the_own_rank(SIZES, BOTH) {
        let mpi = oxmpi::init().unwrap();
        let world = mpi.world();
        let rank = world.rank();
        for length in LENGTHS {
            let own = input(rank, length);
            let mut result = vec![77; length];
            world.scan(&own, &mut result, Sum).unwrap();
            assert!(result == combined(0..rank + 1, |r| input(r, length), |a, b| a + b));
            let mut result = vec![77; length];
            world.exscan(&own, &mut result, Sum).unwrap();
            let expected = match rank {
                0 => vec![77; length],
                _ => combined(0..rank, |r| input(r, length), |a, b| a + b),
            };
            assert!(result == expected, "exscan of {length}");

            let own = affine(rank, length);
            let mut result = own.clone();
            world.scan(&own, &mut result, op::user(false, compose)).unwrap();
            assert!(result == combined(0..rank + 1, |r| affine(r, length), compose));
            let mut result = own.clone();
            world.exscan(&own, &mut result, op::user(false, compose)).unwrap();
            let expected = match rank {
                0 => own,
                _ => combined(0..rank, |r| affine(r, length), compose),
            };
            assert!(result == expected, "exscan by composition of {length}");
        }
    }

    fn gather_and_scatter_at_every_root(SIZES, BOTH) {
        let mpi = oxmpi::init().unwrap();
        let world = mpi.world();
        for length in [0, 1, 5, 300, 20_000] {
            let all: Vec<u64> = everybody(&world).flat_map(|r| input(r, length)).collect();
            for root in everybody(&world) {
                let at_root = world.rank() == root;
                let mut gathered = vec![0; all.len()];
                world.gather(&input(world.rank(), length), at_root.then_some(&mut gathered[..]), root).unwrap();
                assert!(!at_root || gathered == all, "gather of {length} at {root}");
                let mut mine = vec![0; length];
                world.scatter(at_root.then_some(&all[..]), &mut mine, root).unwrap();
                assert!(mine == input(world.rank(), length), "scatter of {length} from {root}");
            }
        }
    }

    fn gatherv_and_scatterv_with_gaps(SIZES, BOTH) {
        let mpi = oxmpi::init().unwrap();
        let world = mpi.world();
        let size = world.size() as usize;
        for unit in [0, 1, 700] {
            // Rank r has r units, in reverse order and with a gap of one element between blocks.
            let counts: Vec<usize> = (0..size).map(|r| r * unit).collect();
            let displacements: Vec<usize> = (0..size).map(|r| counts[r + 1..].iter().sum::<usize>() + size - 1 - r).collect();
            let length = counts.iter().sum::<usize>() + size;
            let mut all = vec![1; length];
            for r in 0..size {
                all[displacements[r]..][..counts[r]].copy_from_slice(&input(r as u32, counts[r]));
            }
            let own = input(world.rank(), counts[world.rank() as usize]);
            for root in everybody(&world) {
                let at_root = world.rank() == root;
                let mut gathered = vec![1; length];
                let parts = at_root.then_some((&mut gathered[..], &counts[..], &displacements[..]));
                world.gatherv(&own, parts, root).unwrap();
                assert!(!at_root || gathered == all, "gatherv of {unit} at {root}");
                let mut mine = vec![0; own.len()];
                let parts = at_root.then_some((&all[..], &counts[..], &displacements[..]));
                world.scatterv(parts, &mut mine, root).unwrap();
                assert!(mine == own, "scatterv of {unit} from {root}");
            }
            let mut gathered = vec![1; length];
            world.allgatherv(&own, &mut gathered, &counts, &displacements).unwrap();
            assert!(gathered == all, "allgatherv of {unit}");
        }
    }

    fn allgather_collects_in_rank_order(SIZES, BOTH) {
        let mpi = oxmpi::init().unwrap();
        let world = mpi.world();
        for length in [0, 1, 2, 50, 1000, 30_000] {
            let mut all = vec![0; length * world.size() as usize];
            world.allgather(&input(world.rank(), length), &mut all).unwrap();
            let expected: Vec<u64> = everybody(&world).flat_map(|r| input(r, length)).collect();
            assert!(all == expected, "{length}");
        }
    }

    fn alltoall_transposes(SIZES, BOTH) {
        let mpi = oxmpi::init().unwrap();
        let world = mpi.world();
        let block = |from: u32, to: u32, length: usize| input(from * 100 + to, length);
        for length in [0, 1, 3, 8, 100, 5000] {
            let outgoing: Vec<u64> = everybody(&world).flat_map(|to| block(world.rank(), to, length)).collect();
            let mut incoming = vec![0; outgoing.len()];
            world.alltoall(&outgoing, &mut incoming).unwrap();
            let expected: Vec<u64> = everybody(&world).flat_map(|from| block(from, world.rank(), length)).collect();
            assert!(incoming == expected, "{length}");
        }
    }

    fn alltoallv_transposes_unequal_blocks(SIZES, BOTH) {
        let mpi = oxmpi::init().unwrap();
        let world = mpi.world();
        let (rank, size) = (world.rank() as usize, world.size() as usize);
        for unit in [1, 40, 3000] {
            let count = |from: usize, to: usize| (from * 3 + to) % 4 * unit;
            let send_counts: Vec<usize> = (0..size).map(|to| count(rank, to)).collect();
            let receive_counts: Vec<usize> = (0..size).map(|from| count(from, rank)).collect();
            let starts = |counts: &[usize]| (0..counts.len()).map(|i| counts[..i].iter().sum()).collect::<Vec<usize>>();
            let outgoing: Vec<u64> = (0..size).flat_map(|to| input((rank * 10 + to) as u32, count(rank, to))).collect();
            let expected: Vec<u64> = (0..size).flat_map(|from| input((from * 10 + rank) as u32, count(from, rank))).collect();
            let mut incoming = vec![0; expected.len()];
            world
                .alltoallv(
                    &outgoing,
                    &send_counts,
                    &starts(&send_counts),
                    &mut incoming,
                    &receive_counts,
                    &starts(&receive_counts),
                )
                .unwrap();
            assert!(incoming == expected, "{unit}");
        }
    }

    fn reduce_scatter_hands_out_the_result(SIZES, BOTH) {
        let mpi = oxmpi::init().unwrap();
        let world = mpi.world();
        let (rank, size) = (world.rank() as usize, world.size() as usize);
        for unit in [0, 1, 60, 4000] {
            let length = unit * size;
            let sum = combined(everybody(&world), |r| input(r, length), |a, b| a + b);
            let mut block = vec![0; unit];
            world.reduce_scatter_block(&input(world.rank(), length), &mut block, Sum).unwrap();
            assert!(block == sum[rank * unit..][..unit], "equal blocks of {unit}");

            let composed = combined(everybody(&world), |r| affine(r, length), compose);
            let mut block = vec![Affine { a: 0, b: 0 }; unit];
            world.reduce_scatter_block(&affine(world.rank(), length), &mut block, op::user(false, compose)).unwrap();
            assert!(block == composed[rank * unit..][..unit], "equal blocks of {unit} by composition");

            // The last rank gets everything but one element each for the others.
            let others = usize::from(unit > 0);
            let mut counts = vec![others; size];
            counts[size - 1] = length - others * (size - 1);
            let mut block = vec![0; counts[rank]];
            world.reduce_scatter(&input(world.rank(), length), &mut block, &counts, Sum).unwrap();
            assert!(block == sum[rank * others..][..counts[rank]], "unequal blocks of {unit}");
        }
    }

    fn collectives_follow_each_other_without_mixing([3, 4], BOTH) {
        let mpi = oxmpi::init().unwrap();
        let world = mpi.world();
        let size = u64::from(world.size());
        for round in 0..2000u64 {
            let mut value = [if u64::from(world.rank()) == round % size { round } else { 0 }];
            world.bcast(&mut value, (round % size) as u32).unwrap();
            assert_eq!(value, [round]);
            let mut sum = [round];
            world.allreduce_in_place(&mut sum, Sum).unwrap();
            assert_eq!(sum, [round * size]);
        }
    }

    fn point_to_point_wildcards_never_see_collectives([2, 4]) {
        let mpi = oxmpi::init().unwrap();
        let world = mpi.world();
        let mut data = [0u64; 1000];
        oxmpi::scope(|s| {
            let wild = world.irecv(s, &mut data, oxmpi::ANY_SOURCE, oxmpi::ANY_TAG)?;
            for _ in 0..50 {
                world.barrier()?;
                world.allreduce_in_place(&mut [1u64; 1000], Sum)?;
            }
            let right = (world.rank() + 1) % world.size();
            world.send(&[3u64], right, 9)?;
            assert_eq!(wild.wait()?.bytes, 8);
            Ok(())
        })
        .unwrap();
    }

    fn odd_sized_and_unaligned_elements([2, 5], BOTH) {
        // Elements of three bytes never suit the alignment of anything.
        let mpi = oxmpi::init().unwrap();
        let world = mpi.world();
        let own = vec![[world.rank() as u8, 1, 2]; 777];
        let mut sum = own.clone();
        world.allreduce(&own, &mut sum, Sum).unwrap();
        let size = world.size() as u8;
        let ranks = (0..size).sum::<u8>();
        assert!(sum.iter().all(|x| *x == [ranks, size, 2 * size]));
    }
}
