//! Collectives through leaders, taken apart: what the ranks of a host do among themselves, and what
//! the leaders do.
//!
//! Ranks that share memory have better ways than messages for the first part. What crosses between
//! hosts is exactly what the whole schedule sends, so each host may do its own part as it likes.

use super::super::allreduce::recursive_doubling_into;
use super::super::barrier::dissemination_into;
use super::super::bcast::binomial_into;
use super::super::call::Call;
use super::super::choose::Algorithm;
use super::super::position::{Placement, Position};
use super::super::schedule::{Builder, Region, Schedule};
use super::super::{Hosts, Operand};
use super::{Here, allreduce, barrier};

/// One rank's call in three phases. Calls among the ranks of its host name them by their index
/// there.
#[derive(Clone, Debug)]
pub struct Phases {
    /// First, on the host: what its ranks have comes to the leader, in `Receive` if there is a
    /// result.
    pub up: Option<Call<'static>>,
    /// Then, at leaders only: `Receive` is made the same on all of them.
    pub between: Schedule,
    /// Last, on the host: the leader's `Receive` for everybody.
    pub down: Call<'static>,
}

/// The phases of a call, where the table sends it through leaders and there is a leader's result to
/// hand out.
pub fn phases(call: &Call<'_>, position: Position, placement: Placement<'_>) -> Option<Phases> {
    let hosts = placement.hosts?;
    let here = match *call {
        Call::Bcast { root, .. } => Here::with_root(hosts, position.rank, root),
        _ => Here::new(hosts, position.rank),
    };
    let top = here.top();
    let mut builder = Builder::default();
    let (up, bytes) = match (*call, call.rule(position, placement).algorithm) {
        (Call::Barrier, algorithm @ (Algorithm::LeaderTree | Algorithm::LeaderExchange)) => {
            here.between_leaders(&mut builder, |builder, position| match algorithm {
                Algorithm::LeaderTree => barrier::tree_of_leaders(builder, position),
                _ => dissemination_into(builder, position),
            });
            let up = Call::Gather {
                bytes: 0,
                root: top,
                in_place: false,
            };
            (Some(up), 0)
        }
        (Call::Bcast { bytes, .. }, Algorithm::LeaderTree) => {
            let buffer = Region::receive(0, bytes);
            here.between_leaders(&mut builder, |builder, position| {
                binomial_into(builder, position, here.top_host(), buffer);
            });
            (None, bytes)
        }
        (
            Call::Allreduce(operand),
            algorithm @ (Algorithm::LeaderTree | Algorithm::LeaderExchange),
        ) => {
            // A host's ranks leave what they combined in the leader's result.
            let in_place = Operand {
                in_place: true,
                ..operand
            };
            let (vector, result) = (in_place.vector(), in_place.own());
            here.between_leaders(&mut builder, |builder, position| match algorithm {
                Algorithm::LeaderTree => {
                    allreduce::tree_of_leaders(builder, position, vector, result);
                }
                _ => recursive_doubling_into(builder, position, vector, result),
            });
            let up = Call::Reduce { operand, root: top };
            (Some(up), operand.bytes)
        }
        _ => return None,
    };
    Some(Phases {
        up,
        between: builder.finish(),
        down: Call::Bcast { bytes, root: top },
    })
}

/// Brings the leader's `Receive` to all ranks of its host, by messages.
pub fn on_host(hosts: &Hosts, rank: u32, bytes: usize) -> Schedule {
    let here = Here::new(hosts, rank);
    let mut builder = Builder::for_rounds(2);
    here.on_host(&mut builder, |builder, position| {
        binomial_into(builder, position, here.top(), Region::receive(0, bytes));
    });
    builder.finish()
}
