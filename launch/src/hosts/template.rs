//! The command by which another host is reached: words with `{host}` in them.
//!
//! The words are split once, as a shell would split them, and executed without a shell. Where no
//! word holds `{host}` the name is appended, so that `rsh`-like commands can be given as they are.

use super::HostsError;

/// Nothing asks for a password where nobody can type one, and no display is forwarded.
const DEFAULT: [&str; 5] = ["ssh", "-o", "BatchMode=yes", "-x", HOST];
/// What stands for the host.
const HOST: &str = "{host}";

/// A command with a place for the host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    words: Vec<String>,
}

impl Default for Template {
    fn default() -> Template {
        Template {
            words: DEFAULT.map(str::to_owned).to_vec(),
        }
    }
}

impl Template {
    /// From what the user wrote; `given` is what an error calls it.
    pub fn parse(text: &str, given: &str) -> Result<Template, HostsError> {
        let wrong = |why| HostsError::Template {
            given: format!("{given} '{text}'"),
            why,
        };
        let mut words = split_words(text).map_err(wrong)?;
        if words.iter().any(|word| word.contains('\0')) {
            return Err(wrong("it contains a NUL byte"));
        }
        if words.is_empty() || words[0].is_empty() {
            return Err(wrong("it names no command"));
        }
        if !words.iter().any(|word| word.contains(HOST)) {
            words.push(HOST.to_owned());
        }
        Ok(Template { words })
    }

    /// From words that have been parsed elsewhere.
    pub(crate) fn from_words(words: Vec<String>) -> Template {
        Template { words }
    }

    pub(crate) fn words(&self) -> &[String] {
        &self.words
    }

    /// The command that starts `agent` on `host`.
    pub(crate) fn command(&self, host: &str, agent: &str) -> Vec<String> {
        self.reach(host, [agent, crate::AGENT_COMMAND])
    }

    /// The command that executes a program with one word on `host`.
    pub(super) fn reach(&self, host: &str, program: [&str; 2]) -> Vec<String> {
        let words = self.words.iter().map(|word| word.replace(HOST, host));
        words.chain(program.map(str::to_owned)).collect()
    }
}

/// The first character of `path` that a remote shell could take for its own, if any.
pub(super) fn shell_character(path: &str) -> Option<char> {
    path.chars()
        .find(|c| !c.is_ascii_alphanumeric() && !"/._-+@%,:=".contains(*c))
}

/// Words as POSIX shells make them out of blanks, quotes and backslashes; nothing is expanded. The
/// error says what is wrong with the text.
pub fn split_words(text: &str) -> Result<Vec<String>, &'static str> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut characters = text.chars();
    while let Some(c) = characters.next() {
        let next = match (quote, c) {
            (None, c) if c.is_whitespace() => {
                words.extend(word.take());
                continue;
            }
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
                continue;
            }
            (Some(open), c) if open == c => {
                quote = None;
                continue;
            }
            (None, '\\') => characters.next().ok_or("it ends with a backslash")?,
            (Some('"'), '\\') => match characters.next().ok_or("it ends with a backslash")? {
                c @ ('"' | '\\' | '$' | '`') => c,
                c => {
                    word.get_or_insert_default().push('\\');
                    c
                }
            },
            (_, c) => c,
        };
        word.get_or_insert_default().push(next);
    }
    if quote.is_some() {
        return Err("a quote is not closed");
    }
    words.extend(word);
    Ok(words)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn command(text: &str) -> Result<String, String> {
        let template = Template::parse(text, "--launcher").map_err(|error| error.to_string())?;
        Ok(template.command("b", "/opt/oxmpi").join("|"))
    }

    #[test]
    fn the_host_goes_where_it_is_wanted() {
        assert_eq!(
            command("ip netns exec {host}").unwrap(),
            "ip|netns|exec|b|/opt/oxmpi|agent"
        );
        assert_eq!(command("rsh").unwrap(), "rsh|b|/opt/oxmpi|agent");
        assert_eq!(
            command("env HOST={host} A={host}").unwrap(),
            "env|HOST=b|A=b|/opt/oxmpi|agent"
        );
        assert_eq!(
            Template::default().command("b", "/opt/oxmpi").join(" "),
            "ssh -o BatchMode=yes -x b /opt/oxmpi agent"
        );
    }

    #[test]
    fn quotes_are_those_of_a_shell() {
        assert_eq!(
            split_words(r#"sh -c 'exec "$@"' -- "a \"b\" \n" c\ d '' e"f"g"#).unwrap(),
            [
                "sh",
                "-c",
                "exec \"$@\"",
                "--",
                "a \"b\" \\n",
                "c d",
                "",
                "efg"
            ]
        );
    }

    #[test]
    fn mistakes_are_named() {
        assert_eq!(
            command("ssh 'x").unwrap_err(),
            "--launcher 'ssh 'x': a quote is not closed; write for example 'ssh -x {host}'"
        );
        assert_eq!(
            command("  ").unwrap_err(),
            "--launcher '  ': it names no command; write for example 'ssh -x {host}'"
        );
    }

    proptest! {
        #[test]
        fn any_text_is_a_template_or_an_error(text in ".{0,100}") {
            let _ = command(&text);
        }
    }
}
