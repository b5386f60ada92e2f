//! A network of nodes that talk through real links: the loop of events, and what must hold when it
//! ends.
//!
//! A node takes one frame at a time from its ring; how many wait behind it is the backlog that the
//! link is told. It may be descheduled, and then neither its ring nor its timers are looked at.
//! When nothing is left on the agenda everything must have been said and heard, or the ends must
//! have given up where a cut never heals.

use std::collections::{HashMap, VecDeque};

use oxmpi_link::{Config, FrameKey, Session};
use oxmpi_wire::frame::Frame;

use super::agenda::{Agenda, Event};
use super::content::Content;
use super::end::End;
use super::network::{Flight, Network, Step, Time};
use super::report::Report;
use super::scenario::Scenario;
use crate::random::Random;

/// A run of this many events is going round in circles: the longest test needs a tenth of it.
const EVENTS_MAX: u64 = 20_000_000;

/// A node.
#[derive(Debug, Default)]
struct Host {
    ring: VecDeque<Vec<u8>>,
    /// It works on a frame until then.
    busy_until: Time,
    /// It is descheduled until then.
    asleep_until: Time,
    /// The turn on the agenda.
    turn_at: Option<Time>,
    /// Ends that wait for room in the card.
    waiting: Vec<u32>,
    /// Ends that heard of a backlog above the high mark.
    pressed: Vec<u32>,
    /// Ends that were touched since the node last slept.
    touched: Vec<u32>,
}

/// A network of nodes and their conversations.
pub struct World {
    /// The ends of all conversations: that of number `n` has 2n and 2n + 1.
    pub ends: Vec<End>,
    /// What has happened so far.
    pub report: Report,
    pub(super) scenario: Scenario,
    pub(super) network: Network,
    hosts: Vec<Host>,
    agenda: Agenda,
    random: Random,
    now: Time,
    by_nodes: HashMap<(u32, u32), u32>,
    flights: Vec<(Time, Flight)>,
    /// Every frame is shown on standard error.
    pub trace: bool,
}

impl World {
    /// The scenario before its first event.
    pub fn new(scenario: Scenario) -> World {
        let mut random = Random::new(scenario.seed ^ 0x6C69_6E6B);
        let network = Network::new(
            scenario.shape,
            scenario.faults,
            scenario.cuts.clone(),
            random.fork(),
        );
        let mut world = World {
            ends: Vec::new(),
            report: Report::default(),
            network,
            hosts: (0..scenario.shape.nodes).map(|_| Host::default()).collect(),
            agenda: Agenda::default(),
            random,
            now: 0,
            by_nodes: HashMap::new(),
            flights: Vec::new(),
            trace: false,
            scenario,
        };
        world.connect();
        world
    }

    /// Makes both ends of every conversation.
    fn connect(&mut self) {
        let channels: Vec<u16> = (0..self.hosts.len())
            .map(|_| self.random.any() as u16)
            .collect();
        for conversation in self.scenario.conversations.clone() {
            let keys = [(); 2].map(|()| {
                let halves = [self.random.any(), self.random.any()];
                let bytes = halves.map(u64::to_le_bytes).concat();
                FrameKey::new(bytes.try_into().expect("two halves"))
            });
            for side in 0..2 {
                let (me, peer) = (conversation.nodes[side], conversation.nodes[1 - side]);
                let config = Config {
                    me,
                    peer,
                    channel_in: channels[me as usize],
                    channel_out: channels[peer as usize],
                    name_out: me,
                    name_in: peer,
                    ..self.scenario.link.clone()
                };
                let number = self.ends.len() as u32;
                let other = number ^ 1;
                let contents = [number, other].map(|end| Content::new(self.scenario.seed, end));
                let session = Session::new(keys[side], keys[1 - side]);
                let load = conversation.loads[side].clone();
                let end = End::new(config, session, other, load, contents);
                self.ends.push(end);
                self.by_nodes.insert((me, peer), number);
                let begin = conversation.begin_ns + self.random.below(1 + conversation.pause_ns);
                self.agenda.plan(begin, Event::Offer(number));
                if let Some(probe_ns) = self.scenario.probe_ns {
                    self.agenda.plan(probe_ns, Event::Probe(number));
                }
            }
        }
    }

    /// Runs the scenario until nothing is left to happen, and checks that it ends as it must.
    pub fn run(&mut self) -> Result<Report, String> {
        self.run_until(self.time_max())?;
        if !self.agenda.is_empty() {
            return Err(self.endless());
        }
        self.check()?;
        Ok(self.report)
    }

