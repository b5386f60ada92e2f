//! `oxmpi run`: from a command line to a job, and from its outcome to an exit status.

use std::ffi::{OsStr, OsString};
use std::io::IsTerminal;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::ExitCode;

use clap::{Arg, ArgAction, CommandFactory, FromArgMatches};
use oxmpi_launch::{
    AppContext, BindTo, Executable, FilePatterns, Host, HostsError, Job, LaunchError, MapBy,
    RANKS_MAX, Settings, Spread, Stdin, Template,
};
use oxmpi_net::tcp::{DriverError, Progress};

use crate::PROGRAM;
use crate::failure::Failure;
use crate::options::Options;
use crate::settings;
use crate::words::{self, Segment};

/// `command` is what the user typed: mpiexec, mpirun or oxmpi run.
pub(crate) fn run(command: &str, words: &[OsString]) -> Result<ExitCode, Failure> {
    let mut job = job(command, words)?;
    settings::complete(&mut job);
    settings::examine(&job)?;
    let outcome = job.run().map_err(|error| Failure::from_launch(&error))?;
    if let Some(signal) = outcome.signal {
        // A script that called us must see an interrupted program, not one that chose its status.
        oxmpi_launch::die_of_signal(signal);
    }
    Ok(ExitCode::from(outcome.code))
}

fn job(command: &str, words: &[OsString]) -> Result<Job, Failure> {
    let mut job = Job::default();
    let usage = "[OPTIONS] PROGRAM [ARGUMENTS]... [: [OPTIONS] PROGRAM [ARGUMENTS]...]...";
    let description = Options::command()
        .override_usage(format!("{command} {usage}"))
        .mut_args(repeatable);
    let configured = config_file(words)?;
    let segments = words::segments(configured.as_deref().unwrap_or(words), &description);
    let several = segments.len() > 1;
    let (mut uncounted, mut soft) = (false, None);
    for (index, segment) in segments.into_iter().enumerate() {
        if let Some(why) = segment.refused {
            return Err(Failure::usage(why));
        }
        for note in &segment.notes {
            eprintln!("oxmpi: {note}");
        }
        let parse = |words: &[OsString]| {
            let matches = description.clone().try_get_matches_from(words);
            let options = matches.and_then(|matches| Options::from_arg_matches(&matches));
            options.map_err(|error| Failure::from_clap(error, command))
        };
        let mut options = parse(&segment.options)?;
        if let Some(file) = options.file.take() {
            let mut words = further_options(&file, &description)?;
            words.extend_from_slice(&segment.options);
            options = parse(&words)?;
        }
        if options.version {
            return Err(Failure::Shown(format!(
                "{command} (OxMPI) {}\n",
                env!("CARGO_PKG_VERSION")
            )));
        }
        if segment.command.is_empty() {
            let place = if several {
                format!("part {} of the command line, between the ':',", index + 1)
            } else {
                "the command line".to_owned()
            };
            return Err(Failure::usage(format!(
                "{place} names no program: {command} -n 4 PROGRAM"
            )));
        }
        settle(&mut job.settings, &options)?;
        uncounted = !several && options.ranks.is_none();
        soft = options.soft.clone().filter(|_| uncounted);
        job.apps.push(app(&options, segment)?);
    }
    let hosts = |error| Failure::from_launch(&LaunchError::Hosts(error));
    job.settings.spread = job.settings.spread.or_env().map_err(hosts)?;
    if let (true, Some(slots)) = (uncounted, job.settings.spread.slots()) {
        // A job of one program with hosts and without a count has a rank for every slot.
        job.apps[0].ranks = u32::try_from(slots).unwrap_or(u32::MAX);
    }
    if let Some(soft) = soft {
        // One that all slots, or this host's CPUs, are enough for; if there is none, the least.
        let cpus = oxmpi_launch::usable_cpus();
        let limit = job
            .settings
            .spread
            .slots()
            .map_or(cpus, |_| job.apps[0].ranks);
        let ranks = soft.largest(limit).or_else(|| soft.smallest());
        job.apps[0].ranks = ranks.ok_or_else(|| nothing_acceptable(RANKS_MAX))?;
    }
    check_reader(&job)?;
    Ok(job)
}

