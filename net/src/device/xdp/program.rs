//! The XDP program: of all that a card receives, frames for this process go to its socket,
//! everything else goes on to the kernel as if the program were not there.
//!
//! Everything that is compared is known when the device is opened, so the program carries it as
//! constants and needs no map but that of the socket.

use oxmpi_wire::frame::{CHANNEL_OFFSET, TO_OFFSET};

use super::ETHERNET_HEADER_BYTES;
use crate::bpf::assembler::{Assembler, Instruction, Label, R1, R2, R3, R4, R5, R6, code};
use crate::device::ethernet::ETHERTYPE;

/// `bpf_redirect_map` of linux/bpf.h.
const REDIRECT_MAP: i32 = 51;
/// `XDP_PASS` of linux/bpf.h: the packet goes on to the kernel.
pub(super) const PASS: i32 = 2;

/// Where things lie in `struct xdp_md`, the program's argument.
const DATA: i16 = 0;
const DATA_END: i16 = 4;
const QUEUE: i16 = 16;

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
    let pass = program.label();
    program.copy(R6, R1);
    program.load(code::LOAD_U32, R2, R1, DATA);
    program.load(code::LOAD_U32, R3, R1, DATA_END);
    program.copy(R4, R2);
    program.push(code::ADD_CONSTANT, R4, 0, 0, COMPARED_BYTES);
    program.jump(code::JUMP_GREATER, R4, R3, 0, pass);
    // Loads take bytes in the machine's order, whatever they mean; so do the constants.
    pass_unless_u16(&mut program, 12, ETHERTYPE.to_be_bytes(), pass);
    pass_unless_u32(&mut program, 0, [a, b, c, d], pass);
    pass_unless_u16(&mut program, 4, [e, f], pass);
    let at = frame + CHANNEL_OFFSET as i16;
    pass_unless_u16(&mut program, at, channel.to_le_bytes(), pass);
    let at = frame + TO_OFFSET as i16;
    pass_unless_u32(&mut program, at, node.to_le_bytes(), pass);
    program.load_map(R1, map);
    program.load(code::LOAD_U32, R2, R6, QUEUE);
    program.set(R3, PASS);
    program.call(REDIRECT_MAP);
    program.push(code::EXIT, 0, 0, 0, 0);
    program.place(pass);
    program.answer(PASS);
    program.finish()
}

/// On to the label, unless the packet has these bytes there.
fn pass_unless_u16(program: &mut Assembler, at: i16, bytes: [u8; 2], pass: Label) {
    program.load(code::LOAD_U16, R5, R2, at);
    let value = u16::from_ne_bytes(bytes).into();
    program.jump(code::JUMP_DIFFERENT_U32, R5, 0, value, pass);
}

/// As [`pass_unless_u16`].
fn pass_unless_u32(program: &mut Assembler, at: i16, bytes: [u8; 4], pass: Label) {
    program.load(code::LOAD_U32, R5, R2, at);
    let value = i32::from_ne_bytes(bytes);
    program.jump(code::JUMP_DIFFERENT_U32, R5, 0, value, pass);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bpf::assembler::PSEUDO_MAP;
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
