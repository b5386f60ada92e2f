//! Trying a device out before it is relied on: the first process of each host greets those of the
//! hosts beside it, and waits for their greetings.
//!
//! Greetings are one-way on purpose. All processes have passed a fence, so everybody's device takes
//! frames, and a greeting lies in the other's buffers until it looks; nobody has to be awake to
//! answer. Lost ones are made up for by sending several.
//!
//! Silence has two causes that look alike: a network that carries nothing, and a host that is slow.
//! The kernel repeats a lost request for a neighbour's hardware address (ARP) after one second and
//! again after two, and on a loaded host a process may wait that long for a CPU. So all networks
//! are tried at once: where another network has brought the neighbours' greetings they are awake,
//! and silence on this one says something; where none has, the trial goes on.

use std::time::{Duration, Instant};

use oxmpi_link::Session;
use oxmpi_wire::frame::{FRAME_HEADER_BYTES, Frame, Kind};

use super::Verdict;
use crate::device::{Address, Batch, Device};
use crate::key::JobKey;
use crate::pm::secret::{Party, Purpose, session};

/// For a network that the user asked for by name: there is no other to fall back to, so only a
/// guard against waiting for ever. Three requests for an address take 3 s.
pub(super) const ASKED_TIME: Duration = Duration::from_secs(10);
/// For a network that may be passed over, while no network has brought anything: the third request
/// for an address has been answered by then.
const SILENT_TIME: Duration = Duration::from_secs(3);
/// For a network that may be passed over, once another has brought all greetings.
const SETTLE_TIME: Duration = Duration::from_millis(500);
/// Greetings to each neighbour at once: with a third of all frames lost, one in 6 000 trials goes
/// wrong.
const GREETINGS: usize = 8;
/// Time until they are repeated, for interfaces that need a while (address resolution, a bridge
/// that learns); it doubles from time to time.
const REPEAT_TIME: Duration = Duration::from_millis(20);
/// Up to this.
const REPEAT_TIME_MAX: Duration = Duration::from_millis(320);
/// Between two looks.
const LOOK_TIME: Duration = Duration::from_micros(100);

/// A process of another host, as a device reaches it.
pub(super) struct Neighbour {
    pub party: Party,
    pub addresses: Vec<Address>,
    pub channel: u16,
}

/// A network that is tried.
pub(super) struct Trial<'a> {
    device: &'a mut dyn Device,
    channel: u16,
    /// Whether the user asked for it by name.
    asked: bool,
    /// This process.
    me: u32,
    neighbours: Vec<Neighbour>,
    /// One for each neighbour.
    sessions: Vec<Session>,
    /// Whose greetings have not come.
    awaited: Vec<u32>,
    verdict: Option<Verdict>,
}

impl<'a> Trial<'a> {
    pub fn new(
        device: &'a mut dyn Device,
        rail: usize,
        channel: u16,
        asked: bool,
        me: Party,
        key: &JobKey,
        neighbours: Vec<Neighbour>,
    ) -> Trial<'a> {
        let sessions = neighbours
            .iter()
            .map(|other| session(key, Purpose::Trial, rail, me, other.party))
            .collect();
        let is_offered = neighbours.iter().all(|other| !other.addresses.is_empty());
        Trial {
            device,
            channel,
            asked,
            me: me.process,
            awaited: neighbours.iter().map(|other| other.party.process).collect(),
            neighbours,
            sessions,
            verdict: (!is_offered).then_some(Verdict::NoPeer),
        }
    }

    /// How it went; to be asked after [`try_out`].
    pub fn verdict(&self) -> Verdict {
        self.verdict.unwrap_or(Verdict::Unheard)
    }

    fn greet(&mut self) {
        if self.verdict != Some(Verdict::NoPeer) {
            greet(self.device, self.me, &self.neighbours, &mut self.sessions);
        }
    }

    /// Takes what has arrived; whether there was anything.
    fn look(&mut self) -> bool {
        let mut heard = false;
        while self.device.poll() {
            heard = true;
            let bytes = self.device.frame();
            let named = |frame: &Frame| {
                let mut others = self.neighbours.iter();
                others.position(|other| other.party.process == frame.name)
            };
            if let Ok((frame, _)) = Frame::parse(bytes)
                && frame.kind == Kind::Hello
                && (frame.to, frame.channel) == (self.me, self.channel)
                && let Some(number) = named(&frame)
                && self.sessions[number].verify(bytes).is_ok()
            {
                self.awaited.retain(|rank| *rank != frame.name);
            }
        }
        if self.awaited.is_empty() && self.verdict.is_none() {
            self.verdict = Some(Verdict::Works);
        }
        heard
    }

    /// Whether it has been silent for too long, `begin` after which all were tried and `settled`
    /// after which another network works.
    fn is_over(&self, begin: Instant, settled: Option<Instant>) -> bool {
        match (self.asked, settled) {
            (true, _) => begin.elapsed() > ASKED_TIME,
            (false, Some(settled)) => settled.elapsed() > SETTLE_TIME,
            (false, None) => begin.elapsed() > SILENT_TIME,
        }
    }
}

