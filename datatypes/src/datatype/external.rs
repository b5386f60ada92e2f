//! external32: the representation that every machine reads (MPI 5.0 §14.5.2), big endian and
//! without gaps.
//!
//! Elements are visited in the order of the signature while a cursor says where they lie; a cursor
//! never splits an element as long as it is only asked for whole ones. Most values are reversed
//! bytes; C's long and wchar_t are shorter outside (a value that does not fit is an error, never
//! silently cut), and long double changes format.

use super::cursor::Cursor;
use super::{Basic, CopyError, Datatype, DatatypeError, ExternalError, Form};

impl Datatype {
    /// Bytes of `count` elements in external32 (MPI_Pack_external_size).
    pub fn external_size(&self, count: u64) -> Result<u64, DatatypeError> {
        let one = self.signature().external_bytes();
        one.checked_mul(count).ok_or(DatatypeError::Overflow {
            what: "size in external32",
        })
    }

    /// Converts `count` elements in `memory` to external32 at the begin of `out`; returns the bytes
    /// written.
    pub fn pack_external(
        &self,
        count: u64,
        memory: &[u8],
        origin: i64,
        out: &mut [u8],
    ) -> Result<usize, ExternalError> {
        let needed = self.needed(count, out.len())?;
        let layout = self.layout(count)?;
        let (mut cursor, mut done) = (Cursor::new(&layout), 0);
        self.signature()
            .repeated(count)?
            .try_for_each(&mut |basic, elements| {
                let external = basic.external_size() as usize;
                each_element(
                    &mut cursor,
                    basic,
                    elements,
                    origin,
                    memory.len(),
                    |native| {
                        let result =
                            to_external(basic, &memory[native], &mut out[done..done + external]);
                        done += external;
                        result
                    },
                )
            })?;
        Ok(needed)
    }

    /// Converts `count` elements of external32 at the begin of `external` into `memory`; returns
    /// the bytes read.
    pub fn unpack_external(
        &self,
        external: &[u8],
        count: u64,
        memory: &mut [u8],
        origin: i64,
    ) -> Result<usize, ExternalError> {
        let needed = self.needed(count, external.len())?;
        let layout = self.layout(count)?;
        let (mut cursor, mut done) = (Cursor::new(&layout), 0);
        self.signature()
            .repeated(count)?
            .try_for_each(&mut |basic, elements| {
                let bytes = basic.external_size() as usize;
                each_element(
                    &mut cursor,
                    basic,
                    elements,
                    origin,
                    memory.len(),
                    |native| {
                        from_external(basic, &external[done..done + bytes], &mut memory[native]);
                        done += bytes;
                        Ok(())
                    },
                )
            })?;
        Ok(needed)
    }

    fn needed(&self, count: u64, buffer: usize) -> Result<usize, ExternalError> {
        let needed = self.external_size(count)?;
        if needed > buffer as u64 {
            let elements = self.signature().elements().saturating_mul(count);
            return Err(ExternalError::Short {
                elements,
                needed,
                buffer,
            });
        }
        Ok(needed as usize)
    }
}

/// Calls `convert` with the place of each of the next `elements` values of one type.
fn each_element(
    cursor: &mut Cursor<'_>,
    basic: Basic,
    elements: u64,
    origin: i64,
    bytes: usize,
    mut convert: impl FnMut(std::ops::Range<usize>) -> Result<(), ExternalError>,
) -> Result<(), ExternalError> {
    let size = basic.size() as usize;
    // The signature's size fits in 63 bits, and so does this part of it.
    let mut left = elements as usize * size;
    while let Some(run) = cursor.run(left) {
        left -= run.bytes;
        let first = i128::from(origin) + i128::from(run.offset);
        let end = first + run.bytes as i128;
        if first < 0 || end > bytes as i128 {
            return Err(CopyError::Outside { first, end, bytes }.into());
        }
        for at in (first as usize..end as usize).step_by(size) {
            convert(at..at + size)?;
        }
    }
    Ok(())
}