/// What scripts add may be there already: a switch that is given twice means what it means once.
fn repeatable(option: Arg) -> Arg {
    match option.get_action() {
        ArgAction::SetTrue => {
            let own = option.get_id().clone();
            option.overrides_with(own)
        }
        _ => option,
    }
}

/// The rank that is to read standard input is one of the job's.
fn check_reader(job: &Job) -> Result<(), Failure> {
    let ranks: u64 = job.apps.iter().map(|app| u64::from(app.ranks)).sum();
    match job.settings.stdin {
        Stdin::Rank(rank) if u64::from(rank) >= ranks && ranks > 0 => Err(Failure::usage(format!(
            "--stdin {rank}: the job has the ranks 0 to {}",
            ranks - 1
        ))),
        _ => Ok(()),
    }
}

/// The words of `-configfile FILE`, if that is the command line (MPI 5.0 §11.5): each line of the
/// file has a program with its options, a line that begins with # is a comment, and one that ends
/// with a backslash goes on.
fn config_file(words: &[OsString]) -> Result<Option<Vec<OsString>>, Failure> {
    let [option, file, rest @ ..] = words else {
        return Ok(None);
    };
    if option != "-configfile" && option != "--configfile" {
        return Ok(None);
    }
    let shown = file.to_string_lossy();
    let wrong = |why: &str| Failure::usage(format!("-configfile {shown}: {why}"));
    if !rest.is_empty() {
        return Err(wrong("everything else stands in the file"));
    }
    let text = std::fs::read_to_string(file).map_err(|error| wrong(&error.to_string()))?;
    let mut programs: Vec<OsString> = Vec::new();
    let joined = text.replace("\\\n", " ");
    let lines = joined.lines().map(str::trim);
    for line in lines.filter(|line| !line.is_empty() && !line.starts_with('#')) {
        if !programs.is_empty() {
            programs.push(":".into());
        }
        let words = oxmpi_launch::split_words(line);
        let words = words.map_err(|why| wrong(&format!("in the line '{line}', {why}")))?;
        programs.extend(words.into_iter().map(OsString::from));
    }
    if programs.is_empty() {
        return Err(wrong("it names no program"));
    }
    Ok(Some(programs))
}

/// What stands in the file of `-file`: options of one program, on any number of lines.
fn further_options(file: &Path, description: &clap::Command) -> Result<Vec<OsString>, Failure> {
    let shown = file.display();
    let wrong = |why: &str| Failure::usage(format!("-file {shown}: {why}"));
    let text = std::fs::read_to_string(file).map_err(|error| wrong(&error.to_string()))?;
    let lines = text.lines().map(str::trim);
    let mut words: Vec<OsString> = Vec::new();
    for line in lines.filter(|line| !line.starts_with('#')) {
        let found = oxmpi_launch::split_words(line);
        let found = found.map_err(|why| wrong(&format!("in the line '{line}', {why}")))?;
        words.extend(found.into_iter().map(OsString::from));
    }
    let mut segments = words::segments(&words, description).into_iter();
    let options = segments.next().unwrap_or_default();
    if let Some(word) = options.command.first() {
        let word = word.to_string_lossy();
        return Err(wrong(&format!(
            "'{word}' is no option; the program stands on the command line"
        )));
    }
    if let Some(why) = options.refused {
        return Err(wrong(&why));
    }
    match segments.next() {
        Some(_) => Err(wrong("it has options of one program, and no ':'")),
        None => Ok(options.options),
    }
}

fn nothing_acceptable(most: u32) -> Failure {
    Failure::usage(format!("-soft: none of its numbers is from 1 to {most}"))
}

