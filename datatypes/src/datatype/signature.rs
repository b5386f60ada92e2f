//! Type signatures: which basic types in which order, whatever their places (MPI 5.0 §5.1).
//!
//! The sequence is kept as a tree of repetitions, never expanded. Its hash is that of the expanded
//! sequence (a polynomial over the prime 2^61 - 1, so that hashes of parts combine): signatures
//! built in different ways but equal as sequences compare equal, and a prefix can be compared with
//! a message that is shorter than the receive.

use std::sync::Arc;

use super::{Basic, DatatypeError};

/// A sequence of basic types.
#[derive(Clone, Debug)]
pub struct Signature {
    elements: u64,
    bytes: u64,
    /// Bytes in external32, which never gives a type more than it has here.
    external: u64,
    digest: Digest,
    shape: Shape,
}

#[derive(Clone, Debug)]
enum Shape {
    Empty,
    One(Basic),
    Repeat { count: u64, body: Arc<Signature> },
    Sequence(Arc<[Part]>),
}

#[derive(Clone, Debug)]
struct Part {
    /// What stands before it in the sequence.
    bytes_before: u64,
    elements_before: u64,
    signature: Signature,
}

/// How much of a signature some bytes are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Elements {
    /// Whole basic elements.
    pub whole: u64,
    /// Bytes of a further, unfinished one.
    pub rest: u64,
}

impl Signature {
    /// No elements.
    pub fn empty() -> Signature {
        Signature {
            elements: 0,
            bytes: 0,
            external: 0,
            digest: Digest::EMPTY,
            shape: Shape::Empty,
        }
    }

    /// One basic type; a value-index pair counts as its two parts.
    pub fn of(basic: Basic) -> Signature {
        if let Some((value, index)) = basic.pair() {
            let mut pair = SignatureBuilder::new();
            for part in [value, index] {
                let pushed = pair.push(&Signature::of(part), 1);
                pushed.expect("two basic elements are far from any limit");
            }
            return pair.finish();
        }
        Signature {
            elements: 1,
            bytes: u64::from(basic.size()),
            external: u64::from(basic.external_size()),
            digest: Digest::of(basic),
            shape: Shape::One(basic),
        }
    }

    /// This sequence `count` times over.
    pub fn repeated(&self, count: u64) -> Result<Signature, DatatypeError> {
        if count == 0 || self.elements == 0 {
            return Ok(Signature::empty());
        }
        if count == 1 {
            return Ok(self.clone());
        }
        // Every element has a byte or more, so the bytes overflow first.
        let bytes = self
            .bytes
            .checked_mul(count)
            .filter(|bytes| *bytes <= i64::MAX as u64);
        let bytes = bytes.ok_or(DatatypeError::Overflow { what: "size" })?;
        let shape = match &self.shape {
            Shape::Repeat { count: inner, body } => Shape::Repeat {
                count: inner * count,
                body: Arc::clone(body),
            },
            _ => Shape::Repeat {
                count,
                body: Arc::new(self.clone()),
            },
        };
        Ok(Signature {
            elements: self.elements * count,
            bytes,
            external: self.external * count,
            digest: self.digest.repeated(count),
            shape,
        })
    }

    /// Number of basic elements.
    pub fn elements(&self) -> u64 {
        self.elements
    }

    /// Bytes of all elements together: the type's size.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Hash of the sequence, the same on every machine; equal for equal sequences however they were
    /// built.
    pub fn hash(&self) -> u64 {
        self.digest.hash
    }

    /// The basic type that every element is of, if there is one.
    pub fn uniform(&self) -> Option<Basic> {
        match &self.shape {
            Shape::One(basic) => Some(*basic),
            Shape::Repeat { body, .. } => body.uniform(),
            // Neighbours of one basic type have been merged.
            Shape::Empty | Shape::Sequence(_) => None,
        }
    }

    /// How many elements the first `bytes` of endless repetitions of this sequence hold
    /// (MPI_Get_elements).
    pub fn elements_in(&self, bytes: u64) -> Elements {
        if self.bytes == 0 {
            return Elements {
                whole: 0,
                rest: bytes,
            };
        }
        let copies = bytes / self.bytes;
        let mut inside = self.elements_within(bytes % self.bytes);
        inside.whole += copies * self.elements;
        inside
    }

