//! Closing a file whose last data do not reach their server, as it happens on NFS: the system tells
//! it when the file is closed. Here a filter of system calls says so in place of the system.

use std::fs::File as Plain;
use std::os::fd::AsRawFd;
use std::sync::Arc;

use oxmpi_core::communicator::Comm;
use oxmpi_core::process::{Process, Threads};
use oxmpi_core::{ErrorKind, FileFault};
use oxmpi_datatypes::datatype::{Basic, Datatype};
use oxmpi_files::{Amode, File, Memory, Start};

fn world() -> Arc<Comm> {
    // SAFETY: tests call from one thread.
    let process = unsafe { Process::join(Threads::One) }.unwrap();
    Arc::new(process.world())
}

/// The descriptor that this process gets next.
fn next_descriptor() -> u32 {
    Plain::open("/dev/null").unwrap().as_raw_fd() as u32
}

/// From now on this thread is told ENOSPC when it closes that descriptor.
fn refuse_to_close(descriptor: u32) {
    let statement = |code: u32, k: u32| libc::sock_filter {
        code: code as u16,
        jt: 0,
        jf: 0,
        k,
    };
    let unless = |k, jf| libc::sock_filter {
        jf,
        ..statement(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, k)
    };
    let load = |offset| statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, offset);
    let answer = |k| statement(libc::BPF_RET | libc::BPF_K, k);
    // struct seccomp_data has the call's number at 0 and its first argument's low half at 16.
    let mut filter = [
        load(0),
        unless(libc::SYS_close as u32, 3),
        load(16),
        unless(descriptor, 1),
        answer(libc::SECCOMP_RET_ERRNO | libc::ENOSPC as u32),
        answer(libc::SECCOMP_RET_ALLOW),
    ];
    let program = libc::sock_fprog {
        len: filter.len() as u16,
        filter: filter.as_mut_ptr(),
    };
    // SAFETY: takes numbers alone.
    let first = unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) };
    // SAFETY: the program and its filter are there during the call, which copies them.
    let second = unsafe {
        let mode = libc::SECCOMP_MODE_FILTER;
        libc::prctl(libc::PR_SET_SECCOMP, mode, std::ptr::from_ref(&program))
    };
    assert_eq!((first, second), (0, 0), "a filter of system calls");
}

oxmpi_harness::ranks! {
    fn all_hear_of_data_that_one_rank_lost([1, 2, 3]) {
        let comm = world();
        let folder = std::env::temp_dir();
        let name = format!("{}/oxmpi-files-closing-{}.dat", folder.display(), comm.size());
        let mode = Amode::CREATE | Amode::READ_WRITE;
        let file = File::open(&comm, name.as_bytes(), mode, None).unwrap();
        let byte = Datatype::named(Basic::Byte);
        let mut data = [1_u8; 64];
        // SAFETY: the data outlive the access.
        let memory = unsafe { Memory::new(data.as_mut_ptr(), 64, &byte) }.unwrap();
        file.write_all(Start::At(64 * i64::from(comm.rank())), memory).unwrap();
        let loser = comm.size() - 1;
        if comm.rank() == loser {
            refuse_to_close(next_descriptor());
        }
        let Err(ErrorKind::File(error)) = file.close() else {
            panic!("data were lost and nobody said so");
        };
        assert_eq!(error.fault, FileFault::NoSpace);
        let by = match comm.rank() == loser {
            true => String::new(),
            false => format!(" (on rank {loser})"),
        };
        let text = format!("cannot close {name}{by}: No space left on device");
        assert!(error.to_string().starts_with(&text), "{error}");
        assert!(file.is_closed());
        // What is opened for reading alone has nothing to lose.
        let file = File::open(&comm, name.as_bytes(), Amode::READ_ONLY, None).unwrap();
        file.close().unwrap();
        if comm.rank() == 0 {
            std::fs::remove_file(name).unwrap();
        }
        comm.process().finalize();
    }
}