fn to_external(basic: Basic, native: &[u8], external: &mut [u8]) -> Result<(), ExternalError> {
    let misfit = |value: i128, bytes| ExternalError::DoesNotFit {
        basic,
        value,
        bytes,
    };
    match basic.form() {
        Form::Parts(parts) => reverse_parts(native, external, parts),
        Form::SignedLong => {
            let value = i64::from_le_bytes(exactly(native));
            let short = i32::try_from(value).map_err(|_| misfit(value.into(), 4))?;
            external.copy_from_slice(&short.to_be_bytes());
        }
        Form::UnsignedLong => {
            let value = u64::from_le_bytes(exactly(native));
            let short = u32::try_from(value).map_err(|_| misfit(value.into(), 4))?;
            external.copy_from_slice(&short.to_be_bytes());
        }
        Form::WideCharacter => {
            let value = u32::from_le_bytes(exactly(native));
            let short = u16::try_from(value).map_err(|_| misfit(value.into(), 2))?;
            external.copy_from_slice(&short.to_be_bytes());
        }
        Form::Extended(_) => {
            for (native, external) in native.chunks_exact(16).zip(external.chunks_exact_mut(16)) {
                external.copy_from_slice(
                    &quadruple(u128::from_le_bytes(exactly(native))).to_be_bytes(),
                );
            }
        }
        Form::Pair(..) => unreachable!("signatures hold the parts of pairs"),
    }
    Ok(())
}

fn from_external(basic: Basic, external: &[u8], native: &mut [u8]) {
    match basic.form() {
        Form::Parts(parts) => reverse_parts(external, native, parts),
        Form::SignedLong => {
            let value = i64::from(i32::from_be_bytes(exactly(external)));
            native.copy_from_slice(&value.to_le_bytes());
        }
        Form::UnsignedLong => {
            let value = u64::from(u32::from_be_bytes(exactly(external)));
            native.copy_from_slice(&value.to_le_bytes());
        }
        Form::WideCharacter => {
            let value = u32::from(u16::from_be_bytes(exactly(external)));
            native.copy_from_slice(&value.to_le_bytes());
        }
        Form::Extended(_) => {
            for (external, native) in external.chunks_exact(16).zip(native.chunks_exact_mut(16)) {
                native.copy_from_slice(
                    &extended(u128::from_be_bytes(exactly(external))).to_le_bytes(),
                );
            }
        }
        Form::Pair(..) => unreachable!("signatures hold the parts of pairs"),
    }
}

fn reverse_parts(from: &[u8], to: &mut [u8], parts: u8) {
    let part = from.len() / usize::from(parts);
    for (from, to) in from.chunks_exact(part).zip(to.chunks_exact_mut(part)) {
        for (to, from) in to.iter_mut().zip(from.iter().rev()) {
            *to = *from;
        }
    }
}

fn exactly<const N: usize>(bytes: &[u8]) -> [u8; N] {
    bytes
        .try_into()
        .expect("the table gives every form its size")
}

/// Bits of the exponent, which both formats have, with the same bias.
const EXPONENT_MAX: u128 = 0x7fff;
/// The extended format's leading digit, which binary128 leaves out.
const LEADING: u128 = 1 << 63;
/// Fraction bits that binary128 has more.
const FINER: u32 = 112 - 63;

/// The processor's 80-bit extended real as IEEE binary128; exact.
fn quadruple(extended: u128) -> u128 {
    let (sign, mut exponent) = (extended >> 79 & 1, extended >> 64 & EXPONENT_MAX);
    let significand = extended & u128::from(u64::MAX);
    if exponent == 0 && significand & LEADING != 0 {
        // A number that the processor can write in two ways; binary128 knows the one with exponent
        // 1.
        exponent = 1;
    }
    let fraction = (significand & (LEADING - 1)) << FINER;
    sign << 127 | exponent << 112 | fraction
}

/// IEEE binary128 as the processor's extended real, rounded to nearest, ties to even.
fn extended(quadruple: u128) -> u128 {
    let (sign, mut exponent) = (quadruple >> 127, quadruple >> 112 & EXPONENT_MAX);
    let fraction = quadruple & ((1 << 112) - 1);
    let mut significand = fraction >> FINER | if exponent == 0 { 0 } else { LEADING };
    let (cut, half) = (fraction & ((1 << FINER) - 1), 1 << (FINER - 1));
    if exponent == EXPONENT_MAX {
        // A NaN must stay one though its payload is cut.
        if fraction != 0 {
            significand |= 1 << 62;
        }
    } else if cut > half || (cut == half && significand & 1 == 1) {
        significand += 1;
        if significand == LEADING << 1 {
            significand = LEADING;
            exponent += 1;
        } else if exponent == 0 && significand == LEADING {
            exponent = 1;
        }
    }
    sign << 79 | exponent << 64 | significand
}
