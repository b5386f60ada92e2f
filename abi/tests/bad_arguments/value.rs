//! Arguments: what a parameter of each kind is given.

use mpi_abi::constant::*;
use oxmpi_abi_table::Parameter;

/// Words of handles: those that live, freed ones, and null, of each kind of `HANDLES`.
#[derive(Default)]
pub struct Handles {
    pub living: Vec<Vec<usize>>,
    pub freed: Vec<usize>,
    pub nulls: Vec<usize>,
}

/// Bytes of the memory of each argument.
pub const SLOT_BYTES: usize = 1 << 18;

/// Numbers by a seed (SplitMix64).
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    fn one_of<T: Copy>(&mut self, values: &[T]) -> T {
        values[self.below(values.len())]
    }
}

/// What a call draws its arguments from.
pub struct Draw<'a> {
    pub random: Random,
    pub handles: &'a Handles,
    /// Memory for each argument.
    pub slots: &'a [*mut u8],
    /// The call may wait for ever if its arguments are good, so handles must not be, and there is
    /// no memory.
    pub only_bad: bool,
    pub is_large: bool,
}

extern "C" fn does_nothing() -> i32 {
    0
}

impl Draw<'_> {
    /// The argument at a place, with its memory prepared.
    pub fn argument(&mut self, parameter: &Parameter, place: usize) -> usize {
        let kind = parameter.kind.name();
        let rust = parameter.kind.rust_type(self.is_large).to_owned();
        match rust.as_str() {
            "Handle" => self.handle(kind),
            "c_int" => self.integer(kind) as i64 as usize,
            "i64" => self.wide(kind) as usize,
            _ if kind.ends_with("_function") => {
                self.random.one_of(&[0, does_nothing as *const () as usize])
            }
            _ => self.memory(kind, &rust, place),
        }
    }

    fn handle(&mut self, kind: &str) -> usize {
        let own = kind_of(kind).unwrap_or(0);
        let choice = self.random.below(10);
        let living = &self.handles.living;
        match choice {
            0..=4 if !self.only_bad && !living[own].is_empty() => self.random.one_of(&living[own]),
            0..=5 if !self.handles.freed.is_empty() => self.random.one_of(&self.handles.freed),
            6 => 0,
            7 => self.handles.nulls[own],
            8 => {
                let other = (own + 1 + self.random.below(living.len() - 1)) % living.len();
                match living[other].is_empty() {
                    true => self.random.one_of(&self.handles.nulls),
                    false => self.random.one_of(&living[other]),
                }
            }
            _ => {
                let word = self.random.next();
                (word >> self.random.one_of(&[0, 16, 32, 40, 52])) as usize
            }
        }
    }

    fn integer(&mut self, kind: &str) -> i32 {
        // Lengths of memory do not lie.
        let lengths = ["count", "count_if_used", "size", "length", "dimensions"];
        match lengths.contains(&kind) {
            true => self.random.one_of(&[-1, 0, 1, 2, 3, i32::MIN]),
            false => {
                let edges = [-5, -4, -3, -2, -1, 0, 1, 2, 7, i32::MIN, i32::MAX];
                self.random.one_of(&edges)
            }
        }
    }

    fn wide(&mut self, kind: &str) -> i64 {
        let lengths = ["count", "count_if_used", "size", "byte_size", "memory_size"];
        match lengths.contains(&kind) {
            true => self.random.one_of(&[-1, 0, 1, 2, 3, i64::MIN]),
            false => self.random.one_of(&[-1, 0, 1, 2, 64, i64::MIN, i64::MAX]),
        }
    }

    fn memory(&mut self, kind: &str, rust: &str, place: usize) -> usize {
        if self.only_bad || self.random.below(5) == 0 {
            return 0;
        }
        if kind.starts_with("buffer_") && self.random.below(4) == 0 {
            return self.random.one_of(&[MPI_IN_PLACE, MPI_BUFFER_AUTOMATIC]);
        }
        let slot = self.slots[place];
        // SAFETY: a slot has so many bytes, and the library is not inside a call.
        let bytes = unsafe { std::slice::from_raw_parts_mut(slot, SLOT_BYTES) };
        let filled = 4096;
        bytes[..filled].fill(0);
        match rust {
            "*const c_char" => {
                let length = self.random.one_of(&[0, 1, 5, 255, 256, 1023, 1024, 4000]);
                bytes[..length].fill(b'x');
            }
            "*mut Handle" | "*const Handle" => {
                let words = bytes[..512].as_chunks_mut::<8>().0;
                for word in words {
                    *word = self.handle(kind.trim_end_matches(['[', ']'])).to_ne_bytes();
                }
            }
            "*const c_int" | "*mut c_int" | "*mut [c_int; 3]" => {
                for word in bytes[..512].as_chunks_mut::<4>().0 {
                    *word = self.random.one_of(&[0i32, 1, 2, -1]).to_ne_bytes();
                }
            }
            "*const i64" | "*mut i64" => {
                for word in bytes[..512].as_chunks_mut::<8>().0 {
                    *word = self.random.one_of(&[0i64, 1, 8, -1]).to_ne_bytes();
                }
            }
            _ => {}
        }
        slot as usize
    }
}

/// The place of a kind of handle in the table's list.
pub fn kind_of(kind: &str) -> Option<usize> {
    let words = oxmpi_abi_table::kind::HANDLES.iter();
    words
        .enumerate()
        .find_map(|(index, (word, ..))| kind.starts_with(word).then_some(index))
}
