//! MPI_DIMS_CREATE: a number of nodes as a product of sizes that lie as close together as they can.
//!
//! MPI 5.0 §8.5.2 asks for sizes "as close to each other as possible" in non-increasing order. Here
//! that is: the difference between the largest and the smallest is least, and of the products with
//! that difference the one whose smallest size is largest is taken, then the one whose second
//! smallest is, and so on, as MPICH does. The search for the two ends goes through the divisors
//! from the root upwards, the one for what lies between from the smallest size upwards; both are
//! exact, and the worst ints take a few milliseconds.

use super::TopologyError;
use std::collections::HashSet;

/// No int has more prime factors: 2^31 does not fit. Further dimensions have size 1.
const FACTORS_MAX: usize = 30;

/// Replaces the zeros in `dims` so that the product of all is `nodes`. Sizes already given are
/// kept, and if no zero is left to be replaced they need only divide `nodes`, as the standard says.
pub fn dims_create(nodes: i32, dims: &mut [i32]) -> Result<(), TopologyError> {
    let wrong = dims.iter().enumerate().find(|&(_, &size)| size < 0);
    if let Some((dimension, &value)) = wrong {
        return Err(TopologyError::NegativeDimension { dimension, value });
    }
    let count = match u32::try_from(nodes) {
        Ok(count) if count > 0 => count,
        _ => return Err(TopologyError::NodesNotPositive { nodes }),
    };
    let given = dims.iter().filter(|&&size| size > 0);
    let fixed = given.fold(1u64, |product, &size| {
        product.saturating_mul(u64::from(size.unsigned_abs()))
    });
    if !u64::from(count).is_multiple_of(fixed) {
        return Err(TopologyError::NotDivisible { nodes, fixed });
    }
    let free = dims.iter().filter(|&&size| size == 0).count();
    // The fixed sizes divide the count, so their product is no larger than it.
    let sizes = balanced(count / fixed as u32, free);
    for (place, size) in dims.iter_mut().filter(|size| **size == 0).zip(sizes) {
        *place = size as i32;
    }
    Ok(())
}

/// `count` as a product of `parts` factors, non-increasing.
fn balanced(count: u32, parts: usize) -> Vec<u32> {
    // One part more than there can be prime factors, so that what is left out is 1 as well.
    let searched = parts.min(FACTORS_MAX + 1);
    let mut sizes = if searched == 0 {
        Vec::new()
    } else {
        let ends = Search::new(count, searched).run();
        Between::of(&ends).fill(ends)
    };
    sizes.resize(parts, 1);
    sizes
}

/// The search for the ends of the best product, which takes the factors from the largest down.
struct Search {
    count: u32,
    parts: usize,
    /// All divisors of the count, ascending.
    divisors: Vec<u32>,
    /// The factors chosen so far.
    chosen: Vec<u32>,
    best: Vec<u32>,
    /// What the smallest factor must be at least, to be better than the best with the largest
    /// factor at hand. It only ever goes up, so what has failed once fails for ever.
    smallest: u32,
    /// (rest, parts, limit): this rest has no better product of so many parts up to the limit.
    failed: HashSet<(u32, usize, u32)>,
}

impl Search {
    fn new(count: u32, parts: usize) -> Search {
        // Every number is the product of itself and ones: the worst there is, and where the search
        // begins.
        let mut best = vec![1; parts];
        best[0] = count;
        Search {
            count,
            parts,
            divisors: divisors(count),
            chosen: Vec::with_capacity(parts),
            best,
            smallest: 1,
            failed: HashSet::new(),
        }
    }

    fn run(mut self) -> Vec<u32> {
        if self.parts == 1 {
            return self.best;
        }
        for index in 0..self.divisors.len() {
            let largest = self.divisors[index];
            if !reaches(largest, self.parts, self.count) {
                continue;
            }
            let difference = self.best[0] - self.best[self.parts - 1];
            // An equal difference is better, because the smallest factor is larger, too.
            self.smallest = self.smallest.max(largest.saturating_sub(difference));
            if exceeds(self.smallest, self.parts, self.count) || self.smallest > largest {
                break;
            }
            self.chosen.push(largest);
            self.descend(self.count / largest, self.parts - 1, largest);
            self.chosen.pop();
        }
        self.best
    }

