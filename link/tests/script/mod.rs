//! The runner of packet scripts: one link, the time of the script, and queues of what came out but
//! was not mentioned yet.

mod words;

use std::collections::VecDeque;

use oxmpi_link::{Config, Link, Refusal, Session, Transmit};
use oxmpi_wire::frame::{Frame, PieceHeader, flag};
use words::{Words, time};

/// A frame that left, in full.
struct Left {
    at: u64,
    transmit: Transmit,
    pieces: String,
    kept: Vec<u32>,
}

/// A script being run.
pub struct Run {
    config: Config,
    link: Link<usize>,
    /// Of the link, and of the peer whose frames the script writes.
    session: Session,
    peer: Session,
    forged: u64,
    now: u64,
    sent: usize,
    left: VecDeque<Left>,
    delivered: VecDeque<String>,
    released: VecDeque<usize>,
}

impl Run {
    /// Runs a script; an error begins with the number of the line.
    pub fn script(text: &str) -> Result<(), String> {
        let mut run = None;
        for (index, line) in text.lines().enumerate() {
            let line = line.split('#').next().unwrap_or("").trim();
            if line.is_empty() {
                continue;
            }
            let fail = |text: String| format!("{}: {line}\n    {text}", index + 1);
            match &mut run {
                None => run = Some(Run::begin(line).map_err(fail)?),
                Some(run) => run.line(line).map_err(fail)?,
            }
        }
        let run = run.ok_or("0: no `link` line")?;
        run.nothing_unsaid().map_err(|text| format!("end: {text}"))
    }

    fn begin(line: &str) -> Result<Run, String> {
        let mut words = Words::new(line);
        words.expect("link")?;
        let config = words.config()?;
        Ok(Run {
            link: Link::new(config.clone(), 0),
            session: words::session(1, 2),
            peer: words::session(2, 1),
            forged: 0,
            config,
            now: 0,
            sent: 0,
            left: VecDeque::new(),
            delivered: VecDeque::new(),
            released: VecDeque::new(),
        })
    }

    fn line(&mut self, line: &str) -> Result<(), String> {
        let mut words = Words::new(line);
        let first = words.next()?;
        if first == "count" {
            return self.count(words);
        }
        if first != "at" {
            return Err(format!("a line begins with `at` or `count`, not `{first}`"));
        }
        let at = time(words.next()?)?;
        let verb = words.next()?;
        if verb == "out" {
            self.advance(at);
            return self.out(at, words);
        }
        if verb == "delivered" || verb == "released" {
            return self.came_out(verb, words.next()?);
        }
        self.nothing_unsaid()?;
        self.advance(at);
        // What timers did until now must have been said before, unless it happens at this very
        // moment.
        if let Some(left) = self.left.front().filter(|left| left.at < at) {
            return Err(format!("unmentioned: {}", describe(left)));
        }
        match verb {
            "send" => {
                let bytes = words.number()? as usize;
                self.link.send(at, self.sent, bytes);
                self.sent += 1;
            }
            "backlog" => self.link.note_backlog(at, words.number()? as usize),
            "force-ack" => self.link.force_ack(),
            "probe" => self.link.probe(at),
            "in" => self.arrive(at, words)?,
            "silent" => self.nothing_unsaid()?,
            "dead" => check(self.link.is_dead(at), "the peer is not dead yet")?,
            "alive" => check(!self.link.is_dead(at), "the peer counts as dead")?,
            "quiet" => check(self.link.is_quiet(), "the link is not quiet")?,
            "busy" => check(!self.link.is_quiet(), "the link is quiet")?,
            _ => return Err(format!("unknown: `{verb}`")),
        }
        self.poll();
        Ok(())
    }

    fn nothing_unsaid(&self) -> Result<(), String> {
        if let Some(left) = self.left.front() {
            return Err(format!("unmentioned before: {}", describe(left)));
        }
        if let Some(run) = self.delivered.front() {
            return Err(format!("unmentioned before: delivered {run}"));
        }
        if let Some(number) = self.released.front() {
            return Err(format!("unmentioned before: released {number}"));
        }
        Ok(())
    }

