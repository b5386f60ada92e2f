//! One end of a conversation: a real link, what its application says and hears, and the truth it is
//! held to.
//!
//! The simulation knows both ends, so it can say what neither of them can: that a message released
//! here has wholly arrived there, that a link which gives up has really heard nothing for the
//! dead-peer time, and that one which should give up does.

use oxmpi_link::{Checksum, Config, Link, Session, Transmit};
use oxmpi_wire::frame::{FRAME_HEADER_BYTES, PIECES_MAX};

use super::content::{Arrived, Content};
use super::network::Time;
use super::scenario::Load;

/// One end of a conversation.
pub struct End {
    /// The protocol.
    pub link: Link<u32>,
    /// The proofs of its frames.
    session: Session,
    /// Where it runs.
    pub node: u32,
    /// Where the other end runs.
    pub peer: u32,
    /// Number of the other end.
    pub other: u32,
    /// What it says.
    pub load: Load,
    /// Messages that the application has had to say so far.
    pub offered: u32,
    /// Messages that the link has been given.
    pub submitted: u32,
    /// Messages that the link has given back.
    pub released: u32,
    /// What has come from the other end.
    pub arrived: Arrived,
    /// The timer on the agenda.
    pub timer_at: Option<Time>,
    /// The link has frames that the card has no room for.
    pub waits_for_card: bool,
    /// The link has given up.
    pub is_dead: bool,
    content: Content,
    config: Config,
    /// When a frame was last accepted.
    heard_at: Time,
    /// Since when something sent has had no answer.
    unanswered_since: Option<Time>,
}

impl End {
    /// An end that has said and heard nothing. `contents` are its own and the other end's.
    pub fn new(
        config: Config,
        session: Session,
        other: u32,
        load: Load,
        contents: [Content; 2],
    ) -> End {
        End {
            link: Link::new(config.clone(), 0),
            session,
            node: config.me,
            peer: config.peer,
            other,
            load,
            offered: 0,
            submitted: 0,
            released: 0,
            arrived: Arrived::new(contents[1]),
            timer_at: None,
            waits_for_card: false,
            is_dead: false,
            content: contents[0],
            config,
            heard_at: 0,
            unanswered_since: None,
        }
    }

    /// Gives the link what the application has to say, as far as there is room.
    pub fn submit(&mut self, now: Time) -> Result<(), String> {
        while self.submitted < self.offered && self.link.can_send() {
            let bytes = self
                .load
                .length(self.submitted)
                .expect("only messages that exist are offered");
            self.link.send(now, self.submitted, bytes);
            self.submitted += 1;
        }
        let held = (self.submitted - self.released) as usize;
        if held > self.config.messages_max {
            return Err(format!(
                "the link holds {held} messages, and {} are its limit",
                self.config.messages_max
            ));
        }
        Ok(())
    }

    /// The frame that the link wants to send, as bytes.
    pub fn emit(&mut self, now: Time, transmit: &Transmit) -> Result<Vec<u8>, String> {
        let mut bytes = vec![0; FRAME_HEADER_BYTES];
        for piece in self.link.pieces(transmit) {
            bytes.extend_from_slice(&piece.header().emit());
            let begin = bytes.len();
            bytes.resize(begin + piece.bytes, 0);
            self.content
                .fill(piece.message, piece.offset, &mut bytes[begin..]);
        }
        bytes.extend_from_slice(self.link.control_payload(transmit));
        let payload = bytes.len() - FRAME_HEADER_BYTES;
        if payload > self.config.payload_bytes_max {
            let most = self.config.payload_bytes_max;
            return Err(format!(
                "a frame has {payload} bytes of payload, and {most} are the limit"
            ));
        }
        if payload != usize::from(transmit.frame.length) {
            let said = transmit.frame.length;
            return Err(format!(
                "a frame has {payload} bytes of payload, and its header says {said}"
            ));
        }
        let (header, payload) = bytes
            .split_first_chunk_mut()
            .expect("it begins with a header");
        transmit.frame.emit(header);
        if self.config.checked {
            let mut checksum = Checksum::of_header(header);
            checksum.update(payload);
            checksum.seal(header);
        }
        self.session.sign(header);
        if self.submitted > self.released {
            self.unanswered_since.get_or_insert(now);
        }
        Ok(bytes)
    }

    /// Takes a frame in. Says whether the link accepted it.
    pub fn take_in(
        &mut self,
        now: Time,
        frame: &[u8],
        backlog: usize,
        said: &Load,
    ) -> Result<bool, String> {
        let proven = self.session.verify(frame).is_ok();
        let accepted = proven && self.link.handle_frame(now, frame, backlog).is_ok();
        let mut delivered = 0;
        while let Some(piece) = self.link.poll_delivered() {
            if !accepted {
                return Err("a frame that was refused delivers something".into());
            }
            let bytes = self.link.bytes(&piece, frame);
            self.arrived
                .take(bytes, piece.first, piece.last, |message| {
                    said.length(message)
                })?;
            delivered += 1;
        }
        let most = PIECES_MAX * self.config.window_frames_max as usize;
        if delivered > most {
            return Err(format!(
                "a frame delivers {delivered} pieces, and a window has at most {most}"
            ));
        }
        if accepted {
            self.heard_at = now;
            self.unanswered_since = None;
        }
        Ok(accepted)
    }

    /// Takes back what the other end has wholly: `there` is what has arrived at it.
    pub fn release(&mut self, there: u32) -> Result<(), String> {
        while let Some(message) = self.link.poll_released() {
            if message != self.released {
                return Err(format!(
                    "message {message} is released instead of {}",
                    self.released
                ));
            }
            if message >= there {
                return Err(format!(
                    "message {message} is released, and only {there} have arrived"
                ));
            }
            self.released += 1;
        }
        Ok(())
    }

    /// Whether the link gives up now, and whether that is right.
    pub fn judge(&mut self, now: Time) -> Result<(), String> {
        let dead_after = self.config.dead_after_ns;
        let silent = now - self.heard_at;
        if self.link.is_dead(now) {
            if silent < dead_after {
                return Err(format!(
                    "gives up {silent} ns after a frame came, and the dead-peer time is {dead_after} ns"
                ));
            }
            self.is_dead = true;
            return Ok(());
        }
        // What asked is a frame, so the answer may be missed at the next one only.
        let slack = 2 * self.config.rto_ns_max + self.config.ack_delay_ns;
        if let Some(since) = self.unanswered_since {
            let unanswered = now - since.max(self.heard_at);
            if unanswered > dead_after + slack {
                return Err(format!(
                    "has had no answer for {unanswered} ns and does not give up after {dead_after} ns"
                ));
            }
        }
        Ok(())
    }

    /// Whether everything has been said and heard: `all` messages are what the other end says.
    pub fn is_complete(&self, all: u32) -> bool {
        self.released == self.load.messages()
            && self.arrived.messages == all
            && self.link.is_quiet()
    }

    /// Where it stands, for people.
    pub fn state(&self, all: u32) -> String {
        format!(
            "node {} to {}: {} of {} messages given to the link, {} released, {} of {all} received, {}, {}, timer {:?}",
            self.node,
            self.peer,
            self.submitted,
            self.load.messages(),
            self.released,
            self.arrived.messages,
            if self.link.is_quiet() {
                "quiet"
            } else {
                "not quiet"
            },
            if self.is_dead { "gave up" } else { "alive" },
            self.link.poll_timeout(),
        )
    }
}