    fn elements_within(&self, bytes: u64) -> Elements {
        match &self.shape {
            Shape::Empty | Shape::One(_) => {
                if bytes < self.bytes {
                    Elements {
                        whole: 0,
                        rest: bytes,
                    }
                } else {
                    Elements {
                        whole: self.elements,
                        rest: 0,
                    }
                }
            }
            Shape::Repeat { body, .. } => body.elements_in(bytes),
            Shape::Sequence(parts) => {
                let part = &parts[parts.partition_point(|part| part.bytes_before <= bytes) - 1];
                let mut inside = part.signature.elements_within(bytes - part.bytes_before);
                inside.whole += part.elements_before;
                inside
            }
        }
    }

    /// How many bytes the first `elements` of endless repetitions of this sequence take
    /// (MPI_Status_set_elements); none if there are no elements or too many.
    pub fn bytes_of(&self, elements: u64) -> Option<u64> {
        if elements == 0 {
            return Some(0);
        }
        let copies = elements.checked_div(self.elements)?;
        let inside = self.prefix(elements % self.elements).0;
        copies.checked_mul(self.bytes)?.checked_add(inside)
    }

    /// Whether a message with the signature `sent` may be received as this: it is as long, or a
    /// prefix.
    pub fn accepts(&self, sent: &Signature) -> bool {
        sent.elements <= self.elements && self.prefix(sent.elements) == (sent.bytes, sent.digest)
    }

    /// Bytes and digest of the first `elements`, which are not more than all.
    fn prefix(&self, elements: u64) -> (u64, Digest) {
        if elements == self.elements {
            return (self.bytes, self.digest);
        }
        match &self.shape {
            Shape::Empty | Shape::One(_) => (0, Digest::EMPTY),
            Shape::Repeat { body, .. } => {
                let copies = elements / body.elements;
                let (bytes, digest) = body.prefix(elements % body.elements);
                (
                    copies * body.bytes + bytes,
                    body.digest.repeated(copies).then(digest),
                )
            }
            Shape::Sequence(parts) => {
                let index = parts.partition_point(|part| part.elements_before <= elements) - 1;
                let part = &parts[index];
                let (bytes, digest) = part.signature.prefix(elements - part.elements_before);
                let before = parts[..index]
                    .iter()
                    .fold(Digest::EMPTY, |d, p| d.then(p.signature.digest));
                (part.bytes_before + bytes, before.then(digest))
            }
        }
    }

    /// Calls `visit` with every run of one basic type, in order, until it fails.
    pub fn try_for_each<E>(
        &self,
        visit: &mut impl FnMut(Basic, u64) -> Result<(), E>,
    ) -> Result<(), E> {
        match &self.shape {
            Shape::Empty => Ok(()),
            Shape::One(basic) => visit(*basic, 1),
            Shape::Repeat { count, body } => match body.shape {
                Shape::One(basic) => visit(basic, *count),
                _ => (0..*count).try_for_each(|_| body.try_for_each(visit)),
            },
            Shape::Sequence(parts) => parts
                .iter()
                .try_for_each(|part| part.signature.try_for_each(visit)),
        }
    }

    /// The basic type and how many of it, if that is all there is.
    fn run(&self) -> Option<(Basic, u64)> {
        match &self.shape {
            Shape::One(basic) => Some((*basic, 1)),
            Shape::Repeat { count, body } => match body.shape {
                Shape::One(basic) => Some((basic, *count)),
                _ => None,
            },
            _ => None,
        }
    }

    /// Bytes the elements take in external32.
    pub fn external_bytes(&self) -> u64 {
        self.external
    }
}

impl PartialEq for Signature {
    fn eq(&self, other: &Signature) -> bool {
        (self.elements, self.bytes, self.digest) == (other.elements, other.bytes, other.digest)
    }
}

impl Eq for Signature {}

/// Sequences one after the other; neighbours of one basic type become one repetition.
pub(crate) struct SignatureBuilder {
    parts: Vec<Signature>,
    /// The basic type that came last and how many of it, which more may follow.
    run: Option<(Basic, u64)>,
    /// Basic types that runs are made of, so that runs share them.
    bodies: Vec<(Basic, Arc<Signature>)>,
    bytes: u64,
}

/// So many basic types are remembered; structures have few.
const BODIES_MAX: usize = 8;

