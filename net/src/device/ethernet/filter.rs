//! The socket filter: of all that a card receives, only frames for this process get as far as its
//! ring.
//!
//! A classic BPF program over the packet as it came, Ethernet header included. The kernel runs it
//! before it copies anything, so that other jobs, other ranks of this host and strangers with our
//! EtherType cost this process nothing. Frames that are not for the card's own address (a
//! promiscuous card, another VLAN) are refused as well.

use oxmpi_wire::frame::{CHANNEL_OFFSET, TO_OFFSET};

use super::{ETHERNET_HEADER_BYTES, ETHERTYPE};

/// Bytes of a packet that may pass: all of it.
const WHOLE: u32 = 0x4_0000;
const NOTHING: u32 = 0;

/// `PACKET_HOST` of linux/if_packet.h: the destination is the card's own address.
const FOR_THIS_HOST: u32 = 0;

/// Number of instructions.
pub(super) const INSTRUCTIONS: usize = 10;

/// The program for one channel and node.
pub(super) fn program(channel: u16, node: u32) -> [libc::sock_filter; INSTRUCTIONS] {
    let packet_type = (libc::SKF_AD_OFF + libc::SKF_AD_PKTTYPE) as u32;
    let frame = ETHERNET_HEADER_BYTES;
    // BPF loads the most significant byte first, frames begin with the least.
    [
        load(libc::BPF_B, packet_type),
        equal_or_skip(FOR_THIS_HOST, 7),
        load(libc::BPF_H, 12),
        equal_or_skip(u32::from(ETHERTYPE), 5),
        load(libc::BPF_H, (frame + CHANNEL_OFFSET) as u32),
        equal_or_skip(u32::from(channel.swap_bytes()), 3),
        load(libc::BPF_W, (frame + TO_OFFSET) as u32),
        equal_or_skip(node.swap_bytes(), 1),
        accept(WHOLE),
        accept(NOTHING),
    ]
}

/// Loads what lies at an offset of the packet; a packet that ends before is refused.
fn load(size: u32, offset: u32) -> libc::sock_filter {
    instruction(libc::BPF_LD | size | libc::BPF_ABS, offset, 0)
}

/// Goes on if the value loaded is this one, else skips so many instructions.
fn equal_or_skip(value: u32, skipped: u8) -> libc::sock_filter {
    instruction(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, value, skipped)
}

fn accept(bytes: u32) -> libc::sock_filter {
    instruction(libc::BPF_RET | libc::BPF_K, bytes, 0)
}

fn instruction(code: u32, value: u32, skipped: u8) -> libc::sock_filter {
    libc::sock_filter {
        code: code as u16,
        jt: 0,
        jf: skipped,
        k: value,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use oxmpi_wire::frame::{FRAME_HEADER_BYTES, Frame, Kind};

    /// What the kernel does with the program, for the three instructions that it has.
    fn accepts(program: &[libc::sock_filter], packet: &[u8], packet_type: u32) -> bool {
        let mut value = 0;
        let mut place = 0;
        loop {
            let instruction = program[place];
            let code = u32::from(instruction.code);
            place += 1;
            match code & 0x07 {
                libc::BPF_LD if instruction.k >= libc::SKF_AD_OFF as u32 => value = packet_type,
                libc::BPF_LD => {
                    let bytes = match code & 0x18 {
                        libc::BPF_W => 4,
                        libc::BPF_H => 2,
                        _ => 1,
                    };
                    let begin = instruction.k as usize;
                    let Some(loaded) = packet.get(begin..begin + bytes) else {
                        return false;
                    };
                    value = loaded
                        .iter()
                        .fold(0, |sum, byte| sum << 8 | u32::from(*byte));
                }
                libc::BPF_JMP if value != instruction.k => place += usize::from(instruction.jf),
                libc::BPF_JMP => {}
                _ => return instruction.k > 0,
            }
        }
    }

    fn packet(ethertype: u16, channel: u16, to: u32) -> Vec<u8> {
        let frame = Frame {
            kind: Kind::Ack,
            channel,
            to,
            name: 1,
            length: 0,
            flags: 0,
            sequence: 0,
            ack: 0,
            serial: 0,
            crc: 0,
            tag: 0,
        };
        let mut header = [0; FRAME_HEADER_BYTES];
        frame.emit(&mut header);
        let mut packet = vec![0; 12];
        packet.extend(ethertype.to_be_bytes());
        packet.extend(header);
        packet
    }

    #[test]
    fn only_our_frames_pass() {
        let program = program(0x0203, 0x0001_0007);
        let ours = packet(ETHERTYPE, 0x0203, 0x0001_0007);
        assert!(accepts(&program, &ours, 0));
        assert!(!accepts(&program, &packet(0x0800, 0x0203, 0x0001_0007), 0));
        assert!(!accepts(
            &program,
            &packet(ETHERTYPE, 0x0302, 0x0001_0007),
            0
        ));
        assert!(!accepts(
            &program,
            &packet(ETHERTYPE, 0x0203, 0x0007_0001),
            0
        ));
        assert!(!accepts(&program, &packet(ETHERTYPE, 0x0203, 7), 0));
        for packet_type in 1..8 {
            assert!(!accepts(&program, &ours, packet_type));
        }
        for bytes in 0..ETHERNET_HEADER_BYTES + TO_OFFSET + 4 {
            assert!(!accepts(&program, &ours[..bytes], 0), "{bytes} bytes");
        }
    }
}
