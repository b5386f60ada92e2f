//! [`Datatype`] and the constructors of MPI 5.0 §5.1.2, except arrays and predefined ones, which
//! have files of their own.
//!
//! Every constructor checks its arguments, forms the typemap by the standard's formula in
//! operations of `Typemap`, and keeps its arguments for envelope and contents. A datatype never
//! changes after that, except that it gets committed.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::mark::mark_of;
use super::typemap::{Concatenation, Typemap};
use super::{Basic, Constructor, DatatypeError, Layout};
use crate::ElementMark;

/// How deep types may be built from types. Each level costs stack when the type is dropped (about
/// 300 bytes), and a thread has 2 MiB of it; programs nest less than ten deep.
pub const DEPTH_MAX: u32 = 1024;

/// An MPI datatype; clones share it.
#[derive(Clone)]
pub struct Datatype(pub(super) Arc<Inner>);

pub(super) struct Inner {
    pub(super) constructor: Constructor,
    pub(super) large: bool,
    pub(super) committed: AtomicBool,
    pub(super) depth: u32,
    /// Any number of elements is one block.
    pub(super) contiguous: bool,
    pub(super) mark: ElementMark,
    pub(super) size: u64,
    pub(super) true_lb: i64,
    pub(super) lb: i64,
    pub(super) ub: i64,
    pub(super) typemap: Typemap,
    /// The typemap's layout once more, shared, so that layouts of many elements need no allocation.
    pub(super) layout: Arc<Layout>,
}

/// Whether the place of a block is counted in elements or in bytes.
#[derive(Clone, Copy)]
enum Unit {
    Extent,
    Byte,
}

impl Datatype {
    /// A predefined type; committed from the start.
    pub fn named(basic: Basic) -> Datatype {
        let typemap = Typemap::element(basic).expect("two basic elements are far from any limit");
        let named = Datatype::build(Constructor::Named(basic), &[], typemap);
        let named = named.expect("bounds of a basic type are far from any limit");
        named.commit();
        named
    }

    /// MPI_Type_dup: the same type, committed if the original is.
    pub fn dup(&self) -> Result<Datatype, DatatypeError> {
        let of = std::slice::from_ref(self);
        let dup = Datatype::build(Constructor::Dup(self.clone()), of, self.0.typemap.clone())?;
        dup.0
            .committed
            .store(self.is_committed(), Ordering::Relaxed);
        Ok(dup)
    }

    /// MPI_Type_contiguous.
    pub fn contiguous(count: i64, of: &Datatype) -> Result<Datatype, DatatypeError> {
        let typemap =
            of.0.typemap
                .repeated(natural("count", 0, count)?, of.extent())?;
        Datatype::build(
            Constructor::Contiguous {
                count,
                of: of.clone(),
            },
            std::slice::from_ref(of),
            typemap,
        )
    }

    /// MPI_Type_vector: the stride counts extents of the old type.
    pub fn vector(
        count: i64,
        blocklength: i64,
        stride: i64,
        of: &Datatype,
    ) -> Result<Datatype, DatatypeError> {
        let typemap = of.strided(count, blocklength, of.scaled(stride)?)?;
        let constructor = Constructor::Vector {
            count,
            blocklength,
            stride,
            of: of.clone(),
        };
        Datatype::build(constructor, std::slice::from_ref(of), typemap)
    }

    /// MPI_Type_create_hvector: the stride counts bytes.
    pub fn hvector(
        count: i64,
        blocklength: i64,
        stride: i64,
        of: &Datatype,
    ) -> Result<Datatype, DatatypeError> {
        let typemap = of.strided(count, blocklength, stride)?;
        let constructor = Constructor::Hvector {
            count,
            blocklength,
            stride,
            of: of.clone(),
        };
        Datatype::build(constructor, std::slice::from_ref(of), typemap)
    }

    /// MPI_Type_indexed: displacements count extents of the old type.
    pub fn indexed(
        blocklengths: &[i64],
        displacements: &[i64],
        of: &Datatype,
    ) -> Result<Datatype, DatatypeError> {
        let typemap = of.placed(blocklengths, displacements, Unit::Extent)?;
        let (blocklengths, displacements) = (blocklengths.into(), displacements.into());
        let constructor = Constructor::Indexed {
            blocklengths,
            displacements,
            of: of.clone(),
        };
        Datatype::build(constructor, std::slice::from_ref(of), typemap)
    }

    /// MPI_Type_create_hindexed: displacements count bytes.
    pub fn hindexed(
        blocklengths: &[i64],
        displacements: &[i64],
        of: &Datatype,
    ) -> Result<Datatype, DatatypeError> {
        let typemap = of.placed(blocklengths, displacements, Unit::Byte)?;
        let (blocklengths, displacements) = (blocklengths.into(), displacements.into());
        let constructor = Constructor::Hindexed {
            blocklengths,
            displacements,
            of: of.clone(),
        };
        Datatype::build(constructor, std::slice::from_ref(of), typemap)
    }

    /// MPI_Type_create_indexed_block.
    pub fn indexed_block(
        blocklength: i64,
        displacements: &[i64],
        of: &Datatype,
    ) -> Result<Datatype, DatatypeError> {
        let typemap = of.placed_blocks(blocklength, displacements, Unit::Extent)?;
        let constructor = Constructor::IndexedBlock {
            blocklength,
            displacements: displacements.into(),
            of: of.clone(),
        };
        Datatype::build(constructor, std::slice::from_ref(of), typemap)
    }

    /// MPI_Type_create_hindexed_block.
    pub fn hindexed_block(
        blocklength: i64,
        displacements: &[i64],
        of: &Datatype,
    ) -> Result<Datatype, DatatypeError> {
        let typemap = of.placed_blocks(blocklength, displacements, Unit::Byte)?;
        let constructor = Constructor::HindexedBlock {
            blocklength,
            displacements: displacements.into(),
            of: of.clone(),
        };
        Datatype::build(constructor, std::slice::from_ref(of), typemap)
    }

