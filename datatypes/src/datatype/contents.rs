//! How a datatype was made, told in the standard's terms: MPI_Type_get_envelope and
//! MPI_Type_get_contents (MPI 5.0 §5.1.13), in their plain and their large-count form.
//!
//! Types from plain constructors list counts among the integers and byte displacements among the
//! addresses; types from large-count constructors list both among the counts. The order within each
//! list is the standard's table.

use super::{Basic, Darray, Datatype, Order};

/// The call a datatype comes from, with its arguments.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)] // The fields are the standard's arguments, in its order.
pub enum Constructor {
    Named(Basic),
    Dup(Datatype),
    Contiguous {
        count: i64,
        of: Datatype,
    },
    Vector {
        count: i64,
        blocklength: i64,
        stride: i64,
        of: Datatype,
    },
    Hvector {
        count: i64,
        blocklength: i64,
        stride: i64,
        of: Datatype,
    },
    Indexed {
        blocklengths: Box<[i64]>,
        displacements: Box<[i64]>,
        of: Datatype,
    },
    Hindexed {
        blocklengths: Box<[i64]>,
        displacements: Box<[i64]>,
        of: Datatype,
    },
    IndexedBlock {
        blocklength: i64,
        displacements: Box<[i64]>,
        of: Datatype,
    },
    HindexedBlock {
        blocklength: i64,
        displacements: Box<[i64]>,
        of: Datatype,
    },
    Struct {
        blocklengths: Box<[i64]>,
        displacements: Box<[i64]>,
        of: Box<[Datatype]>,
    },
    Subarray {
        sizes: Box<[i64]>,
        subsizes: Box<[i64]>,
        starts: Box<[i64]>,
        order: Order,
        of: Datatype,
    },
    Darray {
        arguments: Darray,
        of: Datatype,
    },
    F90Real {
        precision: Option<i32>,
        range: Option<i32>,
    },
    F90Complex {
        precision: Option<i32>,
        range: Option<i32>,
    },
    F90Integer {
        range: i32,
    },
    Resized {
        lb: i64,
        extent: i64,
        of: Datatype,
    },
    ValueIndex {
        value: Basic,
        index: Basic,
    },
}

/// Which constructor was called; the values are the ABI's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // The names are the standard's.
#[repr(i32)]
pub enum Combiner {
    Named = 101,
    Dup = 102,
    Contiguous = 103,
    Vector = 104,
    Hvector = 105,
    Indexed = 106,
    Hindexed = 107,
    IndexedBlock = 108,
    HindexedBlock = 109,
    Struct = 110,
    Subarray = 111,
    Darray = 112,
    F90Real = 113,
    F90Complex = 114,
    F90Integer = 115,
    Resized = 116,
    ValueIndex = 117,
}

/// How many arguments of each kind the constructor had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Envelope {
    /// The constructor.
    pub combiner: Combiner,
    /// Length of [`Contents::integers`].
    pub integers: usize,
    /// Length of [`Contents::addresses`].
    pub addresses: usize,
    /// Length of [`Contents::counts`].
    pub counts: usize,
    /// Length of [`Contents::datatypes`].
    pub datatypes: usize,
}

/// The arguments themselves.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Contents {
    /// Arguments that are int.
    pub integers: Vec<i64>,
    /// Arguments that are MPI_Aint.
    pub addresses: Vec<i64>,
    /// Arguments that are MPI_Count; only after large-count constructors.
    pub counts: Vec<i64>,
    /// Arguments that are datatypes.
    pub datatypes: Vec<Datatype>,
}

/// MPI_UNDEFINED, as a precision or range that was not given.
const UNDEFINED: i64 = -32766;
/// MPI_DISTRIBUTE_DFLT_DARG.
const DEFAULT_ARGUMENT: i64 = 19;

impl Datatype {
    /// The constructor and how many arguments it had.
    pub fn envelope(&self) -> Envelope {
        let contents = self.contents();
        Envelope {
            combiner: self.combiner(),
            integers: contents.integers.len(),
            addresses: contents.addresses.len(),
            counts: contents.counts.len(),
            datatypes: contents.datatypes.len(),
        }
    }

    /// The constructor's arguments. Asking a named predefined type is an error in MPI; here its
    /// lists are empty.
    pub fn contents(&self) -> Contents {
        let mut lists = Lists {
            large: self.has_large_counts(),
            contents: Contents::default(),
        };
        lists.write(self.constructor());
        lists.contents
    }

    /// Which constructor was called.
    pub fn combiner(&self) -> Combiner {
        match self.constructor() {
            Constructor::Named(_) => Combiner::Named,
            Constructor::Dup(_) => Combiner::Dup,
            Constructor::Contiguous { .. } => Combiner::Contiguous,
            Constructor::Vector { .. } => Combiner::Vector,
            Constructor::Hvector { .. } => Combiner::Hvector,
            Constructor::Indexed { .. } => Combiner::Indexed,
            Constructor::Hindexed { .. } => Combiner::Hindexed,
            Constructor::IndexedBlock { .. } => Combiner::IndexedBlock,
            Constructor::HindexedBlock { .. } => Combiner::HindexedBlock,
            Constructor::Struct { .. } => Combiner::Struct,
            Constructor::Subarray { .. } => Combiner::Subarray,
            Constructor::Darray { .. } => Combiner::Darray,
            Constructor::F90Real { .. } => Combiner::F90Real,
            Constructor::F90Complex { .. } => Combiner::F90Complex,
            Constructor::F90Integer { .. } => Combiner::F90Integer,
            Constructor::Resized { .. } => Combiner::Resized,
            Constructor::ValueIndex { .. } => Combiner::ValueIndex,
        }
    }

