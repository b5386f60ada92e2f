//! Which faults are wanted, as people write them:
//! `loss=1%,duplicate=0.5%,reorder=2%,corrupt=0.1%,delay=200us,seed=7`.
//!
//! [`super::Fault`] carries them out. Parsing refuses what it does not understand, because a
//! misspelt fault would be a test that tests nothing.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// Longest delay: frames that are held occupy memory, and a conversation that waits for longer is
/// taken for dead anyway.
pub const DELAY_MAX: Duration = Duration::from_secs(10);

/// What shall happen to frames on their way out. Probabilities are between 0 and 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Faults {
    /// A frame vanishes.
    pub loss: f64,
    /// A frame leaves twice.
    pub duplicate: f64,
    /// A frame is overtaken by a few that were sent after it.
    pub reorder: f64,
    /// A bit of a frame is turned over.
    pub corrupt: f64,
    /// Each frame leaves so much later.
    pub delay: Duration,
    /// Decides everything that chance decides.
    pub seed: u64,
}

impl Faults {
    /// No faults.
    pub const NONE: Faults = Faults {
        loss: 0.0,
        duplicate: 0.0,
        reorder: 0.0,
        corrupt: 0.0,
        delay: Duration::ZERO,
        seed: 1,
    };

    /// Whether nothing would ever happen.
    pub fn is_none(&self) -> bool {
        Faults {
            seed: Faults::NONE.seed,
            ..*self
        } == Faults::NONE
    }
}

/// Why a list of faults was not understood.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FaultsError {
    /// An item that is not `name=value`.
    #[error("fault `{item}` has no value: write name=value, as in loss=1%,delay=200us,seed=7")]
    NoValue {
        /// As it was given.
        item: String,
    },
    /// A name that is none of ours.
    #[error(
        "there is no fault `{name}`: loss, duplicate, reorder, corrupt (each a percentage or a fraction), delay (a time) and seed (a number) can be given"
    )]
    Unknown {
        /// As it was given.
        name: String,
    },
    /// The same name twice.
    #[error("fault `{name}` is given twice: each may be given once")]
    Twice {
        /// The name.
        name: String,
    },
    /// A probability that is none.
    #[error(
        "fault {name}={value}: the value must be a percentage from 0% to 100%, as in {name}=1.5%, or a fraction from 0 to 1, as in {name}=0.015"
    )]
    Probability {
        /// The fault.
        name: String,
        /// As it was given.
        value: String,
    },
    /// A delay that is none.
    #[error(
        "fault delay={value}: the value must be a time of at most {} s with its unit (ns, us, ms or s), as in delay=200us",
        DELAY_MAX.as_secs()
    )]
    Delay {
        /// As it was given.
        value: String,
    },
    /// A seed that is none.
    #[error("fault seed={value}: the value must be a whole number from 0 to 2^64-1, as in seed=7")]
    Seed {
        /// As it was given.
        value: String,
    },
}

impl FromStr for Faults {
    type Err = FaultsError;

    fn from_str(text: &str) -> Result<Faults, FaultsError> {
        let mut faults = Faults::NONE;
        let mut seen: Vec<&str> = Vec::new();
        for item in text
            .split(',')
            .map(str::trim)
            .filter(|item| !item.is_empty())
        {
            let Some((name, value)) = item.split_once('=') else {
                return Err(FaultsError::NoValue { item: item.into() });
            };
            let (name, value) = (name.trim(), value.trim());
            match name {
                "loss" => faults.loss = probability(name, value)?,
                "duplicate" => faults.duplicate = probability(name, value)?,
                "reorder" => faults.reorder = probability(name, value)?,
                "corrupt" => faults.corrupt = probability(name, value)?,
                "delay" => faults.delay = delay(value)?,
                "seed" => {
                    faults.seed = value.parse().map_err(|_| FaultsError::Seed {
                        value: value.into(),
                    })?;
                }
                _ => return Err(FaultsError::Unknown { name: name.into() }),
            }
            if seen.contains(&name) {
                return Err(FaultsError::Twice { name: name.into() });
            }
            seen.push(name);
        }
        Ok(faults)
    }
}

fn probability(name: &str, value: &str) -> Result<f64, FaultsError> {
    let (number, unit) = match value.strip_suffix('%') {
        Some(number) => (number.trim_end(), 100.0),
        None => (value, 1.0),
    };
    number
        .parse::<f64>()
        .ok()
        .map(|number| number / unit)
        .filter(|probability| (0.0..=1.0).contains(probability))
        .ok_or_else(|| FaultsError::Probability {
            name: name.into(),
            value: value.into(),
        })
}

