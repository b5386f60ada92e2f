//! Groups made from groups: the constructors and the accessors of MPI 5.0 §7.3 that take more than
//! one group or a list of ranks. Every one of them says in which order the result stands; lists are
//! checked whole before anything is made of them.

use super::{Group, GroupError, PROC_NULL};

/// How two groups compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// The same processes in the same order.
    Identical,
    /// The same processes in another order.
    Similar,
    /// Not the same processes.
    Unequal,
}

/// What a rank of one group is in another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Translated {
    /// The same process has this rank there.
    Rank(u32),
    /// It was MPI_PROC_NULL, which every group leaves as it is.
    ProcNull,
    /// The process is not in the other group: MPI_UNDEFINED.
    Undefined,
}

impl Group {
    /// Compares two groups by their processes and the order of these.
    pub fn compare(&self, other: &Group) -> Comparison {
        if self == other {
            Comparison::Identical
        } else if self.size() == other.size() && self.processes().iter().all(|&p| other.contains(p))
        {
            Comparison::Similar
        } else {
            Comparison::Unequal
        }
    }

    /// All of this group, followed by those of the other that are not in this.
    pub fn union(&self, other: &Group) -> Group {
        let mut processes = self.processes().to_vec();
        processes.extend(other.processes().iter().filter(|&&p| !self.contains(p)));
        self.derive(processes)
    }

    /// Those of this group that are also in the other, in this group's order.
    pub fn intersection(&self, other: &Group) -> Group {
        self.filter(|process| other.contains(process))
    }

    /// Those of this group that are not in the other, in this group's order.
    pub fn difference(&self, other: &Group) -> Group {
        self.filter(|process| !other.contains(process))
    }

    /// The processes with these ranks, in the order of the list.
    pub fn include(&self, ranks: &[i32]) -> Result<Group, GroupError> {
        let (ranks, _) = self.check_ranks(ranks)?;
        Ok(self.pick(&ranks))
    }

    /// The processes without these ranks, in this group's order.
    pub fn exclude(&self, ranks: &[i32]) -> Result<Group, GroupError> {
        let (_, named) = self.check_ranks(ranks)?;
        Ok(self.omit(&named))
    }

    /// The processes whose ranks these (first, last, stride) ranges reach, in the order in which
    /// they do.
    pub fn range_include(&self, ranges: &[[i32; 3]]) -> Result<Group, GroupError> {
        let (ranks, _) = self.check_ranges(ranges)?;
        Ok(self.pick(&ranks))
    }

    /// The processes whose ranks none of these (first, last, stride) ranges reaches, in this
    /// group's order.
    pub fn range_exclude(&self, ranges: &[[i32; 3]]) -> Result<Group, GroupError> {
        let (_, named) = self.check_ranges(ranges)?;
        Ok(self.omit(&named))
    }

    /// What each of these ranks of this group is in the other.
    pub fn translate(&self, ranks: &[i32], other: &Group) -> Result<Vec<Translated>, GroupError> {
        let translate = |(index, &rank): (usize, &i32)| {
            if rank == PROC_NULL {
                return Ok(Translated::ProcNull);
            }
            let process = self.processes()[self.check_rank(index, rank)? as usize];
            Ok(match other.rank_of(process) {
                Some(rank) => Translated::Rank(rank),
                None => Translated::Undefined,
            })
        };
        ranks.iter().enumerate().map(translate).collect()
    }

    fn filter(&self, keep: impl Fn(u32) -> bool) -> Group {
        self.derive(
            self.processes()
                .iter()
                .copied()
                .filter(|&p| keep(p))
                .collect(),
        )
    }

    fn pick(&self, ranks: &[u32]) -> Group {
        self.derive(
            ranks
                .iter()
                .map(|&rank| self.processes()[rank as usize])
                .collect(),
        )
    }

    fn omit(&self, named: &Named) -> Group {
        let left = self.processes().iter().zip(&named.by);
        self.derive(
            left.filter(|(_, by)| by.is_none())
                .map(|(&p, _)| p)
                .collect(),
        )
    }

    fn check_rank(&self, index: usize, rank: i32) -> Result<u32, GroupError> {
        let size = self.size();
        match u32::try_from(rank) {
            Ok(rank) if rank < size => Ok(rank),
            _ => Err(GroupError::RankOutOfRange {
                index,
                rank: rank.into(),
                size,
            }),
        }
    }

    fn check_ranks(&self, ranks: &[i32]) -> Result<(Vec<u32>, Named), GroupError> {
        let mut named = Named::none(self.processes().len());
        let mut checked = Vec::with_capacity(ranks.len().min(self.processes().len()));
        for (index, &rank) in ranks.iter().enumerate() {
            let rank = self.check_rank(index, rank)?;
            if let Some(earlier) = named.add(rank, index) {
                return Err(GroupError::RankTwice {
                    index,
                    earlier,
                    rank,
                });
            }
            checked.push(rank);
        }
        Ok((checked, named))
    }

    fn check_ranges(&self, ranges: &[[i32; 3]]) -> Result<(Vec<u32>, Named), GroupError> {
        let mut named = Named::none(self.processes().len());
        let mut checked = Vec::new();
        for (index, &range) in ranges.iter().enumerate() {
            let (first, step, steps) = self.check_range(index, range)?;
            for number in 0..=steps {
                // Both ends are ranks of the group, so what lies between them is one too.
                let rank = (first + number * step) as u32;
                if let Some(earlier) = named.add(rank, index) {
                    return Err(GroupError::RangeTwice {
                        index,
                        earlier,
                        rank,
                    });
                }
                checked.push(rank);
            }
        }
        Ok((checked, named))
    }

    /// Where a range begins, how far a step goes, and how many steps it takes. The rank called last
    /// need not be one of the group, only those that the steps reach (MPI 5.0 §7.3.2,
    /// MPI_GROUP_RANGE_INCL).
    fn check_range(&self, index: usize, range: [i32; 3]) -> Result<(i64, i64, i64), GroupError> {
        let [first, last, stride] = range;
        let size = self.size();
        if stride == 0 {
            return Err(GroupError::ZeroStride { index });
        }
        let (start, step) = (i64::from(first), i64::from(stride));
        let distance = i64::from(last) - start;
        if distance.signum() == -step.signum() {
            return Err(GroupError::StrideAway {
                index,
                first,
                last,
                stride,
            });
        }
        let steps = distance / step;
        for rank in [start, start + steps * step] {
            if !(0..i64::from(size)).contains(&rank) {
                return Err(GroupError::RangeLeavesGroup {
                    index,
                    first,
                    last,
                    stride,
                    rank,
                    size,
                });
            }
        }
        Ok((start, step, steps))
    }
}

/// Which ranks a list has named so far, and by which of its entries.
struct Named {
    by: Vec<Option<usize>>,
}

impl Named {
    fn none(size: usize) -> Named {
        Named {
            by: vec![None; size],
        }
    }

    /// Notes a rank; yields the entry that has named it before.
    fn add(&mut self, rank: u32, index: usize) -> Option<usize> {
        let by = &mut self.by[rank as usize];
        if by.is_none() {
            *by = Some(index);
            return None;
        }
        *by
    }
}
