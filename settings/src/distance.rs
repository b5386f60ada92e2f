//! How far a name is from another, for a variable that was mistyped.

/// Insertions, deletions, replacements and swaps of neighbours that lead from one name to the
/// other. Words that are missing at the end of `typed` cost one each: `EAGER` is near
/// `EAGER_BYTES`.
pub(crate) fn distance(typed: &str, known: &str) -> usize {
    let ends = known.match_indices('_').map(|(end, _)| end);
    let ends: Vec<usize> = ends.chain([known.len()]).collect();
    let missing = |index: usize| ends.len() - 1 - index;
    let of = |(index, end): (usize, &usize)| edits(typed, &known[..*end]) + missing(index);
    ends.iter().enumerate().map(of).min().unwrap_or(usize::MAX)
}

/// Edits between two words, by the usual table of which three rows are kept.
fn edits(left: &str, right: &str) -> usize {
    let (left, right) = (left.as_bytes(), right.as_bytes());
    let mut before = vec![0; right.len() + 1];
    let mut above: Vec<usize> = (0..=right.len()).collect();
    for row in 1..=left.len() {
        let mut here = vec![row; right.len() + 1];
        for column in 1..=right.len() {
            let differs = usize::from(left[row - 1] != right[column - 1]);
            let mut cost = (above[column - 1] + differs)
                .min(above[column] + 1)
                .min(here[column - 1] + 1);
            let swapped = row > 1
                && column > 1
                && left[row - 1] == right[column - 2]
                && left[row - 2] == right[column - 1];
            if swapped {
                cost = cost.min(before[column - 2] + 1);
            }
            here[column] = cost;
        }
        before = std::mem::replace(&mut above, here);
    }
    above[right.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edits_are_counted() {
        assert_eq!(edits("WAIT", "WAIT"), 0);
        assert_eq!(edits("WAITT", "WAIT"), 1);
        assert_eq!(edits("WIAT", "WAIT"), 1);
        assert_eq!(edits("", "WAIT"), 4);
        assert_eq!(edits("HSOTFILES", "HOSTFILE"), 2);
    }

    #[test]
    fn missing_words_cost_little() {
        assert_eq!(distance("EAGER", "EAGER_BYTES"), 1);
        assert_eq!(distance("EAGR", "EAGER_BYTES"), 2);
        assert_eq!(distance("NET_TRUNC", "NET_TRUNK"), 1);
    }
}
