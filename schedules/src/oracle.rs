//! What a collective must do, said without any algorithm: inputs made from a seed, results computed
//! naively.
//!
//! The tests beside the algorithms and the simulator both ask this module, so a schedule is held to
//! one definition wherever it runs. The operation on three-byte elements does not commute unless
//! asked to: it notices a wrong order and a cut inside an element.

use super::Operand;
use super::choose::Collective;
use super::cut::Block;
use super::plan::Call;
use super::reduce_scatter::Blocks;
use super::validate::Extents;

/// Size of the elements that are reduced here; odd on purpose.
pub const ELEMENT_BYTES: usize = 3;

/// What output bytes hold before the call, so that stray writes show.
const UNTOUCHED: u8 = 0xA5;

/// SplitMix64's finaliser: spreads any number over 64 bits.
pub fn mix(number: u64) -> u64 {
    let mut z = number.wrapping_add(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// `into` = `input` ∘ `into`. Commuting: addition per byte. Otherwise the Heisenberg group over
/// bytes, (a, b, c) ∘ (a', b', c') = (a + a', b + b', c + c' + a·b'): associative, and b·a differs
/// from a·b.
pub fn combine(commutative: bool, input: &[u8], into: &mut [u8]) {
    assert_eq!(input.len(), into.len());
    assert_eq!(
        input.len() % ELEMENT_BYTES,
        0,
        "a reduction was cut inside an element"
    );
    for (left, right) in input
        .chunks_exact(ELEMENT_BYTES)
        .zip(into.chunks_exact_mut(ELEMENT_BYTES))
    {
        let cross = if commutative {
            0
        } else {
            left[0].wrapping_mul(right[1])
        };
        right[0] = right[0].wrapping_add(left[0]);
        right[1] = right[1].wrapping_add(left[1]);
        right[2] = right[2].wrapping_add(left[2]).wrapping_add(cross);
    }
}

/// One collective call of a whole communicator.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// Which collective.
    pub collective: Collective,
    /// Number of ranks.
    pub size: u32,
    /// The root, where there is one.
    pub root: u32,
    /// Elements per vector or block; for variable blocks, what they scatter around.
    pub elements: usize,
    /// Whether the operation commutes.
    pub commutative: bool,
    /// Whether the ranks that may call in place do so.
    pub in_place: bool,
    /// Where all contents come from.
    pub seed: u64,
}

/// Everything that a scenario's ranks need and must produce.
#[derive(Debug)]
pub struct Case {
    /// What it was made from.
    pub scenario: Scenario,
    /// Receive blocks per rank (one list for all where all ranks have the same).
    receive_blocks: Vec<Vec<Block>>,
    send_blocks: Vec<Vec<Block>>,
    ends: Vec<usize>,
    /// a₀ ∘ … ∘ aᵣ for every rank, where something is reduced.
    prefixes: Vec<Vec<u8>>,
}

impl Scenario {
    /// Works out sizes and results.
    pub fn prepare(self) -> Case {
        let mut case = Case {
            receive_blocks: Vec::new(),
            send_blocks: Vec::new(),
            ends: Vec::new(),
            prefixes: Vec::new(),
            scenario: self,
        };
        let size = case.scenario.size;
        let ranks = 0..size;
        match case.scenario.collective {
            Collective::Gatherv | Collective::Allgatherv | Collective::Scatterv => {
                case.receive_blocks = vec![case.laid_out(ranks.map(|rank| (rank, 0)), true)];
            }
            Collective::Alltoallv => {
                for rank in ranks.clone() {
                    case.receive_blocks
                        .push(case.laid_out(ranks.clone().map(|peer| (peer, rank)), true));
                    case.send_blocks
                        .push(case.laid_out(ranks.clone().map(|peer| (rank, peer)), true));
                }
            }
            Collective::ReduceScatter => {
                let blocks = case.laid_out(ranks.map(|rank| (rank, 0)), false);
                case.ends = blocks
                    .iter()
                    .map(|block| block.offset + block.bytes)
                    .collect();
            }
            _ => {}
        }
        if matches!(
            case.scenario.collective,
            Collective::Reduce
                | Collective::Allreduce
                | Collective::Scan
                | Collective::Exscan
                | Collective::ReduceScatter
        ) {
            let mut running = case.content(0, 0, case.vector_bytes());
            case.prefixes.push(running.clone());
            for rank in 1..size {
                let mut next = case.content(rank, 0, case.vector_bytes());
                combine(case.scenario.commutative, &running, &mut next);
                case.prefixes.push(next.clone());
                running = next;
            }
        }
        case
    }
}

impl Case {
    fn random(&self, a: u32, b: u32, salt: u64) -> u64 {
        mix(mix(mix(self.scenario.seed ^ salt) ^ u64::from(a)) ^ u64::from(b) << 32)
    }

    /// Bytes from rank `a` to rank `b`; in place both directions must have the same size.
    fn block_bytes(&self, a: u32, b: u32) -> usize {
        let symmetric = self.scenario.in_place && self.scenario.collective == Collective::Alltoallv;
        let (a, b) = if symmetric {
            (a.min(b), a.max(b))
        } else {
            (a, b)
        };
        let number = self.random(a, b, 1);
        let elements = if number.is_multiple_of(4) {
            0
        } else {
            (number >> 8) % (2 * self.scenario.elements as u64 + 1)
        };
        elements as usize * ELEMENT_BYTES
    }

    /// Blocks one after the other, with a gap after some of them if `gaps`.
    fn laid_out(&self, pairs: impl Iterator<Item = (u32, u32)>, gaps: bool) -> Vec<Block> {
        let mut next = 0;
        let place = |(a, b)| {
            let block = Block {
                offset: next,
                bytes: self.block_bytes(a, b),
            };
            next += block.bytes
                + if gaps {
                    (self.random(a, b, 2) % 3) as usize
                } else {
                    0
                };
            block
        };
        pairs.map(place).collect()
    }

    fn content(&self, a: u32, b: u32, bytes: usize) -> Vec<u8> {
        let start = self.random(a, b, 3);
        let mut content = Vec::with_capacity(bytes + 8);
        for word in 0..bytes.div_ceil(8) as u64 {
            content.extend_from_slice(&mix(start.wrapping_add(word)).to_le_bytes());
        }
        content.truncate(bytes);
        content
    }

    fn vector_bytes(&self) -> usize {
        let equal = self.scenario.elements * ELEMENT_BYTES;
        if self.scenario.collective == Collective::ReduceScatter {
            self.ends.last().copied().unwrap_or(0)
        } else {
            equal
        }
    }

    /// Whether this rank itself calls in place.
    fn in_place(&self, rank: u32) -> bool {
        let at_root_only = matches!(
            self.scenario.collective,
            Collective::Reduce
                | Collective::Gather
                | Collective::Gatherv
                | Collective::Scatter
                | Collective::Scatterv
        );
        self.scenario.in_place && (!at_root_only || rank == self.scenario.root)
    }

    /// The call that this rank makes.
    pub fn call(&self, rank: u32) -> Call<'_> {
        let scenario = &self.scenario;
        let (bytes, root, in_place) = (self.vector_bytes(), scenario.root, self.in_place(rank));
        let commutative = scenario.commutative;
        let operand = Operand {
            bytes,
            element_bytes: ELEMENT_BYTES,
            commutative,
            in_place,
        };
        // Only the root may look at the blocks of these two; the others get none.
        let own_bytes = self
            .receive_blocks
            .first()
            .map_or(0, |blocks| blocks[rank as usize].bytes);
        let root_blocks = self
            .receive_blocks
            .first()
            .filter(|_| rank == root)
            .map_or(&[][..], |blocks| blocks);
        match scenario.collective {
            Collective::Barrier => Call::Barrier,
            Collective::Bcast => Call::Bcast { bytes, root },
            Collective::Reduce => Call::Reduce { operand, root },
            Collective::Allreduce => Call::Allreduce(operand),
            Collective::Scan => Call::Scan(operand),
            Collective::Exscan => Call::Exscan(operand),
            Collective::Gather => Call::Gather {
                bytes,
                root,
                in_place,
            },
            Collective::Gatherv => Call::Gatherv {
                own_bytes,
                blocks: root_blocks,
                root,
                in_place,
            },
            Collective::Scatter => Call::Scatter {
                bytes,
                root,
                in_place,
            },
            Collective::Scatterv => Call::Scatterv {
                own_bytes,
                blocks: root_blocks,
                root,
                in_place,
            },
            Collective::Allgather => Call::Allgather { bytes, in_place },
            Collective::Allgatherv => Call::Allgatherv {
                blocks: &self.receive_blocks[0],
                in_place,
            },
            Collective::Alltoall => Call::Alltoall { bytes, in_place },
            Collective::Alltoallv => Call::Alltoallv {
                send: &self.send_blocks[rank as usize],
                receive: &self.receive_blocks[rank as usize],
                in_place,
            },
            Collective::ReduceScatter => Call::ReduceScatter {
                blocks: Blocks::Ends(&self.ends),
                commutative,
                in_place,
            },
        }
    }

    /// Where the block for or from `peer` lies in a buffer of blocks.
    fn block(&self, blocks: Option<&Vec<Block>>, peer: u32) -> Block {
        let bytes = self.vector_bytes();
        blocks.map_or(
            Block {
                offset: peer as usize * bytes,
                bytes,
            },
            |blocks| blocks[peer as usize],
        )
    }

    fn write(buffer: &mut Vec<u8>, block: Block, content: &[u8]) {
        let end = block.offset + block.bytes;
        if buffer.len() < end {
            buffer.resize(end, UNTOUCHED);
        }
        buffer[block.offset..end].copy_from_slice(content);
    }

    /// This rank's input, as it would stand in the send buffer.
    fn input(&self, rank: u32) -> Vec<u8> {
        let scenario = &self.scenario;
        let mut input = Vec::new();
        match scenario.collective {
            Collective::Barrier => {}
            Collective::Gather
            | Collective::Allgather
            | Collective::Gatherv
            | Collective::Allgatherv => {
                input = self.content(rank, 0, self.block(self.receive_blocks.first(), rank).bytes);
            }
            Collective::Scatter | Collective::Scatterv if rank != scenario.root => {}
            Collective::Scatter | Collective::Scatterv => {
                for peer in 0..scenario.size {
                    let block = self.block(self.receive_blocks.first(), peer);
                    Self::write(&mut input, block, &self.content(peer, 0, block.bytes));
                }
            }
            Collective::Alltoall | Collective::Alltoallv => {
                let blocks = if scenario.in_place {
                    &self.receive_blocks
                } else {
                    &self.send_blocks
                };
                for peer in 0..scenario.size {
                    let block = self.block(blocks.get(rank as usize), peer);
                    Self::write(&mut input, block, &self.content(rank, peer, block.bytes));
                }
            }
            Collective::Bcast => input = self.content(0, 0, self.vector_bytes()),
            _ => input = self.content(rank, 0, self.vector_bytes()),
        }
        input
    }

    /// The send and receive buffers of this rank before the call.
    pub fn buffers(&self, rank: u32) -> (Vec<u8>, Vec<u8>) {
        let scenario = &self.scenario;
        let mut expected = vec![UNTOUCHED; self.expected(rank).len()];
        let input = self.input(rank);
        match scenario.collective {
            Collective::Bcast if rank == scenario.root => (Vec::new(), input),
            Collective::Bcast => (Vec::new(), expected),
            Collective::Scatter | Collective::Scatterv => (input, expected),
            _ if !self.in_place(rank) => (input, expected),
            Collective::Gather
            | Collective::Allgather
            | Collective::Gatherv
            | Collective::Allgatherv => {
                Self::write(
                    &mut expected,
                    self.block(self.receive_blocks.first(), rank),
                    &input,
                );
                (Vec::new(), expected)
            }
            _ => (Vec::new(), input),
        }
    }

    /// The lengths of those buffers.
    pub fn extents(&self, rank: u32) -> Extents {
        let (send, receive) = self.buffers(rank);
        Extents {
            send: send.len(),
            receive: receive.len(),
        }
    }

    /// What the receive buffer must begin with after the call; for all but reduce_scatter that is
    /// all of it.
    pub fn expected(&self, rank: u32) -> Vec<u8> {
        let scenario = &self.scenario;
        let at_root = rank == scenario.root;
        let mut expected = Vec::new();
        match scenario.collective {
            Collective::Barrier => {}
            Collective::Bcast => expected = self.content(0, 0, self.vector_bytes()),
            Collective::Reduce | Collective::Gather | Collective::Gatherv if !at_root => {}
            Collective::Reduce | Collective::Allreduce => {
                expected = self.prefixes[scenario.size as usize - 1].clone()
            }
            Collective::Scan => expected = self.prefixes[rank as usize].clone(),
            Collective::Exscan if rank > 0 => expected = self.prefixes[rank as usize - 1].clone(),
            Collective::Exscan if scenario.in_place => expected = self.input(rank),
            Collective::Exscan => expected = vec![UNTOUCHED; self.vector_bytes()],
            Collective::Scatter | Collective::Scatterv if self.in_place(rank) => {}
            Collective::Scatter | Collective::Scatterv => {
                expected =
                    self.content(rank, 0, self.block(self.receive_blocks.first(), rank).bytes);
            }
            Collective::Gather
            | Collective::Allgather
            | Collective::Gatherv
            | Collective::Allgatherv => {
                for peer in 0..scenario.size {
                    let block = self.block(self.receive_blocks.first(), peer);
                    Self::write(&mut expected, block, &self.content(peer, 0, block.bytes));
                }
            }
            Collective::Alltoall | Collective::Alltoallv => {
                for peer in 0..scenario.size {
                    let block = self.block(self.receive_blocks.get(rank as usize), peer);
                    Self::write(&mut expected, block, &self.content(peer, rank, block.bytes));
                }
            }
            Collective::ReduceScatter => {
                let start = if rank == 0 {
                    0
                } else {
                    self.ends[rank as usize - 1]
                };
                expected = self.prefixes[scenario.size as usize - 1]
                    [start..self.ends[rank as usize]]
                    .to_vec();
            }
        }
        expected
    }

    /// Compares this rank's receive buffer with what must be in it; the text names the first
    /// difference.
    pub fn check(&self, rank: u32, receive: &[u8]) -> Result<(), String> {
        let expected = self.expected(rank);
        let differs = expected
            .iter()
            .zip(receive)
            .position(|(expected, found)| expected != found);
        let differs = differs.or((receive.len() < expected.len()).then_some(receive.len()));
        match differs {
            None => Ok(()),
            Some(at) => Err(format!(
                "rank {rank}: byte {at} of {} is {:?}, expected {:?} ({:?})",
                expected.len(),
                receive.get(at),
                expected.get(at),
                self.scenario
            )),
        }
    }
}
