//! The device over a kernel that is played: messages arrive whole and in order on each connection,
//! wait at their sender while a ring is full, and connections end.

use std::sync::{Arc, Mutex};

use super::*;
use crate::device::recorder::batch_of;
use proptest::prelude::*;

/// A message on its way: the receiver's name of the sender, and the sender's slot.
struct Sent {
    peer: u64,
    bytes: Vec<u8>,
    from: SocketAddr,
    slot: u32,
}

struct Played {
    area: Area,
    taken: u32,
    delivered: u32,
    inbox: VecDeque<Sent>,
    /// The ends of connections: the other's place, and its name of this one.
    ends: Vec<Option<(SocketAddr, u64)>>,
    news: VecDeque<News>,
    told: u32,
}

impl Played {
    fn lose(&mut self, peer: u64, refused: bool) {
        self.ends[peer as usize] = None;
        self.news.push_back(News { peer, refused });
        self.told += 1;
        self.area.tell(self.told);
    }
}

#[derive(Default)]
struct World(HashMap<SocketAddr, Played>);

impl World {
    /// Delivers what there is room for.
    fn pump(&mut self) {
        let places: Vec<SocketAddr> = self.0.keys().copied().collect();
        for place in places {
            let played = self.0.get_mut(&place).unwrap();
            let mut released = Vec::new();
            let room = |played: &Played| played.delivered - played.area.consumed() < SLOTS;
            while room(played)
                && let Some(sent) = played.inbox.pop_front()
            {
                played
                    .area
                    .deliver(played.delivered, sent.peer, 0, &sent.bytes);
                played.delivered += 1;
                released.push((sent.from, sent.slot));
            }
            for (from, slot) in released {
                if let Some(sender) = self.0.get(&from) {
                    sender.area.release(slot);
                }
            }
        }
    }

    fn turn(&mut self, me: SocketAddr) {
        loop {
            let played = self.0.get_mut(&me).unwrap();
            if played.taken == played.area.queued() {
                break;
            }
            let (slot, peer, bytes) = played.area.take(played.taken);
            played.taken += 1;
            match played.ends[peer as usize] {
                Some((there, name)) => self.0.get_mut(&there).unwrap().inbox.push_back(Sent {
                    peer: name,
                    bytes,
                    from: me,
                    slot,
                }),
                None => played.area.release(slot),
            }
        }
        self.pump();
    }

    fn connect(&mut self, me: SocketAddr, to: SocketAddr) -> u64 {
        let there = self.0.get(&to).map(|there| there.ends.len() as u64);
        let here = self.0.get_mut(&me).unwrap();
        let name = here.ends.len() as u64;
        here.ends.push(there.map(|there| (to, there)));
        match there {
            Some(_) => self.0.get_mut(&to).unwrap().ends.push(Some((me, name))),
            None => here.lose(name, true),
        }
        name
    }

    /// A process has ended.
    fn end(&mut self, place: SocketAddr) {
        let ended = self.0.remove(&place).unwrap();
        for (other, name) in ended.ends.into_iter().flatten() {
            self.0.get_mut(&other).unwrap().lose(name, false);
        }
    }
}

struct Actor {
    world: Arc<Mutex<World>>,
    me: SocketAddr,
}

impl Kernel for Actor {
    fn connect(&mut self, to: &SocketAddr) -> io::Result<u64> {
        Ok(self.world.lock().unwrap().connect(self.me, *to))
    }

    fn turn(&mut self) -> io::Result<()> {
        self.world.lock().unwrap().turn(self.me);
        Ok(())
    }

    fn reap(&mut self) -> io::Result<()> {
        self.turn()
    }

    fn news(&mut self) -> Option<News> {
        let mut world = self.world.lock().unwrap();
        world.0.get_mut(&self.me)?.news.pop_front()
    }

    fn fd(&self) -> RawFd {
        -1
    }
}

