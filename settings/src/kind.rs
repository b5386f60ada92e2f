//! The types of settings: what a value may be, how it is checked, and how that is said.

use std::time::Duration;

/// The type of a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `on` or `off`; `1` and `0` mean the same.
    Switch,
    /// A whole number.
    Number {
        /// The smallest.
        min: u64,
        /// The largest.
        max: u64,
    },
    /// A number of bytes; K, M and G stand for powers of 1024.
    Size {
        /// The smallest.
        min: u64,
        /// The largest.
        max: u64,
        /// Only powers of two.
        power_of_two: bool,
    },
    /// A time: microseconds without a unit, or with `us`, `ms` or `s`.
    Duration,
    /// One of some words.
    Choice(&'static [&'static str]),
    /// Words separated by commas; the layer that reads the setting checks each.
    List(&'static str),
    /// A text that the layer which reads the setting checks; here is what it may be.
    Text(&'static str),
    /// A file or the beginning of a file's name; here is which.
    Path(&'static str),
    /// A command, or the name of a program; here is which.
    Command(&'static str),
}

impl Kind {
    /// The type's name, for programs that read the list of settings.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Switch => "switch",
            Kind::Number { .. } => "number",
            Kind::Size { .. } => "size",
            Kind::Duration => "duration",
            Kind::Choice(_) => "choice",
            Kind::List(_) => "list",
            Kind::Text(_) => "text",
            Kind::Path(_) => "path",
            Kind::Command(_) => "command",
        }
    }

    /// What is accepted, as the end of a sentence that begins with "expected".
    pub fn accepted(self) -> String {
        match self {
            Kind::Switch => "on or off".to_owned(),
            Kind::Number { min, max: u64::MAX } => format!("a number from {min}"),
            Kind::Number { min, max } => format!("a number from {min} to {max}"),
            Kind::Size {
                min,
                max,
                power_of_two: true,
            } => format!("a power of two from {min} to {max}"),
            Kind::Size { min, max, .. } => {
                let range = match (min, max) {
                    (0, u64::MAX) => String::new(),
                    (min, u64::MAX) => format!(" from {min}"),
                    (min, max) => format!(" from {min} to {max}"),
                };
                format!("a number of bytes{range} such as 4096, 64K or 1M")
            }
            Kind::Duration => {
                "a number of microseconds, or a time such as 500us, 2ms or 1s".to_owned()
            }
            Kind::Choice(words) => one_of(words),
            Kind::List(text) | Kind::Text(text) | Kind::Path(text) | Kind::Command(text) => {
                text.to_owned()
            }
        }
    }

    /// True if a value names a file or code. A program with more rights than its caller must not
    /// take such a value from its environment.
    pub fn names_files(self) -> bool {
        matches!(self, Kind::Path(_) | Kind::Command(_))
    }

    /// True if the value is of this type. Lists and texts are checked by the layers that read them.
    pub(crate) fn accepts(self, value: &str) -> bool {
        match self {
            Kind::Switch => switch(value).is_some(),
            Kind::Number { min, max } => number(value, min, max).is_some(),
            Kind::Size {
                min,
                max,
                power_of_two,
            } => size(value, min, max, power_of_two).is_some(),
            Kind::Duration => duration(value).is_some(),
            Kind::Choice(words) => words.contains(&value),
            Kind::List(_) | Kind::Text(_) | Kind::Path(_) | Kind::Command(_) => true,
        }
    }
}

/// "a, b or c".
fn one_of(words: &[&str]) -> String {
    match words {
        [] => String::new(),
        [word] => (*word).to_owned(),
        [words @ .., last] => format!("{} or {last}", words.join(", ")),
    }
}

pub(crate) fn switch(value: &str) -> Option<bool> {
    match value {
        "on" | "1" => Some(true),
        "off" | "0" => Some(false),
        _ => None,
    }
}

pub(crate) fn number(value: &str, min: u64, max: u64) -> Option<u64> {
    // Rust's own parser takes "+4", which no other type here does.
    let digits = value.bytes().all(|byte| byte.is_ascii_digit());
    let number = value.parse().ok().filter(|_| digits)?;
    (min..=max).contains(&number).then_some(number)
}

pub(crate) fn size(value: &str, min: u64, max: u64, power_of_two: bool) -> Option<u64> {
    let unit = |letter: char| match letter.to_ascii_uppercase() {
        'K' => Some(1 << 10),
        'M' => Some(1 << 20),
        'G' => Some(1 << 30),
        _ => None,
    };
    let (digits, unit) = match value.chars().next_back().and_then(unit) {
        Some(unit) => (&value[..value.len() - 1], unit),
        None => (value, 1),
    };
    let bytes = number(digits, 0, u64::MAX)?.checked_mul(unit)?;
    let fits = (min..=max).contains(&bytes) && (!power_of_two || bytes.is_power_of_two());
    fits.then_some(bytes)
}

pub(crate) fn duration(value: &str) -> Option<Duration> {
    let of = |digits, micros: u64| {
        let micros = number(digits, 0, u64::MAX)?.checked_mul(micros)?;
        Some(Duration::from_micros(micros))
    };
    if let Some(digits) = value.strip_suffix("us") {
        of(digits, 1)
    } else if let Some(digits) = value.strip_suffix("ms") {
        of(digits, 1_000)
    } else if let Some(digits) = value.strip_suffix('s') {
        of(digits, 1_000_000)
    } else {
        of(value, 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units() {
        let any = |value| size(value, 0, u64::MAX, false);
        assert_eq!(any("65536"), Some(65536));
        assert_eq!(any("64K"), Some(65536));
        assert_eq!(any("64k"), Some(65536));
        assert_eq!(any("1M"), Some(1 << 20));
        assert_eq!(any("2G"), Some(2 << 30));
        for value in [
            "",
            "K",
            "-1",
            "+1",
            "1.5M",
            "64KB",
            "18446744073709551615K",
            "µ",
        ] {
            assert_eq!(any(value), None, "{value}");
        }
        assert_eq!(size("96K", 0, u64::MAX, true), None);
        assert_eq!(size("32K", 65536, u64::MAX, true), None);
        assert_eq!(size("64K", 65536, u64::MAX, true), Some(65536));
    }

    #[test]
    fn times_have_units() {
        assert_eq!(duration("7"), Some(Duration::from_micros(7)));
        assert_eq!(duration("7us"), Some(Duration::from_micros(7)));
        assert_eq!(duration("7ms"), Some(Duration::from_millis(7)));
        assert_eq!(duration("7s"), Some(Duration::from_secs(7)));
        for value in ["", "s", "-1", "soon", "1.5ms", "18446744073709551615s"] {
            assert_eq!(duration(value), None, "{value}");
        }
    }

    #[test]
    fn what_is_accepted_is_said() {
        let said = |kind: Kind| kind.accepted();
        assert_eq!(said(Kind::Switch), "on or off");
        assert_eq!(said(Kind::Choice(&["a", "b", "c"])), "a, b or c");
        let number = Kind::Number { min: 1, max: 9 };
        assert_eq!(said(number), "a number from 1 to 9");
        let bytes = Kind::Size {
            min: 0,
            max: u64::MAX,
            power_of_two: false,
        };
        assert_eq!(said(bytes), "a number of bytes such as 4096, 64K or 1M");
    }
}
