//! Where a running process is, by the means that show where one has crashed.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use oxmpi_join::crash::NO_ADDRESS;

use super::{Crash, trace};
use crate::tracee::Tracee;

/// Of the stack: some hundred frames of ordinary functions.
const STACK_BYTES_MAX: usize = 256 * 1024;
/// A thread that is in code of the kernel's (the clock) when it is stopped cannot be walked; it is
/// somewhere else soon.
const TRIES_MAX: usize = 4;
/// Threads of a process besides the main one that are looked at.
const THREADS_MAX: usize = 8;
/// Threads of the library's own begin with this.
const OWN_THREAD: &str = "oxmpi";

/// The innermost frames of the threads of a process that say something: of the main one, and of
/// others that are inside MPI. Each is the MPI call, if there is one, and the frames around it.
pub(crate) fn look(process: u32) -> io::Result<Vec<Stack>> {
    let mut stacks = vec![stack_of(process, process)?];
    let tasks = std::fs::read_dir(format!("/proc/{process}/task"))?;
    let threads = tasks.filter_map(|task| task.ok()?.file_name().to_str()?.parse().ok());
    let others = threads.filter(|thread| *thread != process && !is_own(process, *thread));
    for thread in others.take(THREADS_MAX) {
        // A thread that has just ended waits for nothing.
        stacks.extend(
            stack_of(process, thread)
                .ok()
                .filter(|stack| stack.call.is_some()),
        );
    }
    Ok(stacks)
}

/// Where a thread is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stack {
    /// The function of MPI that the program has called.
    pub(crate) call: Option<String>,
    /// From its caller outwards, or all.
    pub(crate) frames: Vec<String>,
}

fn is_own(process: u32, thread: u32) -> bool {
    let name = std::fs::read_to_string(format!("/proc/{process}/task/{thread}/comm"));
    name.is_ok_and(|name| name.starts_with(OWN_THREAD))
}

fn stack_of(process: u32, thread: u32) -> io::Result<Stack> {
    let mut stack = program_part(Vec::new());
    for _ in 0..TRIES_MAX {
        let crash = state(process, thread)?;
        // Files of any content are read here, some of them broken.
        let lines = std::panic::catch_unwind(|| trace::lines(&crash)).unwrap_or_default();
        let is_whole = lines.iter().any(|line| trace::is_main(line));
        stack = program_part(lines);
        if is_whole || stack.call.is_some() {
            break;
        }
    }
    Ok(stack)
}

/// A thread as if it had crashed where it is.
fn state(process: u32, thread: u32) -> io::Result<Crash> {
    let tracee = Tracee::stop(thread)?;
    let registers = tracee.registers()?;
    let memory = File::open(format!("/proc/{process}/mem"))?;
    let mut bytes = vec![0; STACK_BYTES_MAX];
    let begin = registers[1] & !7;
    // Reads up to the end of the stack.
    let count = memory.read_at(&mut bytes, begin)?;
    drop(tracee);
    bytes.truncate(count);
    Ok(Crash {
        rank: 0,
        signal: 0,
        address: NO_ADDRESS,
        registers,
        maps: std::fs::read(format!("/proc/{process}/maps"))?,
        has_all_maps: true,
        stack: BTreeMap::from([(begin, bytes)]),
        bytes: 0,
    })
}

/// What the program has called, and from where: how the library waits inside is of no interest.
fn program_part(lines: Vec<String>) -> Stack {
    let name = |line: &String| {
        let mut words = line.trim_start().splitn(2, ' ');
        let number = words.next().is_some_and(|word| word.starts_with('#'));
        words.next().filter(|_| number).map(str::to_owned)
    };
    let names: Vec<String> = lines.iter().filter_map(name).collect();
    let outermost = names.iter().rposition(|name| is_call(name));
    let callers = &names[outermost.map_or(0, |place| place + 1)..];
    Stack {
        call: outermost.map(|place| call(&names[place])),
        frames: callers
            .iter()
            .enumerate()
            .map(|(number, name)| format!("  #{number} {name}"))
            .collect(),
    }
}

/// The name by which programs call the function of a frame.
fn call(frame: &str) -> String {
    let end = frame.find(" at ").or_else(|| frame.rfind(" in "));
    let name = &frame[..end.unwrap_or(frame.len())];
    // A program calls MPI_Recv and gets the function that has both names.
    let name = name.strip_prefix(['P', 'p']).unwrap_or(name);
    match name.starts_with("mpi_") {
        // Fortran has no cases; compilers write small letters and a stroke.
        true => name.trim_end_matches('_').to_uppercase(),
        false => name.to_owned(),
    }
}

/// Whether a frame's function is one that programs call: of C, of Fortran, of the Rust API.
fn is_call(name: &str) -> bool {
    let ours = [
        "MPI_",
        "PMPI_",
        "mpi_",
        "pmpi_",
        "oxmpi_core::",
        "oxmpi_files::",
    ];
    let name = name.trim_start_matches('<');
    ours.iter().any(|prefix| name.starts_with(prefix))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_begin_with_the_caller() {
        let lines = |names: &[&str]| -> Vec<String> {
            let numbered = names.iter().enumerate();
            numbered
                .map(|(number, name)| format!("  #{number} {name}"))
                .collect()
        };
        let inside = lines(&[
            "poll in libc.so.6",
            "oxmpi_engine::wait in libmpi_abi.so.1",
            "MPI_Wait in libmpi_abi.so.1",
            "MPI_Recv in libmpi_abi.so.1",
            "exchange at a.c:7",
            "main at a.c:12",
        ]);
        let stack = program_part(inside);
        assert_eq!(stack.call.as_deref(), Some("MPI_Recv"));
        assert_eq!(
            stack.frames,
            lines(&["exchange at a.c:7", "main at a.c:12"])
        );
        let outside = lines(&["compute at a.c:3", "main at a.c:12"]);
        let stack = program_part(outside.clone());
        assert_eq!((stack.call, stack.frames), (None, outside));
        assert_eq!(call("PMPI_Wait at entries.rs:7"), "MPI_Wait");
        assert_eq!(call("mpi_recv_ in libmpifort_abi.so.1"), "MPI_RECV");
    }
}
