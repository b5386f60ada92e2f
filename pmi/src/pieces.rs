//! Values that are longer than the protocol allows, as several values.
//!
//! The first piece stands under the key itself and begins with the number of pieces and a colon;
//! the others stand under the key with `.1`, `.2`, … behind it. A reader asks for the first, knows
//! how many there are, and asks for the rest.

/// Pieces a value may have: 64 KiB of value where a piece holds 1 KiB, a hundred times what a rank
/// has to say.
pub(crate) const PIECES_MAX: usize = 64;

/// Room the count takes in the first piece: two digits and a colon.
const COUNT_BYTES: usize = 3;

/// The key of a piece.
pub(crate) fn key(base: &str, piece: usize) -> String {
    match piece {
        0 => base.to_owned(),
        _ => format!("{base}.{piece}"),
    }
}

/// The pieces of an ASCII `value`, each at most `piece_bytes` long; None if they would be too many.
pub(crate) fn cut(value: &str, piece_bytes: usize) -> Option<Vec<String>> {
    let room = piece_bytes.checked_sub(COUNT_BYTES)?.max(1);
    let (first, rest) = value.split_at_checked(value.len().min(room))?;
    let rest = rest.as_bytes().chunks(piece_bytes);
    let count = 1 + rest.len();
    if count > PIECES_MAX {
        return None;
    }
    let mut pieces = vec![format!("{count}:{first}")];
    for piece in rest {
        pieces.push(std::str::from_utf8(piece).ok()?.to_owned());
    }
    Some(pieces)
}

/// The first piece as the number of pieces and its part of the value.
pub(crate) fn first(piece: &str) -> Option<(usize, &str)> {
    let (count, part) = piece.split_once(':')?;
    let count = count.parse().ok()?;
    (1..=PIECES_MAX).contains(&count).then_some((count, part))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_short_value_is_one_piece() {
        assert_eq!(cut("abc", 1023).unwrap(), ["1:abc"]);
        assert_eq!(cut("", 1023).unwrap(), ["1:"]);
        assert_eq!(cut("abcdefghi", 5).unwrap(), ["3:ab", "cdefg", "hi"]);
        assert_eq!(key("card-3", 2), "card-3.2");
    }

    #[test]
    fn too_many_or_no_pieces() {
        assert_eq!(cut(&"x".repeat(10_000), 100), None);
        for piece in ["", "abc", "0:abc", "65:abc", "-1:", ":"] {
            assert_eq!(first(piece), None, "{piece}");
        }
    }

    proptest! {
        #[test]
        fn a_value_comes_back(value in "[!-~]{0,300}", piece_bytes in 8usize..400) {
            let pieces = cut(&value, piece_bytes).unwrap();
            prop_assert!(pieces.iter().all(|piece| piece.len() <= piece_bytes));
            let (count, part) = first(&pieces[0]).unwrap();
            prop_assert_eq!(count, pieces.len());
            prop_assert_eq!(format!("{part}{}", pieces[1..].concat()), value);
        }
    }
}
