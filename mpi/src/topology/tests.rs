//! Grids and graphs by the examples and rules of MPI 5.0 §8.5, and against their definitions
//! written plainly.

use super::*;
use proptest::prelude::*;

/// MPI 5.0 §8.3 numbers a 2 x 2 grid (0,0) (0,1) (1,0) (1,1).
#[test]
fn ranks_are_row_major() {
    let grid = Cartesian::new(&[2, 2], &[false, true]).unwrap();
    let coords: Vec<Vec<i32>> = (0..4).map(|rank| grid.coords(rank).unwrap()).collect();
    assert_eq!(coords, [[0, 0], [0, 1], [1, 0], [1, 1]]);
    assert_eq!(
        (grid.size(), grid.dims(), grid.periods()),
        (4, vec![2, 2], vec![false, true])
    );
}

#[test]
fn only_periodic_dimensions_wrap() {
    let grid = Cartesian::new(&[3, 4], &[true, false]).unwrap();
    assert_eq!(grid.rank_of(&[-1, 3]).unwrap(), 11);
    assert_eq!(grid.rank_of(&[3, 0]).unwrap(), 0);
    assert_eq!(
        grid.rank_of(&[i32::MIN, 0]).unwrap(),
        (i64::from(i32::MIN).rem_euclid(3) * 4) as u32
    );
    let error = grid.rank_of(&[0, 4]).unwrap_err();
    assert_eq!(
        error,
        TopologyError::CoordinateOutOfRange {
            dimension: 1,
            coordinate: 4,
            size: 4
        }
    );
    assert_eq!(
        error.to_string(),
        "coords[1] is 4, but that dimension has 4 places and is not periodic"
    );
    assert!(matches!(
        grid.rank_of(&[0]),
        Err(TopologyError::Lengths { .. })
    ));
    assert!(matches!(
        grid.coords(12),
        Err(TopologyError::RankOutOfRange { rank: 12, size: 12 })
    ));
}

#[test]
fn a_shift_stops_at_the_edge_or_wraps() {
    let grid = Cartesian::new(&[3, 4], &[true, false]).unwrap();
    let rank = grid.rank_of(&[0, 3]).unwrap();
    let at = |row, column| Some(grid.rank_of(&[row, column]).unwrap());
    assert_eq!(grid.shift(rank, 0, 1).unwrap(), (at(2, 3), at(1, 3)));
    assert_eq!(grid.shift(rank, 1, 1).unwrap(), (at(0, 2), None));
    assert_eq!(grid.shift(rank, 1, -1).unwrap(), (None, at(0, 2)));
    assert_eq!(grid.shift(rank, 1, 4).unwrap(), (None, None));
    assert_eq!(grid.shift(rank, 0, 0).unwrap(), (Some(rank), Some(rank)));
    assert_eq!(
        grid.shift(rank, 0, i32::MIN).unwrap(),
        (at(2, 3), at(1, 3)),
        "-2^31 is 1 modulo 3"
    );
    for direction in [-1, 2] {
        let error = TopologyError::NoSuchDirection {
            direction,
            dimensions: 2,
        };
        assert_eq!(grid.shift(0, direction, 1).unwrap_err(), error);
    }
}

/// MPI 5.0 §8.6: first dimension first, in each the negative direction before the positive.
#[test]
fn neighbours_stand_before_and_after_in_each_dimension() {
    let grid = Cartesian::new(&[3, 3], &[false, true]).unwrap();
    assert_eq!(
        grid.neighbours(0).unwrap(),
        [None, Some(3), Some(2), Some(1)]
    );
    assert_eq!(
        grid.neighbours(4).unwrap(),
        [Some(1), Some(7), Some(3), Some(5)]
    );
    let ring = Cartesian::new(&[1], &[true]).unwrap();
    assert_eq!(ring.neighbours(0).unwrap(), [Some(0), Some(0)]);
    let pair = Cartesian::new(&[2], &[true]).unwrap();
    assert_eq!(pair.neighbours(0).unwrap(), [Some(1), Some(1)]);
    assert!(grid.neighbours(9).is_err());
}

