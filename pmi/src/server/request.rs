//! What a rank asks for, whichever protocol it speaks.

use super::answer::{Asked, Dialect};
use crate::message::Message;
use crate::wire1;

/// A rank's request.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Request {
    /// The first line of either protocol, with the version the rank wants.
    Init { version: Option<u32> },
    /// The second step of PMI-2: rank and size.
    FullInit,
    /// The longest key and value.
    Maxes,
    /// Which of the programs of the job this is.
    AppNum,
    /// How many ranks there could be.
    UniverseSize,
    /// The job's name, which is also the name of its space of keys; under which word the rank
    /// expects it.
    Job { field: &'static str },
    /// A value for all ranks.
    Put { key: String, value: String },
    /// A value of any rank, or of the launcher.
    Get { key: String },
    /// A value of the launcher.
    JobAttribute { key: String },
    /// A value for the ranks of this host.
    NodePut { key: String, value: String },
    /// A value of a rank of this host; perhaps the rank waits until there is one.
    NodeGet { key: String, wait: bool },
    /// Until all ranks are here.
    Fence,
    /// The rank has finished.
    Finalize,
    /// The rank wants the job to end.
    Abort { code: i32, text: String },
    /// Nothing that is done here.
    NotServed { why: &'static str },
}

const NAMES: &str = "names are not published by this launcher";
const SPAWN: &str = "this launcher starts no further processes";
const UNKNOWN: &str = "this launcher does not know the command";
const GROUP: &str = "barriers of a part of the job are not served";

/// Reads a line of PMI-1.
pub(super) fn of_line(message: &Message) -> (Request, Asked) {
    let key = || message.get("key").unwrap_or_default().to_owned();
    let value = || message.get("value").unwrap_or_default().to_owned();
    let (request, answer) = match message.command.as_str() {
        "init" => {
            let version = message.number("pmi_version");
            (Request::Init { version }, "response_to_init")
        }
        "get_maxes" => (Request::Maxes, "maxes"),
        "get_appnum" => (Request::AppNum, "appnum"),
        "get_universe_size" => (Request::UniverseSize, "universe_size"),
        "get_my_kvsname" => (Request::Job { field: "kvsname" }, "my_kvsname"),
        "put" => (
            Request::Put {
                key: key(),
                value: value(),
            },
            "put_result",
        ),
        "get" => (Request::Get { key: key() }, "get_result"),
        "barrier_in" if message.get("group").is_none() => (Request::Fence, "barrier_out"),
        "barrier_in" => (Request::NotServed { why: GROUP }, "barrier_out"),
        "finalize" => (Request::Finalize, "finalize_ack"),
        "abort" => (abort(message), ""),
        "publish_name" => (Request::NotServed { why: NAMES }, "publish_result"),
        "unpublish_name" => (Request::NotServed { why: NAMES }, "unpublish_result"),
        "lookup_name" => (Request::NotServed { why: NAMES }, "lookup_result"),
        "spawn" => (Request::NotServed { why: SPAWN }, "spawn_result"),
        other => {
            let answer = format!("{other}_result");
            return (
                Request::NotServed { why: UNKNOWN },
                Asked::new(Dialect::Lines, answer, None),
            );
        }
    };
    (request, Asked::new(Dialect::Lines, answer, None))
}

/// Reads a PMI-1 command of several lines, of which only the name counts.
pub(super) fn of_lines(command: &str) -> (Request, Asked) {
    let why = if command == "spawn" { SPAWN } else { UNKNOWN };
    let asked = Asked::new(Dialect::Lines, format!("{command}_result"), None);
    (Request::NotServed { why }, asked)
}

/// Reads a message of PMI-2.
pub(super) fn of_frame(message: &Message) -> (Request, Asked) {
    let key = || message.get("key").unwrap_or_default().to_owned();
    let value = || message.get("value").unwrap_or_default().to_owned();
    let request = match message.command.as_str() {
        "fullinit" => Request::FullInit,
        "job-getid" => Request::Job { field: "jobid" },
        "kvs-put" => Request::Put {
            key: key(),
            value: value(),
        },
        "kvs-get" => Request::Get { key: key() },
        "kvs-fence" => Request::Fence,
        "info-getjobattr" => Request::JobAttribute { key: key() },
        "info-putnodeattr" => Request::NodePut {
            key: key(),
            value: value(),
        },
        "info-getnodeattr" => {
            let wait = message
                .get("wait")
                .is_some_and(|wait| wait.eq_ignore_ascii_case("TRUE"));
            Request::NodeGet { key: key(), wait }
        }
        "finalize" => Request::Finalize,
        "abort" => abort(message),
        "name-publish" | "name-unpublish" | "name-lookup" => Request::NotServed { why: NAMES },
        "spawn" => Request::NotServed { why: SPAWN },
        _ => Request::NotServed { why: UNKNOWN },
    };
    let answer = format!("{}-response", message.command);
    let thread = message.get("thrid").map(str::to_owned);
    (request, Asked::new(Dialect::Frames, answer, thread))
}

fn abort(message: &Message) -> Request {
    let text = message
        .get("message")
        .or(message.get("msg"))
        .unwrap_or_default();
    Request::Abort {
        code: message.number("exitcode").unwrap_or(1),
        text: wire1::unescape(text),
    }
}
