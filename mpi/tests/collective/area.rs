//! Memory for tests: elements of two numbers, laid out densely or with gaps, and what must not be
//! touched is watched.

use oxmpi_core::buffer::Buffer;
use oxmpi_datatypes::datatype::{Basic, Datatype};

/// What memory holds that nobody has written.
pub const UNTOUCHED: u64 = 0xA5A5_A5A5_A5A5_A5A5;

/// An element: the map x -> a * x + b modulo 2^64.
pub type Pair = [u64; 2];

/// An element that nobody has written.
pub const NOTHING: Pair = [UNTOUCHED, UNTOUCHED];

/// The composition of two maps: associative, and order matters.
pub fn compose(f: Pair, g: Pair) -> Pair {
    [
        f[0].wrapping_mul(g[0]),
        f[0].wrapping_mul(g[1]).wrapping_add(f[1]),
    ]
}

/// What a rank contributes at a place, different in each round.
pub fn value(round: u64, rank: u32, index: usize) -> Pair {
    let rank = u64::from(rank);
    let index = index as u64;
    [
        2 * (rank * 31 + index * 7 + round) + 1,
        (rank + 1) * 1_000_003 + index * 17 + round * 97,
    ]
}

/// A rank's vector or block.
pub fn values(round: u64, rank: u32, first: usize, count: usize) -> Vec<Pair> {
    (first..first + count)
        .map(|index| value(round, rank, index))
        .collect()
}

/// How elements lie in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// One after the other.
    Dense,
    /// A gap inside each element: slots 0 and 2 of 3.
    Gaps,
}

impl Form {
    /// The datatype of an element.
    pub fn datatype(self) -> Datatype {
        let number = Datatype::named(Basic::Uint64);
        let datatype = match self {
            Form::Dense => Datatype::contiguous(2, &number).unwrap(),
            Form::Gaps => Datatype::vector(2, 1, 2, &number).unwrap(),
        };
        datatype.commit();
        datatype
    }

    fn slots(self) -> usize {
        match self {
            Form::Dense => 2,
            Form::Gaps => 3,
        }
    }
}

/// Some elements of memory.
pub struct Area {
    form: Form,
    slots: Vec<u64>,
}

impl Area {
    pub fn new(form: Form, elements: usize) -> Area {
        let slots = vec![UNTOUCHED; elements * form.slots()];
        Area { form, slots }
    }

    /// `count` elements from `first` on.
    pub fn buffer(&mut self, first: usize, count: usize) -> Buffer {
        let address = self.slots.as_mut_ptr().cast::<u8>();
        let address = address.wrapping_add(first * self.form.slots() * 8);
        // SAFETY: the elements are inside the area, which the tests keep until all operations on it
        // are over.
        unsafe { Buffer::new(address, count as u64, &self.form.datatype()) }.unwrap()
    }

    pub fn clear(&mut self) {
        self.slots.fill(UNTOUCHED);
    }

    pub fn set(&mut self, first: usize, values: &[Pair]) {
        let slots = self.form.slots();
        for (index, value) in values.iter().enumerate() {
            let at = (first + index) * slots;
            self.slots[at] = value[0];
            self.slots[at + slots - 1] = value[1];
        }
    }

    /// All elements, after a look at the gaps.
    pub fn get(&self) -> Vec<Pair> {
        let element = |slots: &[u64]| {
            let inside = &slots[1..slots.len() - 1];
            assert!(
                inside.iter().all(|slot| *slot == UNTOUCHED),
                "a gap was written"
            );
            [slots[0], slots[slots.len() - 1]]
        };
        self.slots
            .chunks_exact(self.form.slots())
            .map(element)
            .collect()
    }
}
