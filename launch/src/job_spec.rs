//! From a job to what every host needs to know about it.
//!
//! On one host most of it is what the user said. Where there are others, "here" and "this program"
//! have to be spelled out, and the environment goes along.

use std::ffi::OsString;
use std::io;
use std::path::Path;

use crate::environment;
use crate::frame::{self, Hello, JobSpec, Program};
use crate::hosts::Placement;
use crate::job::{AppContext, Job, LaunchError, Stdin};

/// The description of a job whose hosts have all answered. `stdin`: the ranks that are fed.
pub(crate) fn job_spec(
    job: &Job,
    placement: &Placement,
    hellos: &[Hello],
    stdin: Stdin,
) -> Result<JobSpec, LaunchError> {
    let several = placement.is_elsewhere();
    Ok(JobSpec {
        name: name()?,
        cpus: frame::shares(hellos, &placement.host_of),
        host_of: placement.host_of.clone(),
        programs: programs(job, several),
        inherited: match several {
            true => environment::passed_on(),
            false => Vec::new(),
        },
        env: job.settings.env.clone(),
        bind: job.settings.bind.clone(),
        stdin,
    })
}

fn programs(job: &Job, several: bool) -> Vec<Program> {
    let program = |app: &AppContext| Program {
        path: path(&app.executable.path, several),
        argv0: app.executable.argv0.clone(),
        arguments: app.arguments.clone(),
        ranks: app.ranks,
        wdir: folder(app.wdir.as_deref(), several),
        env: app.env.clone(),
    };
    job.apps.iter().map(program).collect()
}

/// A name that no other job has, for what ranks tell each other.
fn name() -> Result<String, LaunchError> {
    let random = getrandom::u64().map_err(|error| LaunchError::System {
        what: "get random numbers",
        error: io::Error::other(error),
    })?;
    Ok(format!("oxmpi-{random:016x}"))
}

/// What exec gets. "This program" means another file on another host, unless the agent there is the
/// same one.
fn path(path: &Path, several: bool) -> OsString {
    if !several || path != Path::new("/proc/self/exe") {
        return path.into();
    }
    let own = std::env::current_exe().ok();
    let is_agent = |own: &Path| {
        let name = own.file_name().unwrap_or_default();
        ["oxmpi", "mpiexec", "mpirun"]
            .iter()
            .any(|ours| name == *ours)
    };
    match own.filter(|own| !is_agent(own)) {
        Some(own) => own.into(),
        None => path.into(),
    }
}

/// Where ranks run. On another host "here" has to be spelled out.
fn folder(wdir: Option<&Path>, several: bool) -> Option<OsString> {
    if !several {
        return wdir.map(|wdir| wdir.as_os_str().to_owned());
    }
    let here = std::env::current_dir().ok()?;
    Some(here.join(wdir.unwrap_or(Path::new(""))).into())
}