    /// Time passes; timers go off on the way.
    fn advance(&mut self, to: u64) {
        while let Some(at) = self.link.poll_timeout().filter(|&at| at <= to) {
            self.now = self.now.max(at);
            self.link.handle_timeout(self.now);
            self.poll();
        }
        self.now = self.now.max(to);
    }

    fn poll(&mut self) {
        while let Some(transmit) = self.link.poll_transmit(self.now) {
            let pieces: Vec<String> = self
                .link
                .pieces(&transmit)
                .map(|piece| words::run(&piece.header()))
                .collect();
            let bitmap = self.link.control_payload(&transmit);
            let bits = (0..bitmap.len() * 8).filter(|bit| bitmap[bit / 8] >> (bit % 8) & 1 == 1);
            let next = transmit.frame.ack.wrapping_add(1);
            self.left.push_back(Left {
                at: self.now,
                transmit,
                pieces: pieces.join(","),
                kept: bits.map(|bit| next.wrapping_add(bit as u32)).collect(),
            });
        }
        while let Some(number) = self.link.poll_released() {
            self.released.push_back(number);
        }
    }

    fn out(&mut self, at: u64, mut words: Words) -> Result<(), String> {
        let left = self.left.pop_front().ok_or("nothing left")?;
        check(left.at == at, &format!("{} instead", describe(&left)))?;
        let frame = &left.transmit.frame;
        check(
            frame.kind == words.kind()?,
            &format!("{} instead", describe(&left)),
        )?;
        let mut flags = 0;
        let mut repeat = false;
        while let Some(word) = words.try_next() {
            let fits = match word.split_once('=') {
                None if word == "repeat" => {
                    repeat = true;
                    true
                }
                None => {
                    flags |= words::flag(word)?;
                    true
                }
                Some(("seq", value)) => frame.sequence == words::parse(value)?,
                Some(("ack", value)) => frame.ack == words::parse(value)?,
                Some(("pieces", value)) => left.pieces == value,
                Some(("kept", value)) => {
                    flags |= flag::SELECTIVE;
                    left.kept == words::numbers(value)?
                }
                Some((field, _)) => return Err(format!("unknown field `{field}`")),
            };
            check(fits, &format!("{word}, but {}", describe(&left)))?;
        }
        let unchecked = frame.flags & !flag::CHECKED;
        check(
            flags == unchecked,
            &format!("other flags: {}", describe(&left)),
        )?;
        check(
            repeat == left.transmit.repeat,
            &format!("repeat is {}: {}", left.transmit.repeat, describe(&left)),
        )
    }

    fn came_out(&mut self, verb: &str, expected: &str) -> Result<(), String> {
        let found = match verb {
            "delivered" => self.delivered.pop_front(),
            _ => self.released.pop_front().map(|number| number.to_string()),
        };
        let found = found.ok_or("nothing was")?;
        check(found == expected, &format!("{found} was"))
    }