/// The example of MPI_CART_SUB: 2 x 3 x 4 with remain_dims (true, false, true) makes three grids of
/// 2 x 4.
#[test]
fn a_grid_is_cut_into_grids() {
    let grid = Cartesian::new(&[2, 3, 4], &[true, false, false]).unwrap();
    let parts: Vec<Part> = (0..24)
        .map(|rank| grid.sub(rank, &[true, false, true]).unwrap())
        .collect();
    for colour in 0..3 {
        let mut keys: Vec<u32> = parts
            .iter()
            .filter(|part| part.colour == colour)
            .map(|part| part.key)
            .collect();
        keys.sort_unstable();
        assert_eq!(keys, (0..8).collect::<Vec<u32>>());
    }
    assert_eq!(
        parts[0].grid,
        Cartesian::new(&[2, 4], &[true, false]).unwrap()
    );
    let lines: Vec<Part> = (0..24)
        .map(|rank| grid.sub(rank, &[false, false, true]).unwrap())
        .collect();
    assert_eq!(
        lines.iter().map(|part| part.colour).max(),
        Some(5),
        "the second call makes six lines of four"
    );

    let alone = grid.sub(17, &[false; 3]).unwrap();
    assert_eq!(
        (
            alone.colour,
            alone.key,
            alone.grid.dimensions(),
            alone.grid.size()
        ),
        (17, 0, 0, 1)
    );
    assert!(grid.sub(0, &[true]).is_err());
}

#[test]
fn a_grid_of_no_dimensions_is_a_point() {
    let point = Cartesian::new(&[], &[]).unwrap();
    assert_eq!((point.size(), point.dimensions()), (1, 0));
    assert_eq!(point.rank_of(&[]).unwrap(), 0);
    assert!(point.coords(0).unwrap().is_empty() && point.neighbours(0).unwrap().is_empty());
    assert_eq!((point.map(0), point.map(1)), (Some(0), None));
    assert!(point.shift(0, 0, 1).is_err());
}

#[test]
fn wrong_grids_are_refused() {
    assert_eq!(
        Cartesian::new(&[2, 0], &[false; 2]).unwrap_err(),
        TopologyError::DimensionNotPositive {
            dimension: 1,
            value: 0
        }
    );
    assert!(matches!(
        Cartesian::new(&[2, 2], &[false]),
        Err(TopologyError::Lengths { .. })
    ));
    assert!(matches!(
        Cartesian::new(&[i32::MAX; 9], &[true; 9]),
        Err(TopologyError::TooManyPlaces { .. })
    ));
    let grid = Cartesian::new(&[2, 3], &[false; 2]).unwrap();
    grid.check_fits(6).unwrap();
    assert_eq!(
        grid.check_fits(5).unwrap_err(),
        TopologyError::TooManyPlaces {
            places: 6,
            processes: 5
        }
    );
}

/// The example of MPI_GRAPH_CREATE: 0: 1, 3; 1: 0; 2: 3; 3: 0, 2.
#[test]
fn the_standards_graph() {
    let graph = Graph::new(&[2, 3, 4, 6], &[1, 3, 0, 3, 0, 2]).unwrap();
    let neighbours: Vec<&[u32]> = (0..4).map(|rank| graph.neighbours(rank).unwrap()).collect();
    assert_eq!(neighbours, [&[1, 3][..], &[0], &[3], &[0, 2]]);
    assert_eq!(
        (graph.size(), graph.index(), graph.edges().len()),
        (4, &[2, 3, 4, 6][..], 6)
    );
    assert_eq!((graph.map(3), graph.map(4)), (Some(3), None));
    assert!(graph.neighbours(4).is_err());
    graph.check_fits(4).unwrap();
    assert!(graph.check_fits(3).is_err());
}

#[test]
fn graphs_may_have_loops_double_edges_and_lonely_nodes() {
    let graph = Graph::new(&[3, 3], &[0, 1, 1]).unwrap();
    assert_eq!(graph.neighbours(0).unwrap(), [0, 1, 1]);
    assert!(graph.neighbours(1).unwrap().is_empty());
    assert_eq!(Graph::new(&[], &[]).unwrap().size(), 0);
}

#[test]
fn wrong_graphs_are_refused() {
    let error = Graph::new(&[2, 1], &[0, 1]).unwrap_err();
    assert_eq!(
        error,
        TopologyError::IndexDecreases {
            node: 1,
            value: 1,
            before: 2
        }
    );
    assert_eq!(
        Graph::edge_count_of(&[-1]).unwrap_err(),
        TopologyError::IndexDecreases {
            node: 0,
            value: -1,
            before: 0
        }
    );
    assert_eq!(Graph::edge_count_of(&[1, 4]).unwrap(), 4);
    assert_eq!(
        Graph::new(&[1, 2], &[1, 2]).unwrap_err(),
        TopologyError::EdgeOutOfRange {
            edge: 1,
            rank: 2,
            nodes: 2
        }
    );
    assert!(matches!(
        Graph::new(&[1], &[-1]),
        Err(TopologyError::EdgeOutOfRange { rank: -1, .. })
    ));
    assert!(matches!(
        Graph::new(&[1], &[0, 0]),
        Err(TopologyError::Lengths {
            first_len: 2,
            second_len: 1,
            ..
        })
    ));
}

