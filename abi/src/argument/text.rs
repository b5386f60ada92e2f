//! Texts that a call writes for the program.

use std::ffi::c_char;

/// Where a text goes, with its room.
#[derive(Debug)]
pub struct TextOut {
    address: *mut c_char,
    room: usize,
}

impl TextOut {
    /// Believes the address that a program gave.
    ///
    /// # Safety
    /// The address is valid for `room` bytes, or null with a room of 0.
    pub unsafe fn new(address: *mut c_char, room: usize) -> TextOut {
        TextOut { address, room }
    }

    /// Bytes that fit, the final zero included.
    pub fn room(&self) -> usize {
        self.room
    }

    /// Writes a text and a zero, cut if it is too long. Returns the length written, without the
    /// zero.
    pub fn set(&self, text: impl AsRef<[u8]>) -> i32 {
        let text = text.as_ref();
        if self.room == 0 || self.address.is_null() {
            return 0;
        }
        let length = text.len().min(self.room - 1);
        // SAFETY: `new` was promised room for this many bytes and one more.
        unsafe {
            std::ptr::copy_nonoverlapping(text.as_ptr().cast(), self.address, length);
            *self.address.add(length) = 0;
        }
        length as i32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_cut_to_the_room() {
        let mut memory = [b'#' as c_char; 6];
        // SAFETY: the memory has 5 bytes, and one more that must stay.
        let out = unsafe { TextOut::new(memory.as_mut_ptr(), 5) };
        assert_eq!(out.set("abcdefgh"), 4);
        assert_eq!(memory.map(|byte| byte as u8), *b"abcd\0#");
    }
}