    /// Tries all ways to write `rest` as `parts` factors from the smallest allowed up to `limit`.
    fn descend(&mut self, rest: u32, parts: usize, limit: u32) {
        if parts == 1 {
            if (self.smallest..=limit).contains(&rest) {
                self.best.clear();
                self.best.extend_from_slice(&self.chosen);
                self.best.push(rest);
                self.smallest = rest + 1;
            }
            return;
        }
        if exceeds(self.smallest, parts, rest) || !reaches(limit, parts, rest) {
            return;
        }
        if self.failed.contains(&(rest, parts, limit)) {
            return;
        }
        // The next factor is the largest of those left, so it lies between the root of the rest and
        // the limit.
        let from = self
            .divisors
            .partition_point(|&divisor| !reaches(divisor, parts, rest));
        for index in from..self.divisors.len() {
            let factor = self.divisors[index];
            if factor > limit || factor > rest {
                break;
            }
            if rest.is_multiple_of(factor) {
                self.chosen.push(factor);
                self.descend(rest / factor, parts - 1, factor);
                self.chosen.pop();
            }
        }
        self.failed.insert((rest, parts, limit));
    }
}

/// The search for the sizes between the largest and the smallest, from the smallest up.
struct Between {
    largest: u32,
    /// All divisors of the product, ascending.
    divisors: Vec<u32>,
    /// The factors chosen so far, ascending.
    chosen: Vec<u32>,
    /// (rest, parts, least): this rest is no product of so many parts from the least up.
    failed: HashSet<(u32, usize, u32)>,
}

impl Between {
    /// Between the ends of a product, non-increasing.
    fn of(sizes: &[u32]) -> Between {
        let inner = sizes.get(1..sizes.len() - 1).unwrap_or_default();
        Between {
            largest: sizes[0],
            divisors: divisors(inner.iter().product()),
            chosen: Vec::with_capacity(sizes.len()),
            failed: HashSet::new(),
        }
    }

    /// Puts the best sizes in place of those between the ends.
    fn fill(mut self, mut sizes: Vec<u32>) -> Vec<u32> {
        let parts = sizes.len();
        if parts > 3 {
            let inner = sizes[1..parts - 1].iter().product();
            let found = self.ascend(inner, parts - 2, sizes[parts - 1]);
            assert!(found, "what the sizes were is a way to choose them");
            for (size, best) in sizes[1..].iter_mut().zip(self.chosen.iter().rev()) {
                *size = *best;
            }
        }
        sizes
    }

    /// Writes `rest` as `parts` factors from `least` up to the largest, the smallest of them as
    /// large as can be; false if there is no way.
    fn ascend(&mut self, rest: u32, parts: usize, least: u32) -> bool {
        if parts == 1 {
            let fits = (least..=self.largest).contains(&rest);
            if fits {
                self.chosen.push(rest);
            }
            return fits;
        }
        let is_hopeless = exceeds(least, parts, rest) || !reaches(self.largest, parts, rest);
        if is_hopeless || self.failed.contains(&(rest, parts, least)) {
            return false;
        }
        // The next factor is the smallest of those left, so it lies at most at the root of the rest.
        let end = self
            .divisors
            .partition_point(|&divisor| !exceeds(divisor, parts, rest));
        for index in (0..end).rev() {
            let factor = self.divisors[index];
            if factor < least {
                break;
            }
            if rest.is_multiple_of(factor) {
                self.chosen.push(factor);
                if self.ascend(rest / factor, parts - 1, factor) {
                    return true;
                }
                self.chosen.pop();
            }
        }
        self.failed.insert((rest, parts, least));
        false
    }
}

/// `base` to the power of `exponent` is at least `value`.
fn reaches(base: u32, exponent: usize, value: u32) -> bool {
    u64::from(base).saturating_pow(exponent as u32) >= u64::from(value)
}

/// `base` to the power of `exponent` is more than `value`.
fn exceeds(base: u32, exponent: usize, value: u32) -> bool {
    u64::from(base).saturating_pow(exponent as u32) > u64::from(value)
}