    fn arrive(&mut self, at: u64, mut words: Words) -> Result<(), String> {
        let mut frame = Frame {
            kind: words.kind()?,
            channel: self.config.channel_in,
            to: self.config.me,
            name: self.config.name_in,
            length: 0,
            flags: u16::from(self.config.checked) * flag::CHECKED,
            sequence: 0,
            ack: self.config.first_sequence,
            serial: 0,
            crc: 0,
            tag: 0,
        };
        let mut payload = Vec::new();
        let (mut backlog, mut refused, mut damaged, mut version) = (0, None, false, None);
        let mut stranger = None;
        while let Some(word) = words.try_next() {
            match word.split_once('=') {
                None if word == "damaged" => damaged = true,
                None if word == "unchecked" => frame.flags &= !flag::CHECKED,
                None => frame.flags |= words::flag(word)?,
                Some(("seq", value)) => frame.sequence = words::parse(value)?,
                Some(("ack", value)) => frame.ack = words::parse(value)?,
                Some(("pieces", value)) => payload = words::payload(value)?,
                Some(("kept", value)) => {
                    frame.flags |= flag::SELECTIVE;
                    payload = words::bitmap(frame.ack, &words::numbers(value)?);
                }
                Some(("session", value)) => stranger = Some(words::parse(value)? as u8),
                Some(("channel", value)) => frame.channel = words::parse(value)? as u16,
                Some(("from", value)) => frame.name = words::parse(value)?,
                Some(("version", value)) => version = Some(words::parse(value)? as u8),
                Some(("backlog", value)) => backlog = words::parse(value)? as usize,
                Some(("refused", value)) => refused = Some(value.to_owned()),
                Some((field, _)) => return Err(format!("unknown field `{field}`")),
            }
        }
        frame.length = payload.len() as u16;
        let mut bytes = words::seal(&frame, &payload);
        let header = bytes.first_chunk_mut().expect("a header");
        match stranger {
            None => self.peer.sign(header),
            Some(key) => words::session(key, key).sign(header),
        }
        if damaged {
            *bytes.last_mut().expect("a header at least") ^= 0x10;
        }
        if let Some(version) = version {
            bytes[0] = version;
        }
        // What is no frame at all is told by the link.
        let forgery = match version {
            None => self.session.verify(&bytes).err(),
            Some(_) => None,
        };
        let found = match forgery {
            Some(_) => {
                self.forged += 1;
                Some("session".to_owned())
            }
            None => {
                let answer = self.link.handle_frame(at, &bytes, backlog);
                answer.err().map(|refusal| reason(&refusal).to_owned())
            }
        };
        check(found == refused, &format!("refused: {found:?}"))?;
        while let Some(delivered) = self.link.poll_delivered() {
            let header = PieceHeader {
                bytes: self.link.bytes(&delivered, &bytes).len() as u16,
                first: delivered.first,
                last: delivered.last,
            };
            self.delivered.push_back(words::run(&header));
        }
        Ok(())
    }

    fn count(&self, mut words: Words) -> Result<(), String> {
        let counters = self.link.counters();
        while let Some(word) = words.try_next() {
            let (name, value) = word.split_once('=').ok_or("count name=value")?;
            let found = match name {
                "repeats" => counters.repeats,
                "timeouts" => counters.timeouts,
                "spurious" => counters.timeouts_spurious,
                "duplicates" => counters.duplicates,
                "out-of-order" => counters.out_of_order,
                "kept" => counters.kept,
                "data-out" => counters.data_out,
                "data-in" => counters.data_in,
                "refused" => counters.refused() + self.forged,
                "window" => u64::from(counters.window_frames),
                _ => return Err(format!("unknown counter `{name}`")),
            };
            let expected = u64::from(words::parse(value)?);
            check(found == expected, &format!("{name} is {found}"))?;
        }
        Ok(())
    }
}

fn check(holds: bool, text: &str) -> Result<(), String> {
    holds.then_some(()).ok_or_else(|| text.to_owned())
}

fn describe(left: &Left) -> String {
    let mut text = format!("at {} ns {}", left.at, left.transmit.frame);
    if !left.pieces.is_empty() {
        text += &format!(" pieces={}", left.pieces);
    }
    if !left.kept.is_empty() {
        text += &format!(" kept={:?}", left.kept);
    }
    if left.transmit.repeat {
        text += " repeat";
    }
    text
}

fn reason(refusal: &Refusal) -> &'static str {
    match refusal {
        Refusal::Frame(_) => "frame",
        Refusal::Node { .. } | Refusal::Channel { .. } => "address",
        Refusal::Unchecked | Refusal::Checksum { .. } | Refusal::Seal { .. } => "checksum",
        Refusal::Kind | Refusal::Ack { .. } | Refusal::Pieces { .. } => "content",
    }
}