#[test]
fn adjacent_graphs_keep_what_they_are_given() {
    let graph = DistributedGraph::new(4, &[3, 0, 3], Some(&[1, 2, 3]), &[1], Some(&[9])).unwrap();
    assert_eq!(
        (graph.sources(), graph.destinations()),
        (&[3, 0, 3][..], &[1][..])
    );
    assert_eq!(
        (graph.source_weights(), graph.destination_weights()),
        (Some(&[1, 2, 3][..]), Some(&[9][..]))
    );
    let plain = DistributedGraph::new(4, &[3], None, &[], None).unwrap();
    assert_eq!((plain.weighted(), plain.source_weights()), (false, None));
    let empty = DistributedGraph::new(4, &[], Some(&[]), &[], Some(&[])).unwrap();
    assert!(empty.weighted());
    assert!(
        DistributedGraph::new(4, &[1], Some(&[5]), &[], None)
            .unwrap()
            .weighted()
    );
}

#[test]
fn wrong_adjacent_graphs_are_refused() {
    let make =
        |sources: &[i32], weights: Option<&[i32]>, destinations: &[i32], others: Option<&[i32]>| {
            DistributedGraph::new(4, sources, weights, destinations, others).unwrap_err()
        };
    let outside = TopologyError::NeighbourOutOfRange {
        argument: "sources",
        index: 1,
        rank: 4,
        size: 4,
    };
    assert_eq!(make(&[0, 4], None, &[], None), outside);
    assert!(matches!(
        make(&[], None, &[-3], None),
        TopologyError::NeighbourOutOfRange { rank: -3, .. }
    ));
    assert_eq!(
        make(&[0], Some(&[-1]), &[], None),
        TopologyError::Negative {
            argument: "sourceweights",
            index: 0,
            value: -1
        }
    );
    assert_eq!(
        make(&[0], Some(&[1]), &[1], None).to_string(),
        "sourceweights has weights but destweights is MPI_UNWEIGHTED: weigh all edges or none"
    );
    assert!(matches!(
        make(&[0], None, &[1], Some(&[1])),
        TopologyError::HalfWeighted { .. }
    ));
    assert!(matches!(
        make(&[0], Some(&[1, 2]), &[], None),
        TopologyError::Lengths { .. }
    ));
}

#[test]
fn wrong_edge_lists_are_refused() {
    let make = |sources: &[i32], degrees: &[i32], destinations: &[i32]| {
        EdgeList::new(3, sources, degrees, destinations, None).unwrap_err()
    };
    assert_eq!(
        make(&[0], &[-2], &[]),
        TopologyError::Negative {
            argument: "degrees",
            index: 0,
            value: -2
        }
    );
    assert!(matches!(
        make(&[0, 1], &[1], &[0]),
        TopologyError::Lengths { .. }
    ));
    assert!(matches!(
        make(&[0], &[2], &[0]),
        TopologyError::Lengths { .. }
    ));
    assert!(matches!(
        make(&[3], &[0], &[]),
        TopologyError::NeighbourOutOfRange {
            argument: "sources",
            ..
        }
    ));
    assert!(matches!(
        make(&[0], &[1], &[3]),
        TopologyError::NeighbourOutOfRange {
            argument: "destinations",
            ..
        }
    ));
}

#[test]
fn words_that_are_no_contribution_are_refused() {
    for words in [
        &[][..],
        &[-1],
        &[1],
        &[0, 1],
        &[2, 0, 0],
        &[0, 3, 0],
        &[0, -1, 0],
    ] {
        assert!(Contribution::from_words(3, words).is_err(), "{words:?}");
    }
    assert_eq!(
        Contribution::from_words(3, &[0]).unwrap(),
        Contribution::default()
    );
}

#[test]
fn every_topology_names_its_neighbours() {
    let grid = Topology::Cartesian(Cartesian::new(&[2], &[false]).unwrap());
    assert_eq!(grid.sources(0).unwrap(), [None, Some(1)]);
    assert_eq!(grid.destinations(1).unwrap(), [Some(0), None]);
    let graph = Topology::Graph(Graph::new(&[1, 1], &[1]).unwrap());
    assert_eq!(
        (graph.sources(0).unwrap(), graph.sources(1).unwrap()),
        (vec![Some(1)], vec![])
    );
    let graph =
        Topology::DistributedGraph(DistributedGraph::new(5, &[4], None, &[2, 3], None).unwrap());
    assert_eq!(graph.sources(0).unwrap(), [Some(4)]);
    assert_eq!(graph.destinations(0).unwrap(), [Some(2), Some(3)]);
}

/// What one rank gives: sources with the destinations and weights of each.
type Given = Vec<(i32, Vec<(i32, i32)>)>;

fn given(size: i32) -> impl Strategy<Value = Given> {
    let ends = prop::collection::vec((0..size, 0..100i32), 0..4);
    prop::collection::vec((0..size, ends), 0..4)
}

