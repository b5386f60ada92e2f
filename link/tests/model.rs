//! The protocol's core checked exhaustively: every order in which a small network can deliver,
//! lose, double and reorder frames, in which timers can go off and in which a receiver can say STOP
//! and GO.
//!
//! The states are those of the real [`Link`], not of a copy: two of them, small windows, frame
//! numbers that wrap. Faults are bounded, so that the states are finite. In every state that can be
//! reached:
//! - what was delivered is a beginning of what was sent (so each message once, whole and in order);
//! - if the network behaves from now on, everything arrives, both ends come to rest, and this takes
//!   a bounded number of steps. So there is neither a deadlock nor a livelock.
//!
//! Time moves only when a timer goes off; all delays are the same, so times relative to the present
//! take few values.

mod pair;

use std::collections::VecDeque;
use std::hash::{DefaultHasher, Hash, Hasher};

use oxmpi_link::{Config, Link, Recovery};
use pair::{Inbox, Number, gather, mirrored};
use stateright::{Checker, HasDiscoveries, Model, Property};

/// What may still go wrong.
#[derive(Clone, Debug, Hash)]
struct Budget {
    losses: u32,
    duplicates: u32,
    overtakings: u32,
    /// Timers that go off although frames are on their way.
    early_timeouts: u32,
    stops: u32,
}

#[derive(Clone, Debug)]
struct State {
    links: [Link<Number>; 2],
    inboxes: [Inbox; 2],
    /// Messages given to each link.
    sent: [usize; 2],
    /// Frames on their way to each end.
    wires: [VecDeque<Vec<u8>>; 2],
    /// The end's device is full.
    full: [bool; 2],
    budget: Budget,
    now: u64,
}

impl Hash for State {
    fn hash<H: Hasher>(&self, state: &mut H) {
        for link in &self.links {
            link.digest(self.now, state);
        }
        self.inboxes.hash(state);
        (self.sent, self.full).hash(state);
        self.wires.hash(state);
        self.budget.hash(state);
    }
}

/// The checker compares states only to print a path to one.
impl PartialEq for State {
    fn eq(&self, other: &State) -> bool {
        let digest = |state: &State| {
            let mut hasher = DefaultHasher::new();
            state.hash(&mut hasher);
            hasher.finish()
        };
        digest(self) == digest(other)
    }
}

#[derive(Clone, Debug, PartialEq)]
enum Action {
    Send(usize),
    Deliver(usize),
    Lose(usize),
    Duplicate(usize),
    /// The second frame arrives before the first.
    Overtake(usize),
    /// The nearest timer goes off.
    TimeOut,
    /// The device of an end runs full.
    Fill(usize),
    /// It is empty again.
    Drain(usize),
}

struct Conversation {
    config: Config,
    messages: [Vec<usize>; 2],
    budget: Budget,
}

const BACKLOG_HIGH: usize = 4;

impl Conversation {
    fn new(recovery: Recovery, window: u32, budget: Budget) -> Conversation {
        let rto_ns = 1_000_000;
        Conversation {
            config: Config {
                recovery,
                window_frames_max: window,
                payload_bytes_max: 20,
                first_sequence: u32::MAX,
                rto_ns_min: rto_ns,
                rto_ns_max: rto_ns,
                ack_delay_ns: rto_ns / 4,
                backlog_high: BACKLOG_HIGH,
                backlog_low: 1,
                ..Config::new(0, 1)
            },
            // The second message takes two frames, and the third begins in the second of them if it
            // waits.
            messages: [vec![3, 20, 5], vec![7]],
            budget,
        }
    }

    /// Everything that leaves goes onto the wire; everything that is given back was acknowledged.
    fn poll(&self, state: &mut State) {
        for end in 0..2 {
            let link = &mut state.links[end];
            while let Some(transmit) = link.poll_transmit(state.now) {
                state.wires[1 - end].push_back(gather(link, &transmit));
            }
            while link.poll_released().is_some() {}
        }
    }

    fn arrive(&self, state: &mut State, end: usize, frame: &[u8]) {
        let backlog = if state.full[end] { BACKLOG_HIGH } else { 0 };
        let link = &mut state.links[end];
        link.handle_frame(state.now, frame, backlog)
            .expect("frames of the other end");
        state.inboxes[end].drain(link, frame);
    }

    fn time_out(&self, state: &mut State) -> bool {
        let timers = state.links.iter().filter_map(Link::poll_timeout);
        let Some(at) = timers.min() else {
            return false;
        };
        state.now = state.now.max(at);
        for link in &mut state.links {
            if link.poll_timeout().is_some_and(|at| at <= state.now) {
                link.handle_timeout(state.now);
            }
        }
        true
    }

    fn has_sent_all(&self, state: &State) -> bool {
        (0..2).all(|end| state.sent[end] == self.messages[end].len())
    }

    fn send(&self, state: &mut State, end: usize) {
        let number = state.sent[end];
        let bytes = self.messages[end][number];
        state.links[end].send(state.now, number as Number, bytes);
        state.sent[end] += 1;
    }

    /// What happens if the network behaves from now on: everything arrives, within a bounded number
    /// of steps.
    fn ends_well(&self, state: &State) -> bool {
        const STEPS_MAX: usize = 200;
        let mut state = state.clone();
        for end in 0..2 {
            state.full[end] = false;
            state.links[end].note_backlog(state.now, 0);
            while state.sent[end] < self.messages[end].len() {
                self.send(&mut state, end);
            }
        }
        for _ in 0..STEPS_MAX {
            self.poll(&mut state);
            let arriving = (0..2).find(|&end| !state.wires[end].is_empty());
            if let Some(end) = arriving {
                let frame = state.wires[end].pop_front().expect("not empty");
                self.arrive(&mut state, end, &frame);
            } else if !self.time_out(&mut state) {
                let whole = (0..2).all(|end| state.inboxes[end].whole == self.messages[1 - end]);
                return whole && state.links.iter().all(Link::is_quiet);
            }
        }
        false
    }
}

