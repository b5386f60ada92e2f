//! What the tests of windows share: a rank, its window's memory, values and their buffers.

use std::sync::Arc;

use oxmpi_core::ErrorKind;
use oxmpi_core::buffer::Buffer;
use oxmpi_core::collective::{Collective, Root};
use oxmpi_core::communicator::Comm;
use oxmpi_core::process::{Process, Threads};
use oxmpi_core::window::{Assertion, Elements, Flavor, Target, Window};
use oxmpi_datatypes::datatype::{Basic, Datatype};
use oxmpi_datatypes::op::{Op, Predefined};

/// Shared memory, and the two networks whose ways differ most.
pub const SETTINGS: [oxmpi_harness::Setting; 3] = [
    &[],
    &[("OXMPI_SHARED_MEMORY", "off"), ("OXMPI_NET", "tcp")],
    &[("OXMPI_SHARED_MEMORY", "off"), ("OXMPI_NET", "udp")],
];

/// No assertion.
pub const NONE: Assertion = Assertion {
    no_check: false,
    no_store: false,
    no_put: false,
    no_precede: false,
    no_succeed: false,
};

/// A rank of a test.
pub struct Rank {
    pub process: Arc<Process>,
    pub comm: Arc<Comm>,
}

impl Rank {
    pub fn join(threads: Threads) -> Rank {
        // SAFETY: these processes have one thread, or say that they have many.
        let process = unsafe { Process::join(threads) }.unwrap();
        let comm = Arc::new(process.world());
        Rank { process, comm }
    }

    pub fn rank(&self) -> u32 {
        self.comm.rank()
    }

    pub fn size(&self) -> u32 {
        self.comm.size()
    }

    pub fn barrier(&self) {
        self.comm.collective(Collective::Barrier).unwrap();
    }

    /// Every rank's values.
    pub fn bcast(&self, values: &mut [u64], root: u32) {
        let bytes = size_of_val(values) as u64;
        // SAFETY: the values outlive the call.
        let buffer = unsafe { Buffer::raw(values.as_mut_ptr().cast(), bytes) };
        let root = Root::Rank(root);
        self.comm
            .collective(Collective::Bcast { buffer, root })
            .unwrap();
    }

    pub fn end(self) {
        self.barrier();
        self.process.finalize();
    }
}

/// A window of words, and the memory it lies in if that is the program's.
pub struct Words {
    pub window: Window,
    memory: Vec<u64>,
    /// Where each rank's words begin: 0, or addresses in a dynamic window.
    bases: Vec<i64>,
    count: usize,
}

impl Words {
    pub fn new(rank: &Rank, flavor: Flavor, count: usize) -> Words {
        let bytes = (count * 8) as i64;
        let mut memory = vec![0_u64; count];
        let comm = &rank.comm;
        let base = memory.as_mut_ptr().cast::<u8>();
        let window = match flavor {
            // SAFETY: the memory lives as long as the window.
            Flavor::Create => unsafe { Window::create(comm, base, bytes, 8, None) },
            Flavor::Allocate => Window::allocate(comm, bytes, 8, None),
            Flavor::Shared => Window::allocate_shared(comm, bytes, 8, None),
            Flavor::Dynamic => Window::create_dynamic(comm, None),
        };
        let window = window.unwrap();
        let mut bases = vec![0; rank.size() as usize];
        if flavor == Flavor::Dynamic {
            // SAFETY: as above.
            unsafe { window.attach(base, bytes as u64).unwrap() };
            for from in 0..rank.size() {
                let mut address = [base as u64];
                rank.bcast(&mut address, from);
                bases[from as usize] = address[0] as i64;
            }
        }
        assert_eq!(window.flavor(), flavor);
        Words {
            window,
            memory,
            bases,
            count,
        }
    }

    /// The displacement of a word.
    pub fn at(&self, rank: u32, word: usize) -> i64 {
        match self.window.flavor() {
            Flavor::Dynamic => self.bases[rank as usize] + 8 * word as i64,
            _ => word as i64,
        }
    }

    /// This rank's words.
    pub fn own(&self) -> Vec<u64> {
        (0..self.count).map(|at| self.own_word(at)).collect()
    }

    /// One of this rank's words.
    pub fn own_word(&self, at: usize) -> u64 {
        assert!(at < self.count);
        let base = match self.window.flavor() {
            Flavor::Dynamic => self.memory.as_ptr(),
            _ => self.window.base().cast::<u64>().cast_const(),
        };
        // SAFETY: the window's memory; others may write to it at any time, so it is read as memory
        // that changes.
        unsafe { base.add(at).read_volatile() }
    }

    pub fn put(&self, values: &[u64], rank: u32, word: usize) -> Result<(), ErrorKind> {
        let long = long();
        self.window.put(
            &buffer(values),
            &self.target(rank, word, values.len(), &long),
        )
    }

    /// The values are there after the next synchronisation.
    pub fn get(&self, values: &mut [u64], rank: u32, word: usize) -> Result<(), ErrorKind> {
        let long = long();
        self.window.get(
            &buffer(values),
            &self.target(rank, word, values.len(), &long),
        )
    }

    pub fn sum(&self, values: &[u64], rank: u32, word: usize) -> Result<(), ErrorKind> {
        let (long, buffer) = (long(), buffer(values));
        let origin = Elements {
            buffer: &buffer,
            datatype: &long,
        };
        let target = self.target(rank, word, values.len(), &long);
        self.window
            .accumulate(origin, &target, &Op::Predefined(Predefined::Sum))
    }

    /// The old value is there after the next synchronisation.
    pub fn fetch(
        &self,
        value: &u64,
        old: &mut u64,
        op: Predefined,
        rank: u32,
        word: usize,
    ) -> Result<(), ErrorKind> {
        let long = long();
        let target = self.target(rank, word, 1, &long);
        let (value, old) = (&raw const *value, &raw mut *old);
        // SAFETY: the caller synchronises before it lets go of them.
        unsafe {
            self.window
                .fetch_and_op(value.cast(), old.cast(), &target, &Op::Predefined(op))
        }
    }

    pub fn target<'t>(
        &self,
        rank: u32,
        word: usize,
        count: usize,
        datatype: &'t Datatype,
    ) -> Target<'t> {
        Target {
            rank: Some(rank),
            displacement: self.at(rank, word),
            count: count as u64,
            datatype,
        }
    }

    pub fn free(self) {
        self.window.free().unwrap();
    }
}

pub fn long() -> Datatype {
    Datatype::named(Basic::Uint64)
}

/// Values as a buffer.
pub fn buffer(values: &[u64]) -> Buffer {
    let bytes = size_of_val(values) as u64;
    // SAFETY: the caller keeps the values until the operation is over.
    unsafe { Buffer::raw(values.as_ptr().cast_mut().cast(), bytes) }
}

/// Numbers by seed (SplitMix64).
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }
}
