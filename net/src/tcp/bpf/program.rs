//! The program that the kernel runs for every piece of a connection's stream, in the protocol's own
//! handler (a softirq): it copies the piece into the connection's ring, and takes it out of the
//! socket.
//!
//! Where the ring has no room, or the process wants to read the socket itself, the piece *passes*:
//! it goes on to the socket. `passed` counts such bytes, and once a piece has passed, all do until
//! the process says `resume`; `before` is what had passed when the ring was used again. So the
//! process knows which bytes come first.
//!
//! A piece may begin with bytes that were here already: a sender that repeats itself may cut its
//! stream anew, the kernel joins pieces that came out of order, and TCP leaves it to readers to skip
//! what is old. The piece's place in the stream lies where the program's argument has its free words;
//! what is old is cut off, in several cuts if it is long.

use super::layout::{Layout, at};
use crate::bpf::Sort;
use crate::bpf::assembler::{
    Assembler, EXCHANGE, FETCH_ADD, Instruction, R0, R1, R2, R3, R4, R5, R6, R7, R8, R9, STACK,
    code,
};

/// `BPF_PROG_TYPE_SK_SKB` of linux/bpf.h, attached as `BPF_SK_SKB_VERDICT`.
pub(super) const SORT: Sort = Sort {
    program_type: 14,
    attachment: ATTACH_VERDICT,
    flags: 0,
    name: *b"oxmpi_streams\0\0\0",
};
pub(super) const ATTACH_VERDICT: u32 = 38;

/// Answers: `SK_DROP` and `SK_PASS` of linux/bpf.h.
const TAKEN: i32 = 0;
const PASSES: i32 = 1;

/// Helpers of linux/bpf.h.
const MAP_LOOK_UP: i32 = 1;
const LOAD_BYTES: i32 = 26;
const SOCKET_COOKIE: i32 = 46;
const ADJUST_ROOM: i32 = 50;
const RING_OUTPUT: i32 = 130;
/// `BPF_RB_FORCE_WAKEUP`.
const WAKE: i32 = 2;

/// Where things lie in `struct __sk_buff`, the program's argument. Its free words are those where
/// TCP keeps what it knows of a piece: the first is the number of its first byte.
const BYTES: i16 = 0;
const SEQUENCE: i16 = 48;

/// Places on the stack.
const COOKIE: i16 = -8;
const FIRST_PART: i16 = -16;
const OLD: i16 = -24;
const CUTS: i16 = -32;

/// Bytes that the kernel cuts off the front of a piece at once (`sk_skb_adjust_room`).
const CUT_BYTES_MAX: i32 = 0xfff;
/// Cuts of one piece. Pieces that came out of order are joined before they are in order, as many as
/// have a place in a buffer of the kernel: 17 parts of up to 32 KiB, all but the last of them old.
const CUTS_MAX: i32 = 160;

/// The maps that the program uses, as descriptors.
#[derive(Clone, Copy)]
pub(super) struct Maps {
    /// Slots by their sockets' cookies.
    pub names: i32,
    /// The memory that `layout` describes.
    pub area: i32,
    /// Wakes who sleeps.
    pub bell: i32,
}

/// Cuts off the front of the piece, by as many bytes as R2 is below 0.
fn cut_front(it: &mut Assembler) {
    it.copy(R1, R6);
    it.set(R3, 0);
    it.set(R4, 0);
    it.set(R5, 0);
    it.call(ADJUST_ROOM);
}