fn grids() -> impl Strategy<Value = Cartesian> {
    prop::collection::vec((1i32..5, any::<bool>()), 0..5).prop_map(|dimensions| {
        let (dims, periods): (Vec<i32>, Vec<bool>) = dimensions.into_iter().unzip();
        Cartesian::new(&dims, &periods).unwrap()
    })
}

proptest! {
    #[test]
    fn coordinates_and_ranks_answer_each_other(grid in grids()) {
        for rank in 0..grid.size() {
            prop_assert_eq!(grid.rank_of(&grid.coords(rank).unwrap()).unwrap(), rank);
        }
    }

    /// A shift is a step in one coordinate, and whom I send to receives from me.
    #[test]
    fn shifts_are_steps(grid in grids(), rank: u32, direction: usize, displacement in -9i32..10) {
        prop_assume!(grid.dimensions() > 0);
        let (rank, direction) = (rank % grid.size(), direction % grid.dimensions());
        let (_, to) = grid.shift(rank, direction as i32, displacement).unwrap();
        let mut coords = grid.coords(rank).unwrap();
        coords[direction] += displacement;
        prop_assert_eq!(to, grid.rank_of(&coords).ok());
        if let Some(to) = to {
            prop_assert_eq!(grid.shift(to, direction as i32, displacement).unwrap().0, Some(rank));
        }
    }

    /// Within a part, ranks step as they did in the whole.
    #[test]
    fn parts_are_grids_of_the_whole(grid in grids(), mask: u8) {
        let remain: Vec<bool> = (0..grid.dimensions()).map(|dimension| mask >> dimension & 1 == 1).collect();
        let parts: Vec<Part> = (0..grid.size()).map(|rank| grid.sub(rank, &remain).unwrap()).collect();
        let kept: Vec<usize> = (0..grid.dimensions()).filter(|&dimension| remain[dimension]).collect();
        for (rank, part) in parts.iter().enumerate() {
            for (inner, &outer) in kept.iter().enumerate() {
                let (_, whole) = grid.shift(rank as u32, outer as i32, 1).unwrap();
                let (_, within) = part.grid.shift(part.key, inner as i32, 1).unwrap();
                let named = whole.map(|to| &parts[to as usize]).map(|to| (to.colour, to.key));
                prop_assert_eq!(named, within.map(|key| (part.colour, key)));
            }
        }
    }

    /// Whoever gives an edge, both its ends have it, as often as it was given and with its weight.
    #[test]
    fn edges_reach_both_ends(lists in prop::collection::vec(given(5), 5), weighted: bool) {
        let mut inboxes: Vec<Vec<Contribution>> = vec![Vec::new(); 5];
        let mut expected = Vec::new();
        for list in &lists {
            let sources: Vec<i32> = list.iter().map(|(from, _)| *from).collect();
            let degrees: Vec<i32> = list.iter().map(|(_, ends)| ends.len() as i32).collect();
            let (tos, weights): (Vec<i32>, Vec<i32>) = list.iter().flat_map(|(_, ends)| ends.clone()).unzip();
            for (from, ends) in list {
                let weight = |weight: i32| if weighted { weight } else { 1 };
                expected.extend(ends.iter().map(|&(to, w)| (*from as u32, to as u32, weight(w))));
            }
            let edges = EdgeList::new(5, &sources, &degrees, &tos, weighted.then_some(&weights[..])).unwrap();
            prop_assert_eq!(edges.weighted(), weighted);
            for (rank, contribution) in edges.contributions() {
                let sent = Contribution::from_words(5, &contribution.to_words()).unwrap();
                prop_assert_eq!(&sent, &contribution);
                inboxes[rank as usize].push(sent);
            }
        }
        expected.sort_unstable();
        let graphs: Vec<DistributedGraph> =
            inboxes.iter().map(|inbox| DistributedGraph::assemble(weighted, inbox)).collect();
        let ones = vec![1; 100];
        let (mut outgoing, mut incoming) = (Vec::new(), Vec::new());
        for (rank, graph) in (0u32..).zip(&graphs) {
            prop_assert_eq!(graph.source_weights().is_some(), weighted);
            let weights = graph.destination_weights().unwrap_or(&ones);
            outgoing.extend(graph.destinations().iter().zip(weights).map(|(&to, &w)| (rank, to, w)));
            let weights = graph.source_weights().unwrap_or(&ones);
            incoming.extend(graph.sources().iter().zip(weights).map(|(&from, &w)| (from, rank, w)));
        }
        outgoing.sort_unstable();
        incoming.sort_unstable();
        prop_assert_eq!(&outgoing, &expected);
        prop_assert_eq!(&incoming, &expected);
    }
}
