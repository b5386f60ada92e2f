//! The packet socket: how it is opened so that nothing but our frames ever enters, and how frames
//! leave by it.
//!
//! With the ring and `interface`, all unsafe code of the Ethernet device.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::RawFd;

use super::{ETHERNET_HEADER_BYTES, ETHERTYPE, filter};
use crate::device::Batch;
use crate::device::sys::{COPIED_BYTES_MAX, Socket, check, gather};

/// Frames given to the kernel in one call.
pub(super) const FRAMES_PER_CALL_MAX: usize = 64;
/// Pieces of memory that the kernel takes for one packet (UIO_MAXIOV), one of which is the Ethernet
/// header.
const PIECES_MAX: usize = 1024 - 1;

/// A packet socket and the lists that its calls need.
pub(super) struct Packets {
    socket: Socket,
    pieces: Vec<libc::iovec>,
    messages: Vec<libc::mmsghdr>,
    /// For a frame in more pieces than the kernel takes.
    gathered: Vec<u8>,
}

// SAFETY: the lists are filled anew by each call that uses them, and nothing reads them between
// calls.
unsafe impl Send for Packets {}

impl Packets {
    /// A packet socket that receives nothing yet: without a protocol it is not hooked into any
    /// interface.
    pub fn open() -> io::Result<Packets> {
        Ok(Packets {
            socket: Socket::new(libc::AF_PACKET, libc::SOCK_RAW, 0)?,
            pieces: Vec::new(),
            messages: Vec::new(),
            gathered: Vec::new(),
        })
    }

    pub fn socket(&self) -> &Socket {
        &self.socket
    }

    pub fn fd(&self) -> RawFd {
        self.socket.fd()
    }

    /// Lets in only frames for this channel and node.
    pub fn attach_filter(&self, channel: u16, node: u32) -> io::Result<()> {
        let mut program = filter::program(channel, node);
        let described = libc::sock_fprog {
            len: filter::INSTRUCTIONS as u16,
            filter: program.as_mut_ptr(),
        };
        // SAFETY: the description and the program it points to are locals; the kernel copies both.
        check(unsafe {
            libc::setsockopt(
                self.fd(),
                libc::SOL_SOCKET,
                libc::SO_ATTACH_FILTER,
                (&raw const described).cast(),
                size_of::<libc::sock_fprog>() as libc::socklen_t,
            )
        })?;
        Ok(())
    }

    /// Sends leave at once, by no queue of the kernel; and what this host sends is not shown to us.
    /// Both save time only, so that a kernel without them will do.
    pub fn be_direct(&self) {
        for option in [libc::PACKET_QDISC_BYPASS, libc::PACKET_IGNORE_OUTGOING] {
            let _ = self.socket.set(libc::SOL_PACKET, option, 1);
        }
    }

    /// From here on, packets of our EtherType come in by the interface, through the filter.
    pub fn bind(&self, interface_index: u32) -> io::Result<()> {
        // SAFETY: zero is a valid address of no family.
        let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_protocol = ETHERTYPE.to_be();
        address.sll_ifindex = interface_index as i32;
        let bytes = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
        // SAFETY: pointer and length describe the local.
        check(unsafe { libc::bind(self.fd(), (&raw const address).cast(), bytes) })?;
        Ok(())
    }

    /// Packets dropped because the ring was full, since this was asked last.
    pub fn drops(&self) -> io::Result<u32> {
        let [_, drops] = self
            .socket
            .get_words(libc::SOL_PACKET, libc::PACKET_STATISTICS)?;
        Ok(drops)
    }

    /// Takes the error that the interface's going down leaves behind, which would keep a sleeper
    /// from sleeping.
    pub fn clear_error(&self) {
        let _ = self.socket.get_words::<1>(libc::SOL_SOCKET, libc::SO_ERROR);
    }

