//! The oracle: typemaps as the standard writes them, lists of (type, displacement) with markers, by
//! the formulas of MPI 5.0 §5.1. Slow and plain on purpose; it shares nothing with the library but
//! the table of basic types.

use oxmpi_datatypes::datatype::{Basic, Darray, Datatype, Distribution, Order};

/// An entry's type.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Entry {
    Data(Basic),
    /// The padded end of an element that the type was built from.
    End,
    LbMarker,
    UbMarker,
}

/// A recipe for a datatype that both the library and the oracle can follow.
#[derive(Clone, Debug)]
pub enum Recipe {
    Named(Basic),
    Dup(Box<Recipe>),
    Contiguous(i64, Box<Recipe>),
    Vector(i64, i64, i64, Box<Recipe>),
    Hvector(i64, i64, i64, Box<Recipe>),
    Indexed(Vec<(i64, i64)>, Box<Recipe>),
    Hindexed(Vec<(i64, i64)>, Box<Recipe>),
    IndexedBlock(i64, Vec<i64>, Box<Recipe>),
    HindexedBlock(i64, Vec<i64>, Box<Recipe>),
    Struct(Vec<(i64, i64, Recipe)>),
    Resized(i64, i64, Box<Recipe>),
    Subarray(Vec<(i64, i64, i64)>, Order, Box<Recipe>),
    Darray(Darray, Box<Recipe>),
}

/// A full typemap.
#[derive(Clone, Debug, Default)]
pub struct Typemap(pub Vec<(Entry, i64)>);

impl Typemap {
    pub fn lb(&self) -> i64 {
        let marks = self
            .0
            .iter()
            .filter(|entry| entry.0 == Entry::LbMarker)
            .map(|entry| entry.1);
        marks.min().unwrap_or_else(|| self.true_lb())
    }

    pub fn ub(&self) -> i64 {
        let marks = self
            .0
            .iter()
            .filter(|entry| entry.0 == Entry::UbMarker)
            .map(|entry| entry.1);
        marks.max().unwrap_or_else(|| {
            // The least increment that makes the extent a multiple of the strictest alignment.
            let align = self
                .data()
                .iter()
                .map(|(basic, _)| i64::from(basic.align()))
                .max()
                .unwrap_or(1);
            let ends = self.0.iter().filter(|entry| entry.0 == Entry::End);
            let mut ub = ends.map(|entry| entry.1).fold(self.true_ub(), i64::max);
            while (ub - self.lb()) % align != 0 {
                ub += 1;
            }
            ub
        })
    }

    pub fn extent(&self) -> i64 {
        self.ub() - self.lb()
    }

    pub fn true_lb(&self) -> i64 {
        self.data().iter().map(|(_, at)| *at).min().unwrap_or(0)
    }

    pub fn true_ub(&self) -> i64 {
        self.data()
            .iter()
            .map(|(basic, at)| at + i64::from(basic.size()))
            .max()
            .unwrap_or(0)
    }

    pub fn size(&self) -> u64 {
        self.data()
            .iter()
            .map(|(basic, _)| u64::from(basic.size()))
            .sum()
    }

    pub fn data(&self) -> Vec<(Basic, i64)> {
        let data = self.0.iter().filter_map(|(entry, at)| match entry {
            Entry::Data(basic) => Some((*basic, *at)),
            _ => None,
        });
        data.collect()
    }

    /// Where every packed byte lies, for `count` elements.
    pub fn bytes(&self, count: u64) -> Vec<i64> {
        let mut bytes = Vec::new();
        for index in 0..count as i64 {
            for (basic, at) in self.data() {
                bytes.extend(
                    (0..i64::from(basic.size())).map(|byte| index * self.extent() + at + byte),
                );
            }
        }
        bytes
    }

    fn push_shifted(&mut self, other: &Typemap, by: i64) {
        self.0
            .extend(other.0.iter().map(|(entry, at)| (*entry, at + by)));
        if !other.data().is_empty() {
            self.0.push((Entry::End, other.ub() + by));
        }
    }

    /// `count` elements one extent apart, from `at` on.
    fn push_block(&mut self, count: i64, other: &Typemap, at: i64) {
        for index in 0..count {
            self.push_shifted(other, at + index * other.extent());
        }
    }

    fn bounded(mut self, lb: i64, ub: i64) -> Typemap {
        self.0.retain(|(entry, _)| matches!(entry, Entry::Data(_)));
        self.0.insert(0, (Entry::LbMarker, lb));
        self.0.push((Entry::UbMarker, ub));
        self
    }
}

