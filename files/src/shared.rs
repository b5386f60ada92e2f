//! The pointer that all processes of a file share (MPI 5.0 §14.4.4).
//!
//! On one host it is a word of memory that all of them map: rank 0 makes it without a name in any
//! file system, the others open it through /proc. Where that cannot be, and on several hosts, rank
//! 0 keeps it and answers messages in the background, also while its program computes.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use oxmpi_core::any_request::{AnyRequest, Sender};
use oxmpi_core::buffer::Buffer;
use oxmpi_core::communicator::Comm;
use oxmpi_core::process::{Task, Work};
use oxmpi_core::{ErrorKind, SendMode, Source, Tag};

use crate::mapped::Mapped;

type Result<T> = std::result::Result<T, ErrorKind>;

/// Bytes of the word.
pub(crate) const WORD_BYTES: usize = 8;

/// A message to rank 0, and its answer.
const ASK: i32 = 1;
const ANSWER: i32 = 2;
/// What a message asks for, in the first of its two words; the second is the operand.
const ADD: u64 = 0;
const STORE: u64 = 1;

/// See the top of this file.
pub(crate) enum SharedPointer {
    /// A word that all map.
    Word(Mapped),
    /// Rank 0 has it; the flag ends its service.
    Kept {
        value: Arc<AtomicU64>,
        over: Arc<AtomicBool>,
        service: Option<Arc<Task<Service>>>,
    },
}

impl SharedPointer {
    /// One that rank 0 keeps. Rank 0 begins to answer.
    pub(crate) fn kept(comm: &Arc<Comm>) -> SharedPointer {
        let (value, over) = (Arc::default(), Arc::default());
        let service = (comm.rank() == 0 && comm.size() > 1).then(|| {
            let service = Task::new(Service {
                comm: comm.clone(),
                value: Arc::clone(&value),
                over: Arc::clone(&over),
                question: Box::new([0; 2]),
                asked: None,
                answers: Vec::new(),
            });
            comm.process().start(service.clone());
            service
        });
        SharedPointer::Kept {
            value,
            over,
            service,
        }
    }

    /// Adds, and tells what was there before.
    pub(crate) fn add(&self, comm: &Arc<Comm>, etypes: u64) -> Result<u64> {
        self.ask(comm, ADD, etypes)
    }

    /// Sets it.
    pub(crate) fn store(&self, comm: &Arc<Comm>, etypes: u64) -> Result<()> {
        self.ask(comm, STORE, etypes).map(|_| ())
    }

    fn ask(&self, comm: &Arc<Comm>, what: u64, operand: u64) -> Result<u64> {
        let value = match self {
            SharedPointer::Word(word) => word.word(),
            SharedPointer::Kept { value, .. } if comm.rank() == 0 => value,
            SharedPointer::Kept { .. } => {
                let (mut question, mut answer) = ([what, operand], [0_u64]);
                let (ask, hear) = (raw(&mut question), raw(&mut answer));
                comm.send_buffer(&ask, Some(0), ASK, SendMode::Standard)?;
                comm.recv_buffer(&hear, Some(Source::Rank(0)), Tag::Is(ANSWER))?;
                return Ok(answer[0]);
            }
        };
        Ok(done(value, what, operand))
    }

    /// Ends the service, after all processes have come so far. Rank 0 waits for the end.
    pub(crate) fn close(&self, comm: &Arc<Comm>) {
        if let SharedPointer::Kept {
            over,
            service: Some(service),
            ..
        } = self
        {
            over.store(true, Ordering::Release);
            while !service.is_over() {
                comm.process().progress();
            }
        }
    }
}

fn done(value: &AtomicU64, what: u64, operand: u64) -> u64 {
    match what {
        ADD => value.fetch_add(operand, Ordering::AcqRel),
        _ => value.swap(operand, Ordering::AcqRel),
    }
}

fn raw(words: &mut [u64]) -> Buffer {
    // SAFETY: the words stay where they are until the message is over: callers wait for it, or keep
    // them in a box beside the request.
    unsafe { Buffer::raw(words.as_mut_ptr().cast(), size_of_val(words) as u64) }
}

/// Answers questions at rank 0.
pub(crate) struct Service {
    comm: Arc<Comm>,
    value: Arc<AtomicU64>,
    over: Arc<AtomicBool>,
    question: Box<[u64; 2]>,
    asked: Option<AnyRequest>,
    answers: Vec<(AnyRequest, Box<[u64; 1]>)>,
}

impl Service {
    fn answer(&mut self) -> Result<bool> {
        loop {
            self.answers.retain_mut(|(answer, _)| {
                let over = answer.is_ready();
                if over {
                    // A process that has gone needs no answer.
                    let _ = answer.conclude();
                }
                !over
            });
            let asked = match &mut self.asked {
                Some(asked) => asked,
                None => {
                    let place = raw(&mut self.question[..]);
                    let asked = self
                        .comm
                        .irecv_buffer(&place, Some(Source::Any), Tag::Is(ASK))?;
                    self.asked.insert(asked)
                }
            };
            if self.over.load(Ordering::Acquire) {
                asked.cancel()?;
                if !asked.is_ready() {
                    return Ok(false);
                }
                let _ = asked.conclude();
                return Ok(self.answers.is_empty());
            }
            if !asked.is_ready() {
                return Ok(false);
            }
            let report = asked.conclude();
            self.asked = None;
            let Sender::Rank(rank) = report?.sender else {
                return Ok(true);
            };
            let [what, operand] = *self.question;
            let mut answer = Box::new([done(&self.value, what, operand)]);
            let place = raw(&mut answer[..]);
            let mode = SendMode::Standard;
            let sent = self.comm.isend_buffer(&place, Some(rank), ANSWER, mode)?;
            self.answers.push((sent, answer));
        }
    }
}

impl Work for Service {
    fn step(&mut self) -> bool {
        // When messages cannot be received any more, nobody can ask.
        self.answer().unwrap_or(true)
    }
}
