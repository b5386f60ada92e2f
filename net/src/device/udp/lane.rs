//! The lane: a second socket on the same port, connected to the one peer that this process keeps
//! talking to.
//!
//! A connected socket spares the kernel the search for a route with every send, and for socket and
//! route with every arrival: about a seventh of a short frame's way. Who deserves it is a matter of
//! [`Habit`]: many sends in a row to one address. Everything from that peer then comes in by the
//! lane, everything else by the main socket as before; [`super::Udp`] looks at the one that spoke
//! last, and now and then at the other. A lane is never needed: whatever goes wrong with it, it is
//! closed, and the main socket goes on.

use std::io;
use std::net::SocketAddr;

use super::socket::Datagrams;
use crate::device::sys::Name;

/// Sends in a row to one address that earn it a lane. It takes some 50 µs to make one, so each
/// further lane has to be earned by twice as many.
const STREAK_MIN: u32 = 64;
const STREAK_MAX: u32 = 1 << 20;

/// A connected socket.
pub(super) struct Lane {
    pub datagrams: Datagrams,
    pub to: SocketAddr,
    /// Where everything in it comes from.
    pub name: Name,
}

impl Lane {
    pub fn open(main: &Datagrams, port: u16, to: SocketAddr) -> io::Result<Lane> {
        Ok(Lane {
            datagrams: main.branch(port, &to)?,
            to,
            name: Name::new(&to, false),
        })
    }

    /// Whether it could be closed without losing a frame.
    pub fn is_empty(&self) -> bool {
        self.datagrams.memory().is_ok_and(|(used, _)| used == 0)
    }
}

/// To whom this process has been sending.
pub(super) struct Habit {
    to: Option<SocketAddr>,
    streak: u32,
    wanted: u32,
}

impl Habit {
    pub fn new() -> Habit {
        Habit {
            to: None,
            streak: 0,
            wanted: STREAK_MIN,
        }
    }

    /// Notes a send by the main socket; says whether that address has earned a lane.
    #[inline]
    pub fn note(&mut self, to: &SocketAddr) -> bool {
        if self.to.as_ref() != Some(to) {
            self.to = Some(*to);
            self.streak = 0;
        }
        self.streak += 1;
        self.streak >= self.wanted
    }

    /// Notes a send by the lane, which ends any other streak.
    #[inline]
    pub fn interrupt(&mut self) {
        self.streak = 0;
    }

    /// A lane was made, or attempted: the next one is dearer.
    pub fn spend(&mut self) {
        self.streak = 0;
        self.wanted = STREAK_MAX.min(self.wanted * 2);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lane_is_earned_by_sends_in_a_row_and_becomes_dearer() {
        let [one, other]: [SocketAddr; 2] =
            ["10.0.0.1:1", "10.0.0.2:1"].map(|text| text.parse().unwrap());
        let mut habit = Habit::new();
        let sends = |habit: &mut Habit, to: &SocketAddr| {
            (1..)
                .find(|_| habit.note(to))
                .expect("it is earned some time")
        };
        assert_eq!(sends(&mut habit, &one), STREAK_MIN);
        habit.spend();
        assert_eq!(sends(&mut habit, &one), 2 * STREAK_MIN);
        for _ in 0..10 * STREAK_MIN {
            assert!(!habit.note(&other) && !habit.note(&one));
        }
        habit.note(&other);
        habit.interrupt();
        assert_eq!(sends(&mut habit, &other), 2 * STREAK_MIN);
        (0..40).for_each(|_| habit.spend());
        assert_eq!(sends(&mut habit, &other), STREAK_MAX);
    }
}