impl Recipe {
    /// By the standard's formulas.
    pub fn expand(&self) -> Typemap {
        let mut map = Typemap::default();
        match self {
            Recipe::Named(basic) => match basic.pair() {
                None => map.0.push((Entry::Data(*basic), 0)),
                Some((value, index)) => {
                    let at = value.size().div_ceil(index.align()) * index.align();
                    map.0.push((Entry::Data(value), 0));
                    map.0.push((Entry::Data(index), i64::from(at)));
                }
            },
            Recipe::Dup(of) => map = of.expand(),
            Recipe::Contiguous(count, of) => map.push_block(*count, &of.expand(), 0),
            Recipe::Vector(count, block, stride, of) => {
                let of = of.expand();
                (0..*count)
                    .for_each(|index| map.push_block(*block, &of, index * stride * of.extent()));
            }
            Recipe::Hvector(count, block, stride, of) => {
                let of = of.expand();
                (0..*count).for_each(|index| map.push_block(*block, &of, index * stride));
            }
            Recipe::Indexed(blocks, of) => {
                let of = of.expand();
                blocks
                    .iter()
                    .for_each(|(block, at)| map.push_block(*block, &of, at * of.extent()));
            }
            Recipe::Hindexed(blocks, of) => {
                let of = of.expand();
                blocks
                    .iter()
                    .for_each(|(block, at)| map.push_block(*block, &of, *at));
            }
            Recipe::IndexedBlock(block, places, of) => {
                let of = of.expand();
                places
                    .iter()
                    .for_each(|at| map.push_block(*block, &of, at * of.extent()));
            }
            Recipe::HindexedBlock(block, places, of) => {
                let of = of.expand();
                places
                    .iter()
                    .for_each(|at| map.push_block(*block, &of, *at));
            }
            Recipe::Struct(parts) => {
                parts
                    .iter()
                    .for_each(|(block, at, of)| map.push_block(*block, &of.expand(), *at));
            }
            Recipe::Resized(lb, extent, of) => map = of.expand().bounded(*lb, lb + extent),
            Recipe::Subarray(dimensions, order, of) => {
                let (sizes, pieces): (Vec<_>, Vec<_>) = dimensions
                    .iter()
                    .map(|(size, sub, start)| (*size, (*start..start + sub).collect()))
                    .unzip();
                map = select(&sizes, &pieces, *order, &of.expand());
            }
            Recipe::Darray(arguments, of) => {
                map = select(
                    &arguments.gsizes,
                    &owned(arguments),
                    arguments.order,
                    &of.expand(),
                );
            }
        }
        map
    }

    /// By the library.
    pub fn build(&self) -> Datatype {
        match self {
            Recipe::Named(basic) => Ok(Datatype::named(*basic)),
            Recipe::Dup(of) => of.build().dup(),
            Recipe::Contiguous(count, of) => Datatype::contiguous(*count, &of.build()),
            Recipe::Vector(count, block, stride, of) => {
                Datatype::vector(*count, *block, *stride, &of.build())
            }
            Recipe::Hvector(count, block, stride, of) => {
                Datatype::hvector(*count, *block, *stride, &of.build())
            }
            Recipe::Indexed(blocks, of) => {
                let (lengths, places): (Vec<_>, Vec<_>) = blocks.iter().copied().unzip();
                Datatype::indexed(&lengths, &places, &of.build())
            }
            Recipe::Hindexed(blocks, of) => {
                let (lengths, places): (Vec<_>, Vec<_>) = blocks.iter().copied().unzip();
                Datatype::hindexed(&lengths, &places, &of.build())
            }
            Recipe::IndexedBlock(block, places, of) => {
                Datatype::indexed_block(*block, places, &of.build())
            }
            Recipe::HindexedBlock(block, places, of) => {
                Datatype::hindexed_block(*block, places, &of.build())
            }
            Recipe::Struct(parts) => {
                let lengths: Vec<_> = parts.iter().map(|part| part.0).collect();
                let places: Vec<_> = parts.iter().map(|part| part.1).collect();
                let types: Vec<_> = parts.iter().map(|part| part.2.build()).collect();
                Datatype::structure(&lengths, &places, &types)
            }
            Recipe::Resized(lb, extent, of) => Datatype::resized(&of.build(), *lb, *extent),
            Recipe::Subarray(dimensions, order, of) => {
                let sizes: Vec<_> = dimensions.iter().map(|dimension| dimension.0).collect();
                let subsizes: Vec<_> = dimensions.iter().map(|dimension| dimension.1).collect();
                let starts: Vec<_> = dimensions.iter().map(|dimension| dimension.2).collect();
                Datatype::subarray(&sizes, &subsizes, &starts, *order, &of.build())
            }
            Recipe::Darray(arguments, of) => Datatype::darray(arguments.clone(), &of.build()),
        }
        .expect("the recipe is legal")
    }
}

/// The elements of an array whose index in every dimension is among the chosen ones, in storage
/// order.
fn select(sizes: &[i64], chosen: &[Vec<i64>], order: Order, of: &Typemap) -> Typemap {
    let total: i64 = sizes.iter().product();
    let mut map = Typemap::default();
    for linear in 0..total {
        let indexes = unravel(linear, sizes, order);
        if indexes
            .iter()
            .zip(chosen)
            .all(|(index, chosen)| chosen.contains(index))
        {
            map.push_shifted(of, linear * of.extent());
        }
    }
    map.bounded(0, total * of.extent())
}

/// The indexes of an element from its place in storage.
fn unravel(mut linear: i64, sizes: &[i64], order: Order) -> Vec<i64> {
    let mut indexes = vec![0; sizes.len()];
    let dimensions: Vec<usize> = match order {
        Order::C => (0..sizes.len()).rev().collect(),
        Order::Fortran => (0..sizes.len()).collect(),
    };
    for dimension in dimensions {
        indexes[dimension] = linear % sizes[dimension];
        linear /= sizes[dimension];
    }
    indexes
}

/// The indexes in each dimension that the rank owns, dealt out one by one.
pub fn owned(arguments: &Darray) -> Vec<Vec<i64>> {
    let place = unravel(arguments.rank, &arguments.psizes, Order::C);
    let dimensions = (0..arguments.gsizes.len()).map(|dimension| {
        let (size, processes) = (arguments.gsizes[dimension], arguments.psizes[dimension]);
        let block = match (
            arguments.distributions[dimension],
            arguments.arguments[dimension],
        ) {
            (Distribution::None, _) => size,
            (_, Some(block)) => block,
            (Distribution::Block, None) => (size + processes - 1) / processes,
            (Distribution::Cyclic, None) => 1,
        };
        (0..size)
            .filter(|index| index / block % processes == place[dimension])
            .collect()
    });
    dimensions.collect()
}
