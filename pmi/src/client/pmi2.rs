//! A client of PMI-2, the protocol of `srun --mpi=pmi2`; Hydra and our own mpiexec serve it, too.
//!
//! The first line is written as PMI-1 writes it, everything after the launcher's answer as PMI-2
//! does.

use super::Limits;
use crate::error::PmiError;
use crate::message::Message;
use crate::socket::Socket;

/// What the protocol promises (PMI2_MAX_KEYLEN and PMI2_MAX_VALLEN are 64 and 1024), less a closing
/// zero.
const LIMITS: Limits = Limits {
    key_bytes: 63,
    value_bytes: 1023,
};

/// A space of keys common to all ranks, held by the launcher.
#[derive(Debug)]
pub(super) struct Pmi2 {
    socket: Socket,
    job: String,
    /// Which program of the job this rank executes, where the launcher says it.
    program: Option<u32>,
}

impl Pmi2 {
    /// Opens the conversation; rank and size are what the launcher says in it.
    pub(super) fn open(mut socket: Socket, rank: u32) -> Result<(Pmi2, u32, u32), PmiError> {
        const DOING: &str = "init";
        let hello = Message::new("init")
            .with("pmi_version", 2)
            .with("pmi_subversion", 0);
        socket.send_line(DOING, &hello)?;
        let answer = socket.receive_line(DOING)?;
        check(DOING, "response_to_init", &answer)?;
        if answer.number("pmi_version") != Some(2) {
            return Err(unexpected(DOING, "version 2 of PMI", &answer));
        }
        let hello = Message::new("fullinit")
            .with(
                "pmijobid",
                std::env::var("PMI_JOBID").unwrap_or_else(|_| "0".to_owned()),
            )
            .with("pmirank", rank)
            .with("threaded", "FALSE");
        let answer = call(&mut socket, "fullinit", "fullinit-response", &hello)?;
        let (Some(rank), Some(size)) = (answer.number("rank"), answer.number("size")) else {
            return Err(unexpected("fullinit", "rank and size", &answer));
        };
        let program = answer.number("appnum");
        let job = call(
            &mut socket,
            "job-getid",
            "job-getid-response",
            &Message::new("job-getid"),
        )?;
        let job = job.get("jobid").unwrap_or_default().to_owned();
        let protocol = Pmi2 {
            socket,
            job,
            program,
        };
        Ok((protocol, rank, size))
    }

    pub(super) fn limits(&self) -> Limits {
        LIMITS
    }

    pub(super) fn program(&self) -> Option<u32> {
        self.program
    }

    pub(super) fn put(&mut self, key: &str, value: &str) -> Result<(), PmiError> {
        let message = Message::new("kvs-put")
            .with("key", key)
            .with("value", value);
        call(&mut self.socket, "kvs-put", "kvs-put-response", &message).map(drop)
    }

    /// None: there is no such key.
    pub(super) fn get(&mut self, key: &str) -> Result<Option<String>, PmiError> {
        // srcid is a hint where to look first; -1 is none.
        let message = Message::new("kvs-get")
            .with("jobid", &self.job)
            .with("srcid", -1)
            .with("key", key);
        self.look_up("kvs-get", "kvs-get-response", &message)
    }

    /// What the launcher says about the job. None: nothing under this key.
    pub(super) fn job_attribute(&mut self, key: &str) -> Result<Option<String>, PmiError> {
        let message = Message::new("info-getjobattr").with("key", key);
        self.look_up("info-getjobattr", "info-getjobattr-response", &message)
    }

    pub(super) fn fence(&mut self) -> Result<(), PmiError> {
        call(
            &mut self.socket,
            "kvs-fence",
            "kvs-fence-response",
            &Message::new("kvs-fence"),
        )
        .map(drop)
    }

    pub(super) fn abort(&mut self, code: i32, text: &str) {
        let text = text.replace([';', '\n', '\0'], ",");
        // Slurm and older Hydras read isworld and msg, later ones exitcode and message.
        let message = Message::new("abort")
            .with("isworld", "TRUE")
            .with("exitcode", code)
            .with("msg", &text)
            .with("message", &text);
        // The launcher may have begun to end the job, and its end of the socket with it.
        let _ = self.socket.send_frame("abort", &message);
    }

    pub(super) fn finalize(&mut self) -> Result<(), PmiError> {
        call(
            &mut self.socket,
            "finalize",
            "finalize-response",
            &Message::new("finalize"),
        )
        .map(drop)
    }

    fn look_up(
        &mut self,
        doing: &'static str,
        expected: &'static str,
        message: &Message,
    ) -> Result<Option<String>, PmiError> {
        self.socket.send_frame(doing, message)?;
        let answer = self.socket.receive_frame(doing)?;
        if answer.command != expected {
            return Err(unexpected(doing, expected, &answer));
        }
        let there = answer.get("found") == Some("TRUE");
        Ok(answer.get("value").filter(|_| there).map(str::to_owned))
    }
}

fn call(
    socket: &mut Socket,
    doing: &'static str,
    expected: &'static str,
    message: &Message,
) -> Result<Message, PmiError> {
    socket.send_frame(doing, message)?;
    let answer = socket.receive_frame(doing)?;
    check(doing, expected, &answer)?;
    Ok(answer)
}

fn check(doing: &'static str, expected: &'static str, answer: &Message) -> Result<(), PmiError> {
    if answer.command != expected {
        return Err(unexpected(doing, expected, answer));
    }
    match answer.number::<i32>("rc").unwrap_or(0) {
        0 => Ok(()),
        code => Err(PmiError::Refused {
            doing,
            text: format!(
                "rc={code} {}",
                answer.get("errmsg").unwrap_or("without a reason")
            ),
        }),
    }
}

fn unexpected(doing: &'static str, expected: &'static str, answer: &Message) -> PmiError {
    let values = answer
        .fields()
        .iter()
        .map(|(name, value)| format!(" {name}={value}"));
    PmiError::Unexpected {
        doing,
        expected,
        answer: format!("cmd={}{}", answer.command, values.collect::<String>()),
    }
}
