//! The groups' rules from MPI 5.0 §7.3, its example of ranges, and the operations against plain set
//! arithmetic.

use super::*;
use proptest::prelude::*;

fn letters(group: &Group) -> String {
    let letter = |&p: &u32| char::from(b'a' + u8::try_from(p).unwrap());
    group.processes().iter().map(letter).collect()
}

fn text(error: &GroupError) -> String {
    error.to_string()
}

#[test]
fn ranks_and_processes_answer_each_other() {
    let all = Group::all(5);
    assert_eq!(
        (all.size(), all.process(4), all.process(5)),
        (5, Some(4), None)
    );
    assert_eq!((all.rank_of(4), all.rank_of(5)), (Some(4), None));

    let few = Group::new(vec![7, 3, 9]);
    assert_eq!(few.rank_of(9), Some(2));
    assert_eq!(few.rank_of(0), None);

    let many = Group::new((0..1000).rev().collect());
    assert_eq!(many.rank_of(0), Some(999));
    assert_eq!(many.rank_of(1000), None);
    assert_eq!(many.clone().processes().as_ptr(), many.processes().as_ptr());
}

#[test]
#[should_panic(expected = "names a process twice")]
fn a_process_cannot_be_in_a_group_twice() {
    Group::new(vec![1, 2, 1]);
}

#[test]
fn the_empty_group_is_like_any_other() {
    let empty = Group::empty();
    assert!(empty.is_empty());
    assert_eq!(empty.compare(&Group::all(0)), Comparison::Identical);
    assert_eq!(Group::all(3).union(&empty), Group::all(3));
    assert_eq!(Group::all(3).include(&[]).unwrap(), empty);
    assert_eq!(Group::all(3).exclude(&[]).unwrap(), Group::all(3));
    assert_eq!(Group::all(3).range_include(&[]).unwrap(), empty);
    assert_eq!(Group::all(3).difference(&Group::all(3)), empty);
}

#[test]
fn comparison_sees_members_then_order() {
    let abc = Group::new(vec![0, 1, 2]);
    assert_eq!(abc.compare(&Group::all(3)), Comparison::Identical);
    assert_eq!(abc.compare(&Group::new(vec![2, 0, 1])), Comparison::Similar);
    assert_eq!(abc.compare(&Group::all(4)), Comparison::Unequal);
    assert_eq!(abc.compare(&Group::new(vec![0, 1, 3])), Comparison::Unequal);
}

/// Union is not commutative in its order, nor is intersection.
#[test]
fn the_first_group_gives_the_order() {
    let first = Group::new(vec![3, 1, 0]);
    let second = Group::new(vec![0, 2, 3]);
    assert_eq!(letters(&first.union(&second)), "dbac");
    assert_eq!(letters(&second.union(&first)), "acdb");
    assert_eq!(letters(&first.intersection(&second)), "da");
    assert_eq!(letters(&second.intersection(&first)), "ad");
    assert_eq!(letters(&first.difference(&second)), "b");
}

#[test]
fn include_follows_the_list_and_exclude_the_group() {
    let group = Group::new(vec![5, 4, 3, 2]);
    assert_eq!(group.include(&[3, 0]).unwrap().processes(), [2, 5]);
    assert_eq!(group.exclude(&[3, 0]).unwrap().processes(), [4, 3]);
}

/// A group a…j and the ranges of the standard's example: (6,7,1), (1,6,2), (0,9,4) included and
/// excluded.
#[test]
fn ranges_step_up_and_down() {
    let group = Group::all(10);
    assert_eq!(
        letters(
            &group
                .range_include(&[[6, 7, 1], [1, 6, 2], [0, 9, 4]])
                .unwrap()
        ),
        "ghbdfaei"
    );
    assert_eq!(letters(&group.range_include(&[[9, 0, -4]]).unwrap()), "jfb");
    assert_eq!(
        letters(
            &group
                .range_exclude(&[[6, 7, 1], [1, 6, 2], [0, 9, 4]])
                .unwrap()
        ),
        "cj"
    );
    assert_eq!(letters(&group.range_include(&[[4, 4, -7]]).unwrap()), "e");
    assert_eq!(
        letters(&group.range_include(&[[0, 11, 3]]).unwrap()),
        "adgj",
        "last itself is not reached"
    );
}

