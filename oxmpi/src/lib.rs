//! MPI in safe Rust: the crate programs use.
//!
//! ```no_run
//! use oxmpi::op::Sum;
//!
//! fn main() -> oxmpi::Result<()> {
//!     let mpi = oxmpi::init()?;
//!     let world = mpi.world();
//!     let mut total = [0];
//!     world.allreduce(&[world.rank()], &mut total, Sum)?;
//!     println!("rank {} of {}: the sum of all ranks is {}", world.rank(), world.size(), total[0]);
//!     Ok(())
//! }
//! ```
//!
//! What the layer is: a choice of names from `oxmpi-core`, `oxmpi-files` and `oxmpi-datatypes`, the
//! ones that a Rust program needs; there is no code here. What it uses: those three crates. What it
//! promises: what is not named here may change in any version.
#![forbid(unsafe_code)]

pub use oxmpi_core::{
    ANY_SOURCE, ANY_TAG, COMMUNICATORS_MAX, Communicator, Error, ErrorKind, InPlace, Message, Mpi,
    PROC_NULL, Plain, PortBuffer, Request, Result, Scope, Session, Source, Status, TAG_MAX, Tag,
    group::Group, init, init_with, pm, scope, thread, wait_all, wait_any, wtime,
};
pub use oxmpi_datatypes::{data, datatype};

/// Elements of a slice that do not lie together, such as a column of a matrix: sent from and
/// received into without a copy.
pub mod view {
    pub use oxmpi_core::view::{Shape, View, ViewError, ViewMut};
}

/// Collectives described: to be begun in a scope ([`Communicator::begin`]) or prepared and started
/// again and again ([`Communicator::prepare`]). The methods of [`Communicator`] run them at once.
pub mod collective {
    pub use oxmpi_core::collective::call::{
        Call, Lent, Parts, PartsMut, allgather, allgatherv, allreduce, allreduce_in_place,
        alltoall, alltoallv, alltoallw, barrier, bcast, exscan, gather, gatherv,
        neighbour_allgather, neighbour_alltoall, neighbour_alltoallv, neighbour_alltoallw, reduce,
        reduce_scatter, reduce_scatter_block, scan, scatter, scatterv,
    };
    pub use oxmpi_core::collective::{Prepared, Root, Started};
}

/// Messages of several parts that are filled, or looked at, one by one, also by several threads.
pub mod partitioned {
    pub use oxmpi_core::prepared::{Arriving, Filling, Part, PartitionedReceive, PartitionedSend};
}

/// Values that a program or a library keeps with a communicator.
pub mod attribute {
    pub use oxmpi_core::attribute::Key;
}

/// Typed memory seen as its bytes, for what works on bytes: [`datatype`], files, checksums.
pub mod plain {
    pub use oxmpi_datatypes::plain::{bytes, bytes_mut};
}

/// One-sided communication: memory of a rank that the others write, read and combine into.
pub mod window {
    pub use oxmpi_core::one_sided::{
        Accumulation, At, Attached, Element, Epoch, ExclusiveLock, Fetching, Integer, Lock, NoOp,
        Passive, Replace, Transfer, Window,
    };
    pub use oxmpi_core::window::LockKind;
}

/// Files that all processes of a communicator read and write together: typed views, slices,
/// accesses that can be awaited, collective access, a pointer that all share.
pub mod file {
    pub use oxmpi_files::{
        Access, File, Hints, OpenOptions, Pattern, Switch, TypedFile, Whence, delete,
    };
}

/// Operations for reduce, allreduce, scan and their kin: the larger of two, the sum, a function of
/// the program's own ([`user`](op::user)).
pub mod op {
    pub use oxmpi_datatypes::op::{
        BitAnd, BitOr, BitXor, LogicalAnd, LogicalOr, LogicalXor, Max, Min, Operation, Product,
        Sum, User, user,
    };
}
