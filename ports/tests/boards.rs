//! Boards: groups of members, each in a thread with a port of its own, that broadcast, meet and
//! reduce in random order.
#![cfg(not(loom))]

mod processes;

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use oxmpi_ports::board::{Board, Ticket};
use oxmpi_ports::{Death, Port, Segment, doorbell};
use processes::{Random, rounds};

/// One member: its port, its view of the board, and how it waits.
struct Member {
    port: Port,
    board: Board,
    me: usize,
    sleeps: bool,
}

impl Member {
    /// Waits until `is_met`; some members sleep.
    fn wait(&mut self, mut is_met: impl FnMut(&mut Board) -> bool) {
        let deadline = Instant::now() + Duration::from_secs(300);
        while !is_met(&mut self.board) {
            assert!(
                Instant::now() < deadline,
                "member {} waits for ever",
                self.me
            );
            if !self.sleeps {
                thread::yield_now();
                continue;
            }
            self.board.announce_sleep();
            if self.port.prepare_sleep() && !is_met(&mut self.board) {
                // Longer than the deadline: a lost wake-up shows.
                doorbell::sleep(self.port.bell(), Some(Duration::from_secs(400)));
            }
            self.port.bell().announce_awake();
            self.board.announce_awake();
        }
    }

    fn write(&mut self, operation: u64, bytes: usize, byte: u8) {
        self.wait(|board| board.is_writable(operation, bytes));
        self.board
            .write(operation, operation * 3, bytes, |out| out.fill(byte));
    }

    fn expect(&mut self, operation: u64, member: usize, bytes: usize, byte: u8) {
        self.wait(|board| board.has_arrived(operation, member));
        assert_eq!(self.board.note(operation, member), operation * 3);
        let read = self.board.read(operation, member, bytes);
        assert!(
            read.len() == bytes && read.iter().all(|&found| found == byte),
            "operation {operation}: member {} read something else from {member}",
            self.me
        );
    }

    /// Operation `operation` of a sequence that all members draw from the same seed.
    fn operate(&mut self, random: &mut Random) {
        let size = self.board.size();
        let operation = self.board.begin();
        let bytes = [0, 8, 48, 49, 1000, self.board.cell_bytes()][random.below(6) as usize];
        let byte = |member: usize| (operation as usize * 13 + member) as u8;
        let root = random.below(size as u64) as usize;
        match random.below(3) {
            // A broadcast: nobody waits for anybody but the root.
            0 => {
                if self.me == root {
                    self.write(operation, bytes, byte(root));
                } else {
                    self.expect(operation, root, bytes, byte(root));
                }
                self.board.finish(operation, false);
            }
            // A reduction to the root.
            1 => {
                self.write(operation, bytes, byte(self.me));
                if self.me == root {
                    for member in 0..size {
                        self.expect(operation, member, bytes, byte(member));
                    }
                }
                self.board.finish(operation, self.me == root);
            }
            // A barrier with data: everybody waits for everybody.
            _ => {
                self.write(operation, bytes, byte(self.me));
                for member in 0..size {
                    self.expect(operation, member, bytes, byte(member));
                }
                self.board.finish(operation, true);
            }
        }
    }
}

fn segment_and_ports(count: u32) -> (Arc<Segment>, Vec<Port>) {
    let segment = Arc::new(Segment::create(count, 2).unwrap());
    let ports = (0..count)
        .map(|index| Port::open(Arc::clone(&segment), index).unwrap())
        .collect();
    (segment, ports)
}