impl Model for Conversation {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        vec![State {
            links: [
                Link::new(self.config.clone(), 0),
                Link::new(mirrored(&self.config), 0),
            ],
            inboxes: Default::default(),
            sent: [0; 2],
            wires: Default::default(),
            full: [false; 2],
            budget: self.budget.clone(),
            now: 0,
        }]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        let budget = &state.budget;
        for end in 0..2 {
            if state.sent[end] < self.messages[end].len() {
                actions.push(Action::Send(end));
            }
            let frames = state.wires[end].len();
            if frames > 0 {
                actions.push(Action::Deliver(end));
                actions.extend((budget.losses > 0).then_some(Action::Lose(end)));
                actions.extend((budget.duplicates > 0).then_some(Action::Duplicate(end)));
            }
            if frames > 1 && budget.overtakings > 0 {
                actions.push(Action::Overtake(end));
            }
            if state.full[end] {
                actions.push(Action::Drain(end));
            } else if budget.stops > 0 {
                actions.push(Action::Fill(end));
            }
        }
        let calm = state.wires.iter().all(VecDeque::is_empty) && self.has_sent_all(state);
        if calm || budget.early_timeouts > 0 {
            actions.push(Action::TimeOut);
        }
    }

    fn next_state(&self, last: &State, action: Action) -> Option<State> {
        let mut state = last.clone();
        match action {
            Action::Send(end) => self.send(&mut state, end),
            Action::Deliver(end) => {
                let frame = state.wires[end].pop_front()?;
                self.arrive(&mut state, end, &frame);
            }
            Action::Lose(end) => {
                state.budget.losses -= 1;
                state.wires[end].pop_front();
            }
            Action::Duplicate(end) => {
                state.budget.duplicates -= 1;
                let frame = state.wires[end].front()?.clone();
                state.wires[end].push_back(frame);
            }
            Action::Overtake(end) => {
                state.budget.overtakings -= 1;
                let frame = state.wires[end].remove(1)?;
                self.arrive(&mut state, end, &frame);
            }
            Action::TimeOut => {
                let calm = state.wires.iter().all(VecDeque::is_empty) && self.has_sent_all(&state);
                state.budget.early_timeouts -= u32::from(!calm);
                if !self.time_out(&mut state) {
                    return None;
                }
            }
            Action::Fill(end) => {
                state.budget.stops -= 1;
                state.full[end] = true;
                state.links[end].note_backlog(state.now, BACKLOG_HIGH);
            }
            Action::Drain(end) => {
                state.full[end] = false;
                state.links[end].note_backlog(state.now, 0);
            }
        }
        self.poll(&mut state);
        Some(state)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("once, whole and in order", |model: &Self, state: &State| {
                (0..2).all(|end| model.messages[1 - end].starts_with(&state.inboxes[end].whole))
            }),
            Property::always("all is well in the end", |model: &Self, state: &State| {
                model.ends_well(state)
            }),
            // A model that cannot do what it is about would prove nothing.
            Property::sometimes("a frame is repeated", |_: &Self, state: &State| {
                state.links[0].counters().repeats > 0
            }),
            Property::sometimes("all is said", |model: &Self, state: &State| {
                model.has_sent_all(state) && state.links.iter().all(Link::is_quiet)
            }),
        ]
    }
}

fn check(recovery: Recovery, window: u32, budget: Budget) {
    let model = Conversation::new(recovery, window, budget);
    let started = std::time::Instant::now();
    let checker = model
        .checker()
        .threads(2)
        .finish_when(HasDiscoveries::AnyFailures)
        .spawn_bfs()
        .join();
    println!(
        "{recovery:?}, window {window}: {} states, {} of them different, {:.1} s",
        checker.state_count(),
        checker.unique_state_count(),
        started.elapsed().as_secs_f64()
    );
    checker.assert_properties();
}

/// More faults at once when there is time for it.
fn more() -> u32 {
    u32::from(std::env::var_os("OXMPI_TEST_LONG").is_some())
}

const NOTHING: Budget = Budget {
    losses: 0,
    duplicates: 0,
    overtakings: 0,
    early_timeouts: 0,
    stops: 0,
};

#[test]
fn go_back_n_survives_losses_and_early_timeouts() {
    let budget = Budget {
        losses: 2 + more(),
        early_timeouts: 1,
        ..NOTHING
    };
    check(Recovery::GoBackN, 2, budget);
}

#[test]
fn go_back_n_survives_duplicates_and_reordering() {
    let budget = Budget {
        losses: 1,
        duplicates: 1,
        overtakings: 1 + more(),
        ..NOTHING
    };
    check(Recovery::GoBackN, 3, budget);
}

#[test]
fn selective_repeat_survives_losses_and_early_timeouts() {
    let budget = Budget {
        losses: 2 + more(),
        early_timeouts: 1,
        ..NOTHING
    };
    check(Recovery::Selective, 3, budget);
}

#[test]
fn selective_repeat_survives_duplicates_and_reordering() {
    let budget = Budget {
        losses: 1,
        duplicates: 1,
        overtakings: 1 + more(),
        ..NOTHING
    };
    check(Recovery::Selective, 3, budget);
}

#[test]
fn stop_and_go_survive_losses_and_reordering() {
    let budget = Budget {
        losses: 2,
        overtakings: 1,
        stops: 1 + more(),
        ..NOTHING
    };
    check(Recovery::GoBackN, 2, budget);
}
