//! Questions about other hosts: can they be reached, what does their own doctor say, do clocks
//! agree, and does a job over all of them run.

use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use oxmpi_launch::{Host, LaunchError, Spread, Template};

use super::{Answer, Options};
use crate::failure::Failure;

/// The first line of a doctor that was asked by another; login scripts may print before it.
const GREETING: &str = "oxmpi-doctor";
/// Time stamps of different hosts are compared by people; below this nobody notices.
const CLOCKS_APART_MAX: Duration = Duration::from_secs(1);
/// Answers of one host, or of all of them together, under their title.
type Titled = (String, Vec<Answer>);

/// The line by which a doctor says its version and its time.
pub(super) fn greeting() -> String {
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    format!(
        "{GREETING} {} {}",
        env!("CARGO_PKG_VERSION"),
        now.as_millis()
    )
}

/// The answers about every other host, and about a job over all.
pub(super) fn answers(options: &Options) -> Result<Vec<Titled>, Failure> {
    let wrong = |error| Failure::from_launch(&LaunchError::Hosts(error));
    let mut spread = Spread {
        agent: options.agent.clone(),
        ..Spread::default()
    };
    if let Some(list) = &options.host {
        spread.hosts = Some(Host::list(list, "-host").map_err(wrong)?);
    } else if let Some(file) = &options.hostfile {
        spread.hosts = Some(Host::file(file).map_err(wrong)?);
    }
    if let Some(text) = &options.launcher {
        spread.launcher = Some(Template::parse(text, "--launcher").map_err(wrong)?);
    }
    let spread = spread.or_env().map_err(wrong)?;
    let Some(hosts) = spread.hosts.clone() else {
        return Ok(Vec::new());
    };
    let mut all = Vec::new();
    for host in hosts.iter().filter(|host| !host.is_local()) {
        let words = spread.command(&host.name, "doctor").map_err(wrong)?;
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        all.push((
            host.name.clone(),
            ask(&[&words[..], &["--for-doctor"]].concat()),
        ));
    }
    let is_reached = |titled: &Titled| titled.1.iter().any(|answer| answer.what == "version");
    if all.iter().all(is_reached) {
        all.push(("all hosts together".to_owned(), vec![job(options, &hosts)]));
    }
    Ok(all)
}

/// What the doctor of another host says, reached by `words`.
fn ask(words: &[&str]) -> Vec<Answer> {
    let shown = words.join(" ");
    let begun = Instant::now();
    let mut command = Command::new(words[0]);
    let output = command.args(&words[1..]).stdin(Stdio::null()).output();
    let took = begun.elapsed();
    let unreached = |why: String| vec![Answer::bad("way to it", why)];
    let Output {
        status,
        stdout,
        stderr,
    } = match output {
        Ok(output) => output,
        Err(error) => {
            return unreached(format!(
                "cannot execute {}: {error}; --launcher names another command",
                words[0]
            ));
        }
    };
    let text = String::from_utf8_lossy(&stdout);
    let mut lines = text.lines().skip_while(|line| !line.starts_with(GREETING));
    let Some(greeting) = lines.next() else {
        let said = String::from_utf8_lossy(&stderr);
        let said = said.trim().lines().last().unwrap_or("nothing").to_owned();
        return unreached(format!(
            "`{shown}` ended with {status} and said: {said}. Type it to try; it must work without a \
             password, and find oxmpi there (--agent PATH)"
        ));
    };
    let mut answers = vec![Answer::good(
        "way to it",
        format!("{} ms", took.as_millis()),
    )];
    answers.extend(greeted(greeting, took));
    answers.extend(lines.filter_map(Answer::from_line));
    answers
}

/// Version and clock, from the first line of the other doctor.
fn greeted(line: &str, took: Duration) -> Vec<Answer> {
    let mut words = line.split_whitespace().skip(1);
    let version = words.next().unwrap_or("unknown");
    let mut answers = Vec::new();
    if version != env!("CARGO_PKG_VERSION") {
        answers.push(Answer::bad(
            "versions",
            format!(
                "OxMPI {version} there and {} here: install the same on all hosts",
                env!("CARGO_PKG_VERSION")
            ),
        ));
    }
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    let theirs = words
        .next()
        .and_then(|word| word.parse().ok())
        .map(Duration::from_millis);
    let apart = theirs.map(|theirs| theirs.abs_diff(now));
    if let Some(apart) = apart.filter(|apart| *apart > CLOCKS_APART_MAX + took) {
        answers.push(Answer::note(
            "clocks",
            format!(
                "{:.1} s apart: run NTP (chrony) on both",
                apart.as_secs_f64()
            ),
        ));
    }
    answers
}

/// A real job with a rank on every host, by which all of them talk.
fn job(options: &Options, hosts: &[Host]) -> Answer {
    let what = "a job";
    let Ok(program) = std::env::current_exe() else {
        return Answer::note(what, "not tried: this program does not know its own path");
    };
    let names: Vec<&str> = hosts.iter().map(|host| host.name.as_str()).collect();
    let mut command = Command::new(program);
    command.args([
        "run",
        "--timeout",
        "60",
        "--ppn",
        "1",
        "--host",
        &names.join(","),
    ]);
    command.args(["-n", &hosts.len().to_string()]);
    if let Some(launcher) = &options.launcher {
        command.args(["--launcher", launcher]);
    }
    if let Some(agent) = &options.agent {
        command.arg("--agent").arg(agent);
    }
    let begun = Instant::now();
    let output = command.arg("ring").stdin(Stdio::null()).output();
    let took = begun.elapsed().as_millis();
    match output {
        Ok(output) if output.status.success() => Answer::good(
            what,
            format!(
                "{} ranks on {} hosts talked to each other, {took} ms",
                hosts.len(),
                hosts.len()
            ),
        ),
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stderr)
                .trim()
                .replace('\n', "; ");
            Answer::bad(
                what,
                format!("`oxmpi run ring` on all hosts failed: {said}"),
            )
        }
        Err(error) => Answer::bad(what, format!("cannot execute oxmpi run: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::super::State;
    use super::*;

    #[test]
    fn other_versions_and_other_times_are_told() {
        assert_eq!(greeted(&greeting(), Duration::ZERO), []);
        let answers = greeted("oxmpi-doctor 99.0.0 1000", Duration::ZERO);
        assert_eq!(answers[0].state, State::Bad);
        assert!(answers[0].says.starts_with("OxMPI 99.0.0 there"));
        assert!(answers[1].says.contains("s apart"));
    }

    #[test]
    fn a_way_that_leads_nowhere_is_named() {
        let answers = ask(&["sh", "-c", "echo no route >&2; exit 3"]);
        assert_eq!(answers.len(), 1);
        assert!(
            answers[0]
                .says
                .contains("exit status: 3 and said: no route")
        );
        let answers = ask(&["/nonesuch/ssh"]);
        assert!(answers[0].says.starts_with("cannot execute /nonesuch/ssh"));
    }

    #[test]
    fn a_login_script_may_talk() {
        let script = format!(
            "echo Welcome; echo '{}'; printf 'good\\tmemory\\tmuch\\n'",
            greeting()
        );
        let answers = ask(&["sh", "-c", &script]);
        assert_eq!(answers.last(), Some(&Answer::good("memory", "much")));
    }
}
