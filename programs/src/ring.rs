//! `ring`: a token goes round all ranks, again and again.
//!
//! Every rank checks every byte of the token's payload and counts the hop; at the end the token
//! must have counted every hop of every round. It shows the time of a hop, and how it grows with
//! the payload.

use oxmpi::{Communicator, Mpi};

use crate::arguments::{Arguments, Choice, Kind};
use crate::random::mixed;
use crate::{Entry, Failure, Program, setting};

pub(crate) const ENTRY: Entry = Entry {
    program: Program {
        name: "ring",
        about: "pass a token round all ranks and time the hops",
    },
    options: &[
        Choice {
            name: "rounds",
            about: "how often the token goes round",
            kind: Kind::Number {
                default: 1000,
                min: 1,
                max: 1_000_000_000,
            },
        },
        Choice {
            name: "bytes",
            about: "payload of the token",
            kind: Kind::Number {
                default: 64,
                min: 0,
                max: 1 << 30,
            },
        },
    ],
    main,
};

const TAG: i32 = 1;

/// What travels before the payload.
#[derive(Clone, Copy, Debug)]
struct Token {
    round: u64,
    hops: u64,
}

const HEADER: usize = size_of::<Token>();

fn main(mpi: &Mpi, arguments: &Arguments) -> Result<(), Failure> {
    let world = mpi.world();
    let rounds = arguments.number("rounds");
    let bytes = arguments.number("bytes") as usize;
    let mut message = vec![0u8; HEADER + bytes];
    let mut outgoing = message.clone();

    world.barrier()?;
    let start = oxmpi::wtime();
    for round in 0..rounds {
        if world.rank() == 0 {
            lead(&world, round, &mut outgoing, &mut message)?;
        } else {
            follow(&world, round, &mut message)?;
        }
    }
    let seconds = oxmpi::wtime() - start;
    if world.rank() == 0 {
        let hops = rounds * u64::from(world.size());
        println!("{rounds} rounds of {bytes} bytes, {hops} hops, every byte checked: correct");
        println!(
            "{:.3} µs per hop; {}",
            seconds / hops as f64 * 1e6,
            setting(mpi)
        );
    }
    Ok(())
}

/// Rank 0 makes the token, sends it off and takes it back. With a single rank it goes to itself, so
/// the receive must not wait for the send to end.
fn lead(
    world: &Communicator<'_>,
    round: u64,
    outgoing: &mut [u8],
    message: &mut [u8],
) -> Result<(), Failure> {
    let size = world.size();
    write(outgoing, Token { round, hops: 1 });
    oxmpi::scope(|s| {
        let send = world.isend(s, outgoing, 1 % size, TAG)?;
        world.recv(message, size - 1, TAG)?;
        send.wait()
    })?;
    check(
        world,
        message,
        Token {
            round,
            hops: u64::from(size),
        },
    )
}

fn follow(world: &Communicator<'_>, round: u64, message: &mut [u8]) -> Result<(), Failure> {
    let rank = world.rank();
    world.recv(message, rank - 1, TAG)?;
    let hops = u64::from(rank);
    check(world, message, Token { round, hops })?;
    write(
        message,
        Token {
            round,
            hops: hops + 1,
        },
    );
    world.send(message, (rank + 1) % world.size(), TAG)?;
    Ok(())
}

/// Writes the token, with a payload that depends on it.
fn write(message: &mut [u8], token: Token) {
    for (chunk, word) in message.chunks_mut(8).zip(words(token)) {
        chunk.copy_from_slice(&word[..chunk.len()]);
    }
}

/// The token and its payload, eight bytes at a time, without end.
fn words(token: Token) -> impl Iterator<Item = [u8; 8]> {
    let key = mixed(token.round as usize, token.hops as usize);
    let payload = (0..).map(move |i: u64| key.wrapping_add(i).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    [token.round, token.hops]
        .into_iter()
        .chain(payload)
        .map(u64::to_le_bytes)
}

fn check(world: &Communicator<'_>, message: &[u8], expected: Token) -> Result<(), Failure> {
    let mut chunks = message.chunks(8).zip(words(expected)).enumerate();
    match chunks.find(|(_, (got, want))| **got != want[..got.len()]) {
        None => Ok(()),
        Some((at, (got, want))) => Err(Failure::Wrong(format!(
            "rank {} got another token than {expected:?}: from byte {} on there is {got:02x?} and not {want:02x?}",
            world.rank(),
            at * 8,
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn payloads_differ_between_hops() {
        let (mut a, mut b) = ([0; HEADER + 20], [0; HEADER + 20]);
        write(&mut a, Token { round: 1, hops: 2 });
        write(&mut b, Token { round: 1, hops: 3 });
        assert_ne!(a[HEADER..], b[HEADER..]);
    }
}
