//! The written form of PMI-2: six digits of length, then `cmd=kvs-put;key=a;value=b;`.
//!
//! A semicolon inside a value is written twice. MPICH since 4.1 neither writes nor reads it that
//! way, so nothing of ours ever contains one.

use crate::message::{FormatError, LENGTH_DIGITS, Message, excerpt};

pub(crate) fn parse(body: &[u8]) -> Result<Message, FormatError> {
    let text = std::str::from_utf8(body).map_err(|_| FormatError::NotText(excerpt(body)))?;
    let mut fields = Fields(text);
    let mut message = match fields.next() {
        Some((name, command)) if name == "cmd" => Message::new(command),
        _ => return Err(FormatError::NoCommand(excerpt(body))),
    };
    for (name, value) in fields {
        message = message.with(name, value);
    }
    Ok(message)
}

pub(crate) fn emit(message: &Message) -> Vec<u8> {
    let mut body = format!("cmd={};", message.command);
    for (name, value) in message.fields() {
        body.push_str(name);
        body.push('=');
        body.push_str(&value.replace(';', ";;"));
        body.push(';');
    }
    format!("{:LENGTH_DIGITS$}{body}", body.len()).into_bytes()
}

/// Names and values, each up to a single semicolon.
struct Fields<'a>(&'a str);

impl Iterator for Fields<'_> {
    type Item = (String, String);

    fn next(&mut self) -> Option<(String, String)> {
        let text = self.0.trim_start_matches([' ', '\n', '\0']);
        if text.is_empty() {
            return None;
        }
        let mut field = String::new();
        let mut rest = text;
        loop {
            let (before, after) = rest.split_once(';').unwrap_or((rest, ""));
            field.push_str(before);
            rest = after;
            match after.strip_prefix(';') {
                Some(after) => {
                    field.push(';');
                    rest = after;
                }
                None => break,
            }
        }
        self.0 = rest;
        Some(match field.split_once('=') {
            Some((name, value)) => (name.to_owned(), value.to_owned()),
            None => (field, String::new()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn golden_frames() {
        let frame = b"    40cmd=kvs-put;thrid=0x1;key=a;value=b;;c=;";
        let put = parse(&frame[LENGTH_DIGITS..]).unwrap();
        assert_eq!(put.command, "kvs-put");
        assert_eq!(put.get("value"), Some("b;c="));
        assert_eq!(put.get("thrid"), Some("0x1"));
        assert_eq!(emit(&put), frame);
        assert_eq!(emit(&Message::new("finalize")), b"    13cmd=finalize;");
    }

    #[test]
    fn not_messages() {
        for body in [&b""[..], b";", b"key=a;cmd=put;"] {
            assert!(
                matches!(parse(body), Err(FormatError::NoCommand(_))),
                "{body:?}"
            );
        }
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_are_a_message_or_an_error(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = parse(&bytes);
        }

        #[test]
        fn semicolons_are_a_message_or_an_error(text in "[;= a]{0,40}") {
            let _ = parse(text.as_bytes());
        }

        #[test]
        fn a_value_comes_back(value in "[!-~]{1,60}") {
            let message = Message::new("kvs-put").with("value", &value).with("after", "z");
            let parsed = parse(&emit(&message)[LENGTH_DIGITS..]).unwrap();
            // A value that begins or ends with semicolons is ambiguous in this format; inside they
            // are not.
            prop_assume!(!value.starts_with(';') && !value.ends_with(';'));
            prop_assert_eq!(parsed, message);
        }
    }
}