impl SignatureBuilder {
    pub(crate) fn new() -> SignatureBuilder {
        SignatureBuilder {
            parts: Vec::new(),
            run: None,
            bodies: Vec::new(),
            bytes: 0,
        }
    }

    /// The sequence `next` follows, `count` times over.
    pub(crate) fn push(&mut self, next: &Signature, count: u64) -> Result<(), DatatypeError> {
        let bytes = next.bytes.checked_mul(count);
        let bytes = bytes.and_then(|bytes| self.bytes.checked_add(bytes));
        let bytes = bytes.filter(|bytes| *bytes <= i64::MAX as u64);
        self.bytes = bytes.ok_or(DatatypeError::Overflow { what: "size" })?;
        if next.elements == 0 || count == 0 {
            return Ok(());
        }
        let Some((basic, each)) = next.run() else {
            self.end_run();
            self.parts.push(next.repeated(count)?);
            return Ok(());
        };
        match &mut self.run {
            Some((same, before)) if *same == basic => *before += each * count,
            _ => {
                self.end_run();
                self.run = Some((basic, each * count));
            }
        }
        Ok(())
    }

    fn end_run(&mut self) {
        let Some((basic, count)) = self.run.take() else {
            return;
        };
        let body = self.body(basic);
        let run = match count {
            1 => Signature::clone(&body),
            _ => Signature {
                elements: count,
                bytes: body.bytes * count,
                external: body.external * count,
                digest: body.digest.repeated(count),
                shape: Shape::Repeat { count, body },
            },
        };
        self.parts.push(run);
    }

    fn body(&mut self, basic: Basic) -> Arc<Signature> {
        if let Some((_, body)) = self.bodies.iter().find(|(known, _)| *known == basic) {
            return Arc::clone(body);
        }
        let body = Arc::new(Signature::of(basic));
        if self.bodies.len() < BODIES_MAX {
            self.bodies.push((basic, Arc::clone(&body)));
        }
        body
    }

    pub(crate) fn finish(mut self) -> Signature {
        self.end_run();
        match self.parts.len() {
            0 => return Signature::empty(),
            1 => return self.parts.swap_remove(0),
            _ => {}
        }
        let mut whole = Signature::empty();
        let mut parts = Vec::with_capacity(self.parts.len());
        for signature in self.parts {
            let (bytes_before, elements_before) = (whole.bytes, whole.elements);
            whole.bytes += signature.bytes;
            whole.external += signature.external;
            whole.elements += signature.elements;
            whole.digest = whole.digest.then(signature.digest);
            parts.push(Part {
                bytes_before,
                elements_before,
                signature,
            });
        }
        whole.shape = Shape::Sequence(parts.into());
        whole
    }
}

/// Hash of a sequence with the power of the base that belongs to its length, which is what
/// concatenation needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Digest {
    hash: u64,
    power: u64,
}

/// A Mersenne prime: reduction is a shift and an addition, and chance collisions are one in 10^18
/// per length.
const PRIME: u64 = (1 << 61) - 1;
/// Any number of many bits below the prime.
const BASE: u64 = 0x0f3a_9c71_5d2b_e846;

impl Digest {
    const EMPTY: Digest = Digest { hash: 0, power: 1 };

    fn of(basic: Basic) -> Digest {
        // Spread over the field, so that sums of small numbers do not meet.
        Digest {
            hash: times(u64::from(basic.handle()), 0x1234_5678_9abc_def1),
            power: BASE,
        }
    }

    fn then(self, next: Digest) -> Digest {
        Digest {
            hash: reduced(times(self.hash, next.power) + next.hash),
            power: times(self.power, next.power),
        }
    }

    /// By squaring: the concatenation is associative.
    fn repeated(self, mut count: u64) -> Digest {
        let (mut result, mut square) = (Digest::EMPTY, self);
        while count > 0 {
            if count & 1 == 1 {
                result = result.then(square);
            }
            square = square.then(square);
            count >>= 1;
        }
        result
    }
}

fn times(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    reduced((product as u64 & PRIME) + (product >> 61) as u64)
}

/// A number below twice the prime in the field.
fn reduced(number: u64) -> u64 {
    match number >= PRIME {
        true => number - PRIME,
        false => number,
    }
}
