//! What stands before a line of output: the time, the rank.

use crate::sys;

/// Colours that differ on dark and light terminals, by rank in turn (SGR foreground codes).
const COLOURS: [u8; 6] = [36, 33, 32, 35, 34, 31];

/// How lines are marked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Style {
    /// With the rank.
    pub(crate) label: bool,
    /// With the time of day.
    pub(crate) time: bool,
    /// The rank in a colour.
    pub(crate) colour: bool,
}

impl Style {
    #[cfg(test)]
    pub(crate) fn labelled() -> Style {
        Style {
            label: true,
            ..Style::default()
        }
    }

    pub(super) fn marks_lines(self) -> bool {
        self.label || self.time
    }

    /// What stands before a line of `rank` that is written now.
    pub(super) fn mark(self, rank: u32) -> String {
        let time = match self.time {
            true => format!("{} ", sys::time_of_day()),
            false => String::new(),
        };
        let label = match (self.label, self.colour) {
            (false, _) => String::new(),
            (true, false) => format!("[{rank}] "),
            (true, true) => {
                let colour = COLOURS[rank as usize % COLOURS.len()];
                format!("\x1b[{colour}m[{rank}]\x1b[0m ")
            }
        };
        time + &label
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_say_when_and_whose() {
        let style = Style::labelled();
        assert_eq!(style.mark(7), "[7] ");
        let coloured = Style {
            colour: true,
            ..style
        };
        assert_eq!(coloured.mark(1), "\x1b[33m[1]\x1b[0m ");
        let timed = Style {
            time: true,
            ..style
        };
        let mark = timed.mark(7);
        assert_eq!(mark.len(), "12:34:56.789 [7] ".len(), "{mark}");
        assert_eq!(&mark[2..3], ":");
    }
}
