//! Jobs whose hosts are names on this machine, for tests of deaths. The test binary is also the
//! agent of each host and every rank, so all of it runs wherever cargo does; ranks of different
//! hosts talk by the network although one machine would have ports. `PART` says what a rank does.

use std::ffi::OsString;
use std::process::exit;
use std::time::Duration;

use oxmpi_launch::{
    AppContext, Executable, Host, Job, MapBy, Outcome, Output, Settings, Spread, Stdin, Template,
};

/// A job that is not over by then hangs.
const HANGS_AFTER: Duration = Duration::from_secs(60);

/// The networks that need no privilege.
pub const NETWORKS: [&str; 2] = ["tcp", "udp"];

/// Ranks dealt out to the hosts in turn; with three of them 0 and 3 are on a, 1 and 4 on b, 2 and 5
/// on c.
pub fn job(hosts: &str, part: &str, ranks: u32, network: &str) -> Job {
    let binary = std::env::current_exe().unwrap();
    let template = "env OXMPI_TEST_AGENT={host}";
    Job {
        apps: vec![AppContext {
            executable: Executable {
                path: binary.clone(),
                argv0: binary.clone().into(),
                shown: "prog".into(),
            },
            arguments: ["--exact", "as_rank", "--ignored", "--nocapture"]
                .map(OsString::from)
                .to_vec(),
            ranks,
            wdir: None,
            env: vec![
                ("PART".into(), part.into()),
                ("OXMPI_NET".into(), network.into()),
            ],
        }],
        settings: Settings {
            timeout: Some(HANGS_AFTER),
            stdin: Stdin::Null,
            output: Output::Capture,
            spread: Spread {
                hosts: Some(Host::list(hosts, "the test").unwrap()),
                map_by: Some(MapBy::parse("node", "the test").unwrap()),
                launcher: Some(Template::parse(template, "the test").unwrap()),
                agent: Some(binary),
                launch_timeout: Some(HANGS_AFTER),
            },
            ..Settings::default()
        },
    }
}

pub fn text(outcome: &Outcome) -> String {
    let both = [&outcome.stdout[..], &outcome.stderr[..]].concat();
    String::from_utf8_lossy(&both).into_owned()
}

/// What the test named `agent` of a binary does: the launcher's template calls the binary with that
/// word, which to libtest is the name of a test.
pub fn be_agent() {
    if std::env::var_os("OXMPI_TEST_AGENT").is_some() {
        exit(i32::from(oxmpi_launch::agent()));
    }
}
