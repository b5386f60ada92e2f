//! Neighbourhoods: grids whose ranks meet twice or meet themselves, and graphs with several edges
//! between two ranks.

use oxmpi_core::collective::{Collective, Neighbours, Parts};

use crate::SIZES;
use crate::area::{Area, NOTHING, Pair, values};
use crate::case::{Case, FORMS, join};

/// A line of all ranks, closed to a ring or not, and a second dimension of one closed rank.
fn grid(rank: u32, size: u32, ring: bool) -> Neighbours {
    let down = match rank {
        0 => ring.then(|| size - 1),
        _ => Some(rank - 1),
    };
    let up = Some(rank + 1).filter(|up| *up < size).or(ring.then_some(0));
    let both = vec![down, up, Some(rank), Some(rank)];
    Neighbours {
        sources: both.clone(),
        destinations: both,
        grid: true,
    }
}

oxmpi_harness::ranks! {
    fn exchange_in_a_grid(SIZES) {
        let (process, world) = join();
        let (rank, size) = (world.rank(), world.size());
        for ((form, receive_form), ring) in crate::product(FORMS, [false, true]) {
            let count = 3;
            let neighbours = grid(rank, size, ring);
            let mut send = Area::new(form, 4 * count);
            let mut receive = Area::new(receive_form, 4 * count);
            let collective = Collective::NeighbourAlltoall {
                send: Parts::Equal(send.buffer(0, 4 * count)),
                receive: Parts::Equal(receive.buffer(0, 4 * count)),
                neighbours: neighbours.clone(),
            };
            Case {
                name: format!("exchange {form:?} {receive_form:?} ring {ring}"),
                send,
                receive,
                fill: Box::new(move |round, send, _| send.set(0, &values(round, rank, 0, 4 * count))),
                expected: Box::new(move |round| {
                    let from = |(index, source): (usize, &Option<u32>)| -> Vec<Pair> {
                        // What came from below went up there, and the other way round.
                        match source {
                            Some(source) => values(round, *source, (index ^ 1) * count, count),
                            None => vec![NOTHING; count],
                        }
                    };
                    neighbours.sources.iter().enumerate().flat_map(from).collect()
                }),
                checked: 4 * count,
                collective,
            }
            .run(&world);
        }
        process.finalize();
    }

    fn exchange_along_edges(SIZES) {
        let (process, world) = join();
        let (rank, size) = (world.rank(), world.size());
        for (form, receive_form) in FORMS {
            // Three edges to the next rank, of one, two and three elements, and one to itself.
            let (next, previous) = ((rank + 1) % size, (rank + size - 1) % size);
            let neighbours = Neighbours {
                sources: vec![Some(previous), Some(rank), Some(previous), Some(previous)],
                destinations: vec![Some(next), Some(next), Some(next), Some(rank)],
                grid: false,
            };
            if size == 1 {
                // All edges are of one rank with itself; their order alone says which is which.
                continue;
            }
            let mut send = Area::new(form, 10);
            let mut receive = Area::new(receive_form, 10);
            let send_blocks = [(0, 1), (1, 2), (3, 3), (6, 4)];
            let receive_blocks = [(9, 1), (0, 4), (4, 2), (6, 3)];
            let buffers = |area: &mut Area, blocks: [(usize, usize); 4]| {
                Parts::Each(blocks.map(|(first, count)| area.buffer(first, count)).to_vec())
            };
            let collective = Collective::NeighbourAlltoall {
                send: buffers(&mut send, send_blocks),
                receive: buffers(&mut receive, receive_blocks),
                neighbours,
            };
            Case {
                name: format!("edges {form:?} {receive_form:?}"),
                send,
                receive,
                fill: Box::new(move |round, send, _| send.set(0, &values(round, rank, 0, 10))),
                expected: Box::new(move |round| {
                    let mut all = values(round, rank, 6, 4);
                    all.extend(values(round, previous, 1, 2));
                    all.extend(values(round, previous, 3, 3));
                    all.extend(values(round, previous, 0, 1));
                    all
                }),
                checked: 10,
                collective,
            }
            .run(&world);
        }
        process.finalize();
    }

    fn the_same_for_all_neighbours(SIZES) {
        let (process, world) = join();
        let (rank, size) = (world.rank(), world.size());
        for ((form, receive_form), ring) in crate::product(FORMS, [false, true]) {
            let count = 2;
            let neighbours = grid(rank, size, ring);
            let mut send = Area::new(form, count);
            let mut receive = Area::new(receive_form, 4 * count);
            let collective = Collective::NeighbourAllgather {
                send: send.buffer(0, count),
                receive: Parts::Equal(receive.buffer(0, 4 * count)),
                neighbours: neighbours.clone(),
            };
            Case {
                name: format!("neighbour allgather {form:?} {receive_form:?} ring {ring}"),
                send,
                receive,
                fill: Box::new(move |round, send, _| send.set(0, &values(round, rank, 0, count))),
                expected: Box::new(move |round| {
                    let from = |source: &Option<u32>| match source {
                        Some(source) => values(round, *source, 0, count),
                        None => vec![NOTHING; count],
                    };
                    neighbours.sources.iter().flat_map(from).collect()
                }),
                checked: 4 * count,
                collective,
            }
            .run(&world);
        }
        process.finalize();
    }
}
