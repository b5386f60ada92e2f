//! A ping-pong in the PM style, and a write into another node's memory: `oxmpi run -n 2 -host a,b
//! --net udp pm_ping`.
//!
//! The complete program of docs/pm.md.

use std::time::Instant;

use oxmpi::pm::{Channel, PmError};

const ROUNDS: u32 = 10_000;

fn main() -> Result<(), PmError> {
    let mut channel = Channel::open()?;
    let me = channel.node();
    let peer = me ^ 1;
    if channel.nodes() != 2 {
        if me == 0 {
            eprintln!("pm_ping: run me as 2 processes: oxmpi run -n 2 …");
        }
        return Ok(());
    }
    let board = channel.register(vec![0; 64]);
    let began = Instant::now();
    for round in 0..ROUNDS {
        if me == 0 {
            say(&mut channel, peer, round)?;
        }
        assert_eq!(hear(&mut channel)?, round);
        if me == 1 {
            say(&mut channel, peer, round)?;
        }
    }
    if me == 0 {
        let one_way = began.elapsed() / (2 * ROUNDS);
        println!("{one_way:?} one way by {}", channel.describe());
        // Written before the next message is received, because all that goes to a node stays in
        // order.
        channel.write(peer, board.number(), 0, b"thank you")?;
        say(&mut channel, peer, ROUNDS)?;
    } else {
        hear(&mut channel)?;
        let text = String::from_utf8_lossy(&channel.region(&board)[..9]).into_owned();
        println!("node 0 wrote {text:?} into my memory");
    }
    Ok(())
}

fn say(channel: &mut Channel, to: u32, number: u32) -> Result<(), PmError> {
    let mut buffer = channel.get_send_buffer(to, 4)?;
    buffer.copy_from_slice(&number.to_le_bytes());
    channel.send(buffer);
    Ok(())
}

/// Waits by looking again and again, as who wants the shortest latency does.
fn hear(channel: &mut Channel) -> Result<u32, PmError> {
    loop {
        if let Some(message) = channel.receive()? {
            let mut number = [0; 4];
            number.copy_from_slice(&message);
            return Ok(u32::from_le_bytes(number));
        }
    }
}
