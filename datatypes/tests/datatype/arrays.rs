//! Subarrays and distributed arrays: random ones against the oracle, all ranks' pieces tiling the
//! array, refusals.

use oxmpi_datatypes::datatype::{
    Basic, Cursor, Darray, Datatype, DatatypeError, Distribution, Order,
};
use proptest::prelude::*;

use crate::oracle::Recipe;

type Dimension = (i64, i64, Distribution, Option<i64>);

fn dimension() -> impl Strategy<Value = Dimension> {
    (1..9i64, 1..5i64, 0..3, prop::option::of(1..5i64)).prop_map(
        |(size, processes, how, argument)| match how {
            0 => (size, 1, Distribution::None, argument),
            1 => {
                // A block must suffice: argument * processes >= size.
                let enough =
                    argument.map(|argument| argument.max((size + processes - 1) / processes));
                (size, processes, Distribution::Block, enough)
            }
            _ => (size, processes, Distribution::Cyclic, argument),
        },
    )
}

fn darray(dimensions: &[Dimension], order: Order, rank: i64) -> Darray {
    Darray {
        size: dimensions.iter().map(|dimension| dimension.1).product(),
        rank,
        gsizes: dimensions.iter().map(|dimension| dimension.0).collect(),
        distributions: dimensions.iter().map(|dimension| dimension.2).collect(),
        arguments: dimensions.iter().map(|dimension| dimension.3).collect(),
        psizes: dimensions.iter().map(|dimension| dimension.1).collect(),
        order,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn pieces_of_all_ranks_tile_the_array(
        dimensions in prop::collection::vec(dimension(), 1..4),
        order in prop::sample::select(vec![Order::C, Order::Fortran]),
        old in prop::sample::select(vec![Basic::Char, Basic::Int, Basic::DoubleInt]),
    ) {
        let total: i64 = dimensions.iter().map(|dimension| dimension.0).product();
        let old_map = Recipe::Named(old).expand();
        let mut owners = vec![0; (total * old_map.extent()) as usize];
        for rank in 0..darray(&dimensions, order, 0).size {
            let recipe = Recipe::Darray(darray(&dimensions, order, rank), Box::new(Recipe::Named(old)));
            let (map, datatype) = (recipe.expand(), recipe.build());
            prop_assert_eq!(datatype.size(), map.size());
            prop_assert_eq!((datatype.lb(), datatype.extent()), (0, total * old_map.extent()));
            prop_assert_eq!((datatype.true_lb(), datatype.true_ub()), (map.true_lb(), map.true_ub()));
            for count in [1, 2] {
                let layout = datatype.layout(count).unwrap();
                let bytes: Vec<i64> = Cursor::new(&layout).runs().flat_map(|run| (0..run.bytes as i64).map(move |byte| run.offset + byte)).collect();
                prop_assert_eq!(&bytes, &map.bytes(count));
                if count == 1 {
                    bytes.iter().for_each(|at| owners[*at as usize] += 1);
                }
            }
        }
        let data: Vec<i64> = old_map.bytes(1);
        for (at, owned) in owners.iter().enumerate() {
            let is_data = data.contains(&(at as i64 % old_map.extent()));
            prop_assert_eq!(*owned, i32::from(is_data), "byte {}", at);
        }
    }
}

#[test]
fn a_large_darray_is_built_without_expanding_it() {
    let side = 1 << 20;
    let dimensions = [
        (side, 4, Distribution::Cyclic, Some(3)),
        (side, 8, Distribution::Block, None),
    ];
    let double = Datatype::named(Basic::Double);
    let sizes = (0..32).map(|rank| {
        Datatype::darray(darray(&dimensions, Order::C, rank), &double)
            .unwrap()
            .size()
    });
    assert_eq!(sizes.sum::<u64>(), 8 << 40);
}

#[test]
fn a_plane_of_a_cube_is_one_vector() {
    let double = Datatype::named(Basic::Double);
    let plane =
        Datatype::subarray(&[64, 64, 64], &[64, 64, 1], &[0, 0, 5], Order::C, &double).unwrap();
    let layout = plane.layout(1).unwrap();
    let expected = oxmpi_datatypes::datatype::Shape::Vector {
        count: 4096,
        stride: 512,
        block: 8,
    };
    assert_eq!((layout.offset(), layout.shape()), (40, &expected));
}

#[test]
fn wrong_arrays_are_refused_with_the_values() {
    let int = Datatype::named(Basic::Int);
    let outside = Datatype::subarray(&[4, 4], &[2, 3], &[0, 2], Order::C, &int);
    assert_eq!(
        outside,
        Err(DatatypeError::Subarray {
            dimension: 1,
            size: 4,
            subsize: 3,
            start: 2
        })
    );
    assert_eq!(
        Datatype::subarray(&[], &[], &[], Order::C, &int),
        Err(DatatypeError::NoDimensions)
    );
    let good = darray(&[(7, 2, Distribution::Block, None)], Order::C, 1);
    let with = |change: &dyn Fn(&mut Darray)| {
        let mut arguments = good.clone();
        change(&mut arguments);
        Datatype::darray(arguments, &int).map(|_| ()).unwrap_err()
    };
    assert_eq!(
        with(&|a| a.rank = 2),
        DatatypeError::Rank { rank: 2, size: 2 }
    );
    assert_eq!(
        with(&|a| a.size = 3),
        DatatypeError::Grid { grid: 2, size: 3 }
    );
    assert_eq!(
        with(&|a| a.gsizes[0] = 0),
        DatatypeError::NotPositive {
            argument: "gsize",
            index: 0,
            value: 0
        }
    );
    assert_eq!(
        with(&|a| a.arguments[0] = Some(0)),
        DatatypeError::NotPositive {
            argument: "darg",
            index: 0,
            value: 0
        }
    );
    let short = with(&|a| a.arguments[0] = Some(3));
    let expected = "dimension 0: 7 elements over 2 processes cannot be distributed as Block \
                    (block needs argument * processes >= size; none needs one process)";
    assert_eq!(short.to_string(), expected);
    assert!(matches!(
        with(&|a| a.distributions[0] = Distribution::None),
        DatatypeError::Distribution { .. }
    ));
}