/// One program of the job.
fn app(options: &Options, segment: Segment) -> Result<AppContext, Failure> {
    let mut command = segment.command.into_iter();
    let name = command.next().unwrap_or_default();
    let wdir = options.wdir.as_deref();
    let mut arguments: Vec<OsString> = Vec::new();
    // Folders that are named come before what is shipped, and that before PATH.
    let mut folders = options.path.iter();
    let in_folders = folders.any(|folders| Executable::is_in(folders, &name, wdir));
    let executable = if is_shipped(&name) && !in_folders {
        arguments.extend([PROGRAM.into(), name.clone()]);
        Executable::this_one(&name.to_string_lossy())
    } else {
        // A folder that is not there is reported as such, not as a program that is missing in it.
        let there = wdir.is_none_or(Path::is_dir);
        let found = match &options.path {
            Some(folders) => Executable::find_first_in(folders, &name, wdir),
            None => Executable::find(&name, wdir),
        };
        match found {
            Err(error) if there => return Err(Failure::from_program(&error)),
            Err(_) => Executable {
                path: name.clone().into(),
                argv0: name.clone(),
                shown: name.to_string_lossy().into_owned(),
            },
            Ok(found) => found,
        }
    };
    arguments.extend(command);
    let ranks = options.ranks.unwrap_or(1);
    let ranks = match (&options.soft, options.ranks) {
        (Some(soft), Some(most)) => soft.largest(most).ok_or_else(|| nothing_acceptable(most))?,
        _ => ranks,
    };
    Ok(AppContext {
        executable,
        arguments,
        ranks,
        wdir: options.wdir.clone(),
        env: pairs("--env", &options.env)?,
    })
}

fn is_shipped(name: &OsStr) -> bool {
    oxmpi_programs::names()
        .iter()
        .any(|program| name == program.name)
}

/// Takes over what an option line says about the whole job.
fn settle(settings: &mut Settings, options: &Options) -> Result<(), Failure> {
    settings.env.extend(pairs("--genv", &options.genv)?);
    for export in &options.export {
        settings.env.push(exported(export)?);
    }
    settle_output(settings, options);
    settings.keep_going |= options.keep_going;
    settings.timeout = options.timeout.or(settings.timeout);
    settings.grace = options.grace.unwrap_or(settings.grace);
    settle_binding(settings, options);
    let network = [
        (oxmpi_settings::PORT_RANGE.name, &options.port_range),
        (oxmpi_settings::NET_INCLUDE.name, &options.net_include),
        (oxmpi_settings::NET_EXCLUDE.name, &options.net_exclude),
        (oxmpi_settings::NET.name, &options.net),
        (oxmpi_settings::PROGRESS.name, &options.progress),
        (oxmpi_settings::NET_FAULT.name, &options.net_fault),
        (oxmpi_settings::NET_PCAP.name, &options.net_pcap),
    ];
    let errhandler = oxmpi_settings::INITIAL_ERRHANDLER.name;
    let errhandler = [(errhandler, &options.initial_errhandler)];
    for (name, value) in network.into_iter().chain(errhandler) {
        let value = value.iter().map(|value| (name.into(), value.into()));
        settings.env.extend(value);
    }
    if options.encrypt {
        let progress = options.progress.as_deref();
        if let Some(progress) = progress
            .and_then(|word| word.parse().ok())
            .filter(|progress: &Progress| progress.is_in_kernel())
        {
            return Err(Failure::usage(DriverError::Encrypted(progress).to_string()));
        }
        let name = oxmpi_settings::ENCRYPT.name;
        settings.env.push((name.into(), "on".into()));
    }
    settle_hosts(&mut settings.spread, options)
}

fn settle_output(settings: &mut Settings, options: &Options) {
    settings.label |= options.label;
    settings.time |= options.timestamp_output;
    let plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    settings.colour = settings.label && std::io::stdout().is_terminal() && !plain;
    if let Some(folder) = &options.output_dir {
        settings.files = FilePatterns::in_folder(folder);
    }
    let files = &mut settings.files;
    files.stdout = options.outfile_pattern.clone().or(files.stdout.take());
    files.stderr = options.errfile_pattern.clone().or(files.stderr.take());
    settings.stdin = options.stdin.unwrap_or(settings.stdin);
    settings.exit_codes |= options.exit_codes;
    settings.verbose |= options.verbose;
    if options.no_backtrace || options.backtrace {
        let value = if options.backtrace { "on" } else { "off" };
        let name = oxmpi_settings::BACKTRACE.name;
        settings.env.push((name.into(), value.into()));
    }
}

