//! The XDP program: of all that a card receives, frames for this process go to its socket,
//! everything else goes on to the kernel as if the program were not there.
//!
//! Put together here instruction by instruction, because a compiler for eBPF would be a lot to ask
//! for two dozen of them. Everything that is compared is known when the device is opened, so the
//! program carries it as constants and needs no map but that of the socket.

use oxmpi_wire::frame::{CHANNEL_OFFSET, TO_OFFSET};

use super::ETHERNET_HEADER_BYTES;
use crate::device::ethernet::ETHERTYPE;

/// `struct bpf_insn`: code, registers (destination in the low four bits), offset, constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub(super) struct Instruction {
    pub code: u8,
    pub registers: u8,
    pub offset: i16,
    pub constant: i32,
}

const _: () = assert!(size_of::<Instruction>() == 8);

/// Codes of linux/bpf.h and linux/bpf_common.h, put together as far as they are used.
pub(super) mod code {
    /// Register from memory, by size.
    pub const LOAD_U16: u8 = 0x69;
    pub const LOAD_U32: u8 = 0x61;
    /// Two instructions: a constant of 64 bits, or a map.
    pub const LOAD_WIDE: u8 = 0x18;
    pub const MOVE: u8 = 0xBF;
    pub const MOVE_CONSTANT: u8 = 0xB7;
    pub const ADD_CONSTANT: u8 = 0x07;
    /// Jump if one register is greater than another, unsigned.
    pub const JUMP_GREATER: u8 = 0x2D;
    /// Jump if the lower 32 bits differ from a constant; comparing 64 bits would extend the
    /// constant's sign.
    pub const JUMP_DIFFERENT_U32: u8 = 0x56;
    pub const CALL: u8 = 0x85;
    pub const EXIT: u8 = 0x95;
}

/// In the source register of a wide load: the constant is the descriptor of a map.
const PSEUDO_MAP: u8 = 1;
/// `bpf_redirect_map` of linux/bpf.h.
const REDIRECT_MAP: i32 = 51;
/// `XDP_PASS` of linux/bpf.h: the packet goes on to the kernel.
pub(super) const PASS: i32 = 2;

/// Where things lie in `struct xdp_md`, the program's argument.
const DATA: i16 = 0;
const DATA_END: i16 = 4;
const QUEUE: i16 = 16;

/// Registers: results and arguments, two that are free for use, and one that outlives calls.
const R0: u8 = 0;
const R1: u8 = 1;
const R2: u8 = 2;
const R3: u8 = 3;
const R4: u8 = 4;
const R5: u8 = 5;
const R6: u8 = 6;

/// What is compared of a packet: everything in front of the frame's source node.
const COMPARED_BYTES: i32 = (ETHERNET_HEADER_BYTES + TO_OFFSET + 4) as i32;

/// Which packets are taken out.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wanted {
    /// Sent to this card.
    pub mac: [u8; 6],
    /// On this channel.
    pub channel: u16,
    /// For this node.
    pub node: u32,
}

/// The program that redirects what is wanted to the sockets in a map, one for each receive queue.
/// Without a socket for the queue it was received by, a packet passes.
pub(super) fn program(wanted: Wanted, map: i32) -> Vec<Instruction> {
    let Wanted { mac, channel, node } = wanted;
    let [a, b, c, d, e, f] = mac;
    let frame = ETHERNET_HEADER_BYTES as i16;
    let mut program = Assembler::default();
    program.push(code::MOVE, R6, R1, 0, 0);
    program.push(code::LOAD_U32, R2, R1, DATA, 0);
    program.push(code::LOAD_U32, R3, R1, DATA_END, 0);
    program.push(code::MOVE, R4, R2, 0, 0);
    program.push(code::ADD_CONSTANT, R4, 0, 0, COMPARED_BYTES);
    program.pass_if_greater(R4, R3);
    // Loads take bytes in the machine's order, whatever they mean; so do the constants.
    program.pass_unless_u16(R2, 12, ETHERTYPE.to_be_bytes());
    program.pass_unless_u32(R2, 0, [a, b, c, d]);
    program.pass_unless_u16(R2, 4, [e, f]);
    program.pass_unless_u16(R2, frame + CHANNEL_OFFSET as i16, channel.to_le_bytes());
    program.pass_unless_u32(R2, frame + TO_OFFSET as i16, node.to_le_bytes());
    program.push(code::LOAD_WIDE, R1, PSEUDO_MAP, 0, map);
    program.push(0, 0, 0, 0, 0);
    program.push(code::LOAD_U32, R2, R6, QUEUE, 0);
    program.push(code::MOVE_CONSTANT, R3, 0, 0, PASS);
    program.push(code::CALL, 0, 0, 0, REDIRECT_MAP);
    program.push(code::EXIT, 0, 0, 0, 0);
    program.finish()
}

/// Collects instructions, and the jumps to the end that are not yet known to be how far.
#[derive(Default)]
struct Assembler {
    instructions: Vec<Instruction>,
    jumps: Vec<usize>,
}

impl Assembler {
    fn push(&mut self, code: u8, to: u8, from: u8, offset: i16, constant: i32) {
        // The kernel's structure has two fields of four bits, which lie the other way round where
        // bytes do.
        let registers = if cfg!(target_endian = "little") {
            from << 4 | to
        } else {
            to << 4 | from
        };
        self.instructions.push(Instruction {
            code,
            registers,
            offset,
            constant,
        });
    }

    fn pass_if_greater(&mut self, one: u8, other: u8) {
        self.jumps.push(self.instructions.len());
        self.push(code::JUMP_GREATER, one, other, 0, 0);
    }

