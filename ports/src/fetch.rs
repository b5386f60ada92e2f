//! Reading and writing another process's memory in one copy (process_vm_readv and
//! process_vm_writev), where the kernel permits it.
//!
//! Whether it does depends on user ids, ptrace restrictions and containers, so it is tried, not
//! assumed: the first refusal by a peer is remembered by the caller and the bytes travel through
//! the ring instead.

use std::io;

/// Whether the kernel refuses this process the memory of process `pid`. It asks for a byte at
/// address 0, which nobody has: who is refused hears of permissions, others of a bad address (or of
/// a process that has ended, which says nothing).
pub fn is_refused(pid: u32) -> bool {
    let mut byte = 0;
    // SAFETY: the byte is writable; nothing is read from a null page.
    let probe = unsafe { fetch(pid, 0, &mut byte, 1) };
    let refusals = [libc::EPERM, libc::EACCES, libc::ENOSYS];
    probe.is_err_and(|error| {
        error
            .raw_os_error()
            .is_some_and(|code| refusals.contains(&code))
    })
}

/// Copies `bytes` bytes at `address` of process `pid` to `into`.
///
/// # Safety
/// `into` must be valid for writing `bytes` bytes. (A wrong address in the other process is an
/// error, not undefined.)
pub unsafe fn fetch(pid: u32, address: u64, into: *mut u8, bytes: usize) -> io::Result<()> {
    move_all(into, address, bytes, |local, remote| {
        // SAFETY: the local part is valid by the caller's promise; the kernel checks the remote
        // one.
        unsafe { libc::process_vm_readv(pid as libc::pid_t, local, 1, remote, 1, 0) }
    })
}

/// Copies `bytes` bytes at `from` to `address` of process `pid`.
///
/// # Safety
/// `from` must be valid for reading `bytes` bytes. (A wrong address in the other process is an
/// error, not undefined.)
pub unsafe fn store(pid: u32, address: u64, from: *const u8, bytes: usize) -> io::Result<()> {
    move_all(from.cast_mut(), address, bytes, |local, remote| {
        // SAFETY: the local part is valid by the caller's promise, and only read; the kernel checks
        // the remote one.
        unsafe { libc::process_vm_writev(pid as libc::pid_t, local, 1, remote, 1, 0) }
    })
}

/// Calls the kernel until all bytes have been moved.
fn move_all(
    local: *mut u8,
    address: u64,
    bytes: usize,
    call: impl Fn(&libc::iovec, &libc::iovec) -> isize,
) -> io::Result<()> {
    let mut done = 0;
    while done < bytes {
        let piece = |base: usize| libc::iovec {
            iov_base: (base + done) as *mut _,
            iov_len: bytes - done,
        };
        match call(&piece(local.expose_provenance()), &piece(address as usize)) {
            moved @ 1.. => done += moved as usize,
            0 => return Err(io::Error::from(io::ErrorKind::UnexpectedEof)),
            _ => {
                let error = io::Error::last_os_error();
                if error.kind() != io::ErrorKind::Interrupted {
                    return Err(error);
                }
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neither_oneself_nor_a_process_that_has_ended_is_refused() {
        assert!(!is_refused(std::process::id()));
        assert!(!is_refused(u32::MAX >> 1));
    }

    #[test]
    fn bytes_go_there_and_come_back() {
        let me = std::process::id();
        let (out, mut there, mut back) = ([7_u8; 5000], [0_u8; 5000], [0_u8; 5000]);
        // SAFETY: all of it is memory of this test.
        unsafe {
            store(me, there.as_mut_ptr() as u64, out.as_ptr(), 5000).unwrap();
            fetch(me, there.as_ptr() as u64, back.as_mut_ptr(), 5000).unwrap();
            assert!(store(me, 8, out.as_ptr(), 5000).is_err());
        }
        assert_eq!((there, back), (out, out));
    }
}
