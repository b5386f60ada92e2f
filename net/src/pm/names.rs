//! The names that this process has given others: what their frames to it carry, and whose they are.
//!
//! A name means something only to the process that gave it, like QUIC's connection ids, so a
//! process that is introduced later needs no place in anybody else's numbers. Who has no name here
//! is a stranger, whatever its frames say. For the processes of one job no introduction is sent:
//! each gives every other its number in the job for a name, and all know that.

/// Names given, by the process that has each.
pub(super) struct Names {
    processes: Vec<u32>,
}

impl Names {
    /// Names for the processes of a job, which know them without being told.
    pub fn of_job(size: u32) -> Names {
        Names {
            processes: (0..size).collect(),
        }
    }

    /// Gives a process that was introduced the next name.
    pub fn give(&mut self, process: u32) {
        self.processes.push(process);
    }

    /// The process that has this name, if it is one that was given.
    #[inline(always)]
    pub fn process(&self, name: u32) -> Option<u32> {
        self.processes.get(name as usize).copied()
    }

    /// The name of a process.
    pub fn name(&self, process: u32) -> Option<u32> {
        let found = self.processes.iter().position(|other| *other == process);
        found.map(|name| name as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_processes_of_a_job_are_known_by_their_numbers() {
        let names = Names::of_job(3);
        for process in 0..3 {
            assert_eq!(names.name(process), Some(process));
            assert_eq!(names.process(process), Some(process));
        }
        assert_eq!(names.process(3), None, "a stranger");
        assert_eq!(names.process(u32::MAX), None);
        assert_eq!(names.name(3), None);
    }
}
