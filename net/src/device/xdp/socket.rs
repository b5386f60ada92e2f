//! The socket itself: how it is bound to a queue of an interface, and the calls that tell the
//! kernel to look at the rings.
//!
//! With `rings` and `bpf`, all unsafe code of the XDP device.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::RawFd;

use crate::device::Batch;
use crate::device::sys::{Socket, check};

/// What may wait in the kernel to be sent, where it copies; it allows itself twice this.
const SEND_BUFFER_BYTES: i32 = 2 << 20;

/// A socket of AF_XDP.
pub(super) struct XdpSocket(Socket);

impl XdpSocket {
    pub fn open() -> io::Result<XdpSocket> {
        let socket = Socket::new(libc::AF_XDP, libc::SOCK_RAW, 0)?;
        // Less will do.
        let _ = socket.set(libc::SOL_SOCKET, libc::SO_SNDBUF, SEND_BUFFER_BYTES);
        Ok(XdpSocket(socket))
    }

    pub fn socket(&self) -> &Socket {
        &self.0
    }

    pub fn fd(&self) -> RawFd {
        self.0.fd()
    }

    /// Takes the queue. With `zero_copy` the kernel does without copies if the driver can.
    pub fn bind(&self, interface_index: u32, queue: u32, zero_copy: bool) -> io::Result<()> {
        let copy = if zero_copy { 0 } else { libc::XDP_COPY };
        let address = libc::sockaddr_xdp {
            sxdp_family: libc::AF_XDP as u16,
            sxdp_flags: libc::XDP_USE_NEED_WAKEUP | copy,
            sxdp_ifindex: interface_index,
            sxdp_queue_id: queue,
            sxdp_shared_umem_fd: 0,
        };
        let bytes = size_of_val(&address) as libc::socklen_t;
        // SAFETY: pointer and length describe the local.
        check(unsafe { libc::bind(self.fd(), (&raw const address).cast(), bytes) })?;
        Ok(())
    }

    pub fn is_zero_copy(&self) -> bool {
        let options = self.0.get_words::<1>(libc::SOL_XDP, libc::XDP_OPTIONS);
        options.is_ok_and(|[flags]| flags & libc::XDP_OPTIONS_ZEROCOPY != 0)
    }

    /// Packets dropped because there was no chunk for them or no place in the ring.
    pub fn drops(&self) -> u64 {
        // `struct xdp_statistics`: six 64-bit numbers, of which the first and the fourth are these.
        // Lower halves will do.
        let words = self.0.get_words::<12>(libc::SOL_XDP, libc::XDP_STATISTICS);
        let low = usize::from(cfg!(target_endian = "big"));
        words.map_or(0, |words| u64::from(words[low]) + u64::from(words[6 + low]))
    }

    /// Has the kernel look at the transmit ring.
    pub fn wake_to_send(&self) -> io::Result<()> {
        // SAFETY: a message of no bytes.
        let sent = unsafe {
            libc::sendto(
                self.fd(),
                std::ptr::null(),
                0,
                libc::MSG_DONTWAIT,
                std::ptr::null(),
                0,
            )
        };
        check(sent as libc::c_int).map(drop)
    }

    /// Has the kernel look at the fill ring. What can go wrong shows when something is sent.
    pub fn wake_to_receive(&self) {
        // SAFETY: room for no bytes.
        unsafe {
            libc::recvfrom(
                self.fd(),
                std::ptr::null_mut(),
                0,
                libc::MSG_DONTWAIT,
                std::ptr::null_mut(),
                std::ptr::null_mut(),
            )
        };
    }
}

/// Copies a frame to where the card reads it; says how long it is.
#[inline]
pub(super) fn gather(batch: &Batch, frame: usize, into: &mut [u8]) -> usize {
    let mut filled = 0;
    for piece in batch.pieces(frame, frame + 1) {
        if piece.iov_len > 0 {
            // SAFETY: who pushed the piece promised that its memory stays until the batch is sent
            // or cleared.
            let bytes =
                unsafe { std::slice::from_raw_parts(piece.iov_base.cast::<u8>(), piece.iov_len) };
            into[filled..filled + bytes.len()].copy_from_slice(bytes);
            filled += bytes.len();
        }
    }
    filled
}
