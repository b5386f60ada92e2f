//! What every entry point does around the chapter: note the call, check the stage, and run the
//! error handler if it fails.
//!
//! The error handler is the one of the communicator, session, window or file among the arguments
//! ([`Subject`]); if there is none, or the handle is not valid, that of MPI_COMM_SELF; and before
//! initialisation and after finalisation the one that the launcher was asked to begin with, by
//! default MPI_ERRORS_ARE_FATAL (MPI 5.0 §9.3).

use std::ffi::c_int;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::caller::fortran_procedure;
use crate::constant::*;
use crate::failure::Failure;
use crate::fatal;
use crate::handle::{Handle, Object};
use crate::last_failure;
use crate::object::{Communicator, Errhandler, FILE_ERRHANDLER, File, Session, Window};
use crate::stage::{self, World};
use crate::subject::Subject;

/// Which of a function's two C forms was called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Face {
    /// With `int` counts.
    Int,
    /// With `MPI_Count` counts; the name ends in `_c`.
    Large,
}

/// A call of a function of the standard.
#[derive(Clone, Copy, Debug)]
pub struct Call {
    name: &'static str,
    face: Face,
    subject: Subject,
}

/// Uses of the tool information interface; MPI_T_init_thread may be called often.
pub(crate) static TOOLS: AtomicU32 = AtomicU32::new(0);

impl Call {
    /// Notes a call.
    #[inline]
    pub fn new(name: &'static str, face: Face, subject: Subject) -> Call {
        Call {
            name,
            face,
            subject,
        }
    }

    /// Notes a call of the tool information interface.
    pub fn tool(name: &'static str) -> Call {
        Call::new(name, Face::Int, Subject::Nothing)
    }

    /// The function's name in C.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Whether the form with `MPI_Count` was called.
    pub fn is_large(&self) -> bool {
        self.face == Face::Large
    }

    /// Runs a call that needs the library to be initialised.
    #[inline]
    pub fn run(&self, body: impl FnOnce() -> Result<(), Failure>) -> c_int {
        if !stage::is_inside() {
            return self.fail(&self.outside());
        }
        self.run_always(body)
    }

    /// Runs a call that is allowed at any time.
    #[inline]
    pub fn run_always(&self, body: impl FnOnce() -> Result<(), Failure>) -> c_int {
        match body() {
            Ok(()) => MPI_SUCCESS,
            Err(failure) => self.fail(&failure),
        }
    }

    /// Runs a call of the tool information interface: errors are returned, and there must have been
    /// MPI_T_init_thread.
    pub fn run_tool(&self, body: impl FnOnce() -> Result<(), Failure>) -> c_int {
        if TOOLS.load(Ordering::Acquire) == 0 && self.name != "MPI_T_init_thread" {
            return MPI_T_ERR_NOT_INITIALIZED;
        }
        match body().map_err(|failure| failure.code()) {
            Ok(()) => MPI_SUCCESS,
            Err(MPI_ERR_ARG) => MPI_T_ERR_INVALID,
            Err(code) => code,
        }
    }

    /// A call of the tool information interface that has one answer, because there is nothing to
    /// ask for.
    pub fn answer(&self, code: i32) -> c_int {
        self.run_tool(|| Err(Failure::new(code, "")))
    }

    /// A function of a chapter that is not part of this release.
    #[cold]
    pub fn later(&self) -> c_int {
        let spawns = self.name.starts_with("MPI_Comm_spawn");
        let advice = match spawns {
            true => {
                "; start all processes at once, with mpi4py's MPIPoolExecutor by \
                 'mpiexec -n N python3 -m mpi4py.futures PROGRAM'"
            }
            false => "",
        };
        let text = format!(
            "{} is not part of this release of OxMPI: dynamic processes are still missing{advice}",
            self.name
        );
        let failure = Failure::new(MPI_ERR_UNSUPPORTED_OPERATION, text);
        if spawns && fatal::is_unheard_by_mpi4py() {
            fatal::end_unheard(&failure);
        }
        self.run(|| Err(failure))
    }

    /// A function of this release that is not written yet.
    #[cold]
    pub fn unfinished(&self) -> c_int {
        let text = format!("{} is not written yet", self.name);
        let failure = Failure::new(MPI_ERR_UNSUPPORTED_OPERATION, text);
        self.fail(&failure)
    }

