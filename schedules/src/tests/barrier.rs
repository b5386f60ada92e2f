//! A barrier's result is not in any buffer: everybody must have heard of everybody.

use super::*;

#[test]
fn a_barrier_lets_nobody_out_before_everybody_is_in() {
    for size in 1..=40 {
        for algorithm in [Algorithm::Dissemination, Algorithm::Tree] {
            let case = scenario(Collective::Barrier, size, 0, 0, 0).prepare();
            let schedules = schedules(&case, algorithm, None).expect("both do barriers");
            (0..size).for_each(|absent| nobody_leaves_without(absent, &schedules));
        }
    }
}

/// One rank does not enter: nobody else may finish.
pub(super) fn nobody_leaves_without(absent: u32, schedules: &[Schedule]) {
    let size = schedules.len() as u32;
    let mut executions = vec![Execution::start(); size as usize];
    let mut signals: HashMap<(u32, u32), i32> = HashMap::new();
    let mut waiting: Vec<Vec<(u32, u32)>> = vec![Vec::new(); size as usize];
    for _ in 0..4 * size {
        for rank in (0..size).filter(|rank| *rank != absent) {
            let (execution, schedule) = (&mut executions[rank as usize], &schedules[rank as usize]);
            waiting[rank as usize].retain(|(index, peer)| {
                let count = signals.entry((*peer, rank)).or_default();
                let arrived = *count > 0;
                if arrived {
                    *count -= 1;
                    execution.transfer_done(schedule, *index);
                }
                !arrived
            });
            while let Action::Start { index, transfer } = execution.poll(schedule) {
                if transfer.direction == Direction::Send {
                    *signals.entry((rank, transfer.peer)).or_default() += 1;
                    execution.transfer_done(schedule, index);
                } else {
                    waiting[rank as usize].push((index, transfer.peer));
                }
            }
            assert_ne!(
                execution.poll(schedule),
                Action::Done,
                "rank {rank} left without {absent}"
            );
        }
    }
}
