//! Typed collectives, described: what moves and where, before anything has happened.
//!
//! A function here makes the description of a collective, a [`Call`]. The same description runs in
//! every form: at once (the methods of a communicator), in a scope while the program computes
//! ([`Communicator::begin`], a request and a future), and again and again
//! ([`Communicator::prepare`]). All ranks must make the same calls in the same order; which form
//! each of them chooses is the same for all, too.
//!
//! [`Communicator::begin`]: crate::Communicator::begin
//! [`Communicator::prepare`]: crate::Communicator::prepare

use std::marker::PhantomData;

use super::super::description::Root;
use super::sides::{Blocks, Nothing, Received, ReceivedEach, Sent, SentEach, Side};
use oxmpi_datatypes::Plain;
use oxmpi_datatypes::data::{Data, DataMut};
use oxmpi_datatypes::op::{Op, Operation, TypedOp};

/// A collective that was described and has not begun: its sides and its operation.
#[must_use = "nothing happens before a communicator runs, begins or prepares it"]
#[derive(Debug)]
pub struct Call<S, R, O = NoOperation> {
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    pub(super) send: S,
    pub(super) receive: R,
    pub(super) op: O,
}

/// Which collective it is. With `each`, blocks have lengths of their own.
#[derive(Clone, Copy, Debug)]
pub(super) enum Kind {
    Barrier,
    Bcast(Root),
    Gather {
        root: Root,
        each: bool,
    },
    Scatter {
        root: Root,
        each: bool,
    },
    Allgather,
    Alltoall,
    Reduce(Root),
    Allreduce,
    /// By the counts on its send side.
    ReduceScatter,
    ReduceScatterBlock,
    Scan,
    Exscan,
    NeighbourAllgather,
    NeighbourAlltoall,
}

impl<S, R, O: Keep> Call<S, R, O> {
    /// The operation, to be kept, and the rest.
    pub(super) fn take_op(self) -> (Option<Op>, Call<S, R>) {
        let Call {
            name,
            kind,
            send,
            receive,
            op,
        } = self;
        (op.keep(), call(name, kind, send, receive))
    }
}

/// The operation of a collective that only moves data.
#[derive(Clone, Copy, Debug)]
pub struct NoOperation;

/// The operation of a reduction of elements `T`.
#[derive(Clone, Copy, Debug)]
pub struct By<T, O>(O, PhantomData<fn() -> T>);

/// The operation of a collective, if it has one.
pub trait Combination: sealed::Sealed {
    /// Borrows it.
    ///
    /// # Safety
    /// It must not be used after the borrow ends, nor on another thread.
    #[doc(hidden)]
    unsafe fn borrow(&self) -> Option<Op>;
}

/// An operation that can go on after the call that named it.
#[diagnostic::on_unimplemented(
    message = "the operation of a collective that goes on must not borrow anything",
    label = "this operation is borrowed, or bound to its thread",
    note = "make the function of `op::user` a `move` closure that owns what it uses"
)]
pub trait Keep: Combination {
    /// Takes it over.
    #[doc(hidden)]
    fn keep(self) -> Option<Op>;
}

mod sealed {
    pub trait Sealed {}
}

impl sealed::Sealed for NoOperation {}
impl<T: Plain, O: Operation<T>> sealed::Sealed for By<T, O> {}

impl Combination for NoOperation {
    #[inline]
    unsafe fn borrow(&self) -> Option<Op> {
        None
    }
}

impl<T: Plain, O: Operation<T>> Combination for By<T, O> {
    #[inline]
    unsafe fn borrow(&self) -> Option<Op> {
        // SAFETY: the caller's promise.
        Some(Op::Typed(unsafe { TypedOp::borrowed::<T, O>(&self.0) }))
    }
}

impl Keep for NoOperation {
    fn keep(self) -> Option<Op> {
        None
    }
}

impl<T: Plain, O: Operation<T> + Send + Sync + 'static> Keep for By<T, O> {
    fn keep(self) -> Option<Op> {
        Some(Op::Typed(TypedOp::new::<T, O>(self.0)))
    }
}

/// A rank's own memory that is only read: `&data`, or `&mut data` if the program wants to change it
/// between two starts of a persistent collective.
pub trait Lent {
    /// As a side of a collective.
    type Side: Side<Element = Self::Element>;
    /// What it consists of.
    type Element: Plain;

    /// As a side of a collective.
    #[doc(hidden)]
    fn side(self) -> Self::Side;
}

