//! Running a job: what can be checked before a process exists, where the ranks go, and then the
//! head.

use oxmpi_join::host_name;

use crate::head;
use crate::job::{Job, LaunchError, Outcome};
use crate::local_ranks::check_folder;

impl Job {
    /// Runs the job and returns when no process of it is left.
    ///
    /// While it runs, the calling thread takes over SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1,
    /// SIGUSR2, SIGTSTP and SIGCONT and passes them to the ranks.
    pub fn run(&self) -> Result<Outcome, LaunchError> {
        let ranks = self.ranks()?;
        let spread = self.settings.spread.or_env()?;
        let placement = spread.place(ranks, &host_name())?;
        if placement.here.is_some() {
            for wdir in self.apps.iter().filter_map(|app| app.wdir.as_deref()) {
                check_folder(wdir)?;
            }
        }
        head::run(self, &spread, placement)
    }
}
