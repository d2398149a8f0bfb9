//! What does a client show when its server could not be started?
//!
//! Whatever the answer to its opener says, so that is where the reason goes: a client that gets no answer shows
//! "failed", and one that finds the process gone not even that. Nothing is written that was not asked for.

use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};

use super::answer::Answer;
use super::envelope::{Broken, Envelope, Kind};
use super::lines::{Line, Lines};
use crate::failure::Failure;

/// How long the client may take to ask.
const PATIENCE: Duration = Duration::from_secs(10);

/// How long a client that was refused `server/discover` may take to fall back to `initialize`.
const SECOND_OPENER: Duration = Duration::from_secs(2);

/// Answers the client's opener with `failure`, then returns; also if the client asks nothing for 10 s, or leaves.
///
/// Both eras are answered. A client that tries `server/discover` first and `initialize` after it gets the same answer
/// to both.
pub async fn refuse(
    from_client: impl AsyncRead + Unpin,
    to_client: impl AsyncWrite + Unpin,
    failure: &Failure,
) {
    let mut lines = Lines::new(from_client);
    let mut to_client = to_client;
    let answer = Answer::failure(failure);
    let mut patience = PATIENCE;
    while let Ok(Ok(Some(line))) = tokio::time::timeout(patience, lines.next()).await {
        let (reply, last) = match line {
            Line::Whole(line) if line.trim_ascii().is_empty() => continue,
            Line::Whole(line) => match Envelope::read(line) {
                Ok(Envelope { kind: Kind::Request { id, method }, .. }) => {
                    (answer.line(Some(&id)), method == "initialize")
                }
                Ok(_) => continue,
                Err(broken) => (Answer::malformed(broken.flaw).line(broken.id.as_ref()), false),
            },
            Line::TooLong { head, tail } => {
                let broken = Broken::too_long(head, tail);
                (Answer::malformed(broken.flaw).line(broken.id.as_ref()), false)
            }
        };
        let written = async {
            to_client.write_all(&reply).await?;
            to_client.flush().await
        };
        if !matches!(tokio::time::timeout(PATIENCE, written).await, Ok(Ok(()))) || last {
            return;
        }
        patience = SECOND_OPENER;
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::failure::Code;

    /// What a client gets that writes `asks` and closes its end.
    async fn answers(asks: &str) -> Vec<Value> {
        let failure = Failure::new(
            Code::NotMounted,
            "there is no server \"notes\"",
            "nothing is mounted under that name",
            "pinfold mount notes",
        );
        let mut said = Vec::new();
        refuse(asks.as_bytes(), &mut said, &failure).await;
        String::from_utf8(said).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    #[tokio::test]
    async fn the_answer_says_what_why_and_what_to_do() {
        let initialize = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{}}"#;
        let [answer] = &answers(&format!("{initialize}\n{initialize}\n")).await[..] else {
            panic!("one answer")
        };
        assert_eq!(answer["id"], 0);
        let message = answer["error"]["message"].as_str().unwrap();
        for part in ["there is no server", "nothing is mounted", "pinfold mount notes"] {
            assert!(message.contains(part), "{message}");
        }
        assert_eq!(answer["error"]["data"]["code"], "not-mounted");
        assert_eq!(answer["error"]["data"]["hint"], "pinfold mount notes");
    }

    #[tokio::test]
    async fn a_client_that_falls_back_to_the_other_era_is_answered_twice() {
        let discover = r#"{"jsonrpc":"2.0","id":"a","method":"server/discover","params":{"_meta":{}}}"#;
        let initialize = r#"{"jsonrpc":"2.0","id":"b","method":"initialize","params":{}}"#;
        let seen = answers(&format!("{discover}\r\n{initialize}\n")).await;
        assert_eq!(seen.iter().map(|answer| &answer["id"]).collect::<Vec<_>>(), ["a", "b"]);
    }

    #[tokio::test]
    async fn a_client_that_asks_nothing_gets_nothing() {
        assert_eq!(answers("").await, Vec::<Value>::new());
        assert_eq!(
            answers("\n{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n").await,
            Vec::<Value>::new()
        );
    }

    #[tokio::test]
    async fn a_broken_request_is_answered_as_such() {
        let seen =
            answers("hello\n{\"jsonrpc\":\"2.0\",\"id\":3,\"id\":4,\"method\":\"initialize\"}\n").await;
        assert_eq!(seen[0]["error"]["code"], -32700);
        assert_eq!(seen[0]["id"], Value::Null);
        assert_eq!(seen[1]["error"]["code"], -32600);
    }
}