fn delay(value: &str) -> Result<Duration, FaultsError> {
    let split = value
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(value.len());
    let (number, unit) = value.split_at(split);
    let unit = match unit.trim() {
        "ns" => Some(1e-9),
        "us" | "µs" => Some(1e-6),
        "ms" => Some(1e-3),
        "s" => Some(1.0),
        // Nothing needs no unit.
        "" if number.parse() == Ok(0.0) => Some(0.0),
        _ => None,
    };
    unit.zip(number.parse::<f64>().ok())
        .and_then(|(unit, number)| Duration::try_from_secs_f64(number * unit).ok())
        .filter(|delay| *delay <= DELAY_MAX)
        .ok_or_else(|| FaultsError::Delay {
            value: value.into(),
        })
}

impl fmt::Display for Faults {
    /// In the form that is parsed, what is not wanted left out.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, probability) in [
            ("loss", self.loss),
            ("duplicate", self.duplicate),
            ("reorder", self.reorder),
            ("corrupt", self.corrupt),
        ] {
            if probability > 0.0 {
                write!(formatter, "{name}={probability},")?;
            }
        }
        if !self.delay.is_zero() {
            write!(formatter, "delay={}ns,", self.delay.as_nanos())?;
        }
        write!(formatter, "seed={}", self.seed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_people_write() {
        let faults: Faults =
            "loss=1%, duplicate=0.5%,reorder=0.02,corrupt=0.1 %,delay=200us,seed=7"
                .parse()
                .unwrap();
        assert_eq!(
            faults,
            Faults {
                loss: 0.01,
                duplicate: 0.005,
                reorder: 0.02,
                corrupt: 0.001,
                delay: Duration::from_micros(200),
                seed: 7,
            }
        );
        assert_eq!("".parse(), Ok(Faults::NONE));
        assert!(
            "seed=9,loss=0%,delay=0"
                .parse::<Faults>()
                .unwrap()
                .is_none()
        );
        assert!(!faults.is_none());
    }

    #[test]
    fn errors_say_what_can_be_given() {
        let text = |given: &str| given.parse::<Faults>().unwrap_err().to_string();
        assert_eq!(
            text("lost=1%"),
            "there is no fault `lost`: loss, duplicate, reorder, corrupt (each a percentage or a fraction), delay (a time) and seed (a number) can be given"
        );
        assert_eq!(
            text("loss"),
            "fault `loss` has no value: write name=value, as in loss=1%,delay=200us,seed=7"
        );
        assert_eq!(
            text("reorder=2"),
            "fault reorder=2: the value must be a percentage from 0% to 100%, as in reorder=1.5%, or a fraction from 0 to 1, as in reorder=0.015"
        );
        assert_eq!(
            text("delay=200"),
            "fault delay=200: the value must be a time of at most 10 s with its unit (ns, us, ms or s), as in delay=200us"
        );
        assert_eq!(
            text("seed=-1"),
            "fault seed=-1: the value must be a whole number from 0 to 2^64-1, as in seed=7"
        );
        assert_eq!(
            text("loss=1%,loss=2%"),
            "fault `loss` is given twice: each may be given once"
        );
        for bad in [
            "loss=NaN",
            "loss=-1%",
            "loss=101%",
            "delay=11s",
            "delay=.us",
            "delay=1e3s",
        ] {
            assert!(bad.parse::<Faults>().is_err(), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_answered(text in ".{0,60}") {
            let _ = text.parse::<Faults>();
        }

        #[test]
        fn what_is_shown_is_understood(
            probabilities in prop::array::uniform4(0.0..=1.0f64),
            delay_ns in 0..DELAY_MAX.as_nanos() as u64,
            seed: u64,
        ) {
            let [loss, duplicate, reorder, corrupt] = probabilities;
            let faults = Faults { loss, duplicate, reorder, corrupt, delay: Duration::from_nanos(delay_ns), seed };
            let again: Faults = faults.to_string().parse().unwrap();
            prop_assert_eq!(again.loss, loss);
            prop_assert_eq!(again.seed, seed);
            prop_assert!(again.delay.abs_diff(faults.delay) <= Duration::from_nanos(1));
        }
    }
}
