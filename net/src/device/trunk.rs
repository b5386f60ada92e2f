//! Trunking: several devices used as one channel, as PM/Ethernet used several cards.
//!
//! Frames are spread over the members: short batches go to one member in turn, long ones are
//! divided. Frames of one conversation therefore overtake each other, and its link must keep those
//! that come early (selective repeat). A node is known by its *primary* address, the one on the
//! first member; [`Trunk::learn`] says by which addresses the other members reach it. A member that
//! cannot send to a node is left out for that node until it can.

use std::collections::HashMap;
use std::io;
use std::os::fd::RawFd;
use std::time::{Duration, Instant};

use self::watch::Watch;
use super::part::Part;
use super::{Address, Batch, Counters, Device};

/// Most members: a host with more cards than this is no longer limited by them.
pub const MEMBERS_MAX: usize = 8;

/// A batch of fewer frames is not divided: each part costs a call, and a call with few frames costs
/// as much as one with none.
const DIVIDED_FRAMES_MIN: usize = 16;

/// Frames taken from one member before the others are looked at: members take from the kernel in
/// batches, and a look that finds nothing may be a call.
const TURN_FRAMES_MAX: usize = 16;

/// How long a member that could not send to a node is left out for it. What it is then tried with
/// goes by another way if it fails again.
const REST: Duration = Duration::from_millis(100);

/// Why devices do not make a trunk.
#[derive(Debug, thiserror::Error)]
pub enum TrunkError {
    /// Too few or too many.
    #[error("a trunk has 2 to {MEMBERS_MAX} devices, not {members}")]
    Members {
        /// How many were given.
        members: usize,
    },
    /// The kernel does not let us wait for all of them at once.
    #[error("cannot wait for {device} together with the other devices of its trunk: {source}")]
    Watch {
        /// The device.
        device: String,
        /// The kernel's reason.
        source: io::Error,
    },
}

/// By which ways a node is reached.
struct Route {
    /// One for each member; nodes with fewer cards than we have fewer.
    addresses: Vec<Address>,
    /// When a member that failed is tried again.
    resting: [Option<Instant>; MEMBERS_MAX],
    /// Whose turn it is.
    turn: usize,
}

/// Several devices as one.
pub struct Trunk {
    members: Vec<Box<dyn Device>>,
    routes: HashMap<Address, Route>,
    /// The primary address behind another address of a node.
    primaries: HashMap<(usize, Address), Address>,
    /// Who showed the last frame, and how many of its turn are left.
    shown: usize,
    turn_left: usize,
    part: Part,
    watch: Watch,
}

impl Trunk {
    /// Makes one device of several of the same kind. The first is the one whose addresses nodes are
    /// known by.
    pub fn new(members: Vec<Box<dyn Device>>) -> Result<Trunk, TrunkError> {
        if !(2..=MEMBERS_MAX).contains(&members.len()) {
            return Err(TrunkError::Members {
                members: members.len(),
            });
        }
        let failed = |device: &dyn Device| {
            let device = device.describe();
            move |source| TrunkError::Watch { device, source }
        };
        let watch = Watch::new().map_err(failed(&*members[0]))?;
        for member in &members {
            watch.add(member.fd()).map_err(failed(&**member))?;
        }
        Ok(Trunk {
            members,
            routes: HashMap::new(),
            primaries: HashMap::new(),
            shown: 0,
            turn_left: TURN_FRAMES_MAX,
            part: Part::default(),
            watch,
        })
    }

    /// How many devices it consists of.
    pub fn members(&self) -> usize {
        self.members.len()
    }

    /// The node with this primary address is reached by these addresses, one for each member in
    /// order, the primary first. Fewer than members: the node has no card beside the last ones. A
    /// node never spoken of is reached by the first member.
    pub fn learn(&mut self, primary: Address, mut addresses: Vec<Address>) {
        addresses.truncate(self.members.len());
        assert_eq!(
            addresses.first(),
            Some(&primary),
            "the first member reaches a node by its primary address"
        );
        for (member, address) in addresses.iter().enumerate() {
            self.primaries.insert((member, *address), primary);
        }
        self.routes.insert(
            primary,
            Route {
                addresses,
                resting: [None; MEMBERS_MAX],
                turn: 0,
            },
        );
    }