fn settle_binding(settings: &mut Settings, options: &Options) {
    let bind = &mut settings.bind;
    if let Some(said) = &options.bind_to {
        (bind.to, bind.per_rank) = (said.to.clone(), said.per_rank);
    }
    let mapped = options.map_by.as_deref().and_then(cores_of);
    if let Some(cores) = options.cpus_per_rank.or(mapped) {
        bind.per_rank = cores;
        if bind.to == BindTo::None && options.bind_to.is_none() {
            bind.to = BindTo::Core;
        }
        // A program with threads uses the cores it was given, unless its user says otherwise.
        let name = "OMP_NUM_THREADS";
        let is_said = settings.env.iter().any(|(said, _)| said == name);
        if !is_said && std::env::var_os(name).is_none() {
            settings.env.push((name.into(), cores.to_string().into()));
        }
    }
    if let Some(list) = &options.cpu_list {
        bind.cpus = Some(list.0.clone());
    }
    bind.report |= options.report_bindings;
}

/// The cores that `slot:PE=2`, as Open MPI has it, gives to each rank.
fn cores_of(map_by: &str) -> Option<u32> {
    map_by.split(':').find_map(cores_in)
}

fn cores_in(modifier: &str) -> Option<u32> {
    let (name, count) = modifier.split_once('=')?;
    let count = count.parse().ok().filter(|count| *count > 0)?;
    name.eq_ignore_ascii_case("pe").then_some(count)
}

/// The same without its cores.
fn without_cores(map_by: &str) -> String {
    let words = map_by.split(':').filter(|word| cores_in(word).is_none());
    words.collect::<Vec<_>>().join(":")
}

fn settle_hosts(spread: &mut Spread, options: &Options) -> Result<(), Failure> {
    let wrong = |error: HostsError| Failure::usage(error.to_string());
    let hosts = match (&options.host, &options.hostfile) {
        (Some(list), _) => Some(Host::list(list, "-host").map_err(wrong)?),
        (None, Some(file)) => Some(Host::file(file).map_err(wrong)?),
        (None, None) => None,
    };
    if hosts.is_some() && spread.hosts.is_some() && hosts != spread.hosts {
        return Err(Failure::usage(
            "two parts of the command line name different hosts; the hosts are those of the whole job, and ranks go to them in order",
        ));
    }
    spread.hosts = hosts.or(spread.hosts.take());
    let map_by = match (options.ppn, &options.map_by) {
        (Some(count), _) => Some(MapBy::PerHost(count)),
        (None, Some(text)) => Some(MapBy::parse(&without_cores(text), "-map-by").map_err(wrong)?),
        (None, None) => None,
    };
    spread.map_by = map_by.or(spread.map_by);
    if let Some(text) = &options.launcher {
        spread.launcher = Some(Template::parse(text, "--launcher").map_err(wrong)?);
    }
    spread.agent = options.agent.clone().or(spread.agent.take());
    spread.launch_timeout = options.launch_timeout.or(spread.launch_timeout);
    Ok(())
}

fn pairs(option: &str, words: &[OsString]) -> Result<Vec<(OsString, OsString)>, Failure> {
    let pair = |pair: &[OsString]| match pair {
        [name, value] if is_variable(name) => Ok((name.clone(), value.clone())),
        _ => {
            let name = pair
                .first()
                .map(|name| name.to_string_lossy())
                .unwrap_or_default();
            Err(Failure::usage(format!(
                "{option} {name}: not the name of an environment variable; write {option} NAME VALUE"
            )))
        }
    };
    words.chunks(2).map(pair).collect()
}

fn exported(word: &OsStr) -> Result<(OsString, OsString), Failure> {
    let shown = word.to_string_lossy();
    let cut = word.as_bytes().iter().position(|&byte| byte == b'=');
    let (name, value) = match cut {
        Some(cut) => {
            let (name, value) = word.as_bytes().split_at(cut);
            (
                OsStr::from_bytes(name),
                Some(OsStr::from_bytes(&value[1..]).to_owned()),
            )
        }
        None => (word, std::env::var_os(word)),
    };
    if !is_variable(name) {
        return Err(Failure::usage(format!(
            "-x {shown}: not the name of an environment variable; write -x NAME or -x NAME=VALUE"
        )));
    }
    let value = value.ok_or_else(|| {
        Failure::usage(format!(
            "-x {shown}: {shown} is not set here; write -x {shown}=VALUE"
        ))
    })?;
    Ok((name.to_owned(), value))
}

fn is_variable(name: &OsStr) -> bool {
    !name.is_empty() && !name.as_bytes().contains(&b'=')
}