impl<'b, D: Data + ?Sized> Lent for &'b D {
    type Side = Sent<&'b D>;
    type Element = D::Element;

    #[inline]
    fn side(self) -> Sent<&'b D> {
        Sent(self)
    }
}

impl<'b, D: Data + ?Sized> Lent for &'b mut D {
    type Side = Sent<&'b mut D>;
    type Element = D::Element;

    #[inline]
    fn side(self) -> Sent<&'b mut D> {
        Sent(self)
    }
}

/// A buffer in which every rank has a block: the elements, a count and a displacement per rank.
pub type Parts<'a, T> = (&'a [T], &'a [usize], &'a [usize]);
/// The same to be written.
pub type PartsMut<'a, T> = (&'a mut [T], &'a [usize], &'a [usize]);

type SentBlocks<'a, T> = Blocks<'a, Sent<&'a [T]>>;
type ReceivedBlocks<'a, T> = Blocks<'a, Received<&'a mut [T]>>;
/// What the root alone gives, and what it alone gets.
type OfRoot<'a, T> = Option<Sent<&'a [T]>>;
type AtRoot<'a, T> = Option<Received<&'a mut [T]>>;
/// A reduction of elements `T`.
type Combining<S, R, T, O> = Call<S, R, By<T, O>>;

#[inline]
fn call<S, R>(name: &'static str, kind: Kind, send: S, receive: R) -> Call<S, R> {
    Call {
        name,
        kind,
        send,
        receive,
        op: NoOperation,
    }
}

#[inline]
fn combining<T, S, R, O>(
    name: &'static str,
    kind: Kind,
    send: S,
    receive: R,
    op: O,
) -> Call<S, R, By<T, O>> {
    Call {
        name,
        kind,
        send,
        receive,
        op: By(op, PhantomData),
    }
}

fn blocks<'c, M>((memory, counts, displacements): (M, &'c [usize], &'c [usize])) -> Blocks<'c, M> {
    Blocks {
        memory,
        counts,
        displacements,
    }
}

/// Over when all ranks have begun it.
#[inline]
pub fn barrier() -> Call<Nothing, Nothing> {
    call("barrier", Kind::Barrier, Nothing::NEW, Nothing::NEW)
}

/// Copies the root's `data` to every rank.
#[inline]
pub fn bcast<D: DataMut + ?Sized>(
    data: &mut D,
    root: impl Into<Root>,
) -> Call<Nothing, Received<&mut D>> {
    call(
        "bcast",
        Kind::Bcast(root.into()),
        Nothing::NEW,
        Received(data),
    )
}

/// Brings every rank's `data` to the root: rank r's becomes the r-th block of `all`.
#[inline]
pub fn gather<S: Lent>(
    data: S,
    all: Option<&mut [S::Element]>,
    root: impl Into<Root>,
) -> Call<S::Side, AtRoot<'_, S::Element>> {
    let (root, each) = (root.into(), false);
    call(
        "gather",
        Kind::Gather { root, each },
        data.side(),
        all.map(Received),
    )
}

/// Brings every rank's `data`, of any length, to the root. The root gives a buffer, and for each
/// rank the count of elements that come from it and the displacement at which they belong.
pub fn gatherv<'b, S: Lent>(
    data: S,
    all: Option<PartsMut<'b, S::Element>>,
    root: impl Into<Root>,
) -> Call<S::Side, Option<ReceivedBlocks<'b, S::Element>>> {
    let (root, each) = (root.into(), true);
    let all = all.map(|(memory, counts, places)| blocks((Received(memory), counts, places)));
    call("gatherv", Kind::Gather { root, each }, data.side(), all)
}

/// Deals out the root's `all`: the r-th block becomes rank r's `data`.
#[inline]
pub fn scatter<'b, D: DataMut + ?Sized>(
    all: Option<&'b [D::Element]>,
    data: &'b mut D,
    root: impl Into<Root>,
) -> Call<OfRoot<'b, D::Element>, Received<&'b mut D>> {
    let (root, each) = (root.into(), false);
    call(
        "scatter",
        Kind::Scatter { root, each },
        all.map(Sent),
        Received(data),
    )
}

/// Deals out the root's buffer in blocks of any length, given by a count and a displacement for
/// each rank.
pub fn scatterv<'b, D: DataMut + ?Sized>(
    all: Option<Parts<'b, D::Element>>,
    data: &'b mut D,
    root: impl Into<Root>,
) -> Call<Option<SentBlocks<'b, D::Element>>, Received<&'b mut D>> {
    let (root, each) = (root.into(), true);
    let all = all.map(|(memory, counts, places)| blocks((Sent(memory), counts, places)));
    call(
        "scatterv",
        Kind::Scatter { root, each },
        all,
        Received(data),
    )
}