    fn primary_of(&self, member: usize, address: Address) -> Address {
        let known = self.primaries.get(&(member, address));
        known.copied().unwrap_or(address)
    }
}

impl Route {
    /// The members that do not rest, as bits; all of them if all do, because something must be
    /// tried.
    fn open(&self, now: impl FnOnce() -> Instant) -> u32 {
        let all = (1 << self.addresses.len()) - 1;
        if self.resting == [None; MEMBERS_MAX] {
            return all;
        }
        let now = now();
        let rests = |member: &usize| self.resting[*member].is_some_and(|until| now < until);
        let open = (0..self.addresses.len())
            .filter(|member| !rests(member))
            .fold(0, |open, member| open | 1 << member);
        if open == 0 { all } else { open }
    }

    /// The next of the open members, whose turn it is then.
    fn next(&mut self, open: u32) -> usize {
        while open & 1 << self.turn == 0 {
            self.turn = (self.turn + 1) % self.addresses.len();
        }
        let member = self.turn;
        self.turn = (self.turn + 1) % self.addresses.len();
        member
    }

    fn send(
        &mut self,
        members: &mut [Box<dyn Device>],
        part: &mut Part,
        batch: &Batch,
    ) -> io::Result<usize> {
        let mut open = self.open(Instant::now);
        let divided = batch.len() >= DIVIDED_FRAMES_MIN;
        let share = if divided {
            batch.len().div_ceil(open.count_ones() as usize)
        } else {
            batch.len()
        };
        let mut begin = 0;
        let mut full = false;
        let mut failure = None;
        while begin < batch.len() && open != 0 {
            let member = self.next(open);
            let end = batch.len().min(begin + share);
            let (device, to) = (&mut members[member], &self.addresses[member]);
            match part.of(batch, begin, end, |part| device.send(to, part)) {
                Ok(taken) => {
                    self.resting[member] = None;
                    if begin + taken < end {
                        open &= !(1 << member);
                        full = true;
                    }
                    begin += taken;
                }
                Err(error) => {
                    self.resting[member] = Some(Instant::now() + REST);
                    open &= !(1 << member);
                    failure = Some(error);
                }
            }
        }
        match failure {
            Some(error) if begin == 0 && !full => Err(error),
            _ => Ok(begin),
        }
    }
}

impl Device for Trunk {
    fn learn(&mut self, addresses: &[Address]) {
        if let Some(primary) = addresses.first() {
            Trunk::learn(self, *primary, addresses.to_vec());
        }
    }

    fn describe(&self) -> String {
        let members: Vec<_> = self
            .members
            .iter()
            .map(|member| member.describe())
            .collect();
        format!("trunk of {}", members.join(" and "))
    }

    fn frame_bytes_max(&self) -> usize {
        let each = self.members.iter().map(|member| member.frame_bytes_max());
        each.min().expect("a trunk has members")
    }

    fn batch_max(&self) -> (usize, usize) {
        self.members
            .iter()
            .map(|member| member.batch_max())
            .fold((0, 0), |sum, each| (sum.0 + each.0, sum.1 + each.1))
    }

    fn send(&mut self, to: &Address, batch: &Batch) -> io::Result<usize> {
        match self.routes.get_mut(to) {
            Some(route) => route.send(&mut self.members, &mut self.part, batch),
            None => self.members[0].send(to, batch),
        }
    }

    fn poll(&mut self) -> bool {
        if self.turn_left == 0 {
            self.shown = (self.shown + 1) % self.members.len();
            self.turn_left = TURN_FRAMES_MAX;
        }
        for _ in 0..self.members.len() {
            if self.members[self.shown].poll() {
                self.turn_left -= 1;
                return true;
            }
            self.shown = (self.shown + 1) % self.members.len();
            self.turn_left = TURN_FRAMES_MAX;
        }
        false
    }

    fn frame(&self) -> &[u8] {
        self.members[self.shown].frame()
    }

    fn sender(&self) -> Address {
        self.primary_of(self.shown, self.members[self.shown].sender())
    }

    fn backlog(&self, high: usize) -> usize {
        let each = self.members.iter().map(|member| member.backlog(high));
        each.sum::<usize>().min(high)
    }

