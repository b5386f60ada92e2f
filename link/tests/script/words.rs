//! The words of packet scripts, and what they stand for.

use oxmpi_link::{Checksum, Config, FrameKey, Recovery, Session};
use oxmpi_wire::frame::{self, FRAME_HEADER_BYTES, Frame, Kind, PieceHeader};

/// The words of a line.
pub struct Words<'a>(std::str::SplitWhitespace<'a>);

impl<'a> Words<'a> {
    pub fn new(line: &'a str) -> Words<'a> {
        Words(line.split_whitespace())
    }

    pub fn try_next(&mut self) -> Option<&'a str> {
        self.0.next()
    }

    pub fn next(&mut self) -> Result<&'a str, String> {
        self.try_next().ok_or("the line ends too early".to_owned())
    }

    pub fn expect(&mut self, word: &str) -> Result<(), String> {
        let found = self.next()?;
        if found == word {
            Ok(())
        } else {
            Err(format!("`{word}` expected, not `{found}`"))
        }
    }

    pub fn number(&mut self) -> Result<u32, String> {
        parse(self.next()?)
    }

    pub fn kind(&mut self) -> Result<Kind, String> {
        Ok(match self.next()? {
            "data" => Kind::Data,
            "ack" => Kind::Ack,
            "lose" => Kind::Lose,
            "stop" => Kind::Stop,
            "go" => Kind::Go,
            "probe" => Kind::Probe,
            "hello" => Kind::Hello,
            other => return Err(format!("unknown kind `{other}`")),
        })
    }

    /// The settings of a `link` line.
    pub fn config(&mut self) -> Result<Config, String> {
        let mut config = Config {
            channel_in: 3,
            channel_out: 4,
            rto_ns_min: 1_000_000,
            rto_ns_max: 8_000_000,
            ack_delay_ns: 100_000,
            ..Config::new(0, 1)
        };
        while let Some(word) = self.try_next() {
            match word.split_once('=') {
                None if word == "congestion" => config.congestion = true,
                None if word == "checked" => config.checked = true,
                Some(("recovery", "go-back-n")) => config.recovery = Recovery::GoBackN,
                Some(("recovery", "selective")) => config.recovery = Recovery::Selective,
                Some(("window", value)) => config.window_frames_max = parse(value)?,
                Some(("payload", value)) => config.payload_bytes_max = parse(value)? as usize,
                Some(("first", value)) => config.first_sequence = parse(value)?,
                Some(("high", value)) => config.backlog_high = parse(value)? as usize,
                Some(("low", value)) => config.backlog_low = parse(value)? as usize,
                Some(("queue", value)) => config.messages_max = parse(value)? as usize,
                Some(("rto", value)) => config.rto_ns_min = time(value)?,
                Some(("rto-max", value)) => config.rto_ns_max = time(value)?,
                Some(("ack-delay", value)) => config.ack_delay_ns = time(value)?,
                Some(("dead-after", value)) => config.dead_after_ns = time(value)?,
                _ => return Err(format!("unknown setting `{word}`")),
            }
        }
        Ok(config)
    }
}

pub fn parse(word: &str) -> Result<u32, String> {
    word.parse().map_err(|_| format!("`{word}` is no number"))
}

pub fn numbers(words: &str) -> Result<Vec<u32>, String> {
    words.split(',').map(parse).collect()
}

pub fn time(word: &str) -> Result<u64, String> {
    let digits = word.trim_end_matches(|letter: char| letter.is_alphabetic());
    let factor = match &word[digits.len()..] {
        "ns" => 1,
        "us" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        _ => return Err(format!("`{word}` is no time")),
    };
    Ok(u64::from(parse(digits)?) * factor)
}

pub fn flag(word: &str) -> Result<u16, String> {
    Ok(match word {
        "asking" => frame::flag::ASKING,
        "stopped" => frame::flag::STOPPED,
        other => return Err(format!("unknown flag `{other}`")),
    })
}

/// A run of bytes as it is written: `<10>`, `<10`, `10`, `10>`.
pub fn run(piece: &PieceHeader) -> String {
    let first = if piece.first { "<" } else { "" };
    let last = if piece.last { ">" } else { "" };
    format!("{first}{}{last}", piece.bytes)
}

/// Pieces as bytes.
pub fn payload(words: &str) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    for word in words.split(',') {
        let header = PieceHeader {
            bytes: parse(word.trim_matches(['<', '>']))? as u16,
            first: word.starts_with('<'),
            last: word.ends_with('>'),
        };
        bytes.extend(header.emit());
        bytes.resize(bytes.len() + usize::from(header.bytes), 0x5a);
    }
    Ok(bytes)
}

/// A bitmap of frames beyond `ack`.
pub fn bitmap(ack: u32, kept: &[u32]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for &sequence in kept {
        let bit = sequence.wrapping_sub(ack).wrapping_sub(1) as usize;
        if bytes.len() <= bit / 8 {
            bytes.resize(bit / 8 + 1, 0);
        }
        bytes[bit / 8] |= 1 << (bit % 8);
    }
    bytes
}

/// A session with these keys, each one byte again and again.
pub fn session(key_out: u8, key_in: u8) -> Session {
    Session::new(FrameKey::new([key_out; 16]), FrameKey::new([key_in; 16]))
}

/// Header and payload as bytes, with a checksum if the header says so.
pub fn seal(frame: &Frame, payload: &[u8]) -> Vec<u8> {
    let mut header = [0; FRAME_HEADER_BYTES];
    frame.emit(&mut header);
    if frame.has(frame::flag::CHECKED) {
        let mut checksum = Checksum::of_header(&header);
        checksum.update(payload);
        checksum.seal(&mut header);
    }
    let mut bytes = header.to_vec();
    bytes.extend(payload);
    bytes
}