    /// Runs everything that happens before that time.
    pub fn run_until(&mut self, until: Time) -> Result<(), String> {
        while let Some((at, event)) = self.agenda.next_before(until) {
            self.now = at;
            self.report.time = at;
            self.report.events += 1;
            if self.report.events > EVENTS_MAX {
                return Err(self.endless());
            }
            self.happen(event)?;
        }
        self.count();
        Ok(())
    }

    fn happen(&mut self, event: Event) -> Result<(), String> {
        match event {
            Event::Flight(flight) => {
                match self.network.step(self.now, flight) {
                    Step::Goes(due, flight) => self.agenda.plan(due, Event::Flight(flight)),
                    Step::Arrived(flight) => self.arrive(flight),
                    Step::Lost => {}
                }
                Ok(())
            }
            Event::Turn(node) => self.turn(node),
            Event::Timer(end) => self.timer(end),
            Event::Offer(end) => self.offer(end),
            Event::Probe(end) => self.probe(end),
        }
    }

    /// A frame comes to a node's ring.
    fn arrive(&mut self, flight: Flight) {
        let host = &mut self.hosts[flight.to as usize];
        if host.ring.len() >= self.scenario.hosts.ring_frames {
            self.network.harm.lost += 1;
            return;
        }
        host.ring.push_back(flight.bytes);
        self.plan_turn(flight.to, self.now);
    }

    fn plan_turn(&mut self, node: u32, at: Time) {
        let host = &mut self.hosts[node as usize];
        let at = at.max(host.busy_until).max(host.asleep_until);
        if host.turn_at.is_none_or(|planned| at < planned) {
            host.turn_at = Some(at);
            self.agenda.plan(at, Event::Turn(node));
        }
    }

    /// A node looks at its ring.
    fn turn(&mut self, node: u32) -> Result<(), String> {
        let host = &mut self.hosts[node as usize];
        // A turn that has been brought forward leaves its old entry on the agenda.
        if host.turn_at != Some(self.now) {
            return Ok(());
        }
        host.turn_at = None;
        if self.now < host.busy_until.max(host.asleep_until) {
            self.plan_turn(node, self.now);
            return Ok(());
        }
        for end in std::mem::take(&mut host.waiting) {
            self.ends[end as usize].waits_for_card = false;
            self.settle(end)?;
        }
        let Some(frame) = self.hosts[node as usize].ring.pop_front() else {
            return Ok(());
        };
        self.take_in(node, &frame)?;
        let hosts = self.scenario.hosts;
        let frame_ns = if node % 3 == 1 {
            hosts.slow_frame_ns
        } else {
            hosts.frame_ns
        };
        let naps = hosts.nap_ppm > 0 && self.random.below(1_000_000) < u64::from(hosts.nap_ppm);
        let nap = if naps {
            self.random.below(hosts.nap_ns)
        } else {
            0
        };
        self.report.naps += u64::from(naps);
        let host = &mut self.hosts[node as usize];
        host.busy_until = self.now + frame_ns;
        host.asleep_until = self.now + nap;
        let backlog = host.ring.len();
        if backlog <= self.scenario.link.backlog_low {
            for end in std::mem::take(&mut host.pressed) {
                self.ends[end as usize].link.note_backlog(self.now, backlog);
                self.settle(end)?;
            }
        }
        if backlog > 0 {
            self.plan_turn(node, self.now);
        } else {
            for end in std::mem::take(&mut self.hosts[node as usize].touched) {
                if hosts.sleeps {
                    self.ends[end as usize].link.force_ack();
                    self.settle(end)?;
                }
            }
        }
        Ok(())
    }

    /// A node works on a frame: the header says whose it is, if it is anybody's.
    fn take_in(&mut self, node: u32, frame: &[u8]) -> Result<(), String> {
        let parsed = Frame::parse(frame).ok();
        if let Some((frame, _)) = parsed.filter(|_| self.trace) {
            let backlog = self.hosts[node as usize].ring.len();
            eprintln!("{:>12} ns  take {frame}, {backlog} behind it", self.now);
        }
        let number = parsed.and_then(|(frame, _)| self.by_nodes.get(&(node, frame.name)).copied());
        let Some(number) = number else {
            self.report.refused += 1;
            return Ok(());
        };
        let end = &self.ends[number as usize];
        if end.is_dead {
            return Ok(());
        }
        let host = &mut self.hosts[node as usize];
        let backlog = host.ring.len();
        let both = [number as usize, end.other as usize];
        let [end, other] = self
            .ends
            .get_disjoint_mut(both)
            .expect("a conversation has two ends");
        let accepted = end.take_in(self.now, frame, backlog, &other.load);
        let accepted = accepted.map_err(|what| format!("node {node} from {}: {what}", end.peer))?;
        self.report.refused += u64::from(!accepted);
        if backlog >= self.scenario.link.backlog_high && !host.pressed.contains(&number) {
            host.pressed.push(number);
        }
        if host.touched.last() != Some(&number) {
            host.touched.push(number);
        }
        self.settle(number)
    }