/// Greets the neighbours by all these networks, and waits for their greetings.
pub(super) fn try_out(trials: &mut [Trial<'_>]) {
    let begin = Instant::now();
    let mut repeat = REPEAT_TIME;
    let mut greeted = None::<Instant>;
    let mut settled = None;
    while trials.iter().any(|trial| trial.verdict.is_none()) {
        // Those that work, too: a neighbour may not have heard yet.
        if greeted.is_none_or(|last| last.elapsed() > repeat) {
            if greeted.is_some() {
                repeat = (2 * repeat).min(REPEAT_TIME_MAX);
            }
            for trial in &mut *trials {
                trial.greet();
            }
            greeted = Some(Instant::now());
        }
        let mut heard = false;
        for trial in &mut *trials {
            heard |= trial.look();
            if trial.verdict == Some(Verdict::Works) {
                settled.get_or_insert_with(Instant::now);
            }
            if trial.verdict.is_none() && trial.is_over(begin, settled) {
                trial.verdict = Some(Verdict::Unheard);
            }
        }
        if !heard {
            std::thread::sleep(LOOK_TIME);
        }
    }
    // A neighbour that has lost all before hears these.
    for trial in trials {
        trial.greet();
    }
}

fn greet(device: &mut dyn Device, me: u32, neighbours: &[Neighbour], sessions: &mut [Session]) {
    for (other, session) in neighbours.iter().zip(sessions) {
        let frame = Frame {
            kind: Kind::Hello,
            channel: other.channel,
            to: other.party.process,
            name: me,
            length: 0,
            flags: 0,
            sequence: 0,
            ack: 0,
            serial: 0,
            crc: 0,
            tag: 0,
        };
        let mut header = [0; FRAME_HEADER_BYTES];
        frame.emit(&mut header);
        for address in &other.addresses {
            for _ in 0..GREETINGS {
                session.sign(&mut header);
                let mut batch = Batch::new();
                // SAFETY: the header outlives the batch.
                #[allow(unsafe_code)]
                unsafe {
                    batch.push(header.as_ptr(), header.len());
                }
                batch.end_frame();
                // A way that does not exist shows by silence.
                let _ = device.send(address, &batch);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::recorder::{Record, Recorder};
    use std::sync::{Arc, Mutex};

    const ME: Party = Party {
        process: 0,
        salt: 11,
    };
    const OTHER: Party = Party {
        process: 5,
        salt: 12,
    };

    fn neighbour(channel: u16) -> Vec<Neighbour> {
        vec![Neighbour {
            party: OTHER,
            addresses: vec![Address::Udp("10.0.0.2:5000".parse().unwrap())],
            channel,
        }]
    }

    /// A device, and what lets the neighbour's greeting arrive in it after a while.
    fn device(
        key: &JobKey,
        rail: usize,
        after: Option<Duration>,
    ) -> (Box<dyn Device>, Arc<Mutex<Record>>) {
        let (device, record) = Recorder::pair();
        if let Some(after) = after {
            let (mut sender, sent) = Recorder::pair();
            let mut back = neighbour(0);
            back[0].party = ME;
            let session = session(key, Purpose::Trial, rail, OTHER, ME);
            greet(sender.as_mut(), OTHER.process, &back, &mut [session]);
            let (address, frames) = sent.lock().unwrap().sent[0].clone();
            let record = record.clone();
            std::thread::spawn(move || {
                std::thread::sleep(after);
                let frame = frames[0].clone();
                record.lock().unwrap().arriving.push_back((address, frame));
            });
        }
        (device, record)
    }

    /// The verdicts of networks, each with whether it was asked for and when the neighbour's
    /// greeting arrives.
    fn verdicts(networks: &[(bool, Option<Duration>)]) -> (Vec<Verdict>, Duration) {
        let key = JobKey::random().unwrap();
        let mut devices: Vec<_> = networks
            .iter()
            .enumerate()
            .map(|(rail, (_, after))| device(&key, rail, *after).0)
            .collect();
        let mut trials: Vec<Trial<'_>> = devices
            .iter_mut()
            .zip(networks)
            .enumerate()
            .map(|(rail, (device, (asked, _)))| {
                Trial::new(device.as_mut(), rail, 0, *asked, ME, &key, neighbour(0))
            })
            .collect();
        let begin = Instant::now();
        try_out(&mut trials);
        (trials.iter().map(Trial::verdict).collect(), begin.elapsed())
    }

    /// The kernel repeats a lost ARP request after 1 s, and after another; a loaded host adds to
    /// that.
    #[test]
    fn a_slow_neighbour_is_waited_for() {
        let ms = Duration::from_millis;
        assert_eq!(verdicts(&[(false, Some(ms(2100)))]).0, [Verdict::Works]);
        assert_eq!(verdicts(&[(true, Some(ms(4500)))]).0, [Verdict::Works]);
        // Neither network has brought anything at 1 s; then both do.
        let slow = [(false, Some(ms(1300))), (false, Some(ms(1000)))];
        assert_eq!(verdicts(&slow).0, [Verdict::Works, Verdict::Works]);
    }

    #[test]
    fn a_network_is_passed_over_when_another_shows_that_the_neighbour_is_awake() {
        let awake = [(false, None), (false, Some(Duration::ZERO))];
        let (verdicts, time) = verdicts(&awake);
        assert_eq!(verdicts, [Verdict::Unheard, Verdict::Works]);
        assert!(time < SILENT_TIME, "{time:?}");
    }

    #[test]
    fn greetings_are_repeated_until_all_is_decided() {
        let key = JobKey::random().unwrap();
        let (mut slow, _) = device(&key, 0, Some(Duration::from_millis(200)));
        let (mut quick, record) = device(&key, 1, Some(Duration::ZERO));
        let mut trials = [
            Trial::new(slow.as_mut(), 0, 0, false, ME, &key, neighbour(0)),
            Trial::new(quick.as_mut(), 1, 0, false, ME, &key, neighbour(0)),
        ];
        try_out(&mut trials);
        assert_eq!(trials[1].verdict(), Verdict::Works);
        let greetings = record.lock().unwrap().sent.len();
        assert!(greetings >= 3 * GREETINGS, "{greetings}");
    }

    #[test]
    fn a_network_that_a_neighbour_lacks_is_not_tried() {
        let key = JobKey::random().unwrap();
        let (mut device, record) = device(&key, 0, None);
        let mut none = neighbour(0);
        none[0].addresses.clear();
        let mut trials = [Trial::new(device.as_mut(), 0, 0, true, ME, &key, none)];
        try_out(&mut trials);
        assert_eq!(trials[0].verdict(), Verdict::NoPeer);
        assert!(record.lock().unwrap().sent.is_empty());
    }
}