    fn pass_unless_u16(&mut self, base: u8, offset: i16, bytes: [u8; 2]) {
        self.push(code::LOAD_U16, R5, base, offset, 0);
        self.pass_unless(u16::from_ne_bytes(bytes).into());
    }

    fn pass_unless_u32(&mut self, base: u8, offset: i16, bytes: [u8; 4]) {
        self.push(code::LOAD_U32, R5, base, offset, 0);
        self.pass_unless(i32::from_ne_bytes(bytes));
    }

    fn pass_unless(&mut self, value: i32) {
        self.jumps.push(self.instructions.len());
        self.push(code::JUMP_DIFFERENT_U32, R5, 0, 0, value);
    }

    fn finish(mut self) -> Vec<Instruction> {
        let pass = self.instructions.len();
        self.push(code::MOVE_CONSTANT, R0, 0, 0, PASS);
        self.push(code::EXIT, 0, 0, 0, 0);
        for jump in self.jumps {
            // Counted from the instruction behind the jump.
            self.instructions[jump].offset = (pass - jump - 1) as i16;
        }
        self.instructions
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const WANTED: Wanted = Wanted {
        mac: [2, 1, 2, 3, 4, 5],
        channel: 0x0203,
        node: 0x8001_0007,
    };
    const MAP: i32 = 9;
    const DATA_AT: u64 = 0x1000;

    /// What the kernel does with the program, for the instructions that it has: redirected to which
    /// map and queue, or passed. Loads beyond the packet are errors.
    fn run(program: &[Instruction], packet: &[u8], queue: u32) -> Option<(u64, u64)> {
        let mut registers = [0u64; 11];
        // The argument lies at 0, and its fields are what is loaded from there.
        let context = |offset: i16| match offset {
            DATA => DATA_AT,
            DATA_END => DATA_AT + packet.len() as u64,
            QUEUE => queue.into(),
            other => panic!("the program reads {other} of its argument"),
        };
        let mut place = 0;
        loop {
            let instruction = program[place];
            let to = usize::from(instruction.registers & 15);
            let from = usize::from(instruction.registers >> 4);
            let constant = instruction.constant;
            place += 1;
            match instruction.code {
                code::MOVE => registers[to] = registers[from],
                code::MOVE_CONSTANT => registers[to] = constant as u64,
                code::ADD_CONSTANT => registers[to] += constant as u64,
                code::LOAD_WIDE => {
                    assert_eq!(from, usize::from(PSEUDO_MAP));
                    registers[to] = constant as u64;
                    place += 1;
                }
                load @ (code::LOAD_U16 | code::LOAD_U32) => {
                    let offset = instruction.offset;
                    registers[to] = match registers[from] {
                        0 => context(offset),
                        base => {
                            let begin = (base - DATA_AT) as usize + offset as usize;
                            let bytes = &packet[begin..];
                            if load == code::LOAD_U16 {
                                u16::from_ne_bytes(*bytes.first_chunk().unwrap()).into()
                            } else {
                                u32::from_ne_bytes(*bytes.first_chunk().unwrap()).into()
                            }
                        }
                    };
                }
                code::JUMP_GREATER => {
                    if registers[to] > registers[from] {
                        place += instruction.offset as usize;
                    }
                }
                code::JUMP_DIFFERENT_U32 => {
                    if registers[to] as u32 != constant as u32 {
                        place += instruction.offset as usize;
                    }
                }
                code::CALL => {
                    assert_eq!((constant, registers[3]), (REDIRECT_MAP, PASS as u64));
                    return Some((registers[1], registers[2]));
                }
                code::EXIT => {
                    assert_eq!(registers[0], PASS as u64);
                    return None;
                }
                other => panic!("unknown code {other:#x}"),
            }
        }
    }

    fn packet(mac: [u8; 6], ethertype: u16, channel: u16, node: u32) -> Vec<u8> {
        let mut packet = mac.to_vec();
        packet.extend([9; 6]);
        packet.extend(ethertype.to_be_bytes());
        packet.extend([1, 1]);
        packet.extend(channel.to_le_bytes());
        packet.extend(node.to_le_bytes());
        packet.extend([0; 40]);
        packet
    }

    #[test]
    fn only_our_frames_are_redirected() {
        let program = program(WANTED, MAP);
        let Wanted { mac, channel, node } = WANTED;
        let ours = packet(mac, ETHERTYPE, channel, node);
        assert_eq!(run(&program, &ours, 3), Some((MAP as u64, 3)));
        for other in [
            packet([2, 1, 2, 3, 4, 6], ETHERTYPE, channel, node),
            packet([3, 1, 2, 3, 4, 5], ETHERTYPE, channel, node),
            packet([255; 6], ETHERTYPE, channel, node),
            packet(mac, 0x0800, channel, node),
            packet(mac, ETHERTYPE.swap_bytes(), channel, node),
            packet(mac, ETHERTYPE, channel.swap_bytes(), node),
            packet(mac, ETHERTYPE, channel, node & 0xFFFF),
            packet(mac, ETHERTYPE, channel, node.swap_bytes()),
        ] {
            assert_eq!(run(&program, &other, 0), None, "{other:02x?}");
        }
        for bytes in 0..COMPARED_BYTES as usize {
            assert_eq!(run(&program, &ours[..bytes], 0), None, "{bytes} bytes");
        }
    }

    proptest! {
        #[test]
        fn no_packet_is_read_beyond_its_end(bytes: Vec<u8>, queue: u32) {
            run(&program(WANTED, MAP), &bytes, queue);
        }
    }
}