/// A group does `operations` operations on a board; its ports come back, and where the board's
/// numbers end.
fn group(
    ports: Vec<Port>,
    ticket: Ticket,
    seed: u64,
    operations: u64,
    sleeps: fn(usize) -> bool,
) -> (Vec<Port>, u64) {
    let members: Vec<u32> = ports.iter().map(Port::index).collect();
    let work = |me: usize, port: Port| {
        let board = Board::open(&port, ticket, members.clone(), me).unwrap();
        let sleeps = sleeps(me);
        let mut member = Member {
            port,
            board,
            me,
            sleeps,
        };
        let mut random = Random::new(seed);
        for _ in 0..operations {
            member.operate(&mut random);
        }
        let last = member.board.next_base();
        if me == 0 {
            member.wait(|board| board.is_quiet());
        }
        (member.port, last)
    };
    thread::scope(|scope| {
        let running: Vec<_> = ports
            .into_iter()
            .enumerate()
            .map(|(me, port)| {
                let work = &work;
                scope.spawn(move || work(me, port))
            })
            .collect();
        let mut back = Vec::new();
        let mut last = 0;
        for member in running {
            let (port, end) = member.join().unwrap();
            back.push(port);
            last = end;
        }
        (back, last)
    })
}

const START: Ticket = Ticket {
    port: 0,
    board: 0,
    base: 0,
};

#[test]
fn members_that_yield_agree() {
    let (_segment, ports) = segment_and_ports(5);
    group(ports, START, 1, rounds(2000, 100_000), |_| false);
}

#[test]
fn members_that_sleep_agree() {
    let (_segment, ports) = segment_and_ports(4);
    group(ports, START, 2, rounds(1500, 50_000), |_| true);
}

#[test]
fn some_sleep_and_some_do_not() {
    let (_segment, ports) = segment_and_ports(6);
    group(ports, START, 3, rounds(1500, 50_000), |me| me % 2 == 0);
}

#[test]
fn a_lone_member_agrees_with_itself() {
    let (_segment, ports) = segment_and_ports(1);
    group(ports, START, 4, 1000, |_| true);
}

/// A board goes from group to group, of other members in another order: what the former one left
/// means nothing.
#[test]
fn a_board_is_used_again_by_other_groups() {
    let (_segment, mut ports) = segment_and_ports(6);
    let mut ticket = Ticket { board: 1, ..START };
    let mut random = Random::new(5);
    for round in 0..rounds(40, 1000) {
        // The owner of the board stays its first member; the others are drawn.
        let mut drawn = vec![ports.remove(0)];
        for _ in 0..random.below(5) {
            let at = random.below(ports.len() as u64) as usize;
            drawn.push(ports.remove(at));
        }
        let (back, last) = group(drawn, ticket, round, 1 + random.below(30), |me| me % 3 == 0);
        ticket.base = last;
        ports.extend(back);
        ports.sort_by_key(Port::index);
    }
}

/// Two boards of one port serve two groups at the same time.
#[test]
fn boards_do_not_disturb_each_other() {
    let (_segment, mut ports) = segment_and_ports(6);
    let others = ports.split_off(3);
    thread::scope(|scope| {
        scope.spawn(|| group(ports, START, 6, 500, |_| true));
        scope.spawn(|| group(others, Ticket { board: 1, ..START }, 7, 500, |_| true));
    });
}

/// A member that died is done with nothing: the board is free again when all that live have left
/// it, and what the broken group left behind means nothing to the next.
#[test]
fn the_board_of_a_group_that_lost_a_member_is_free_when_the_living_have_left() {
    let (segment, mut ports) = segment_and_ports(4);
    let open = |ports: &[Port], me: usize, ticket| {
        Board::open(&ports[me], ticket, vec![0, 1, 2], me).unwrap()
    };
    let mut boards: Vec<Board> = (0..3).map(|me| open(&ports, me, START)).collect();
    // Member 1 is ahead of the owner, member 2 dies in the middle.
    for (me, operations) in [(0, 1), (1, 3), (2, 1)] {
        for _ in 0..operations {
            let operation = boards[me].begin();
            boards[me].write(operation, 0, 8, |out| out.fill(7));
        }
    }
    assert!(!boards[0].is_quiet());
    segment.mark_dead(2, Death::Signal(9));
    boards[0].leave();
    assert!(!boards[0].is_quiet(), "member 1 may still write");
    boards[1].leave();
    assert!(boards[0].is_quiet());
    let ticket = Ticket {
        base: boards[0].next_base(),
        ..START
    };
    drop(boards);
    ports.remove(2);
    group(ports, ticket, 9, 200, |_| false);
}
