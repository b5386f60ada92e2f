//! What a run did, for people and for comparing runs.

use std::fmt;

use super::network::{Harm, Time};

/// What a run that went well did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Report {
    /// Events.
    pub events: u64,
    /// Frames that were sent, of any kind.
    pub frames: u64,
    /// Of those, data frames that were sent before.
    pub repeats: u64,
    /// When the last thing happened.
    pub time: Time,
    /// What the network and full rings did.
    pub harm: Harm,
    /// Frames of others that links or nodes refused.
    pub refused: u64,
    /// Ends that gave up.
    pub dead: u64,
    /// Times that nodes were descheduled.
    pub naps: u64,
}

impl Report {
    /// Adds another run.
    pub fn add(&mut self, other: &Report) {
        self.events += other.events;
        self.frames += other.frames;
        self.repeats += other.repeats;
        self.time += other.time;
        self.harm.lost += other.harm.lost;
        self.harm.doubled += other.harm.doubled;
        self.harm.delayed += other.harm.delayed;
        self.refused += other.refused;
        self.dead += other.dead;
        self.naps += other.naps;
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Report {
            events,
            frames,
            repeats,
            time,
            harm,
            refused,
            dead,
            naps,
        } = self;
        let Harm {
            lost,
            doubled,
            delayed,
        } = harm;
        write!(
            f,
            "{} ms, {events} events, {frames} frames ({lost} lost, {doubled} doubled, {delayed} delayed, {refused} refused), \
             {repeats} repeats, {naps} naps, {dead} ends gave up",
            time / 1_000_000
        )
    }
}
