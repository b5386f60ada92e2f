//! A client of PMI-1, the protocol of Hydra, of our own mpiexec and of most others.

use super::Limits;
use crate::error::PmiError;
use crate::message::Message;
use crate::socket::Socket;
use crate::wire1;

/// The longest line we write. Launchers promise keys and values of a length, but Slurm reads lines
/// of 1024 bytes, the closing zero counted, and takes the rest of a longer one for the next.
const LINE_BYTES_MAX: usize = 1023;

/// A space of keys common to all ranks, held by the launcher.
#[derive(Debug)]
pub(super) struct Pmi1 {
    socket: Socket,
    space: String,
    limits: Limits,
}

/// Says who calls over a connection that was not inherited, and learns rank and size.
pub(super) fn introduce(socket: &mut Socket, id: u32) -> Result<(u32, u32), PmiError> {
    const DOING: &str = "the introduction by PMI_ID";
    socket.send_line(DOING, &Message::new("initack").with("pmiid", id))?;
    let answer = socket.receive_line(DOING)?;
    check(DOING, "initack", &answer)?;
    // Three lines follow, `cmd=set size=4`, rank and debug, in any order.
    let (mut rank, mut size) = (None, None);
    for _ in 0..3 {
        let line = socket.receive_line(DOING)?;
        check(DOING, "set", &line)?;
        rank = rank.or(line.number("rank"));
        size = size.or(line.number("size"));
    }
    rank.zip(size).ok_or_else(|| PmiError::Unexpected {
        doing: DOING,
        expected: "rank and size",
        answer: format!("rank {rank:?}, size {size:?}"),
    })
}

impl Pmi1 {
    pub(super) fn open(mut socket: Socket) -> Result<Pmi1, PmiError> {
        const DOING: &str = "init";
        let hello = Message::new("init")
            .with("pmi_version", 1)
            .with("pmi_subversion", 1);
        let answer = call(&mut socket, DOING, "response_to_init", &hello)?;
        if answer.number("pmi_version") != Some(1) {
            return Err(PmiError::Unexpected {
                doing: DOING,
                expected: "version 1 of PMI",
                answer: text_of(&answer),
            });
        }
        let maxes = call(
            &mut socket,
            "get_maxes",
            "maxes",
            &Message::new("get_maxes"),
        )?;
        let name = call(
            &mut socket,
            "get_my_kvsname",
            "my_kvsname",
            &Message::new("get_my_kvsname"),
        )?;
        let space = name.get("kvsname").unwrap_or_default().to_owned();
        let key_bytes = maxes
            .number::<usize>("keylen_max")
            .unwrap_or(64)
            .saturating_sub(1);
        let value_bytes = maxes
            .number::<usize>("vallen_max")
            .unwrap_or(256)
            .saturating_sub(1);
        let frame_bytes = "cmd=put kvsname= key= value=\n".len() + space.len() + key_bytes;
        Ok(Pmi1 {
            socket,
            space,
            limits: Limits {
                key_bytes,
                value_bytes: value_bytes.min(LINE_BYTES_MAX.saturating_sub(frame_bytes)),
            },
        })
    }

    pub(super) fn limits(&self) -> Limits {
        self.limits
    }

    /// None: the launcher refuses to say.
    pub(super) fn program(&mut self) -> Result<Option<u32>, PmiError> {
        const DOING: &str = "get_appnum";
        self.socket.send_line(DOING, &Message::new(DOING))?;
        let answer = self.socket.receive_line(DOING)?;
        let known = answer.number("rc").unwrap_or(0) == 0;
        Ok(answer.number("appnum").filter(|_| known))
    }

    pub(super) fn put(&mut self, key: &str, value: &str) -> Result<(), PmiError> {
        let message = Message::new("put")
            .with("kvsname", &self.space)
            .with("key", key)
            .with("value", value);
        call(&mut self.socket, "put", "put_result", &message).map(drop)
    }

    /// None: there is no such key. Launchers say so by a failure or by `found=FALSE`.
    pub(super) fn get(&mut self, key: &str) -> Result<Option<String>, PmiError> {
        let message = Message::new("get")
            .with("kvsname", &self.space)
            .with("key", key);
        self.socket.send_line("get", &message)?;
        let answer = self.socket.receive_line("get")?;
        if answer.command != "get_result" {
            check("get", "get_result", &answer)?;
        }
        let there = answer.number("rc").unwrap_or(0) == 0
            && answer.get("found").is_none_or(|found| found != "FALSE");
        Ok(answer.get("value").filter(|_| there).map(str::to_owned))
    }

    pub(super) fn fence(&mut self) -> Result<(), PmiError> {
        call(
            &mut self.socket,
            "barrier",
            "barrier_out",
            &Message::new("barrier_in"),
        )
        .map(drop)
    }

    pub(super) fn abort(&mut self, code: i32, text: &str) {
        let message = Message::new("abort")
            .with("exitcode", code)
            .with("message", wire1::escape(text));
        // The launcher may have begun to end the job, and its end of the socket with it.
        let _ = self.socket.send_line("abort", &message);
    }

    pub(super) fn finalize(&mut self) -> Result<(), PmiError> {
        call(
            &mut self.socket,
            "finalize",
            "finalize_ack",
            &Message::new("finalize"),
        )
        .map(drop)
    }
}

fn call(
    socket: &mut Socket,
    doing: &'static str,
    expected: &'static str,
    message: &Message,
) -> Result<Message, PmiError> {
    socket.send_line(doing, message)?;
    let answer = socket.receive_line(doing)?;
    check(doing, expected, &answer)?;
    Ok(answer)
}

fn check(doing: &'static str, expected: &'static str, answer: &Message) -> Result<(), PmiError> {
    if answer.command != expected {
        return Err(PmiError::Unexpected {
            doing,
            expected,
            answer: text_of(answer),
        });
    }
    match answer.number::<i32>("rc").unwrap_or(0) {
        0 => Ok(()),
        code => Err(PmiError::Refused {
            doing,
            text: format!(
                "rc={code} {}",
                wire1::unescape(answer.get("msg").unwrap_or("without a reason"))
            ),
        }),
    }
}

fn text_of(message: &Message) -> String {
    String::from_utf8_lossy(&wire1::emit(message))
        .trim_end()
        .to_owned()
}