    /// The predefined type this is, if it is a named one.
    #[inline]
    pub fn basic(&self) -> Option<Basic> {
        match self.constructor() {
            Constructor::Named(basic) => Some(*basic),
            _ => None,
        }
    }
}

struct Lists {
    large: bool,
    contents: Contents,
}

impl Lists {
    /// An argument that is int in plain constructors and MPI_Count in large ones.
    fn counts(&mut self, values: &[i64]) {
        let list = if self.large {
            &mut self.contents.counts
        } else {
            &mut self.contents.integers
        };
        list.extend_from_slice(values);
    }

    /// An argument that is MPI_Aint in plain constructors and MPI_Count in large ones.
    fn addresses(&mut self, values: &[i64]) {
        let list = if self.large {
            &mut self.contents.counts
        } else {
            &mut self.contents.addresses
        };
        list.extend_from_slice(values);
    }

    /// An argument that is int in both.
    fn integers(&mut self, values: &[i64]) {
        self.contents.integers.extend_from_slice(values);
    }

    fn datatypes(&mut self, values: &[Datatype]) {
        self.contents.datatypes.extend_from_slice(values);
    }

    fn write(&mut self, constructor: &Constructor) {
        match constructor {
            Constructor::Named(_) => {}
            Constructor::Dup(of) => self.datatypes(std::slice::from_ref(of)),
            Constructor::Contiguous { count, of } => {
                self.counts(&[*count]);
                self.datatypes(std::slice::from_ref(of));
            }
            Constructor::Vector {
                count,
                blocklength,
                stride,
                of,
            } => {
                self.counts(&[*count, *blocklength, *stride]);
                self.datatypes(std::slice::from_ref(of));
            }
            Constructor::Hvector {
                count,
                blocklength,
                stride,
                of,
            } => {
                self.counts(&[*count, *blocklength]);
                self.addresses(&[*stride]);
                self.datatypes(std::slice::from_ref(of));
            }
            Constructor::Indexed {
                blocklengths,
                displacements,
                of,
            } => {
                self.counts(&[blocklengths.len() as i64]);
                self.counts(blocklengths);
                self.counts(displacements);
                self.datatypes(std::slice::from_ref(of));
            }
            Constructor::Hindexed {
                blocklengths,
                displacements,
                of,
            } => {
                self.counts(&[blocklengths.len() as i64]);
                self.counts(blocklengths);
                self.addresses(displacements);
                self.datatypes(std::slice::from_ref(of));
            }
            Constructor::IndexedBlock {
                blocklength,
                displacements,
                of,
            } => {
                self.counts(&[displacements.len() as i64, *blocklength]);
                self.counts(displacements);
                self.datatypes(std::slice::from_ref(of));
            }
            Constructor::HindexedBlock {
                blocklength,
                displacements,
                of,
            } => {
                self.counts(&[displacements.len() as i64, *blocklength]);
                self.addresses(displacements);
                self.datatypes(std::slice::from_ref(of));
            }
            Constructor::Struct {
                blocklengths,
                displacements,
                of,
            } => {
                self.counts(&[blocklengths.len() as i64]);
                self.counts(blocklengths);
                self.addresses(displacements);
                self.datatypes(of);
            }
            Constructor::Subarray {
                sizes,
                subsizes,
                starts,
                order,
                of,
            } => {
                self.integers(&[sizes.len() as i64]);
                self.counts(sizes);
                self.counts(subsizes);
                self.counts(starts);
                self.integers(&[*order as i64]);
                self.datatypes(std::slice::from_ref(of));
            }
            Constructor::Darray { arguments, of } => {
                self.integers(&[
                    arguments.size,
                    arguments.rank,
                    arguments.gsizes.len() as i64,
                ]);
                self.counts(&arguments.gsizes);
                self.integers(
                    &arguments
                        .distributions
                        .iter()
                        .map(|how| *how as i64)
                        .collect::<Vec<_>>(),
                );
                let given = arguments
                    .arguments
                    .iter()
                    .map(|argument| argument.unwrap_or(DEFAULT_ARGUMENT));
                self.integers(&given.collect::<Vec<_>>());
                self.integers(&arguments.psizes);
                self.integers(&[arguments.order as i64]);
                self.datatypes(std::slice::from_ref(of));
            }
            Constructor::F90Real { precision, range }
            | Constructor::F90Complex { precision, range } => {
                self.integers(&[
                    precision.map_or(UNDEFINED, i64::from),
                    range.map_or(UNDEFINED, i64::from),
                ]);
            }
            Constructor::F90Integer { range } => self.integers(&[i64::from(*range)]),
            Constructor::Resized { lb, extent, of } => {
                self.addresses(&[*lb, *extent]);
                self.datatypes(std::slice::from_ref(of));
            }
            Constructor::ValueIndex { value, index } => {
                self.datatypes(&[Datatype::named(*value), Datatype::named(*index)]);
            }
        }
    }
}