/// Registers: R6 the argument, R7 the slot, R8 the bytes of the piece, R9 the slot's state.
pub(super) fn program(layout: Layout, maps: Maps) -> Vec<Instruction> {
    let ring = layout.ring_bytes as i32;
    let mut it = Assembler::default();
    let [fits, running, wrap, publish, notice, wake] = it.labels();
    let [taken, begin_passing, count, passes, overlap, broken] = it.labels();
    let [cut, cut_some] = it.labels();

    // Whose it is.
    it.copy(R6, R1);
    it.call(SOCKET_COOKIE);
    it.store(code::STORE_U64, STACK, COOKIE, R0);
    it.load_map(R1, maps.names);
    it.copy(R2, STACK);
    it.push(code::ADD_CONSTANT, R2, 0, 0, COOKIE.into());
    it.call(MAP_LOOK_UP);
    it.jump(code::JUMP_EQUAL_CONSTANT, R0, 0, 0, passes);
    it.load(code::LOAD_U32, R7, R0, 0);
    let last = layout.slots as i32 - 1;
    it.jump(code::JUMP_GREATER_CONSTANT, R7, 0, last, passes);
    it.load_place(R9, maps.area, layout.states());
    it.copy(R1, R7);
    it.push(code::SHIFT_LEFT_CONSTANT, R1, 0, 0, at::STATE_SHIFT);
    it.push(code::ADD, R9, R1, 0, 0);
    it.load(code::LOAD_U32, R8, R6, BYTES);
    // The end of a stream comes without bytes.
    it.jump(code::JUMP_EQUAL_CONSTANT, R8, 0, 0, taken);

    // Whether it is what comes next.
    it.load(code::LOAD_U32, R1, R6, SEQUENCE);
    it.load(code::LOAD_U32, R2, R9, at::NEXT);
    it.push(code::SUBTRACT_U32, R2, R1, 0, 0);
    it.jump(code::JUMP_DIFFERENT_CONSTANT, R2, 0, 0, overlap);
    it.place(fits);
    it.load(code::LOAD_U32, R2, R9, at::NEXT);
    it.push(code::ADD_U32, R2, R8, 0, 0);
    it.store(code::STORE_U32, R9, at::NEXT, R2);

    // Whether it passes.
    it.load(code::LOAD_U32, R1, R9, at::PASSING);
    it.jump(code::JUMP_EQUAL_CONSTANT, R1, 0, 0, running);
    it.load(code::LOAD_U32, R1, R9, at::RESUME);
    it.load(code::LOAD_U32, R2, R9, at::RESUMED);
    it.jump(code::JUMP_EQUAL, R1, R2, 0, count);
    it.load(code::LOAD_U32, R3, R9, at::STRAIGHT);
    it.jump(code::JUMP_DIFFERENT_CONSTANT, R3, 0, 0, count);
    it.push(code::STORE_CONSTANT_U32, R9, 0, at::PASSING, 0);
    it.load(code::LOAD_U64, R2, R9, at::PASSED);
    it.store(code::STORE_U64, R9, at::BEFORE, R2);
    // Who sees that the request was obeyed sees the two before it, too.
    it.push(code::ATOMIC_U32, R9, R1, at::RESUMED, EXCHANGE);
    it.place(running);
    it.load(code::LOAD_U32, R1, R9, at::STRAIGHT);
    it.jump(code::JUMP_DIFFERENT_CONSTANT, R1, 0, 0, begin_passing);
    it.load(code::LOAD_U64, R1, R9, at::HEAD);
    it.load(code::LOAD_U64, R2, R9, at::TAIL);
    it.copy(R3, R1);
    it.push(code::SUBTRACT, R3, R2, 0, 0);
    it.set(R4, ring);
    it.push(code::SUBTRACT, R4, R3, 0, 0);
    it.jump(code::JUMP_GREATER, R8, R4, 0, begin_passing);
    // These tell the kernel's verifier what the lines above do not.
    it.jump(code::JUMP_GREATER_CONSTANT, R8, 0, ring, begin_passing);
    it.jump(code::JUMP_LESS_CONSTANT, R8, 0, 1, taken);

    // Copied, in two parts where the ring ends.
    it.push(code::AND_CONSTANT, R1, 0, 0, ring - 1);
    it.set(R5, ring);
    it.push(code::SUBTRACT, R5, R1, 0, 0);
    it.load_place(R3, maps.area, layout.rings());
    it.copy(R2, R7);
    it.push(code::SHIFT_LEFT_CONSTANT, R2, 0, 0, ring.ilog2() as i32);
    it.push(code::ADD, R3, R2, 0, 0);
    it.push(code::ADD, R3, R1, 0, 0);
    it.jump(code::JUMP_GREATER, R8, R5, 0, wrap);
    it.copy(R1, R6);
    it.set(R2, 0);
    it.copy(R4, R8);
    it.call(LOAD_BYTES);
    it.jump(code::JUMP_DIFFERENT_CONSTANT, R0, 0, 0, begin_passing);
    it.jump(code::JUMP, 0, 0, 0, publish);
    it.place(wrap);
    it.store(code::STORE_U64, STACK, FIRST_PART, R5);
    it.copy(R1, R6);
    it.set(R2, 0);
    it.copy(R4, R5);
    it.call(LOAD_BYTES);
    it.jump(code::JUMP_DIFFERENT_CONSTANT, R0, 0, 0, begin_passing);
    it.load(code::LOAD_U64, R2, STACK, FIRST_PART);
    it.load_place(R3, maps.area, layout.rings());
    it.copy(R1, R7);
    it.push(code::SHIFT_LEFT_CONSTANT, R1, 0, 0, ring.ilog2() as i32);
    it.push(code::ADD, R3, R1, 0, 0);
    it.copy(R4, R8);
    it.push(code::SUBTRACT, R4, R2, 0, 0);
    it.jump(code::JUMP_GREATER_CONSTANT, R4, 0, ring, begin_passing);
    it.jump(code::JUMP_LESS_CONSTANT, R4, 0, 1, begin_passing);
    it.copy(R1, R6);
    it.call(LOAD_BYTES);
    it.jump(code::JUMP_DIFFERENT_CONSTANT, R0, 0, 0, begin_passing);

    // Told. Every step is ordered against the process's counterpart: it clears `listed` (or
    // `quiet`) and then looks at `head`; it sets `asleep` and then looks at the queue.
    it.place(publish);
    it.copy(R1, R8);
    it.push(code::ATOMIC_U64, R9, R1, at::HEAD, FETCH_ADD);
    it.load(code::LOAD_U32, R1, R9, at::QUIET);
    it.jump(code::JUMP_DIFFERENT_CONSTANT, R1, 0, 0, taken);
    it.place(notice);
    it.load(code::LOAD_U32, R1, R9, at::LISTED);
    it.jump(code::JUMP_DIFFERENT_CONSTANT, R1, 0, 0, wake);
    it.push(code::STORE_CONSTANT_U32, R9, 0, at::LISTED, 1);
    it.load_place(R2, maps.area, at::CONTROL);
    it.set(R1, 1);
    it.push(code::ATOMIC_U64, R2, R1, at::QUEUE_HEAD, FETCH_ADD);
    it.push(code::AND_CONSTANT, R1, 0, 0, last);
    it.push(code::SHIFT_LEFT_CONSTANT, R1, 0, 0, 2);
    it.load_place(R2, maps.area, layout.queue());
    it.push(code::ADD, R2, R1, 0, 0);
    it.push(code::ADD_CONSTANT, R7, 0, 0, 1);
    it.push(code::ATOMIC_U32, R2, R7, 0, EXCHANGE);
    it.place(wake);
    it.load_place(R2, maps.area, at::CONTROL);
    it.load(code::LOAD_U32, R1, R2, at::ASLEEP);
    it.jump(code::JUMP_EQUAL_CONSTANT, R1, 0, 0, taken);
    it.push(code::STORE_CONSTANT_U32, R2, 0, at::ASLEEP, 0);
    it.load_map(R1, maps.bell);
    it.copy(R2, STACK);
    it.push(code::ADD_CONSTANT, R2, 0, 0, COOKIE.into());
    it.set(R3, 8);
    it.set(R4, WAKE);
    it.call(RING_OUTPUT);
    it.place(taken);
    it.answer(TAKEN);

    it.place(begin_passing);
    it.push(code::STORE_CONSTANT_U32, R9, 0, at::PASSING, 1);
    it.place(count);
    it.load(code::LOAD_U64, R1, R9, at::PASSED);
    it.push(code::ADD, R1, R8, 0, 0);
    it.store(code::STORE_U64, R9, at::PASSED, R1);
    it.place(passes);
    it.answer(PASSES);

    // R2 bytes of it are old.
    it.place(overlap);
    it.jump(code::JUMP_LESS_I32, R2, 0, 0, broken);
    it.jump(code::JUMP_AT_LEAST, R2, R8, 0, broken);
    it.push(code::SUBTRACT, R8, R2, 0, 0);
    it.set(R1, 0);
    it.store(code::STORE_U64, STACK, CUTS, R1);
    it.place(cut);
    it.jump(code::JUMP_GREATER_CONSTANT, R2, 0, CUT_BYTES_MAX, cut_some);
    it.push(code::NEGATE, R2, 0, 0, 0);
    cut_front(&mut it);
    it.jump(code::JUMP_EQUAL_CONSTANT, R0, 0, 0, fits);
    it.jump(code::JUMP, 0, 0, 0, broken);
    it.place(cut_some);
    it.push(code::ADD_CONSTANT, R2, 0, 0, -CUT_BYTES_MAX);
    it.store(code::STORE_U64, STACK, OLD, R2);
    it.set(R2, -CUT_BYTES_MAX);
    cut_front(&mut it);
    it.jump(code::JUMP_DIFFERENT_CONSTANT, R0, 0, 0, broken);
    it.load(code::LOAD_U64, R2, STACK, OLD);
    it.load(code::LOAD_U64, R1, STACK, CUTS);
    it.push(code::ADD_CONSTANT, R1, 0, 0, 1);
    it.store(code::STORE_U64, STACK, CUTS, R1);
    it.jump(code::JUMP_LESS_CONSTANT, R1, 0, CUTS_MAX, cut);
    it.place(broken);
    it.push(code::STORE_CONSTANT_U32, R9, 0, at::BROKEN, 1);
    it.set(R8, 0);
    it.copy(R1, R8);
    it.push(code::ATOMIC_U64, R9, R1, at::HEAD, FETCH_ADD);
    it.jump(code::JUMP, 0, 0, 0, notice);
    it.finish()
}
