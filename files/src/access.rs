//! Reading and writing by one process: the pieces of a view, one after the other or sieved.
//!
//! Sieving reads small pieces and the holes between them at once. Between two pieces it pays as
//! long as reading the hole costs less than another call: [`HOLE_MAX`]. Writing that way writes
//! old bytes back into the holes, so a write of another process into a hole could be lost. It is
//! done only when the program asks for it by `romio_ds_write`, and under a lock, which all other
//! writes of the same file take then, too.

use oxmpi_core::FileError;
use oxmpi_core::buffer::Buffer;

use crate::apart::Guard;
use crate::hints::{Hints, Switch};
use crate::job::Inner;
use crate::sys::{Disk, Span};
use crate::view::{Piece, View};

type Result<T> = std::result::Result<T, Box<FileError>>;

/// The longest hole that is read along: a call costs as much as copying 2 KiB (0.4 µs at 5 GB/s),
/// and twice that where the device answers it.
pub(crate) const HOLE_MAX: u64 = 4096;

/// What a process's own access goes by.
#[derive(Clone, Copy)]
pub(crate) struct Way<'a> {
    pub(crate) file: &'a Inner,
    pub(crate) view: &'a View,
    pub(crate) hints: &'a Hints,
    /// Every access is one step for all others (MPI 5.0 §14.6.1).
    pub(crate) atomic: bool,
    /// The whole access is guarded already, so that its parts need no guard of their own.
    pub(crate) is_guarded: bool,
    /// Holes may be written with the bytes that were read from them.
    pub(crate) may_sieve: bool,
}

impl Way<'_> {
    /// Writes all data of a buffer from a byte of the view on.
    pub(crate) fn write(&self, from: u64, buffer: &Buffer) -> Result<()> {
        let _lock = self.lock(from, buffer.bytes(), true)?;
        if let Some(address) = buffer.contiguous() {
            let bytes = buffer.bytes() as usize;
            return self.write_span(from, Span { address, bytes });
        }
        let mut staging = Vec::new();
        let mut done = 0;
        while done < buffer.bytes() {
            let end = buffer.bytes().min(done + self.hints.ind_wr_buffer_size);
            staging.resize((end - done) as usize, 0);
            buffer.part(done..end).pack_into(&mut staging);
            self.write_span(from + done, Span::of(&mut staging))?;
            done = end;
        }
        Ok(())
    }

    fn write_span(&self, from: u64, memory: Span) -> Result<()> {
        let bytes = memory.bytes as u64;
        if bytes == 0 {
            return Ok(());
        }
        if let Some(offset) = self.view.offset_in_block(from) {
            let _guard = self.guard(Piece { offset, bytes })?;
            return self.disk().write_at(offset, memory);
        }
        let pieces = self.view.pieces(from, bytes);
        if self.may_sieve && self.hints.ds_write == Switch::Enable && !self.disk().unreadable {
            return self.write_sieved(pieces, memory);
        }
        let _guard = match self.is_guarded {
            true => None,
            false => self.file.guard(|| self.view.reach(from, bytes))?,
        };
        self.write_pieces(pieces, memory)
    }

    fn write_pieces(&self, pieces: impl IntoIterator<Item = Piece>, memory: Span) -> Result<()> {
        let mut done = 0;
        pieces.into_iter().try_for_each(|piece| {
            let part = memory.part(done, piece.bytes);
            done += piece.bytes;
            self.disk().write_at(piece.offset, part)
        })
    }

    fn guard(&self, range: Piece) -> Result<Option<Guard<'_>>> {
        match self.is_guarded {
            true => Ok(None),
            false => self.file.guard(|| range),
        }
    }

    fn disk(&self) -> &Disk {
        &self.file.disk
    }

    /// Reads what lies around small pieces, changes these, and writes all of it back.
    fn write_sieved(&self, pieces: impl Iterator<Item = Piece>, memory: Span) -> Result<()> {
        let mut done = 0;
        let mut window = Vec::new();
        let most = self.hints.ind_wr_buffer_size;
        groups(pieces, most, most, |group, span| {
            let bytes: u64 = group.iter().map(|piece| piece.bytes).sum();
            let part = memory.part(done, bytes);
            done += bytes;
            let guard = self.guard(span)?;
            let is_locked = guard.as_ref().is_none_or(Guard::is_locked);
            if group.len() == 1 || !is_locked {
                return self
                    .write_pieces(group.iter().copied(), part)
                    .map(|()| true);
            }
            window.clear();
            window.resize(span.bytes as usize, 0);
            self.disk().read(span.offset, &mut window)?;
            let mut from = 0;
            for piece in group {
                let at = (piece.offset - span.offset) as usize;
                let place = &mut window[at..at + piece.bytes as usize];
                copy_from(part.part(from, piece.bytes), place);
                from += piece.bytes;
            }
            self.disk().write(span.offset, &window).map(|()| true)
        })
    }

    /// Reads from a byte of the view on until the buffer is full or the file ends; returns the
    /// bytes read.
    pub(crate) fn read(&self, from: u64, buffer: &Buffer) -> Result<u64> {
        let _lock = self.lock(from, buffer.bytes(), false)?;
        if let Some(address) = buffer.contiguous() {
            let bytes = buffer.bytes() as usize;
            return self.read_span(from, Span { address, bytes });
        }
        let mut staging = Vec::new();
        let mut done = 0;
        while done < buffer.bytes() {
            let end = buffer.bytes().min(done + self.hints.ind_rd_buffer_size);
            staging.resize((end - done) as usize, 0);
            let got = self.read_span(from + done, Span::of(&mut staging))?;
            buffer
                .part(done..done + got)
                .unpack(&staging[..got as usize]);
            done += got;
            if done < end {
                break;
            }
        }
        Ok(done)
    }

    fn read_span(&self, from: u64, memory: Span) -> Result<u64> {
        if let Some(offset) = self.view.offset_in_block(from) {
            return self.disk().read_at(offset, memory).map(|got| got as u64);
        }
        let pieces = self.view.pieces(from, memory.bytes as u64);
        let mut done = 0;
        let mut window = Vec::new();
        let most = self.hints.ind_rd_buffer_size;
        let hole_max = match self.hints.ds_read {
            Switch::Automatic => HOLE_MAX,
            Switch::Enable => most,
            Switch::Disable => 0,
        };
        groups(pieces, most, hole_max, |group, span| {
            if let [piece] = group {
                let got = self
                    .disk()
                    .read_at(piece.offset, memory.part(done, piece.bytes))?;
                done += got as u64;
                return Ok(got as u64 == piece.bytes);
            }
            window.resize(span.bytes as usize, 0);
            let got = self.disk().read(span.offset, &mut window)? as u64;
            for piece in group {
                let at = piece.offset - span.offset;
                let some = got.saturating_sub(at).min(piece.bytes);
                let place = memory.part(done, some);
                copy_into(&window[at as usize..(at + some) as usize], place);
                done += some;
                if some < piece.bytes {
                    return Ok(false);
                }
            }
            Ok(true)
        })?;
        Ok(done)
    }

    /// In atomic mode, keeps others out of everything from the first to the last byte.
    fn lock(&self, from: u64, bytes: u64, exclusive: bool) -> Result<Option<crate::sys::Lock<'_>>> {
        if !self.atomic || bytes == 0 {
            return Ok(None);
        }
        let reach = self.view.reach(from, bytes);
        self.disk()
            .lock(reach.offset, reach.bytes, exclusive)
            .map(Some)
    }
}

