//! `-soft`: the numbers of ranks that will do (MPI 5.0 §11.5 and §11.8.4).

use oxmpi_launch::RANKS_MAX;

/// A list of numbers and ranges, first:last and first:last:step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Soft(Vec<[i64; 3]>);

impl Soft {
    pub(crate) fn parse(text: &str) -> Result<Soft, String> {
        let wrong = || "expected numbers of ranks, such as 4,8 or 2:16 or 2:16:2".to_owned();
        let range = |part: &str| {
            let numbers: Vec<i64> = part
                .split(':')
                .map(|number| number.trim().parse::<i32>().map(i64::from))
                .collect::<Result<_, _>>()
                .ok()?;
            match numbers[..] {
                [only] => Some([only, only, 1]),
                [first, last] => Some([first, last, 1]),
                [first, last, step] if step != 0 => Some([first, last, step]),
                _ => None,
            }
        };
        let ranges: Option<Vec<[i64; 3]>> = text.split(',').map(range).collect();
        ranges.map(Soft).ok_or_else(wrong)
    }

    /// The largest of the numbers up to `limit`.
    pub(crate) fn largest(&self, limit: u32) -> Option<u32> {
        self.numbers().filter(|number| *number <= limit).max()
    }

    pub(crate) fn smallest(&self) -> Option<u32> {
        self.numbers().min()
    }

    /// All that a job may have.
    fn numbers(&self) -> impl Iterator<Item = u32> {
        let all = i64::from(RANKS_MAX);
        self.0
            .iter()
            .flat_map(move |&[first, last, step]| {
                (1..=all).filter(move |number| {
                    let between = (first.min(last)..=first.max(last)).contains(number);
                    let forwards = first == last || (step > 0) == (first < last);
                    between && forwards && (number - first) % step == 0
                })
            })
            .map(|number| number as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_that_will_do_is_taken() {
        let largest = |text, limit| Soft::parse(text).unwrap().largest(limit);
        assert_eq!(largest("4", 4), Some(4));
        assert_eq!(largest("4", 3), None);
        assert_eq!(largest("1:16", 5), Some(5));
        assert_eq!(largest("1:16:5", 10), Some(6));
        assert_eq!(largest("16:1:-5", 10), Some(6));
        assert_eq!(largest("2,4,8", 7), Some(4));
        assert_eq!(largest("-5:3", 7), Some(3));
        assert_eq!(largest("5:1", 7), None, "it has no numbers");
        assert_eq!(Soft::parse("8:2:-2").unwrap().smallest(), Some(2));
        for text in ["", "a", "1:2:0", "1:2:3:4", "1,", "99999999999"] {
            assert!(Soft::parse(text).is_err(), "{text}");
        }
    }
}
