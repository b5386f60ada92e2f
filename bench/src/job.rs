//! A measurement inside ranks: the launcher side.
//!
//! A `Probe` travels to the ranks as JSON on their command line, and rank 0 answers with one JSON
//! line on standard output. Each repetition is a job of its own, so figures include differences
//! between one start and the next.

use std::time::Duration;

use oxmpi_launch::{
    AppContext, Bind, BindTo, Executable, Job, MapBy, Output, Settings, Spread, Stdin,
};

use crate::answer::{Answer, JobError};
use crate::rank::Probe;
use crate::session::{BenchError, Session};

/// A job that takes longer is ended. The longest probe computes for a few seconds, but may share its
/// processors with a hundred others.
pub const TIMEOUT: Duration = Duration::from_secs(900);

/// Figures of a job in a rehearsal: no probe has more.
const REHEARSED_FIGURES: usize = 256;

impl Session {
    /// Runs `probe` on `ranks` ranks and gives back rank 0's figures and the job's wall time.
    pub fn job(
        &mut self,
        ranks: u32,
        probe: &Probe,
        environment: &[(&str, &str)],
    ) -> Result<(Vec<f64>, Duration), BenchError> {
        self.job_of_parts(&[(ranks, environment)], probe)
    }

    /// The same where ranks differ in their environment: so many with this one, then so many with
    /// that one.
    pub fn job_of_parts(
        &mut self,
        parts: &[(u32, &[(&str, &str)])],
        probe: &Probe,
    ) -> Result<(Vec<f64>, Duration), BenchError> {
        if self.is_rehearsing() {
            return Ok((vec![1.0; REHEARSED_FIGURES], Duration::from_secs(1)));
        }
        let (answer, wall) = self.answer(parts, probe)?;
        self.transport.get_or_insert(answer.transport);
        Ok((answer.values, wall))
    }

    /// What two ranks of this host learn about copying, name and value.
    pub fn learned(&self) -> Result<Vec<(String, String)>, BenchError> {
        let (answer, _) = self.answer(&[(2, &[])], &Probe::Learned)?;
        Ok(answer.learned)
    }

    fn answer(
        &self,
        parts: &[(u32, &[(&str, &str)])],
        probe: &Probe,
    ) -> Result<(Answer, Duration), BenchError> {
        let text = serde_json::to_string(probe).expect("a probe holds only numbers and names");
        let ranks = parts.iter().map(|(ranks, _)| ranks).sum();
        let part = |(ranks, environment): &(u32, &[(&str, &str)])| AppContext {
            executable: Executable::this_one("oxmpi"),
            arguments: vec![crate::RANK.into(), (&text).into()],
            ranks: *ranks,
            wdir: None,
            env: environment
                .iter()
                .map(|(name, value)| (name.into(), value.into()))
                .collect(),
        };
        let start = |error| JobError::Start { ranks, error };
        let mut spread = self
            .spread
            .clone()
            .or_env()
            .map_err(|error| start(error.into()))?;
        if probe.is_between_hosts() {
            spread.map_by = Some(MapBy::Node);
        }
        if probe.is_on_one_host() {
            spread = Spread::default();
        }
        let job = Job {
            apps: parts.iter().map(part).collect(),
            settings: Settings {
                timeout: Some(TIMEOUT),
                bind: binding(ranks, &spread),
                spread,
                stdin: Stdin::Null,
                output: Output::Capture,
                ..Settings::default()
            },
        };
        let outcome = job.run().map_err(start)?;
        if let Some(signal) = outcome.signal {
            // Whoever interrupts a job means the whole run.
            oxmpi_launch::die_of_signal(signal);
        }
        if !outcome.success() {
            let stderr = String::from_utf8_lossy(&outcome.stderr);
            // The last line is the launcher's verdict, the first the rank's own complaint; what
            // lies between is detail.
            let (first, last) = (
                stderr.lines().next().unwrap_or_default(),
                stderr.lines().last().unwrap_or_default(),
            );
            let said = if first == last {
                first.to_owned()
            } else {
                format!("{first} … {last}")
            };
            return Err(JobError::Failed {
                probe: probe.describe(),
                ranks,
                code: outcome.code,
                said,
            }
            .into());
        }
        let answer: Answer =
            serde_json::from_slice(&outcome.stdout).map_err(|error| JobError::Unreadable {
                probe: probe.describe(),
                ranks,
                error,
            })?;
        Ok((answer, outcome.wall))
    }

    /// The same for a probe with a single figure.
    pub fn figure(&mut self, ranks: u32, probe: &Probe) -> Result<f64, BenchError> {
        let (values, _) = self.job(ranks, probe, &[])?;
        Ok(values[0])
    }
}

/// Ranks that have a core each stay on it; more ranks than cores run wherever the kernel puts them.
/// So do ranks on several hosts: hosts that are parts of one machine would each take its first
/// core, and probes that need one choose it themselves.
fn binding(ranks: u32, spread: &Spread) -> Bind {
    let roomy = ranks as usize <= crate::floor::pair::usable_cpus().len();
    if spread.hosts.is_none() && roomy {
        Bind::to(BindTo::Core)
    } else {
        Bind::default()
    }
}
