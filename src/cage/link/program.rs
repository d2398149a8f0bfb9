//! What does it take to start a program in a cage, and how do its credentials get there?
//!
//! A [`Program`] is data: words, variables, a folder and how it is to end. Values that are credentials stay
//! [`Secret`]s until the one message that carries them is written; that message is wiped when it has been sent.

use std::borrow::Cow;
use std::fmt;
use std::io;
use std::time::Duration;

use pinfold_init::protocol::{self, Launch, Opening};
use zeroize::Zeroizing;

use super::LinkError;
use crate::secret::Secret;

/// A program to start in the cage, without a shell.
#[derive(Debug)]
pub struct Program {
    /// The program, looked up in `env`'s PATH unless it has a `/`, and its arguments.
    pub argv: Vec<Argument>,
    /// Its whole environment: nothing is added, nothing inherited.
    pub env: Vec<(String, Value)>,
    /// Its working directory.
    pub cwd: String,
    /// How it is brought to an end.
    pub ending: Ending,
}

/// A text that may be a credential.
pub enum Value {
    /// Not a credential.
    Plain(String),
    /// A credential; never shown.
    Secret(Secret),
}

/// One argument: texts put together without anything between them, as `{secret:NAME}` in the midst of a URL needs.
pub struct Argument(Vec<Value>);

/// How long each step of an ending may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ending {
    /// From the end of its input to TERM; none: it may take as long as it likes.
    pub finish: Option<Duration>,
    /// From TERM to KILL.
    pub terminate: Duration,
    /// From its exit to KILL for whatever it left behind, unless its output ends sooner.
    pub drain: Duration,
}

impl Ending {
    /// For servers: 2 s to finish after the end of their input, 2 s after TERM.
    pub const SERVER: Self = Self {
        finish: Some(Duration::from_secs(2)),
        terminate: Duration::from_secs(2),
        drain: Duration::from_millis(500),
    };

    /// For tools that work on after the end of their input, such as a package manager.
    pub const TOOL: Self =
        Self { finish: None, terminate: Duration::from_secs(2), drain: Duration::from_millis(500) };

    fn on_the_link(self) -> protocol::Ending {
        let millis = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        protocol::Ending {
            finish_ms: self.finish.map(millis),
            term_ms: millis(self.terminate),
            drain_ms: millis(self.drain),
        }
    }
}

impl Value {
    fn text(&self) -> Result<&str, LinkError> {
        let text = match self {
            Self::Plain(text) => text,
            Self::Secret(secret) => std::str::from_utf8(secret.reveal())
                .map_err(|_| LinkError::Unsendable("a credential that is not UTF-8"))?,
        };
        if text.contains('\0') {
            return Err(LinkError::Unsendable("a NUL in an argument or a variable"));
        }
        Ok(text)
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Plain(text)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Plain(text.to_owned())
    }
}

impl From<Secret> for Value {
    fn from(secret: Secret) -> Self {
        Self::Secret(secret)
    }
}

impl<T: Into<Value>> From<T> for Argument {
    fn from(value: T) -> Self {
        Self(vec![value.into()])
    }
}

impl FromIterator<Value> for Argument {
    fn from_iter<I: IntoIterator<Item = Value>>(pieces: I) -> Self {
        Self(pieces.into_iter().collect())
    }
}

impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Plain(text) => fmt::Debug::fmt(text, f),
            Self::Secret(_) => f.write_str("(secret)"),
        }
    }
}

impl fmt::Debug for Argument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0[..] {
            [one] => one.fmt(f),
            pieces => f.debug_list().entries(pieces).finish(),
        }
    }
}

impl Program {
    /// The program's name for an error: the first word, if it is no credential.
    pub(super) fn name(&self) -> &str {
        match self.argv.first().map(|argument| &argument.0[..]) {
            Some([Value::Plain(text)]) => text,
            _ => "",
        }
    }

    /// The message that starts it.
    pub(super) fn message(&self, run: u32) -> Result<Zeroizing<Vec<u8>>, LinkError> {
        // Arguments put together from pieces; kept so that the message can borrow them, and wiped.
        let mut joined = Vec::new();
        for Argument(pieces) in &self.argv {
            joined.push(if pieces.len() == 1 { None } else { Some(join(pieces)?) });
        }
        let mut argv = Vec::new();
        for (Argument(pieces), joined) in self.argv.iter().zip(&joined) {
            argv.push(Cow::Borrowed(match (joined, &pieces[..]) {
                (None, [one]) => one.text()?,
                (Some(joined), _) => joined.as_str(),
                (None, _) => "",
            }));
        }
        if argv.first().is_none_or(|program| program.is_empty()) {
            return Err(LinkError::Unsendable("a program without a name"));
        }
        let mut env = Vec::new();
        for (name, value) in &self.env {
            if name.is_empty() || name.contains(['=', '\0']) {
                return Err(LinkError::Unsendable("a variable's name that is empty or has `=` or NUL in it"));
            }
            env.push((Cow::Borrowed(name.as_str()), Cow::Borrowed(value.text()?)));
        }
        let ending = self.ending.on_the_link();
        encode(&Opening::Run(Launch { run, argv, env, cwd: Cow::Borrowed(&self.cwd), ending }))
    }
}

