//! What the launcher says about the settings of a job, and `oxmpi info --settings`.
//!
//! `oxmpi_settings` knows every setting and decides what is wrong or worth saying; this module
//! gathers the variables of a job and prints.

use std::ffi::{OsStr, OsString};
use std::fmt::Write;

use oxmpi_launch::Job;
use oxmpi_settings::{FROM_OPTIONS, Row, SetBy, Topic, find, report};

use crate::failure::Failure;
use crate::show::show;

/// Variables with their values.
type Variables = Vec<(OsString, OsString)>;

/// Completes what options say about settings: a former name counts as the present one, and ranks
/// learn which settings came from options.
pub(crate) fn complete(job: &mut Job) {
    let named = |(name, _): &(OsString, OsString)| setting_name(name);
    let of_apps = job.apps.iter().flat_map(|app| &app.env);
    let mut names: Vec<&str> = (job.settings.env.iter().chain(of_apps))
        .filter_map(named)
        .collect();
    names.sort_unstable();
    names.dedup();
    let names = names.join(",");
    with_present_names(&mut job.settings.env);
    for app in &mut job.apps {
        with_present_names(&mut app.env);
    }
    if !names.is_empty() {
        let handed_down = (FROM_OPTIONS.name.into(), names.into());
        job.settings.env.push(handed_down);
    }
}

fn setting_name(name: &OsStr) -> Option<&'static str> {
    find(name.to_str()?).map(|setting| setting.name)
}

/// Adds the present name behind each former one, so that an option with the former name counts more
/// than the environment with the present one.
fn with_present_names(variables: &mut Variables) {
    let taken = std::mem::take(variables);
    for (name, value) in taken {
        let present = setting_name(&name).filter(|present| name != *present);
        let again = present.map(|present| (present.into(), value.clone()));
        variables.push((name, value));
        variables.extend(again);
    }
}

/// Checks the settings of a job and says what is worth saying, once, before any rank exists.
pub(crate) fn examine(job: &Job) -> Result<(), Failure> {
    let of_apps = job.apps.iter().flat_map(|app| &app.env);
    let options = job.settings.env.iter().chain(of_apps).cloned();
    let variables: Variables = std::env::vars_os().chain(options).collect();
    oxmpi_settings::check(variables.clone()).map_err(|error| Failure::usage(error.to_string()))?;
    tell(variables);
    Ok(())
}

fn tell(variables: Variables) {
    for notice in oxmpi_settings::notices(variables) {
        eprintln!("oxmpi: {notice}");
    }
}

/// `oxmpi info --settings`: every setting, its value here, and where the value comes from. A value
/// that makes no sense is an error, after the table that shows it.
pub(crate) fn print(json: bool) -> Result<(), Failure> {
    if json {
        show!("{}", oxmpi_settings::json());
        return Ok(());
    }
    let rows = report(|name| std::env::var_os(name));
    show!("{}", table(&rows));
    tell(std::env::vars_os().collect());
    match rows.into_iter().find_map(|row| row.error) {
        None => Ok(()),
        Some(error) => Err(Failure::usage(error)),
    }
}

fn table(rows: &[Row]) -> String {
    let mut text = String::new();
    for topic in Topic::ALL {
        let of_topic = |row: &&Row| row.setting.topic == topic;
        let mut of_topic = rows.iter().filter(of_topic).peekable();
        if of_topic.peek().is_none() {
            continue;
        }
        let blank = if text.is_empty() { "" } else { "\n" };
        // Writing into a string does not fail.
        let _ = writeln!(text, "{blank}{}", topic.heading());
        for row in of_topic {
            debug_assert_eq!(row.setting.set_by, SetBy::User);
            let (name, source) = (row.setting.name, row.source.name());
            let _ = writeln!(text, "  {name}={} ({source})", row.value);
            let _ = writeln!(text, "      {}", row.setting.text.replace('`', ""));
        }
    }
    text
}
