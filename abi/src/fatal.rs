//! How a job ends when an error is fatal: the text, once, and the end of every process.
//!
//! Of N ranks that fail, often all for one reason, the first to claim the end of the job prints;
//! the launcher ends the others. The claim is `Process::set_abort`. Before initialisation and after
//! finalisation there is no job to claim: the process prints and ends alone.

use crate::constant::class_name;
use crate::failure::Failure;
use crate::handle::Object;
use crate::object::{Communicator, Window};
use crate::stage;
use crate::subject::Subject;

/// Prints why, unless another process of the job has, and ends the job.
#[cold]
pub fn end(call: &str, subject: Subject, failure: &Failure, handler: &str) -> ! {
    // A process that ends with 0 has not failed; the codes of the program may be any number.
    let status = match failure.code() & 0xff {
        0 => 1,
        status => status,
    };
    let process = stage::process();
    let first = process
        .as_ref()
        .is_none_or(|process| process.set_abort(status));
    if first {
        // In one piece, so that the lines of several processes do not mix.
        eprint!("{}", text(call, subject, failure, handler));
    }
    std::process::exit(status)
}

/// Whether an error that is returned here would be lost: mpi4py's pool of processes calls
/// MPI_Comm_spawn in a thread of its own, and the program waits for that thread's work for ever
/// when an exception ends it.
#[cold]
pub fn is_unheard_by_mpi4py() -> bool {
    // SAFETY: the call has no arguments.
    let thread = unsafe { libc::syscall(libc::SYS_gettid) };
    let is_first_thread = thread == i64::from(std::process::id());
    let mpi4py_is_loaded =
        || std::fs::read_to_string("/proc/self/maps").is_ok_and(|maps| maps.contains("/mpi4py/"));
    !is_first_thread && mpi4py_is_loaded()
}

/// Ends the job for an error that nobody would hear of.
#[cold]
pub fn end_unheard(failure: &Failure) -> ! {
    let first = stage::process().is_none_or(|process| process.set_abort(1));
    if first {
        eprintln!(
            "oxmpi: {}\noxmpi:   mpi4py called it in a thread whose errors the program does not \
             see, and would wait for ever: the job ends now",
            failure.text()
        );
    }
    std::process::exit(1)
}

/// The text of a fatal error: what, with which values; where; what one can do.
pub fn text(call: &str, subject: Subject, failure: &Failure, handler: &str) -> String {
    let class = class_name(failure.code());
    format!(
        "oxmpi: {call} failed with {class}: {}\noxmpi:   {}\noxmpi:   the error handler is {handler}, so the job ends now; \
         with MPI_ERRORS_RETURN the call would return the error\n",
        failure.text(),
        place(subject),
    )
}

/// Who failed: "on rank 2 of MPI_COMM_WORLD (4 processes), host node7".
fn place(subject: Subject) -> String {
    let host = host();
    if let Subject::Comm(handle) = subject
        && let Some(comm) = Communicator::table().get(handle)
    {
        let name = match comm.name() {
            name if name.is_empty() => format!("an unnamed communicator ({handle})"),
            name => name,
        };
        let (rank, size) = (comm.comm.rank(), comm.comm.size());
        return format!("on rank {rank} of {name} ({size} processes), host {host}");
    }
    if let Subject::Win(handle) = subject
        && let Some(win) = Window::table().get(handle)
    {
        let name = match String::from_utf8_lossy(&win.name()).into_owned() {
            name if name.is_empty() => format!("an unnamed window ({handle})"),
            name => format!("window {name}"),
        };
        let (rank, size) = (win.rank(), win.size());
        return format!("on rank {rank} of {name} ({size} processes), host {host}");
    }
    match stage::process() {
        Some(process) => {
            let (rank, size) = (process.rank(), process.size());
            format!("on process {rank} of {size}, host {host}")
        }
        None => format!("in process {}, host {host}", std::process::id()),
    }
}

/// The name of this machine.
pub fn host() -> String {
    let mut name = [0u8; 256];
    // SAFETY: the buffer is as long as said, and its last byte stays zero.
    let found = unsafe { libc::gethostname(name.as_mut_ptr().cast(), name.len() - 1) };
    let end = name
        .iter()
        .position(|byte| *byte == 0)
        .unwrap_or(name.len());
    match found {
        0 => String::from_utf8_lossy(&name[..end]).into_owned(),
        _ => "localhost".into(),
    }
}