#[test]
fn wrong_lists_say_which_entry_is_wrong() {
    let group = Group::all(4);
    let out = group.include(&[0, 4]).unwrap_err();
    assert_eq!(
        out,
        GroupError::RankOutOfRange {
            index: 1,
            rank: 4,
            size: 4
        }
    );
    assert_eq!(
        text(&out),
        "ranks[1] is 4, but the group has 4 processes: ranks go from 0 to size - 1"
    );
    assert_eq!(
        group.exclude(&[2, 1, 2]).unwrap_err(),
        GroupError::RankTwice {
            index: 2,
            earlier: 0,
            rank: 2
        }
    );
    assert!(matches!(
        group.include(&[PROC_NULL]),
        Err(GroupError::RankOutOfRange { rank: -3, .. })
    ));
    assert_eq!(
        group.range_include(&[[0, 3, 0]]).unwrap_err(),
        GroupError::ZeroStride { index: 0 }
    );
    assert!(matches!(
        group.range_include(&[[0, 3, -1]]),
        Err(GroupError::StrideAway { index: 0, .. })
    ));
    assert!(matches!(
        group.range_exclude(&[[0, i32::MAX, 1]]),
        Err(GroupError::RangeLeavesGroup {
            rank: 2147483647,
            ..
        })
    ));
    assert!(matches!(
        group.range_include(&[[i32::MIN, i32::MAX, i32::MAX]]),
        Err(GroupError::RangeLeavesGroup {
            rank: -2147483648,
            ..
        })
    ));
    assert_eq!(
        text(&group.range_include(&[[0, 1, 1], [3, 1, -2]]).unwrap_err()),
        "ranges[1] reaches rank 1 again, after ranges[0]: name each rank once"
    );
}

#[test]
fn translation_knows_three_answers() {
    let from = Group::new(vec![4, 5, 6]);
    let to = Group::new(vec![6, 4]);
    let answers = from.translate(&[2, 0, 1, PROC_NULL, 2], &to).unwrap();
    use Translated::{ProcNull, Rank, Undefined};
    assert_eq!(answers, [Rank(0), Rank(1), Undefined, ProcNull, Rank(0)]);
    assert!(matches!(
        from.translate(&[3], &to),
        Err(GroupError::RankOutOfRange { .. })
    ));
    assert!(matches!(
        from.translate(&[-1], &to),
        Err(GroupError::RankOutOfRange { .. })
    ));
}

fn groups() -> impl Strategy<Value = Group> {
    let all: Vec<u32> = (0..40).collect();
    (proptest::sample::subsequence(all, 0..=40).prop_shuffle()).prop_map(Group::new)
}

proptest! {
    #[test]
    fn operations_are_set_arithmetic(a in groups(), b in groups()) {
        let of = |group: &Group| group.processes().to_vec();
        let mut union = of(&a);
        for p in of(&b) {
            if !union.contains(&p) {
                union.push(p);
            }
        }
        prop_assert_eq!(of(&a.union(&b)), union);
        let (shared, own): (Vec<u32>, Vec<u32>) = of(&a).iter().partition(|p| of(&b).contains(p));
        prop_assert_eq!(of(&a.intersection(&b)), shared);
        prop_assert_eq!(of(&a.difference(&b)), own);
        for p in 0..41 {
            prop_assert_eq!(a.rank_of(p), of(&a).iter().position(|&q| q == p).map(|r| r as u32));
        }
        let ranks: Vec<i32> = (0..a.size() as i32).collect();
        for (rank, answer) in a.translate(&ranks, &b).unwrap().into_iter().enumerate() {
            let expected = b.rank_of(a.process(rank as u32).unwrap());
            prop_assert_eq!(answer, expected.map_or(Translated::Undefined, Translated::Rank));
        }
    }

    /// Ranges are a short way to write lists: the standard's own definition of them.
    #[test]
    fn ranges_mean_their_expansion(size in 1u32..30, ranges in prop::collection::vec(prop::array::uniform3(-4i32..33), 0..4)) {
        let group = Group::all(size).difference(&Group::new(vec![0]));
        let mut list = Vec::new();
        let mut sound = true;
        for &[first, last, stride] in &ranges {
            if stride == 0 || (last - first).signum() * stride.signum() < 0 {
                sound = false;
                continue;
            }
            for step in 0..=(last - first) / stride {
                list.push(first + step * stride);
            }
        }
        if sound {
            prop_assert_eq!(group.range_include(&ranges).ok(), group.include(&list).ok());
            prop_assert_eq!(group.range_exclude(&ranges).ok(), group.exclude(&list).ok());
        } else {
            prop_assert!(group.range_include(&ranges).is_err());
        }
    }
}
