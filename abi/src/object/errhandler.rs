//! Error handlers: the three predefined ones and functions of the program.
//!
//! A handler that is attached to an object lives as long as that is so, even if the program has
//! freed its handle (MPI 5.0 §9.3). The handle of a function is valid while the program holds
//! references to it: one from creating it, one from every "get". Asked for when there is none, it
//! gets a new handle.

use std::ffi::c_int;
use std::fmt;
use std::sync::{Arc, Mutex};

use crate::constant::*;
use crate::failure::Failure;
use crate::handle::{Handle, Object};

/// Who is told of errors, if none was set, on files (MPI 5.0 §14.7).
pub static FILE_ERRHANDLER: ErrhandlerSlot = ErrhandlerSlot(Mutex::new(Errhandler::Return));

/// An error handler.
#[derive(Clone, Debug)]
pub enum Errhandler {
    /// MPI_ERRORS_ARE_FATAL.
    AreFatal,
    /// MPI_ERRORS_ABORT.
    Abort,
    /// MPI_ERRORS_RETURN.
    Return,
    /// A function of the program.
    User(Arc<UserHandler>),
}

/// The kind of object that a function of the program handles errors of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Handled {
    /// Communicators.
    Comm,
    /// Sessions.
    Session,
    /// Windows.
    Win,
    /// Files.
    File,
}

/// A function of the program that handles errors.
pub struct UserHandler {
    handled: Handled,
    function: Function,
    references: Mutex<References>,
}

/// All four types of functions for errors look like this in C.
type Function = unsafe extern "C" fn(*mut Handle, *mut c_int, ...);

/// The program's references to the handle.
struct References {
    count: usize,
    handle: Handle,
}

/// Where an object keeps its error handler.
#[derive(Debug)]
pub struct ErrhandlerSlot(Mutex<Errhandler>);

impl Errhandler {
    pub(super) fn named(handle: Handle) -> Option<Errhandler> {
        match handle {
            MPI_ERRORS_ARE_FATAL => Some(Errhandler::AreFatal),
            MPI_ERRORS_ABORT => Some(Errhandler::Abort),
            MPI_ERRORS_RETURN => Some(Errhandler::Return),
            _ => None,
        }
    }

    /// The handler that the launcher was asked to begin with (MPI 5.0 §9.3, §11.5): that of
    /// MPI_COMM_WORLD and MPI_COMM_SELF until the program sets another, and of errors outside their
    /// life. A value that is none of the three is told by the launcher, and counts as not set.
    pub fn initial() -> Errhandler {
        match oxmpi_settings::INITIAL_ERRHANDLER.read().choice() {
            Ok("mpi_errors_return") => Errhandler::Return,
            Ok("mpi_errors_abort") => Errhandler::Abort,
            _ => Errhandler::AreFatal,
        }
    }

    /// Makes a handler of a function; the program holds one reference.
    pub fn user(handled: Handled, function: Function) -> Result<Handle, Failure> {
        let user = Arc::new(UserHandler {
            handled,
            function,
            references: Mutex::new(References {
                count: 0,
                handle: MPI_ERRHANDLER_NULL,
            }),
        });
        Errhandler::User(user).reference()
    }

    /// The handle for the program, which holds one reference more.
    pub fn reference(&self) -> Result<Handle, Failure> {
        let user = match self {
            Errhandler::AreFatal => return Ok(MPI_ERRORS_ARE_FATAL),
            Errhandler::Abort => return Ok(MPI_ERRORS_ABORT),
            Errhandler::Return => return Ok(MPI_ERRORS_RETURN),
            Errhandler::User(user) => user,
        };
        let mut references = user
            .references
            .lock()
            .expect("nothing panics while it holds this lock");
        if references.count == 0 {
            references.handle = super::handle_for(self.clone())?;
        }
        references.count += 1;
        Ok(references.handle)
    }

    /// The program gives a reference back; with the last one the handle becomes invalid.
    pub fn release(&self) {
        let Errhandler::User(user) = self else {
            return;
        };
        let mut references = user
            .references
            .lock()
            .expect("nothing panics while it holds this lock");
        references.count = references.count.saturating_sub(1);
        if references.count == 0 {
            Errhandler::table().remove(references.handle);
        }
    }

    /// Whether it can be attached to this kind of object: functions are for the kind that they were
    /// made for.
    pub fn handles(&self, handled: Handled) -> bool {
        match self {
            Errhandler::User(user) => user.handled == handled,
            _ => true,
        }
    }
}

impl UserHandler {
    /// Calls the function with the object's handle and the error code that will be returned, which
    /// the function may change; the code then (MPI 5.0 §9.3.1).
    pub fn call(&self, object: &mut Handle, code: i32) -> i32 {
        let mut code = code;
        // SAFETY: the program has vouched for the function when it made the handler, and both
        // pointers are valid during the call.
        unsafe { (self.function)(object, &mut code) };
        code
    }

    /// The null handle of the kind that it is for.
    pub fn null(&self) -> Handle {
        match self.handled {
            Handled::Comm => MPI_COMM_NULL,
            Handled::Session => MPI_SESSION_NULL,
            Handled::Win => MPI_WIN_NULL,
            Handled::File => MPI_FILE_NULL,
        }
    }
}

impl ErrhandlerSlot {
    /// A place with a handler.
    pub fn new(handler: Errhandler) -> ErrhandlerSlot {
        ErrhandlerSlot(Mutex::new(handler))
    }

    /// The handler.
    pub fn get(&self) -> Errhandler {
        self.0
            .lock()
            .expect("nothing panics while it holds this lock")
            .clone()
    }

    /// Another handler from now on.
    pub fn set(&self, handler: Errhandler) {
        *self
            .0
            .lock()
            .expect("nothing panics while it holds this lock") = handler;
    }
}

impl fmt::Debug for UserHandler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "UserHandler({:?})", self.handled)
    }
}
