//! Texts: Fortran's end in blanks and have a length, C's end in a zero.

use std::ffi::c_char;

/// Texts up to this many bytes need no memory of their own.
const SHORT_MAX: usize = 120;

/// Which blanks of a text do not count.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Trim {
    /// Those at the end.
    End,
    /// Those at both ends, as for keys and values of info objects (MPI 5.0 §10).
    Both,
}

/// A text for C.
pub struct TextIn {
    short: [u8; SHORT_MAX + 1],
    long: Vec<u8>,
}

impl TextIn {
    /// A copy of a Fortran text without its blanks and with a final zero.
    ///
    /// # Safety
    /// `length` bytes can be read at `address`.
    pub unsafe fn new(address: *const c_char, length: usize, trim: Trim) -> TextIn {
        let bytes = match length {
            // An empty text may have no address.
            0 => &[][..],
            // SAFETY: the caller's promise.
            _ => unsafe { std::slice::from_raw_parts(address.cast::<u8>(), length) },
        };
        let bytes = trimmed(bytes, trim);
        let mut text = TextIn {
            short: [0; SHORT_MAX + 1],
            long: Vec::new(),
        };
        if bytes.len() <= SHORT_MAX {
            text.short[..bytes.len()].copy_from_slice(bytes);
        } else {
            text.long = [bytes, &[0]].concat();
        }
        text
    }

    /// The address for C.
    pub fn as_ptr(&self) -> *const c_char {
        let bytes = if self.long.is_empty() {
            self.short.as_ptr()
        } else {
            self.long.as_ptr()
        };
        bytes.cast()
    }
}

/// A text without blanks at its end or ends; what follows a zero does not count either, since
/// programs pass C's texts too.
pub fn trimmed(bytes: &[u8], trim: Trim) -> &[u8] {
    let end = bytes
        .iter()
        .position(|&byte| byte == 0)
        .unwrap_or(bytes.len());
    let bytes = &bytes[..end];
    let end = bytes
        .iter()
        .rposition(|&byte| byte != b' ')
        .map_or(0, |last| last + 1);
    let bytes = &bytes[..end];
    match trim {
        Trim::End => bytes,
        Trim::Both => &bytes[bytes.iter().position(|&byte| byte != b' ').unwrap_or(end)..],
    }
}

/// Room in which C leaves a text.
pub struct TextOut(Vec<u8>);

impl TextOut {
    /// Room for this many bytes with the final zero.
    pub fn new(bytes: usize) -> TextOut {
        TextOut(vec![0; bytes.max(1)])
    }

    /// The address for C.
    pub fn as_mut_ptr(&mut self) -> *mut c_char {
        self.0.as_mut_ptr().cast()
    }

    /// Copies the text to Fortran, cut or filled with blanks.
    ///
    /// # Safety
    /// `length` bytes can be written at `to`.
    pub unsafe fn give(&self, to: *mut c_char, length: usize) {
        if length == 0 {
            return;
        }
        // SAFETY: the caller's promise.
        let to = unsafe { std::slice::from_raw_parts_mut(to.cast::<u8>(), length) };
        let end = self
            .0
            .iter()
            .position(|&byte| byte == 0)
            .unwrap_or(self.0.len());
        let count = end.min(length);
        to[..count].copy_from_slice(&self.0[..count]);
        to[count..].fill(b' ');
    }
}
