//! Collectives of a communicator with one member: at most a copy from one side to the other.

use oxmpi_schedules::plan::Call;

use super::run::Places;

/// Runs the collective of a process that is alone. False, and nothing has happened, if the call is
/// one of those whose blocks may lie apart: these take the general way.
#[inline]
pub(super) fn run(call: &Call<'_>, places: Places) -> bool {
    let copied = match *call {
        Call::Barrier | Call::Bcast { .. } => 0,
        Call::Reduce { operand, .. } | Call::Allreduce(operand) | Call::Scan(operand) => {
            match operand.in_place {
                true => 0,
                false => operand.bytes,
            }
        }
        Call::Gather {
            bytes, in_place, ..
        }
        | Call::Scatter {
            bytes, in_place, ..
        }
        | Call::Allgather { bytes, in_place }
        | Call::Alltoall { bytes, in_place } => match in_place {
            true => 0,
            false => bytes,
        },
        _ => return false,
    };
    let ((from, readable), (to, writable)) = (places.send, places.receive);
    if copied > readable || copied > writable {
        return false;
    }
    // SAFETY: whoever made the places promises that they are valid; this stays inside both. They
    // may overlap where no board is used.
    unsafe { std::ptr::copy(from, to, copied) };
    true
}