fn place(number: u16) -> SocketAddr {
    (std::net::Ipv4Addr::new(10, 0, 0, number as u8), 5000).into()
}

fn device(world: &Arc<Mutex<World>>, number: u16) -> Oxk {
    let area = Area::map(None).unwrap();
    let played = Played {
        area: area.clone(),
        taken: 0,
        delivered: 0,
        inbox: VecDeque::new(),
        ends: Vec::new(),
        news: VecDeque::new(),
        told: 0,
    };
    let me = place(number);
    world.lock().unwrap().0.insert(me, played);
    let world = world.clone();
    Oxk::new(Box::new(Actor { world, me }), area, "eth0", me)
}

fn frame(number: usize, bytes: usize) -> Vec<u8> {
    (0..bytes).map(|at| (number * 31 + at) as u8).collect()
}

fn next(device: &mut Oxk) -> Option<(Address, Vec<u8>)> {
    device
        .poll()
        .then(|| (device.sender(), device.frame().to_vec()))
}

fn send(device: &mut Oxk, to: u16, frames: Vec<Vec<u8>>) -> usize {
    let to = Address::Oxk(place(to));
    device.send(&to, &batch_of(frames)).unwrap()
}

#[test]
fn frames_of_all_lengths_go_there_and_back() {
    let world = Arc::default();
    let (mut one, mut two) = (device(&world, 1), device(&world, 2));
    for number in 0..1000 {
        let frame = frame(number, 2 + number * 977 % (SLOT_BYTES - 1));
        assert_eq!(send(&mut one, 2, vec![frame.clone()]), 1);
        assert_eq!(
            next(&mut two),
            Some((Address::Oxk(place(1)), frame.clone()))
        );
        assert_eq!(send(&mut two, 1, vec![frame.clone()]), 1);
        assert_eq!(next(&mut one), Some((Address::Oxk(place(2)), frame)));
        assert_eq!(next(&mut one), None);
    }
    // Answers took the connection that was there.
    assert_eq!(world.lock().unwrap().0[&place(2)].ends.len(), 1);
    assert_eq!(one.counters().frames_in, 1000);
}

#[test]
fn a_peer_that_takes_nothing_keeps_no_other_from_being_reached() {
    let world = Arc::default();
    let mut one = device(&world, 1);
    let (mut two, mut three) = (device(&world, 2), device(&world, 3));
    // So that there is a second route, with its share.
    send(&mut one, 3, vec![frame(0, 40)]);
    assert!(next(&mut three).is_some());
    let mut taken = 0;
    while send(&mut one, 2, vec![frame(taken, 40)]) == 1 {
        taken += 1;
    }
    // Its ring is full, less the greeting's slot, and so is its share of ours.
    assert_eq!(taken, SLOTS as usize - 1 + SLOTS as usize / 2);
    for number in 0..300 {
        assert_eq!(send(&mut one, 3, vec![frame(number, 50)]), 1, "{number}");
        assert_eq!(next(&mut three).unwrap().1, frame(number, 50));
    }
    // What is for it is dropped when it has stood still for long, and nothing before that.
    std::thread::sleep(2 * STALLED);
    let dropped = send(&mut one, 2, vec![frame(0, 40), frame(0, 40)]);
    assert_eq!(dropped, 2);
    for number in 0..taken {
        assert_eq!(next(&mut two).unwrap().1, frame(number, 40), "{number}");
    }
    assert_eq!(next(&mut two), None);
    // Everything is as it was.
    assert_eq!(send(&mut one, 2, vec![frame(7, 40)]), 1);
    assert_eq!(next(&mut two).unwrap().1, frame(7, 40));
}