/// Brings every rank's `data` to every rank: rank r's becomes the r-th block of `all`.
#[inline]
pub fn allgather<S: Lent, R: DataMut<Element = S::Element> + ?Sized>(
    data: S,
    all: &mut R,
) -> Call<S::Side, Received<&mut R>> {
    call("allgather", Kind::Allgather, data.side(), Received(all))
}

/// Brings every rank's `data`, of any length, to every rank, at the displacement given for it.
pub fn allgatherv<'b, S: Lent>(
    data: S,
    all: &'b mut [S::Element],
    counts: &'b [usize],
    displacements: &'b [usize],
) -> Call<S::Side, ReceivedBlocks<'b, S::Element>> {
    let all = blocks((Received(all), counts, displacements));
    call("allgatherv", Kind::Allgather, data.side(), all)
}

/// Sends the r-th block of `data` to rank r, and receives from rank r the r-th block of `all`.
#[inline]
pub fn alltoall<S: Lent, R: DataMut<Element = S::Element> + ?Sized>(
    data: S,
    all: &mut R,
) -> Call<S::Side, Received<&mut R>> {
    call("alltoall", Kind::Alltoall, data.side(), Received(all))
}

/// Sends a block of any length to each rank and receives one from each. Counts and displacements
/// are in elements; what a rank sends to another must be what that one expects.
pub fn alltoallv<'b, T: Plain>(
    data: &'b [T],
    send_counts: &'b [usize],
    send_displacements: &'b [usize],
    all: &'b mut [T],
    receive_counts: &'b [usize],
    receive_displacements: &'b [usize],
) -> Call<SentBlocks<'b, T>, ReceivedBlocks<'b, T>> {
    let data = blocks((Sent(data), send_counts, send_displacements));
    let all = blocks((Received(all), receive_counts, receive_displacements));
    call("alltoallv", Kind::Alltoall, data, all)
}

/// Sends the r-th of `data` to rank r and receives the r-th of `all` from it, each of them memory of
/// its own: a vector, a slice, or a view with a shape of its own, so that parts of a matrix travel
/// without being packed.
///
/// ```no_run
/// use oxmpi::view::Shape;
/// # let mpi = oxmpi::init().unwrap(); let world = mpi.world();
/// // Of a matrix with a row for each rank, the columns: what goes to rank r begins at place r.
/// let places = world.size() as usize;
/// let matrix = vec![1.0; places * places];
/// let column = Shape::strided(places, 1, places)?;
/// let columns = (0..places).map(|r| column.of(&matrix[r..])).collect::<Result<Vec<_>, _>>()?;
/// let mut rows = vec![vec![0.0; places]; places];
/// world.alltoallw(&columns, &mut rows)?;
/// # Ok::<(), oxmpi::Error>(())
/// ```
pub fn alltoallw<'b, D: Data, E: DataMut<Element = D::Element>>(
    data: &'b [D],
    all: &'b mut [E],
) -> Call<SentEach<'b, D>, ReceivedEach<'b, E>> {
    call(
        "alltoallw",
        Kind::Alltoall,
        SentEach(data),
        ReceivedEach(all),
    )
}

/// Combines every rank's `data`, element by element, into the root's `result`.
#[inline]
pub fn reduce<S: Lent, O: Operation<S::Element>>(
    data: S,
    result: Option<&mut [S::Element]>,
    op: O,
    root: impl Into<Root>,
) -> Combining<S::Side, AtRoot<'_, S::Element>, S::Element, O> {
    let kind = Kind::Reduce(root.into());
    combining("reduce", kind, data.side(), result.map(Received), op)
}

/// Combines every rank's `data`, element by element, into every rank's `result`.
#[inline]
pub fn allreduce<S: Lent, R, O>(
    data: S,
    result: &mut R,
    op: O,
) -> Call<S::Side, Received<&mut R>, By<S::Element, O>>
where
    R: DataMut<Element = S::Element> + ?Sized,
    O: Operation<S::Element>,
{
    combining(
        "allreduce",
        Kind::Allreduce,
        data.side(),
        Received(result),
        op,
    )
}