    fn timer(&mut self, number: u32) -> Result<(), String> {
        let end = &mut self.ends[number as usize];
        if end.timer_at != Some(self.now) || end.is_dead {
            return Ok(());
        }
        let asleep_until = self.hosts[end.node as usize].asleep_until;
        if asleep_until > self.now {
            end.timer_at = Some(asleep_until);
            self.agenda.plan(asleep_until, Event::Timer(number));
            return Ok(());
        }
        end.timer_at = None;
        end.link.handle_timeout(self.now);
        if end.link.poll_timeout().is_some_and(|at| at <= self.now) {
            let (node, peer) = (end.node, end.peer);
            return Err(format!(
                "node {node} to {peer}: a timer that has been handled runs again at once"
            ));
        }
        self.settle(number)
    }

    fn offer(&mut self, number: u32) -> Result<(), String> {
        let end = &mut self.ends[number as usize];
        let pause_ns = self.scenario.conversations[number as usize / 2].pause_ns;
        if pause_ns == 0 {
            end.offered = end.load.messages();
        } else if end.offered < end.load.messages() {
            end.offered += 1;
            self.agenda.plan(
                self.now + 1 + self.random.below(pause_ns),
                Event::Offer(number),
            );
        }
        self.settle(number)
    }

    fn probe(&mut self, number: u32) -> Result<(), String> {
        let end = &mut self.ends[number as usize];
        let (other, arrived) = (end.other, end.arrived.messages);
        if end.is_dead || arrived >= self.ends[other as usize].load.messages() {
            return Ok(());
        }
        if let Some(probe_ns) = self.scenario.probe_ns {
            self.agenda.plan(self.now + probe_ns, Event::Probe(number));
        }
        self.ends[number as usize].link.probe(self.now);
        self.settle(number)
    }

    /// After anything has happened to an end: messages in and out of the link, frames out of it,
    /// its timer.
    fn settle(&mut self, number: u32) -> Result<(), String> {
        let end = &self.ends[number as usize];
        if end.is_dead {
            return Ok(());
        }
        let (node, peer) = (end.node, end.peer);
        let there = self.ends[end.other as usize].arrived.messages;
        let settled = self.settle_inside(number, there);
        settled.map_err(|what| format!("node {node} to {peer}: {what}"))
    }

    fn settle_inside(&mut self, number: u32, there: u32) -> Result<(), String> {
        let now = self.now;
        let end = &mut self.ends[number as usize];
        end.release(there)?;
        end.submit(now)?;
        while !end.waits_for_card {
            let ready = self.network.card_ready(now, end.node);
            if ready > now {
                if end.link.wants_transmit(now) {
                    end.waits_for_card = true;
                    self.hosts[end.node as usize].waiting.push(number);
                    let node = end.node;
                    self.plan_turn(node, ready);
                }
                break;
            }
            let Some(transmit) = end.link.poll_transmit(now) else {
                break;
            };
            let bytes = end.emit(now, &transmit)?;
            if self.trace {
                let again = if transmit.repeat { " again" } else { "" };
                eprintln!("{now:>12} ns  send {}{again}", transmit.frame);
            }
            self.network
                .send(now, end.node, end.peer, bytes, &mut self.flights);
        }
        for (due, flight) in self.flights.drain(..) {
            self.agenda.plan(due, Event::Flight(flight));
        }
        let end = &mut self.ends[number as usize];
        end.judge(now)?;
        let timer = end.link.poll_timeout().filter(|_| !end.is_dead);
        if let Some(at) = timer {
            let at = at.max(now);
            if end.timer_at != Some(at) {
                end.timer_at = Some(at);
                self.agenda.plan(at, Event::Timer(number));
            }
        } else {
            end.timer_at = None;
        }
        Ok(())
    }
}