    /// MPI_Type_create_struct.
    pub fn structure(
        blocklengths: &[i64],
        displacements: &[i64],
        of: &[Datatype],
    ) -> Result<Datatype, DatatypeError> {
        equal_lengths(
            ("blocklengths", blocklengths.len()),
            ("displacements", displacements.len()),
        )?;
        equal_lengths(("blocklengths", blocklengths.len()), ("types", of.len()))?;
        let mut whole = Concatenation::new();
        for (index, old) in of.iter().enumerate() {
            let count = natural("blocklength", index, blocklengths[index])?;
            whole.push_block(&old.0.typemap, count, old.extent(), displacements[index])?;
        }
        let (blocklengths, displacements) = (blocklengths.into(), displacements.into());
        let constructor = Constructor::Struct {
            blocklengths,
            displacements,
            of: of.into(),
        };
        Datatype::build(constructor, of, whole.finish()?)
    }

    /// MPI_Type_create_resized.
    pub fn resized(of: &Datatype, lb: i64, extent: i64) -> Result<Datatype, DatatypeError> {
        let typemap = of.0.typemap.clone().marked(lb, extent)?;
        let constructor = Constructor::Resized {
            lb,
            extent,
            of: of.clone(),
        };
        Datatype::build(constructor, std::slice::from_ref(of), typemap)
    }

    /// Vector and hvector: blocks of old types that touch, at a distance in bytes.
    fn strided(&self, count: i64, blocklength: i64, stride: i64) -> Result<Typemap, DatatypeError> {
        let (count, blocklength) = (
            natural("count", 0, count)?,
            natural("blocklength", 0, blocklength)?,
        );
        self.0
            .typemap
            .repeated(blocklength, self.extent())?
            .repeated(count, stride)
    }

    fn placed(
        &self,
        blocklengths: &[i64],
        displacements: &[i64],
        unit: Unit,
    ) -> Result<Typemap, DatatypeError> {
        equal_lengths(
            ("blocklengths", blocklengths.len()),
            ("displacements", displacements.len()),
        )?;
        let mut whole = Concatenation::new();
        for (index, (&blocklength, &displacement)) in
            blocklengths.iter().zip(displacements).enumerate()
        {
            let count = natural("blocklength", index, blocklength)?;
            let by = self.in_bytes(displacement, unit)?;
            whole.push_block(&self.0.typemap, count, self.extent(), by)?;
        }
        whole.finish()
    }

    fn placed_blocks(
        &self,
        blocklength: i64,
        displacements: &[i64],
        unit: Unit,
    ) -> Result<Typemap, DatatypeError> {
        let block = self
            .0
            .typemap
            .repeated(natural("blocklength", 0, blocklength)?, self.extent())?;
        let mut whole = Concatenation::new();
        for &displacement in displacements {
            let by = self.in_bytes(displacement, unit)?;
            whole.push_block(&block, 1, 0, by)?;
        }
        whole.finish()
    }

    fn in_bytes(&self, displacement: i64, unit: Unit) -> Result<i64, DatatypeError> {
        match unit {
            Unit::Byte => Ok(displacement),
            Unit::Extent => self.scaled(displacement),
        }
    }

    fn scaled(&self, extents: i64) -> Result<i64, DatatypeError> {
        extents
            .checked_mul(self.extent())
            .ok_or(DatatypeError::Overflow {
                what: "displacement",
            })
    }

    pub(crate) fn build(
        constructor: Constructor,
        of: &[Datatype],
        mut typemap: Typemap,
    ) -> Result<Datatype, DatatypeError> {
        let depth = 1 + of.iter().map(|old| old.0.depth).max().unwrap_or(0);
        if depth > DEPTH_MAX {
            return Err(DatatypeError::TooDeep {
                depth,
                limit: DEPTH_MAX,
            });
        }
        typemap.bounds = typemap.bounds.completed()?;
        let (lb, ub) = typemap.bounds.lb_ub()?;
        let layout = Arc::new(typemap.layout.clone());
        let committed = AtomicBool::new(false);
        let size = typemap.signature.bytes();
        let contiguous = layout.contiguous().is_some() && i64::try_from(size) == Ok(ub - lb);
        Ok(Datatype(Arc::new(Inner {
            constructor,
            large: false,
            committed,
            depth,
            contiguous,
            mark: mark_of(&typemap.signature),
            size,
            true_lb: typemap.bounds.true_lb_ub().0,
            lb,
            ub,
            typemap,
            layout,
        })))
    }

    /// Remembers that a large-count constructor was called, which decides the form of the contents.
    pub fn with_large_counts(self) -> Datatype {
        let inner = &*self.0;
        Datatype(Arc::new(Inner {
            constructor: inner.constructor.clone(),
            large: true,
            committed: AtomicBool::new(self.is_committed()),
            typemap: inner.typemap.clone(),
            layout: Arc::clone(&inner.layout),
            ..*inner
        }))
    }
}

pub(crate) fn natural(
    argument: &'static str,
    index: usize,
    value: i64,
) -> Result<u64, DatatypeError> {
    u64::try_from(value).map_err(|_| DatatypeError::Negative {
        argument,
        index,
        value,
    })
}

pub(crate) fn equal_lengths(
    first: (&'static str, usize),
    second: (&'static str, usize),
) -> Result<(), DatatypeError> {
    if first.1 == second.1 {
        return Ok(());
    }
    Err(DatatypeError::Lengths {
        first: first.0,
        first_len: first.1,
        second: second.0,
        second_len: second.1,
    })
}