/// Combines every rank's `data`, element by element, and leaves the result there on every rank.
#[inline]
pub fn allreduce_in_place<D: DataMut + ?Sized, O: Operation<D::Element>>(
    data: &mut D,
    op: O,
) -> Call<Nothing, Received<&mut D>, By<D::Element, O>> {
    let name = "allreduce_in_place";
    combining(name, Kind::Allreduce, Nothing::NEW, Received(data), op)
}

/// Rank r gets the combination of ranks 0 to r.
pub fn scan<S: Lent, R, O>(
    data: S,
    result: &mut R,
    op: O,
) -> Call<S::Side, Received<&mut R>, By<S::Element, O>>
where
    R: DataMut<Element = S::Element> + ?Sized,
    O: Operation<S::Element>,
{
    combining("scan", Kind::Scan, data.side(), Received(result), op)
}

/// Rank r gets the combination of ranks 0 to r - 1; rank 0 keeps what is in `result`.
pub fn exscan<S: Lent, R, O>(
    data: S,
    result: &mut R,
    op: O,
) -> Call<S::Side, Received<&mut R>, By<S::Element, O>>
where
    R: DataMut<Element = S::Element> + ?Sized,
    O: Operation<S::Element>,
{
    combining("exscan", Kind::Exscan, data.side(), Received(result), op)
}

/// Combines every rank's `data`, element by element; rank r gets the next `counts[r]` elements of
/// the result.
pub fn reduce_scatter<'b, S: Lent, R, O>(
    data: S,
    result: &'b mut R,
    counts: &'b [usize],
    op: O,
) -> Combining<Blocks<'b, S::Side>, Received<&'b mut R>, S::Element, O>
where
    R: DataMut<Element = S::Element> + ?Sized,
    O: Operation<S::Element>,
{
    let data = blocks((data.side(), counts, &[]));
    combining(
        "reduce_scatter",
        Kind::ReduceScatter,
        data,
        Received(result),
        op,
    )
}

/// Combines every rank's `data`, element by element; rank r gets the r-th block of the result.
pub fn reduce_scatter_block<S: Lent, R, O>(
    data: S,
    result: &mut R,
    op: O,
) -> Call<S::Side, Received<&mut R>, By<S::Element, O>>
where
    R: DataMut<Element = S::Element> + ?Sized,
    O: Operation<S::Element>,
{
    let (name, kind) = ("reduce_scatter_block", Kind::ReduceScatterBlock);
    combining(name, kind, data.side(), Received(result), op)
}

/// Sends `data` to all neighbours in the communicator's topology, and receives a block from each,
/// in the order of [`Communicator::neighbours`](crate::Communicator::neighbours). Blocks of
/// neighbours beyond the edge of a grid keep what they hold.
pub fn neighbour_allgather<S: Lent, R: DataMut<Element = S::Element> + ?Sized>(
    data: S,
    all: &mut R,
) -> Call<S::Side, Received<&mut R>> {
    let name = "neighbour_allgather";
    call(name, Kind::NeighbourAllgather, data.side(), Received(all))
}

/// Sends a block of `data` to each neighbour in the communicator's topology, and receives a block
/// from each, as [`neighbour_allgather`] does.
pub fn neighbour_alltoall<S: Lent, R: DataMut<Element = S::Element> + ?Sized>(
    data: S,
    all: &mut R,
) -> Call<S::Side, Received<&mut R>> {
    let name = "neighbour_alltoall";
    call(name, Kind::NeighbourAlltoall, data.side(), Received(all))
}

/// As [`neighbour_alltoall`], with a count and a displacement for each neighbour.
pub fn neighbour_alltoallv<'b, T: Plain>(
    data: &'b [T],
    send_counts: &'b [usize],
    send_displacements: &'b [usize],
    all: &'b mut [T],
    receive_counts: &'b [usize],
    receive_displacements: &'b [usize],
) -> Call<SentBlocks<'b, T>, ReceivedBlocks<'b, T>> {
    let data = blocks((Sent(data), send_counts, send_displacements));
    let all = blocks((Received(all), receive_counts, receive_displacements));
    call("neighbour_alltoallv", Kind::NeighbourAlltoall, data, all)
}

/// As [`alltoallw`], to and from each neighbour in the communicator's topology.
pub fn neighbour_alltoallw<'b, D: Data, E: DataMut<Element = D::Element>>(
    data: &'b [D],
    all: &'b mut [E],
) -> Call<SentEach<'b, D>, ReceivedEach<'b, E>> {
    let name = "neighbour_alltoallw";
    let (data, all) = (SentEach(data), ReceivedEach(all));
    call(name, Kind::NeighbourAlltoall, data, all)
}