/// Calls `visit` with neighbouring pieces that are accessed at once, and the range they span, until
/// it says that the file has ended. A range has at most `window` bytes, or is one piece.
fn groups(
    pieces: impl Iterator<Item = Piece>,
    window: u64,
    hole_max: u64,
    mut visit: impl FnMut(&[Piece], Piece) -> Result<bool>,
) -> Result<()> {
    let mut group: Vec<Piece> = Vec::new();
    let mut span = Piece {
        offset: 0,
        bytes: 0,
    };
    for piece in pieces {
        let joins = !group.is_empty()
            && piece.offset >= span.end()
            && piece.offset - span.end() <= hole_max
            && piece.end() - span.offset <= window;
        if joins {
            span.bytes = piece.end() - span.offset;
            group.push(piece);
            continue;
        }
        if !group.is_empty() && !visit(&group, span)? {
            return Ok(());
        }
        group.clear();
        group.push(piece);
        span = piece;
    }
    if !group.is_empty() {
        visit(&group, span)?;
    }
    Ok(())
}

fn copy_from(memory: Span, place: &mut [u8]) {
    assert_eq!(memory.bytes, place.len(), "a piece of the same length");
    // SAFETY: whoever made the span promises the memory; the window is this process's own.
    unsafe { std::ptr::copy_nonoverlapping(memory.address, place.as_mut_ptr(), place.len()) };
}

fn copy_into(place: &[u8], memory: Span) {
    assert_eq!(memory.bytes, place.len(), "a piece of the same length");
    // SAFETY: as in `copy_from`.
    unsafe { std::ptr::copy_nonoverlapping(place.as_ptr(), memory.address, place.len()) };
}