    /// Sends frames of the batch from `begin` on, behind the header; says how many left, which is
    /// at least one.
    #[inline]
    pub fn send(
        &mut self,
        header: &[u8; ETHERNET_HEADER_BYTES],
        batch: &Batch,
        begin: usize,
    ) -> io::Result<usize> {
        let bytes = batch.frame_bytes(begin);
        let alone = begin + 1 == batch.len();
        let pieces = batch.pieces(begin, begin + 1);
        if alone && bytes <= COPIED_BYTES_MAX {
            return self.send_copied(header, pieces);
        }
        if pieces.len() > PIECES_MAX {
            batch.copy_frame(begin, &mut self.gathered);
            let whole = libc::iovec {
                iov_base: self.gathered.as_mut_ptr().cast(),
                iov_len: bytes,
            };
            self.pieces.clear();
            self.pieces.extend([piece(header), whole]);
            return self.send_messages(&[2]);
        }
        self.send_together(header, batch, begin)
    }

    #[inline]
    fn send_copied(
        &self,
        header: &[u8; ETHERNET_HEADER_BYTES],
        pieces: &[libc::iovec],
    ) -> io::Result<usize> {
        let mut packet = [0; ETHERNET_HEADER_BYTES + COPIED_BYTES_MAX];
        packet[..ETHERNET_HEADER_BYTES].copy_from_slice(header);
        let frame = gather(pieces, &mut packet[ETHERNET_HEADER_BYTES..]);
        let filled = ETHERNET_HEADER_BYTES + frame;
        // SAFETY: pointer and length describe the filled part of the local.
        let outcome = unsafe {
            libc::send(
                self.fd(),
                packet.as_ptr().cast(),
                filled,
                libc::MSG_DONTWAIT,
            )
        };
        if outcome < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(1)
    }

    fn send_together(
        &mut self,
        header: &[u8; ETHERNET_HEADER_BYTES],
        batch: &Batch,
        begin: usize,
    ) -> io::Result<usize> {
        let end = batch.len().min(begin + FRAMES_PER_CALL_MAX);
        let mut counts = [0; FRAMES_PER_CALL_MAX];
        let mut frames = 0;
        self.pieces.clear();
        for frame in begin..end {
            let pieces = batch.pieces(frame, frame + 1);
            if pieces.len() > PIECES_MAX {
                break;
            }
            self.pieces.push(piece(header));
            self.pieces.extend_from_slice(pieces);
            counts[frames] = pieces.len() + 1;
            frames += 1;
        }
        self.send_messages(&counts[..frames])
    }

    /// Sends packets that consist of so many of `self.pieces` each.
    fn send_messages(&mut self, counts: &[usize]) -> io::Result<usize> {
        self.messages.clear();
        let mut rest = self.pieces.as_mut_slice();
        for count in counts {
            let pieces;
            (pieces, rest) = std::mem::take(&mut rest).split_at_mut(*count);
            // SAFETY: zero is a valid message header of no pieces.
            let mut message: libc::mmsghdr = unsafe { std::mem::zeroed() };
            message.msg_hdr.msg_iov = pieces.as_mut_ptr();
            message.msg_hdr.msg_iovlen = pieces.len() as _;
            self.messages.push(message);
        }
        // SAFETY: the messages refer to `self.pieces`, which has not changed since, and those to
        // the caller's header, to `self.gathered` and to the batch's memory, which stays until the
        // batch is sent (promised to `Batch::push`). The kernel reads them.
        let sent = check(unsafe {
            libc::sendmmsg(
                self.fd(),
                self.messages.as_mut_ptr(),
                self.messages.len() as u32,
                // musl declares the flags as unsigned.
                libc::MSG_DONTWAIT as _,
            )
        })?;
        Ok(sent as usize)
    }
}

fn piece(bytes: &[u8]) -> libc::iovec {
    libc::iovec {
        iov_base: bytes.as_ptr().cast_mut().cast(),
        iov_len: bytes.len(),
    }
}