    fn room(&self) -> usize {
        self.members.iter().map(|member| member.room()).sum()
    }

    fn fd(&self) -> RawFd {
        self.watch.fd()
    }

    fn prepare_sleep(&mut self) -> bool {
        // Each of them, also when one has something to do: what a device does before a sleep does
        // no harm to one who stays awake.
        let ready = self.members.iter_mut().map(|member| member.prepare_sleep());
        ready.fold(true, |all, ready| all & ready)
    }

    fn nap_max(&self) -> Option<Duration> {
        self.members
            .iter()
            .filter_map(|member| member.nap_max())
            .min()
    }

    fn refused(&mut self) -> Option<Address> {
        let mut members = self.members.iter_mut().enumerate();
        let (member, address) =
            members.find_map(|(member, device)| Some((member, device.refused()?)))?;
        Some(self.primary_of(member, address))
    }

    fn counters(&self) -> Counters {
        let each = self.members.iter().map(|member| member.counters());
        each.fold(Counters::default(), |sum, each| Counters {
            frames_out: sum.frames_out + each.frames_out,
            bytes_out: sum.bytes_out + each.bytes_out,
            frames_in: sum.frames_in + each.frames_in,
            bytes_in: sum.bytes_in + each.bytes_in,
            sends: sum.sends + each.sends,
            receives: sum.receives + each.receives,
            receives_empty: sum.receives_empty + each.receives_empty,
            overruns: sum.overruns + each.overruns,
            faults: sum.faults + each.faults,
        })
    }
}

/// One descriptor that is readable as long as one of several is.
#[allow(unsafe_code)]
mod watch {
    use std::io;
    use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

    use crate::device::sys::check;

    pub struct Watch(OwnedFd);