fn divisors(count: u32) -> Vec<u32> {
    let root = count.isqrt();
    let mut small: Vec<u32> = (1..=root)
        .filter(|&divisor| count.is_multiple_of(divisor))
        .collect();
    let large: Vec<u32> = small.iter().rev().map(|&divisor| count / divisor).collect();
    small.extend(large);
    small.dedup();
    small
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn dims(nodes: i32, dims: &[i32]) -> Result<Vec<i32>, TopologyError> {
        let mut dims = dims.to_vec();
        dims_create(nodes, &mut dims).map(|()| dims)
    }

    /// The calls that MPI 5.0 §8.5.2 shows with their results.
    #[test]
    fn the_standards_examples() {
        assert_eq!(dims(6, &[0, 0]).unwrap(), [3, 2]);
        assert_eq!(dims(7, &[0, 0]).unwrap(), [7, 1]);
        assert_eq!(dims(6, &[0, 3, 0]).unwrap(), [2, 3, 1]);
        assert_eq!(
            dims(7, &[0, 3, 0]).unwrap_err(),
            TopologyError::NotDivisible { nodes: 7, fixed: 3 }
        );
    }

    #[test]
    fn sizes_are_balanced() {
        for (nodes, count, expected) in [
            (12, 2, vec![4, 3]),
            (1024, 3, vec![16, 8, 8]),
            (1, 3, vec![1, 1, 1]),
            (16, 3, vec![4, 2, 2]),
            (24, 3, vec![4, 3, 2]),
            (36, 2, vec![6, 6]),
            (60, 3, vec![5, 4, 3]),
            (72, 3, vec![6, 4, 3]),
            (5040, 3, vec![21, 16, 15]),
            (64, 6, vec![2; 6]),
            (98_784, 5, vec![14, 14, 9, 8, 7]),
            (i32::MAX, 2, vec![i32::MAX, 1]),
            (1 << 30, 2, vec![1 << 15, 1 << 15]),
        ] {
            assert_eq!(
                dims(nodes, &vec![0; count]).unwrap(),
                expected,
                "{nodes} in {count}"
            );
        }
    }

    #[test]
    fn odd_requests() {
        assert_eq!(dims(5, &[]).unwrap(), []);
        assert_eq!(dims(4, &[2, 2]).unwrap(), [2, 2]);
        assert_eq!(
            dims(8, &[2, 2]).unwrap(),
            [2, 2],
            "a multiple is all the standard asks for"
        );
        assert_eq!(
            dims(0, &[0]).unwrap_err(),
            TopologyError::NodesNotPositive { nodes: 0 }
        );
        assert_eq!(
            dims(4, &[0, -1]).unwrap_err(),
            TopologyError::NegativeDimension {
                dimension: 1,
                value: -1
            }
        );
        assert!(matches!(
            dims(4, &[i32::MAX; 4]),
            Err(TopologyError::NotDivisible {
                fixed: u64::MAX,
                ..
            })
        ));
        let many = dims(6, &[0; 1000]).unwrap();
        assert_eq!((&many[..3], many.len()), ([3, 2, 1].as_slice(), 1000));
    }

    /// All products of `parts` non-increasing factors.
    fn products(count: u32, parts: usize, limit: u32) -> Vec<Vec<u32>> {
        if parts == 1 {
            return if count <= limit {
                vec![vec![count]]
            } else {
                vec![]
            };
        }
        let first = (1..=limit.min(count)).filter(|f| count.is_multiple_of(*f));
        first
            .flat_map(|f| {
                products(count / f, parts - 1, f)
                    .into_iter()
                    .map(move |mut rest| {
                        rest.insert(0, f);
                        rest
                    })
            })
            .collect()
    }

    #[test]
    fn nothing_is_closer_together() {
        for count in 1..=400 {
            for parts in 1..=6 {
                let all = products(count, parts, count);
                let best = all.into_iter().min_by_key(|sizes| {
                    let smallest = sizes[parts - 1];
                    (
                        sizes[0] - smallest,
                        std::cmp::Reverse(sizes.iter().rev().copied().collect::<Vec<u32>>()),
                    )
                });
                assert_eq!(balanced(count, parts), best.unwrap(), "{count} in {parts}");
            }
        }
    }

    /// The numbers with the most divisors below 2^31, and others with many factors, in every number
    /// of parts.
    #[test]
    fn the_hardest_are_quick() {
        let hard = [
            2_095_133_040,
            1_396_755_360,
            735_134_400,
            1 << 30,
            1_162_261_467,
            1_934_917_632,
            2_147_483_646,
        ];
        for count in hard {
            for parts in 1..=32 {
                let start = std::time::Instant::now();
                let sizes = balanced(count, parts);
                assert_eq!(sizes.iter().product::<u32>(), count);
                assert!(sizes.is_sorted_by(|a, b| a >= b));
                let taken = start.elapsed();
                assert!(taken.as_secs() < 1, "{count} in {parts}: {taken:?}");
            }
        }
    }

    proptest! {
        #[test]
        fn any_int_is_laid_out(nodes in 1i32.., count in 1usize..40) {
            let sizes = dims(nodes, &vec![0; count]).unwrap();
            prop_assert_eq!(sizes.iter().map(|&s| i64::from(s)).product::<i64>(), i64::from(nodes));
            prop_assert!(sizes.is_sorted_by(|a, b| a >= b));
        }
    }
}
