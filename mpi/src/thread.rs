//! Thread levels as types: what MPI says in words, the compiler checks here.
//!
//! MPI 5.0 §11.6 knows four levels of thread support. The level is a type parameter of `Mpi` and of
//! everything borrowed from it, and decides which of these may cross threads. Below `Multiple` the
//! engine is told that one thread at a time calls it and takes no lock, so these types are what
//! makes that sound: whatever can reach the engine, by a call or by its drop, carries
//! `Level::Owner` or `Level::Handle`.

use std::cell::Cell;
use std::marker::PhantomData;

mod sealed {
    pub trait Sealed {}
}

/// One of the four levels. The associated types only lend their `Send` and `Sync`.
pub trait Level: sealed::Sealed + 'static {
    /// Lends its auto traits to [`Mpi`](crate::Mpi).
    type Owner;
    /// Lends its auto traits to communicators, requests and messages.
    type Handle;
    /// The level's name as MPI spells it.
    const NAME: &'static str;
    /// Several threads may be inside the library at once.
    const CONCURRENT: bool;
}

/// The process has one thread.
#[derive(Debug)]
pub enum Single {}

/// The process has several threads; the one that initialised makes all calls.
///
/// ```compile_fail
/// let mpi = oxmpi::init().unwrap();
/// std::thread::scope(|s| { s.spawn(|| mpi.world().barrier()); });
/// ```
#[derive(Debug)]
pub enum Funneled {}

/// Any thread may call, one at a time: `Mpi` can be moved or kept in a mutex, and whatever is
/// borrowed from it stays on the thread that holds it.
///
/// ```no_run
/// use oxmpi::thread::Serialized;
/// let mpi = std::sync::Mutex::new(oxmpi::init_with::<Serialized>().unwrap());
/// std::thread::scope(|s| { s.spawn(|| mpi.lock().unwrap().world().barrier()); });
/// ```
#[derive(Debug)]
pub enum Serialized {}

/// Any thread may call at any time.
///
/// ```no_run
/// let mpi = oxmpi::init_with::<oxmpi::thread::Multiple>().unwrap();
/// let world = mpi.world();
/// std::thread::scope(|s| { s.spawn(|| world.barrier()); });
/// ```
#[derive(Debug)]
pub enum Multiple {}

/// Neither `Send` nor `Sync`.
#[derive(Debug)]
pub struct Bound(PhantomData<*const ()>);

/// `Send`, but not `Sync`.
#[derive(Debug)]
pub struct Movable(PhantomData<Cell<()>>);

/// Both.
#[derive(Debug)]
pub struct Free(());

macro_rules! level {
    ($level:ident, $owner:ty, $handle:ty, $name:literal, $concurrent:literal) => {
        impl sealed::Sealed for $level {}
        impl Level for $level {
            type Owner = $owner;
            type Handle = $handle;
            const NAME: &'static str = $name;
            const CONCURRENT: bool = $concurrent;
        }
    };
}
level!(Single, Bound, Bound, "single", false);
level!(Funneled, Bound, Bound, "funneled", false);
level!(Serialized, Movable, Bound, "serialized", false);
level!(Multiple, Free, Free, "multiple", true);