fn join(pieces: &[Value]) -> Result<Zeroizing<String>, LinkError> {
    let mut length = 0;
    for piece in pieces {
        length += piece.text()?.len();
    }
    // The exact capacity: a string that grew would leave copies behind.
    let mut joined = Zeroizing::new(String::with_capacity(length));
    for piece in pieces {
        joined.push_str(piece.text()?);
    }
    Ok(joined)
}

/// As `pinfold_init::message::encode`, into memory that is wiped and was never moved.
fn encode(opening: &Opening<'_>) -> Result<Zeroizing<Vec<u8>>, LinkError> {
    struct Counter(usize);
    impl io::Write for Counter {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let unsendable = |_| LinkError::Unsendable("a program that cannot be written as JSON");
    let mut length = Counter(0);
    serde_json::to_writer(&mut length, opening).map_err(unsendable)?;
    let Counter(length) = length;
    if length > protocol::MAX_FROM_LAUNCHER {
        return Err(LinkError::Unsendable("arguments and variables of more than 4 MiB"));
    }
    let prefix = u32::try_from(length).map_err(|_| LinkError::Unsendable("more than a message can hold"))?;
    let mut bytes = Zeroizing::new(Vec::with_capacity(length + 4));
    bytes.extend_from_slice(&prefix.to_be_bytes());
    serde_json::to_writer(&mut *bytes, opening).map_err(unsendable)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program(argv: Vec<Argument>, env: Vec<(String, Value)>) -> Program {
        Program { argv, env, cwd: "/".into(), ending: Ending::SERVER }
    }

    fn secret(text: &str) -> Value {
        Secret::new(text.as_bytes().to_vec()).into()
    }

    #[test]
    fn a_program_does_not_show_its_secrets() {
        let url = Argument::from_iter(["db://u:".into(), secret("hunter2"), "@h/".into()]);
        let program = program(vec!["psql".into(), url], vec![("PW".into(), secret("hunter2"))]);
        let shown = format!("{program:?}");
        assert!(
            !shown.contains("hunter2") && shown.contains("psql") && shown.contains("(secret)"),
            "{shown}"
        );
    }

    #[test]
    fn a_secret_is_put_into_the_midst_of_an_argument() {
        let url = Argument::from_iter(["db://u:".into(), secret("p\"w"), "@h/".into()]);
        let message = program(vec!["psql".into(), url], vec![]).message(1).unwrap();
        let Opening::Run(launch) = serde_json::from_slice(&message[4..]).unwrap() else { panic!() };
        assert_eq!(launch.argv, ["psql", "db://u:p\"w@h/"]);
        assert_eq!(message.capacity(), message.len(), "the message moved while it was written");
    }

    #[test]
    fn refuses_what_exec_cannot_carry() {
        let cases = [
            (vec![], vec![]),
            (vec!["".into()], vec![]),
            (vec![Argument::from_iter([])], vec![]),
            (vec!["a\0b".into()], vec![]),
            (vec!["a".into(), secret("x\0").into()], vec![]),
            (vec!["a".into()], vec![("".into(), "x".into())]),
            (vec!["a".into()], vec![("A=B".into(), "x".into())]),
            (vec!["a".into()], vec![("A".into(), "x\0y".into())]),
            (vec!["a".into()], vec![("A".into(), Secret::new(vec![0xff]).into())]),
            (vec!["a".into(), "x".repeat(protocol::MAX_FROM_LAUNCHER).into()], vec![]),
        ];
        for (argv, env) in cases {
            let program = program(argv, env);
            assert!(matches!(program.message(1), Err(LinkError::Unsendable(_))), "{:?}", program.name());
        }
    }

    #[test]
    fn accepts_an_empty_argument_and_an_empty_value() {
        let program = program(vec!["a".into(), "".into()], vec![("A".into(), "".into())]);
        assert!(program.message(1).is_ok());
    }
}
