//! Programs for the kernel's BPF machine, put together instruction by instruction: a compiler for
//! it would be a lot to ask for programs of some dozens of them.
//!
//! A jump names a [`Label`]; where that is, is said later, and [`Assembler::finish`] fills it in.

/// `struct bpf_insn`: code, registers (destination in the low four bits), offset, constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct Instruction {
    pub code: u8,
    pub registers: u8,
    pub offset: i16,
    pub constant: i32,
}

const _: () = assert!(size_of::<Instruction>() == 8);

/// Codes of linux/bpf.h and linux/bpf_common.h, put together as far as they are used.
pub(crate) mod code {
    /// Register from memory, by size.
    pub const LOAD_U16: u8 = 0x69;
    pub const LOAD_U32: u8 = 0x61;
    pub const LOAD_U64: u8 = 0x79;
    /// Memory from a register, and from a constant.
    pub const STORE_U32: u8 = 0x63;
    pub const STORE_U64: u8 = 0x7B;
    pub const STORE_CONSTANT_U32: u8 = 0x62;
    /// Both ways at once, ordered against everything before and after.
    pub const ATOMIC_U32: u8 = 0xC3;
    pub const ATOMIC_U64: u8 = 0xDB;
    /// Two instructions: a constant of 64 bits, a map, or a place in one.
    pub const LOAD_WIDE: u8 = 0x18;
    pub const MOVE: u8 = 0xBF;
    pub const MOVE_CONSTANT: u8 = 0xB7;
    pub const ADD: u8 = 0x0F;
    pub const ADD_CONSTANT: u8 = 0x07;
    pub const SUBTRACT: u8 = 0x1F;
    pub const AND_CONSTANT: u8 = 0x57;
    pub const SHIFT_LEFT_CONSTANT: u8 = 0x67;
    pub const NEGATE: u8 = 0x87;
    /// Of the lower 32 bits; the upper ones are 0 afterwards.
    pub const ADD_U32: u8 = 0x0C;
    pub const SUBTRACT_U32: u8 = 0x1C;
    pub const JUMP: u8 = 0x05;
    pub const JUMP_EQUAL: u8 = 0x1D;
    pub const JUMP_EQUAL_CONSTANT: u8 = 0x15;
    pub const JUMP_DIFFERENT_CONSTANT: u8 = 0x55;
    /// Jump if one register is greater than another, unsigned.
    pub const JUMP_GREATER: u8 = 0x2D;
    pub const JUMP_GREATER_CONSTANT: u8 = 0x25;
    pub const JUMP_AT_LEAST: u8 = 0x3D;
    pub const JUMP_LESS_CONSTANT: u8 = 0xA5;
    /// Jump if the lower 32 bits differ from a constant; comparing 64 bits would extend the
    /// constant's sign.
    pub const JUMP_DIFFERENT_U32: u8 = 0x56;
    /// Jump if the lower 32 bits are less than a constant, with a sign.
    pub const JUMP_LESS_I32: u8 = 0xC6;
    pub const CALL: u8 = 0x85;
    pub const EXIT: u8 = 0x95;
}

/// What an atomic instruction does, as its constant: the register gets what was there before.
pub(crate) const FETCH_ADD: i32 = 0x01;
pub(crate) const EXCHANGE: i32 = 0xE1;

/// In the source register of a wide load: the constant is the descriptor of a map, and the next
/// one's is a place in its only value.
pub(crate) const PSEUDO_MAP: u8 = 1;
const PSEUDO_MAP_VALUE: u8 = 2;

/// Registers: results and arguments, four that outlive calls, and the end of the stack.
pub(crate) const R0: u8 = 0;
pub(crate) const R1: u8 = 1;
pub(crate) const R2: u8 = 2;
pub(crate) const R3: u8 = 3;
pub(crate) const R4: u8 = 4;
pub(crate) const R5: u8 = 5;
pub(crate) const R6: u8 = 6;
pub(crate) const R7: u8 = 7;
pub(crate) const R8: u8 = 8;
pub(crate) const R9: u8 = 9;
pub(crate) const STACK: u8 = 10;

/// A place to jump to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Label(usize);

/// Collects instructions, and the jumps that are not yet known to be how far.
#[derive(Default)]
pub(crate) struct Assembler {
    instructions: Vec<Instruction>,
    jumps: Vec<(usize, Label)>,
    places: Vec<Option<usize>>,
}

impl Assembler {
    pub fn push(&mut self, code: u8, to: u8, from: u8, offset: i16, constant: i32) {
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

    /// A label that [`Assembler::place`] puts somewhere.
    pub fn label(&mut self) -> Label {
        self.places.push(None);
        Label(self.places.len() - 1)
    }

    /// As many of them.
    pub fn labels<const N: usize>(&mut self) -> [Label; N] {
        std::array::from_fn(|_| self.label())
    }

    /// The next instruction is where the label is.
    pub fn place(&mut self, label: Label) {
        assert_eq!(self.places[label.0], None, "a label has one place");
        self.places[label.0] = Some(self.instructions.len());
    }

    /// A jump, by whatever code.
    pub fn jump(&mut self, code: u8, one: u8, other: u8, constant: i32, label: Label) {
        self.jumps.push((self.instructions.len(), label));
        self.push(code, one, other, 0, constant);
    }

    /// `register = constant`.
    pub fn set(&mut self, register: u8, constant: i32) {
        self.push(code::MOVE_CONSTANT, register, 0, 0, constant);
    }

    /// `to = from`.
    pub fn copy(&mut self, to: u8, from: u8) {
        self.push(code::MOVE, to, from, 0, 0);
    }

    /// `to = memory[base + offset]`.
    pub fn load(&mut self, code: u8, to: u8, base: u8, offset: i16) {
        self.push(code, to, base, offset, 0);
    }

    /// `memory[base + offset] = from`.
    pub fn store(&mut self, code: u8, base: u8, offset: i16, from: u8) {
        self.push(code, base, from, offset, 0);
    }

    /// `register =` the map of a descriptor.
    pub fn load_map(&mut self, register: u8, map: i32) {
        self.push(code::LOAD_WIDE, register, PSEUDO_MAP, 0, map);
        self.push(0, 0, 0, 0, 0);
    }

    /// `register =` the address of a place in the only value of a map.
    pub fn load_place(&mut self, register: u8, map: i32, place: u32) {
        self.push(code::LOAD_WIDE, register, PSEUDO_MAP_VALUE, 0, map);
        self.push(0, 0, 0, 0, place.cast_signed());
    }

    /// Calls a helper of the kernel.
    pub fn call(&mut self, helper: i32) {
        self.push(code::CALL, 0, 0, 0, helper);
    }

    /// Ends the program with an answer.
    pub fn answer(&mut self, answer: i32) {
        self.set(R0, answer);
        self.push(code::EXIT, 0, 0, 0, 0);
    }

    /// The program, with its jumps filled in.
    pub fn finish(mut self) -> Vec<Instruction> {
        for (jump, label) in self.jumps {
            let place = self.places[label.0].expect("every label that is jumped to has a place");
            // Counted from the instruction behind the jump.
            let distance = place as isize - jump as isize - 1;
            self.instructions[jump].offset =
                i16::try_from(distance).expect("programs are shorter than a jump reaches");
        }
        self.instructions
    }
}