#[test]
fn nobody_at_an_address_is_told_and_tried_again() {
    let world = Arc::default();
    let mut one = device(&world, 1);
    assert_eq!(send(&mut one, 2, vec![frame(0, 40)]), 1);
    assert!(!one.prepare_sleep(), "there are news");
    assert_eq!(next(&mut one), None);
    assert_eq!(one.refused(), Some(Address::Oxk(place(2))));
    assert_eq!(one.refused(), None);
    assert!(one.prepare_sleep());
    let mut two = device(&world, 2);
    assert_eq!(send(&mut one, 2, vec![frame(1, 40)]), 1);
    assert_eq!(next(&mut two).unwrap().1, frame(1, 40));
}

#[test]
fn the_last_frames_of_a_process_come_although_it_has_ended() {
    let world = Arc::default();
    let (mut one, mut two) = (device(&world, 1), device(&world, 2));
    send(&mut two, 1, vec![frame(0, 40), frame(1, 40)]);
    world.lock().unwrap().end(place(2));
    assert_eq!(next(&mut one).unwrap().1, frame(0, 40));
    assert_eq!(next(&mut one).unwrap().1, frame(1, 40));
    assert_eq!(next(&mut one), None);
    assert_eq!(one.refused(), None);
    // Another life at the same place.
    drop(two);
    let mut two = device(&world, 2);
    send(&mut one, 2, vec![frame(2, 40)]);
    assert_eq!(next(&mut two).unwrap().1, frame(2, 40));
}

#[test]
fn both_may_dial_at_once() {
    let world = Arc::default();
    let (mut one, mut two) = (device(&world, 1), device(&world, 2));
    send(&mut one, 2, vec![frame(1, 40)]);
    send(&mut two, 1, vec![frame(2, 40)]);
    for number in 0..600 {
        let number = 2 * number;
        assert_eq!(next(&mut two).unwrap().1, frame(number + 1, 40));
        assert_eq!(next(&mut one).unwrap().1, frame(number + 2, 40));
        send(&mut one, 2, vec![frame(number + 3, 40)]);
        send(&mut two, 1, vec![frame(number + 4, 40)]);
    }
    assert!(one.routes.len() == 1 && two.routes.len() == 1);
}

#[test]
fn what_is_no_message_is_passed_over() {
    let world: Arc<Mutex<World>> = Arc::default();
    let mut one = device(&world, 1);
    let area = world.lock().unwrap().0[&place(1)].area.clone();
    // A stranger who does not say where he is met; half a message; then one who does.
    area.deliver(0, 0, 0, b"who are you?");
    area.deliver(1, 0, 0, &frame(0, 40));
    area.deliver(2, 1, 0, &hello(place(9)));
    area.deliver(3, 1, 104, &frame(1, 40));
    area.deliver(4, 1, 0, &frame(2, 40));
    assert_eq!(next(&mut one), Some((Address::Oxk(place(9)), frame(2, 40))));
    assert_eq!(next(&mut one), None);
}

#[test]
fn a_backlog_is_told_within_half() {
    let world = Arc::default();
    let (mut one, mut two) = (device(&world, 1), device(&world, 2));
    assert_eq!(two.backlog(100), 0);
    for waiting in 1..200 {
        send(&mut one, 2, vec![frame(waiting, 40)]);
        if waiting == 1 {
            // The greeting.
            assert!(two.poll());
            send(&mut one, 2, vec![frame(0, 40)]);
        }
        let told = two.backlog(128);
        assert!(told <= waiting && 2 * told >= waiting.min(128), "{told}");
        assert_eq!(told == 128, waiting >= 128);
    }
}

proptest! {
    #[test]
    fn greetings_are_read_back(ip: [u8; 16], port: u16, junk: Vec<u8>) {
        let v6: SocketAddr = (std::net::Ipv6Addr::from(ip), port).into();
        let v4: SocketAddr = ([ip[0], ip[1], ip[2], ip[3]], port).into();
        for address in [v4, v6] {
            let read = read_hello(&hello(address)).unwrap();
            prop_assert_eq!(read.port(), port);
            prop_assert_eq!(read.ip().to_canonical(), address.ip().to_canonical());
        }
        let _ = read_hello(&junk);
    }
}
