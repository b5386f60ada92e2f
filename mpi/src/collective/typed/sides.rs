//! The two sides of a typed collective, what is read and what is written, as its caller gives them.
//!
//! A side is nothing, all of some memory, or blocks of it with a count and a displacement for each
//! rank; the root's sides are an `Option`. Each comes down to a [`Given`], on which the checks work.
//! Sides are references, so a collective that goes on keeps their memory borrowed.

use oxmpi_datatypes::Plain;
use oxmpi_datatypes::data::{Data, DataMut, Memory};
use oxmpi_datatypes::datatype::Datatype;

/// What a caller has given for one side.
pub enum Given<'a> {
    /// No memory.
    Nothing,
    /// All of it.
    Whole(Memory),
    /// Blocks of it: counts and displacements, in elements.
    Blocks(Memory, &'a [usize], &'a [usize]),
    /// Memory of its own for each rank.
    Each(Vec<Memory>),
}

/// Where memory lies, for comparing: address, elements, layout.
type Spot = (usize, usize, Option<Datatype>);

/// Where all memory of a side lies.
#[derive(PartialEq)]
pub(crate) enum Place {
    /// Nowhere.
    None,
    /// Together.
    One(Spot),
    /// That of each rank.
    Each(Vec<Spot>),
}

impl Given<'_> {
    pub(crate) fn place(self) -> Place {
        let spot = |memory: Memory| (memory.address.addr(), memory.elements, memory.layout);
        match self {
            Given::Nothing => Place::None,
            Given::Whole(memory) | Given::Blocks(memory, ..) => Place::One(spot(memory)),
            Given::Each(all) => Place::Each(all.into_iter().map(spot).collect()),
        }
    }
}

/// A side of a collective. Only this crate's own types are.
pub trait Side: sealed::Sealed {
    /// What it consists of.
    type Element: Plain;

    /// What the caller has given.
    fn given(&mut self) -> Given<'_>;
}

/// A side whose memory the program uses between two starts of a persistent collective.
pub trait Access: Side {
    /// What the caller has lent.
    type Content: ?Sized;

    /// It, for reading.
    fn content(&self) -> &Self::Content;
}

/// The same for a side that was lent to be written.
pub trait AccessMut: Access {
    /// It, for writing.
    fn content_mut(&mut self) -> &mut Self::Content;
}

mod sealed {
    pub trait Sealed {}
}

/// A side without memory.
#[derive(Debug)]
pub struct Nothing(());

impl Nothing {
    pub(crate) const NEW: Nothing = Nothing(());
}

/// Memory that is read; a `&mut` may be changed between two starts.
#[derive(Debug)]
pub struct Sent<M>(pub(super) M);

/// Memory that is written.
#[derive(Debug)]
pub struct Received<M>(pub(crate) M);

/// Blocks of a slice, with a count and a displacement for each rank.
#[derive(Debug)]
pub struct Blocks<'c, M> {
    pub(super) memory: M,
    pub(super) counts: &'c [usize],
    pub(super) displacements: &'c [usize],
}

/// Memory of its own for each rank, which is read: slices, vectors, views.
#[derive(Debug)]
pub struct SentEach<'b, D>(pub(super) &'b [D]);

/// Memory of its own for each rank, which is written.
#[derive(Debug)]
pub struct ReceivedEach<'b, D>(pub(super) &'b mut [D]);

impl sealed::Sealed for Nothing {}
impl<D: Data> sealed::Sealed for SentEach<'_, D> {}
impl<D: DataMut> sealed::Sealed for ReceivedEach<'_, D> {}
impl<D: Data + ?Sized> sealed::Sealed for Sent<&D> {}
impl<D: Data + ?Sized> sealed::Sealed for Sent<&mut D> {}
impl<D: DataMut + ?Sized> sealed::Sealed for Received<&mut D> {}
impl<M: Side> sealed::Sealed for Blocks<'_, M> {}
impl<S: Side> sealed::Sealed for Option<S> {}

impl Side for Nothing {
    type Element = u8;

    fn given(&mut self) -> Given<'_> {
        Given::Nothing
    }
}

impl<D: Data + ?Sized> Side for Sent<&D> {
    type Element = D::Element;

    #[inline]
    fn given(&mut self) -> Given<'_> {
        Given::Whole(self.0.memory())
    }
}

impl<D: Data + ?Sized> Side for Sent<&mut D> {
    type Element = D::Element;

    #[inline]
    fn given(&mut self) -> Given<'_> {
        Given::Whole(self.0.memory())
    }
}

impl<D: DataMut + ?Sized> Side for Received<&mut D> {
    type Element = D::Element;

    #[inline]
    fn given(&mut self) -> Given<'_> {
        Given::Whole(self.0.memory_mut())
    }
}

impl<D: Data> Side for SentEach<'_, D> {
    type Element = D::Element;

    fn given(&mut self) -> Given<'_> {
        Given::Each(self.0.iter().map(Data::memory).collect())
    }
}

impl<D: DataMut> Side for ReceivedEach<'_, D> {
    type Element = D::Element;

    fn given(&mut self) -> Given<'_> {
        Given::Each(self.0.iter_mut().map(DataMut::memory_mut).collect())
    }
}

impl<M: Side> Side for Blocks<'_, M> {
    type Element = M::Element;

    fn given(&mut self) -> Given<'_> {
        match self.memory.given() {
            Given::Whole(memory) => Given::Blocks(memory, self.counts, self.displacements),
            other => other,
        }
    }
}

impl<S: Side> Side for Option<S> {
    type Element = S::Element;

    #[inline]
    fn given(&mut self) -> Given<'_> {
        match self {
            Some(side) => side.given(),
            None => Given::Nothing,
        }
    }
}

impl<D: Data + ?Sized> Access for Sent<&D> {
    type Content = D;

    fn content(&self) -> &D {
        self.0
    }
}

impl<D: Data + ?Sized> Access for Sent<&mut D> {
    type Content = D;

    fn content(&self) -> &D {
        self.0
    }
}

impl<D: Data + ?Sized> AccessMut for Sent<&mut D> {
    fn content_mut(&mut self) -> &mut D {
        self.0
    }
}

impl<D: DataMut + ?Sized> Access for Received<&mut D> {
    type Content = D;

    fn content(&self) -> &D {
        self.0
    }
}

impl<D: DataMut + ?Sized> AccessMut for Received<&mut D> {
    fn content_mut(&mut self) -> &mut D {
        self.0
    }
}

impl<M: Access> Access for Blocks<'_, M> {
    type Content = M::Content;

    fn content(&self) -> &M::Content {
        self.memory.content()
    }
}

impl<M: AccessMut> AccessMut for Blocks<'_, M> {
    fn content_mut(&mut self) -> &mut M::Content {
        self.memory.content_mut()
    }
}

/// What only the root gives: elsewhere there are no elements.
impl<T: Plain, S: Access<Content = [T]>> Access for Option<S> {
    type Content = [T];

    fn content(&self) -> &[T] {
        self.as_ref().map_or(&[], Access::content)
    }
}

impl<T: Plain, S: AccessMut<Content = [T]>> AccessMut for Option<S> {
    fn content_mut(&mut self) -> &mut [T] {
        self.as_mut().map_or(&mut [], AccessMut::content_mut)
    }
}
