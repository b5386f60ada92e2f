//! `Plain`: what may travel between processes as its bytes.
//!
//! Sending never converts and never copies into a buffer of the library's own; it reads the
//! caller's memory. So the type of that memory must be one of which every byte has a value and
//! every value is legal. The trait says so, `derive(Plain)` proves it, and the two functions below
//! are the only places where typed memory is seen as bytes.

use std::num::Wrapping;

use crate::ElementMark;

/// Data that may be sent and received as it lies in memory.
///
/// Integers, floats and arrays of them are `Plain`; structs become so by `#[derive(Plain)]`:
///
/// ```
/// #[derive(Clone, Copy, oxmpi::Plain)]
/// #[repr(C)]
/// struct Particle { position: [f64; 3], speed: [f64; 3], kind: u64 }
/// ```
///
/// A struct with padding is refused, because padding has no value to send:
///
/// ```compile_fail
/// #[derive(Clone, Copy, oxmpi::Plain)]
/// #[repr(C)]
/// struct Padded { flag: u8, value: f64 }
/// ```
///
/// So is one with a field that is not `Plain` (not every byte is a `bool`, a pointer means nothing
/// to another process):
///
/// ```compile_fail
/// #[derive(Clone, Copy, oxmpi::Plain)]
/// #[repr(C)]
/// struct Flag { set: bool }
/// ```
///
/// ```compile_fail
/// #[derive(Clone, Copy, oxmpi::Plain)]
/// #[repr(C)]
/// struct Pointer { to: &'static u64 }
/// ```
///
/// one whose layout is Rust's own affair:
///
/// ```compile_fail
/// #[derive(Clone, Copy, oxmpi::Plain)]
/// struct Unordered { a: u32, b: u32 }
/// ```
///
/// one with type parameters, an enum, and one that is not `Copy`:
///
/// ```compile_fail
/// #[derive(Clone, Copy, oxmpi::Plain)]
/// #[repr(C)]
/// struct Generic<T> { a: T }
/// ```
///
/// ```compile_fail
/// #[derive(Clone, Copy, oxmpi::Plain)]
/// #[repr(C)]
/// enum Choice { A, B }
/// ```
///
/// ```compile_fail
/// #[derive(oxmpi::Plain)]
/// #[repr(C)]
/// struct NotCopy { a: u64 }
/// ```
///
/// # Safety
/// Every bit pattern of the type's size must be a value of the type, no byte may be padding, and
/// the layout must be the same in every process of the job.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot travel as its bytes",
    label = "not `Plain`",
    note = "a struct of numbers can by `#[derive(Clone, Copy, oxmpi::Plain)]` and `#[repr(C)]`",
    note = "`bool`, `char`, enums, references and `String` cannot: send numbers, or an object by the \
            feature `serde` (`send_object`)"
)]
pub unsafe trait Plain: Copy + Send + Sync + 'static {
    /// What the elements are, told to receivers; `u8` and structs say nothing, so they may be
    /// received as anything.
    const MARK: ElementMark = ElementMark::ANY;
}

macro_rules! plain {
    ($mark:ident: $($type:ty),*) => {$(
        // SAFETY: integers and floats have no padding and every bit pattern is a value.
        unsafe impl Plain for $type {
            const MARK: ElementMark = ElementMark::$mark(size_of::<$type>());
        }
    )*};
}
plain!(integer: u16, u32, u64, u128, usize, i8, i16, i32, i64, i128, isize);
plain!(floating: f32, f64);

// SAFETY: every byte is a value.
unsafe impl Plain for u8 {}

// SAFETY: an array is its elements one after the other, without gaps.
unsafe impl<T: Plain, const N: usize> Plain for [T; N] {
    const MARK: ElementMark = T::MARK;
}

// SAFETY: Wrapping is repr(transparent).
unsafe impl<T: Plain> Plain for Wrapping<T> {
    const MARK: ElementMark = T::MARK;
}

/// The bytes of a slice, for reading.
#[inline]
pub fn bytes<T: Plain>(data: &[T]) -> &[u8] {
    // SAFETY: the memory is initialised and has no padding (T: Plain); it stays borrowed.
    unsafe { std::slice::from_raw_parts(data.as_ptr().cast(), size_of_val(data)) }
}

/// The bytes of a slice, for writing: whatever is written is a value of `T`.
#[inline]
pub fn bytes_mut<T: Plain>(data: &mut [T]) -> &mut [u8] {
    // SAFETY: as in `bytes`, and every bit pattern written is a T (T: Plain).
    unsafe { std::slice::from_raw_parts_mut(data.as_mut_ptr().cast(), size_of_val(data)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Copy, Debug, PartialEq, crate::Plain)]
    #[repr(C)]
    struct Particle {
        position: [f32; 3],
        kind: u32,
    }

    #[derive(Clone, Copy, crate::Plain)]
    #[repr(C, packed(1))]
    struct Tight {
        flag: u8,
        value: u32,
    }

    #[derive(Clone, Copy, crate::Plain)]
    #[repr(transparent)]
    struct Metres(f64);

    #[test]
    fn derived_structs_are_their_bytes() {
        let mut particles = [Particle {
            position: [0.0; 3],
            kind: 0,
        }; 2];
        bytes_mut(&mut particles)[12] = 7;
        assert_eq!(particles[0].kind, 7);
        assert_eq!(bytes(&particles).len(), 32);
        assert_eq!(bytes(&[Tight { flag: 1, value: 2 }]), [1, 2, 0, 0, 0]);
        assert_eq!(bytes(&[Metres(0.0)]), [0; 8]);
    }

    #[test]
    fn empty_slices_have_no_bytes() {
        assert!(bytes::<f64>(&[]).is_empty());
        assert!(bytes_mut::<[u16; 3]>(&mut []).is_empty());
    }
}
