//! Packets that are lost: a BPF program on an interface drops some of what arrives there, by
//! chance.
//!
//! Programs above TCP meet a bad network only so: what is lost is sent again by the kernel, late
//! and behind what followed it. The program is of the kind XDP, which the kernel itself runs on
//! interfaces whose driver does not.

use std::io;
use std::os::fd::OwnedFd;

use super::system::{self, Instruction};

/// Helper of linux/bpf.h: a random number of 32 bits.
const RANDOM: i32 = 7;
/// Answers: `XDP_DROP` and `XDP_PASS`.
const DROP: i32 = 1;
const PASS: i32 = 2;

/// Loses so many of a thousand packets that an interface of this network receives, until the answer
/// is dropped.
pub fn lose(interface: &str, per_mille: u32) -> io::Result<OwnedFd> {
    system::run_on_packets(interface, &program(per_mille))
}

/// Draws a number, and drops the packet if it is low.
fn program(per_mille: u32) -> [Instruction; 6] {
    let share = (u64::from(per_mille) << 32) / 1000;
    let share = u32::try_from(share).unwrap_or(u32::MAX).cast_signed();
    let instruction = |code, offset, constant| Instruction {
        code,
        registers: 0,
        offset,
        constant,
    };
    // Codes of linux/bpf.h; all are about register 0.
    let call = |helper| instruction(0x85, 0, helper);
    let skip_if_less_u32 = |instructions, constant| instruction(0xA6, instructions, constant);
    let set = |constant| instruction(0xB7, 0, constant);
    let exit = || instruction(0x95, 0, 0);
    [
        call(RANDOM),
        skip_if_less_u32(2, share),
        set(PASS),
        exit(),
        set(DROP),
        exit(),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_is_a_share_of_all_numbers() {
        let below = |per_mille| program(per_mille)[1].constant.cast_unsigned();
        assert_eq!(below(500), 1 << 31);
        assert_eq!(below(1), 4_294_967);
        assert_eq!(below(1000), u32::MAX);
    }
}