    /// Runs the error handler that is responsible for a failure; returns what the function returns.
    #[cold]
    #[inline(never)]
    pub fn fail(&self, failure: &Failure) -> c_int {
        let subject = failure.subject().unwrap_or(self.subject);
        let procedure = fortran_procedure();
        let name = procedure.as_deref().unwrap_or(self.name);
        last_failure::keep(failure, self.name, name);
        let (handler, mut handle) = responsible(subject);
        if matches!(handler, Errhandler::Return | Errhandler::User(_)) {
            self.tell_of_missing(subject, failure);
        }
        match handler {
            Errhandler::Return => failure.code(),
            Errhandler::AreFatal => fatal::end(name, subject, failure, "MPI_ERRORS_ARE_FATAL"),
            Errhandler::Abort => fatal::end(name, subject, failure, "MPI_ERRORS_ABORT"),
            Errhandler::User(user) => user.call(&mut handle, failure.code()),
        }
    }

    /// What OxMPI does not have is told even if the error is returned: a program that ignores codes
    /// would go on without what it asked for. Once for each function, and of the processes of a
    /// communicator the first speaks for all.
    fn tell_of_missing(&self, subject: Subject, failure: &Failure) {
        static TOLD: Mutex<Vec<&str>> = Mutex::new(Vec::new());
        // Of files nothing is missing: there the class is for what a program may not do.
        let is_of_file = matches!(subject, Subject::File(_));
        if failure.code() != MPI_ERR_UNSUPPORTED_OPERATION || is_of_file {
            return;
        }
        let is_first = match subject {
            Subject::Comm(handle) => Communicator::table()
                .get(handle)
                .is_none_or(|comm| comm.comm.rank() == 0),
            _ => true,
        };
        let mut told = TOLD.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if is_first && !told.contains(&self.name) {
            told.push(self.name);
            eprintln!("oxmpi: {}", failure.text());
        }
    }

    fn outside(&self) -> Failure {
        let text = match stage::world() {
            World::After => "it was called after MPI_Finalize; move it before, or keep a session open".to_string(),
            _ => "it was called before MPI_Init, MPI_Init_thread or MPI_Session_init; call one of them first".to_string(),
        };
        Failure::new(MPI_ERR_OTHER, text)
    }
}

/// The handler for a subject, and the handle that a function of the program is called with.
fn responsible(subject: Subject) -> (Errhandler, Handle) {
    let own = match subject {
        Subject::Comm(handle) => Communicator::table()
            .get(handle)
            .map(|comm| (comm.errhandler.get(), handle)),
        Subject::Session(handle) => Session::table()
            .get(handle)
            .map(|session| (session.errhandler.get(), handle)),
        // A handle that is no file's has the default of files, as MPI_FILE_NULL has.
        Subject::File(handle) => Some(match File::table().get(handle) {
            Some(file) => (file.errhandler.get(), handle),
            None => (FILE_ERRHANDLER.get(), MPI_FILE_NULL),
        }),
        // What was given is for an object that does not exist; a function of the program is told
        // the null handle.
        Subject::Errhandler(handle) => Errhandler::table().get(handle).map(|handler| {
            let null = match &*handler {
                Errhandler::User(user) => user.null(),
                _ => MPI_COMM_NULL,
            };
            (handler.clone_object(), null)
        }),
        Subject::Win(handle) => Window::table()
            .get(handle)
            .map(|win| (win.errhandler.get(), handle)),
        Subject::Nothing => None,
    };
    own.or_else(without_object)
        .unwrap_or_else(|| (Errhandler::initial(), MPI_COMM_NULL))
}

/// The handler of a call that concerns no object: that of MPI_COMM_SELF (MPI 5.0 §9.3). Before MPI
/// 4.0 it was that of MPI_COMM_WORLD, and programs of that time set no other. So where the one of
/// MPI_COMM_SELF is as it was at the start, fatal, MPI_COMM_WORLD's decides.
fn without_object() -> Option<(Errhandler, Handle)> {
    let of = |handle| {
        let comm = Communicator::table().get(handle)?;
        Some((comm.errhandler.get(), handle))
    };
    match of(MPI_COMM_SELF)? {
        fatal @ (Errhandler::AreFatal, _) => Some(of(MPI_COMM_WORLD).unwrap_or(fatal)),
        own => Some(own),
    }
}