    impl Watch {
        pub fn new() -> io::Result<Watch> {
            // SAFETY: integers only.
            let fd = check(unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) })?;
            // SAFETY: a descriptor that the kernel has just given to us.
            Ok(Watch(unsafe { OwnedFd::from_raw_fd(fd) }))
        }

        /// Level-triggered: nobody asks the set itself which one it was.
        pub fn add(&self, fd: RawFd) -> io::Result<()> {
            let mut event = libc::epoll_event {
                events: libc::EPOLLIN as u32,
                u64: 0,
            };
            // SAFETY: the event is a local.
            check(unsafe { libc::epoll_ctl(self.fd(), libc::EPOLL_CTL_ADD, fd, &mut event) })?;
            Ok(())
        }

        pub fn fd(&self) -> RawFd {
            self.0.as_raw_fd()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::recorder::{Record, Recorder, batch_of};
    use super::*;
    use std::sync::{Arc, Mutex};

    const PRIMARY: Address = Address::Ethernet([2, 0, 0, 0, 0, 1]);
    const SECOND: Address = Address::Ethernet([2, 0, 0, 0, 1, 1]);

    fn trunk() -> (Trunk, [Arc<Mutex<Record>>; 2]) {
        let (one, one_record) = Recorder::pair();
        let (two, two_record) = Recorder::pair();
        let mut trunk = Trunk::new(vec![one, two]).unwrap();
        trunk.learn(PRIMARY, vec![PRIMARY, SECOND]);
        (trunk, [one_record, two_record])
    }

    fn numbered(frames: usize) -> Batch {
        batch_of((0..frames).map(|number| number.to_le_bytes().to_vec()))
    }

    fn batches(record: &Mutex<Record>) -> Vec<(Address, usize)> {
        let record = record.lock().unwrap();
        record
            .sent
            .iter()
            .map(|(to, frames)| (*to, frames.len()))
            .collect()
    }

    #[test]
    fn short_batches_alternate_and_long_ones_are_divided() {
        let (mut trunk, [one, two]) = trunk();
        for _ in 0..4 {
            assert_eq!(trunk.send(&PRIMARY, &numbered(3)).unwrap(), 3);
        }
        assert_eq!(batches(&one), [(PRIMARY, 3); 2]);
        assert_eq!(batches(&two), [(SECOND, 3); 2]);
        assert_eq!(trunk.send(&PRIMARY, &numbered(41)).unwrap(), 41);
        assert_eq!(batches(&one)[2], (PRIMARY, 21));
        assert_eq!(batches(&two)[2], (SECOND, 20));
        let mut frames = one.lock().unwrap().sent[2].1.clone();
        frames.extend(two.lock().unwrap().sent[2].1.clone());
        let expected: Vec<_> = (0..41usize).map(|n| n.to_le_bytes().to_vec()).collect();
        assert_eq!(frames, expected);
        assert_eq!(trunk.counters().frames_out, 53);
    }

    #[test]
    fn a_full_member_leaves_the_rest_to_the_other() {
        let (mut trunk, [one, two]) = trunk();
        one.lock().unwrap().room = Some(5);
        assert_eq!(trunk.send(&PRIMARY, &numbered(40)).unwrap(), 40);
        assert_eq!(batches(&one), [(PRIMARY, 5)]);
        assert_eq!(batches(&two), [(SECOND, 20), (SECOND, 15)]);
        two.lock().unwrap().room = Some(1);
        assert_eq!(trunk.send(&PRIMARY, &numbered(40)).unwrap(), 1);
        assert_eq!(trunk.send(&PRIMARY, &numbered(1)).unwrap(), 0);
    }

    #[test]
    fn a_broken_member_is_left_out_until_it_works() {
        let (mut trunk, [one, two]) = trunk();
        two.lock().unwrap().broken = Some(io::ErrorKind::NetworkDown);
        for _ in 0..6 {
            assert_eq!(trunk.send(&PRIMARY, &numbered(2)).unwrap(), 2);
        }
        assert_eq!(batches(&one), [(PRIMARY, 2); 6]);
        one.lock().unwrap().broken = Some(io::ErrorKind::HostUnreachable);
        assert!(trunk.send(&PRIMARY, &numbered(2)).is_err());
        two.lock().unwrap().broken = None;
        assert_eq!(trunk.send(&PRIMARY, &numbered(20)).unwrap(), 20);
        assert_eq!(batches(&two).iter().map(|batch| batch.1).sum::<usize>(), 20);
        one.lock().unwrap().broken = None;
        std::thread::sleep(REST);
        trunk.send(&PRIMARY, &numbered(20)).unwrap();
        assert_eq!(batches(&one).last(), Some(&(PRIMARY, 10)));
    }

    #[test]
    fn nodes_with_one_card_and_strangers_are_reached_by_the_first() {
        let (mut trunk, [one, two]) = trunk();
        let single = Address::Ethernet([2, 0, 0, 0, 0, 9]);
        let stranger = Address::Ethernet([2, 0, 0, 0, 0, 8]);
        trunk.learn(single, vec![single]);
        for to in [single, single, stranger, stranger] {
            trunk.send(&to, &numbered(1)).unwrap();
        }
        assert_eq!(
            batches(&one),
            [(single, 1), (single, 1), (stranger, 1), (stranger, 1)]
        );
        assert_eq!(batches(&two), []);
    }

    #[test]
    fn frames_come_from_all_under_primary_addresses() {
        let (mut trunk, [one, two]) = trunk();
        for number in 0..40u8 {
            let mut record = one.lock().unwrap();
            record.arriving.push_back((PRIMARY, vec![1, number]));
            let mut record = two.lock().unwrap();
            record.arriving.push_back((SECOND, vec![2, number]));
        }
        assert_eq!(trunk.backlog(50), 50);
        assert!(!trunk.prepare_sleep());
        let mut seen = [0; 3];
        while trunk.poll() {
            let [member, number] = trunk.frame()[..] else {
                panic!("frames have two bytes")
            };
            assert_eq!(seen[usize::from(member)], number);
            seen[usize::from(member)] += 1;
            assert_eq!(trunk.sender(), PRIMARY);
            // Nobody waits for more than a turn of the other.
            assert!(seen[1].abs_diff(seen[2]) <= TURN_FRAMES_MAX as u8);
        }
        assert_eq!(seen, [0, 40, 40]);
        assert!(trunk.prepare_sleep());
    }

    #[test]
    fn a_trunk_has_several_members() {
        let (one, _) = Recorder::pair();
        let error = Trunk::new(vec![one]).err().unwrap();
        assert_eq!(error.to_string(), "a trunk has 2 to 8 devices, not 1");
    }
}
