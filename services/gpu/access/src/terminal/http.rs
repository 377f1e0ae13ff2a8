//! `/v1/instances/{id}/terminal`: a command with a terminal in the instance's container, over a WebSocket.
//!
//! The first frame is a text frame, `{"session":{"id":"term_…","offset":0}}`. Binary frames carry input from the client
//! and output to it. A text frame from the client sets the size: `{"resize":{"cols":80,"rows":24}}`. At the end the
//! client gets one text frame, `{"exit_code":0}`, then the close frame.
//!
//! After a lost connection the command goes on for a while (`session`), in the replica that runs it.

use std::net::IpAddr;

use api::{ErrorChain, Path, Problem, ProblemType};
use auth::Member;
use axum::{
    extract::{RawQuery, State, WebSocketUpgrade, ws::rejection::WebSocketUpgradeRejection},
    response::Response,
};
use gpu_core::event::{By, Detail, TerminalClosed, TerminalEnd, TerminalOpened};
use http::HeaderMap;
use ids::{InstanceId, TerminalId};
use instances::{
    event,
    instance::{self, Container},
    streams::StreamKind,
};
use tokio::sync::mpsc;

use super::{
    Parts,
    session::{Client, Owner, Session},
};

/// Limit of words in a command.
const MAX_WORDS: usize = 64;
/// Limit of bytes in all words of a command.
const MAX_BYTES: usize = 16 * 1024;
/// Limit of bytes in a frame from the client.
const MAX_FRAME: usize = 64 * 1024;

/// What a client asks for.
#[derive(Debug, PartialEq, Eq)]
enum Request {
    /// A new terminal with this command.
    Open(Vec<String>),
    /// Resume this session at this offset of its output, in bytes.
    Resume(TerminalId, u64),
}

/// Reads the query string: each `command` is one word; without any, a shell.
fn request(query: &str) -> Result<Request, Problem> {
    let (mut words, mut session, mut received) = (Vec::new(), None, None);
    for (name, value) in url::form_urlencoded::parse(query.as_bytes()) {
        match name.as_ref() {
            "command" => words.push(value.into_owned()),
            "session" => {
                let id = value.parse::<TerminalId>();
                session =
                    Some(id.map_err(|_| Problem::invalid_field("session", "must be the id of a session"))?);
            }
            "received" => {
                let bytes = value.parse::<u64>();
                received =
                    Some(bytes.map_err(|_| Problem::invalid_field("received", "must be a number of bytes"))?);
            }
            _ => return Err(Problem::invalid_field("query", format!("unknown parameter `{name}`"))),
        }
    }
    match (session, received) {
        (Some(_), _) if !words.is_empty() => {
            Err(Problem::invalid_field("command", "belongs to a new terminal, not to a session"))
        }
        (Some(session), Some(received)) => Ok(Request::Resume(session, received)),
        (Some(_), None) => Err(Problem::invalid_field("received", "is required with `session`")),
        (None, Some(_)) => Err(Problem::invalid_field("session", "is required with `received`")),
        (None, None) => command(words).map(Request::Open),
    }
}

fn command(mut words: Vec<String>) -> Result<Vec<String>, Problem> {
    let bytes: usize = words.iter().map(String::len).sum();
    if words.len() > MAX_WORDS || bytes > MAX_BYTES || words.iter().any(|word| word.contains('\0')) {
        return Err(Problem::invalid_field(
            "command",
            format!("at most {MAX_WORDS} words and {MAX_BYTES} bytes, without zero bytes"),
        ));
    }
    if words.first().is_some_and(String::is_empty) {
        return Err(Problem::invalid_field("command", "the first word is the program and cannot be empty"));
    }
    if words.is_empty() {
        words.push("sh".to_owned());
    }
    Ok(words)
}

/// Opens a terminal (WebSocket), or connects again to one.
///
/// The first frame is `{"session":{"id":"term_…","offset":0}}`. If the connection is lost, or closed with another code
/// than 1000, the command keeps running for a minute. To resume, connect with `session` and the number of bytes of
/// output that were `received`; the output continues there. A larger `offset` means that the output in between was not
/// kept. Only the user who opened the terminal can resume it, and only at the replica that runs the command.
#[utoipa::path(
    get, path = "/v1/instances/{id}/terminal", operation_id = "open_instance_terminal", tag = "instances",
    params(
        ("id" = InstanceId, Path, description = "Instance id"),
        ("command" = Option<Vec<String>>, Query, description = "The command, with one parameter `command` for each word. A shell if absent."),
        ("session" = Option<TerminalId>, Query, description = "Session to connect to again, instead of a `command`."),
        ("received" = Option<u64>, Query, description = "Bytes of output that the client has received in this session.")
    ),
    responses((status = 101, description = "A WebSocket. The first frame is the text frame {\"session\":{\"id\":\"term_…\",\"offset\":0}}. Binary frames carry input and output. The client sets the size with the text frame {\"resize\":{\"cols\":80,\"rows\":24}}. The last frame is the text frame {\"exit_code\":0}.")),
    extensions(("x-problems" = json!([
        ProblemType::NotFound, ProblemType::InstanceManaged, ProblemType::InstanceNotRunning, ProblemType::WebsocketRequired,
        ProblemType::TooManyStreams, ProblemType::TerminalSessionEnded
    ]))),
)]
pub(crate) async fn open_instance_terminal(
    State(app): State<Parts>,
    member: Member,
    Path(id): Path<InstanceId>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Result<Response, Problem> {
    member.writer()?;
    let owner = Owner { tenant: member.tenant, instance: id, user: member.principal.user };
    let (upgrade, clients, received) = match request(query.as_deref().unwrap_or_default())? {
        Request::Open(words) => {
            let container = super::container(&app, member.tenant, id).await?;
            let upgrade = upgrade.map_err(|_| no_websocket())?;
            let clients = open(&app, owner, &container, &words, client_address(&headers)).await?;
            (upgrade, clients, 0)
        }
        Request::Resume(session, received) => {
            let mut tx = app.db.tenant(member.tenant).await?;
            let found = instance::store::find(&mut tx, member.tenant, id).await?;
            drop(tx);
            let _ = found.ok_or_else(Problem::not_found)?;
            let upgrade = upgrade.map_err(|_| no_websocket())?;
            let clients = app.sessions.find(session, owner).ok_or_else(|| {
                Problem::new(
                    ProblemType::TerminalSessionEnded,
                    "The session has ended, or another replica of the service runs it.",
                )
            })?;
            (upgrade, clients, received)
        }
    };
    let upgrade = upgrade.max_message_size(MAX_FRAME).max_frame_size(MAX_FRAME);
    Ok(upgrade.on_upgrade(move |socket| async move {
        let client = Client::new(&app, &member, socket, received);
        // a session that has ended meanwhile drops the connection
        let _ = clients.send(client).await;
    }))
}

fn no_websocket() -> Problem {
    Problem::new(ProblemType::WebsocketRequired, "The terminal is a WebSocket.")
}

/// Returns the client's address, as the gateway reports it.
fn client_address(headers: &HeaderMap) -> Option<String> {
    let address = headers.get("x-forwarded-for")?.to_str().ok()?;
    address.parse::<IpAddr>().ok().map(|address| address.to_string())
}

/// Runs a command in a new session. Returns where it receives clients.
async fn open(
    app: &Parts,
    owner: Owner,
    container: &Container,
    words: &[String],
    client_address: Option<String>,
) -> Result<mpsc::Sender<Client>, Problem> {
    let open = (app.streams.open(owner.tenant, StreamKind::Terminal)?, app.activity.open(owner.instance));
    let exec = container.cluster.exec(&container.pod, words).await?;
    let (session_id, opened_at) = (TerminalId::new(), (app.clock)());
    let opened = TerminalOpened { session_id, client_address };
    record(app, owner, Detail::TerminalOpened(opened)).await?;
    let (clients, received) = mpsc::channel(1);
    app.sessions.register(session_id, owner, clients.clone());
    let session = Session::new(session_id, exec, received, &app.config);
    let state = app.clone();
    app.sessions.run(session_id, async move {
        let end_reason = match session {
            Some(session) => session.run().await,
            None => TerminalEnd::Disconnected,
        };
        drop(open);
        let closed = Detail::TerminalClosed(TerminalClosed { session_id, opened_at, end_reason });
        if let Err(error) = record(&state, owner, closed).await {
            tracing::warn!(
                instance.id = %owner.instance, terminal.id = %session_id, error = %ErrorChain(&error),
                "the end of a terminal is not recorded"
            );
        }
    });
    Ok(clients)
}

/// Adds to the events of the instance.
async fn record(app: &Parts, owner: Owner, detail: Detail) -> sqlx::Result<()> {
    let mut tx = app.db.tenant(owner.tenant).await?;
    let by = By::user(owner.user);
    event::store::append(&mut tx, owner.tenant, Some(owner.instance), &by, &[detail.into()]).await?;
    tx.commit().await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_read_word_by_word() {
        let words = |query: &str| match request(query) {
            Ok(Request::Open(words)) => words,
            other => panic!("{other:?}"),
        };
        assert_eq!(words(""), ["sh"]);
        assert_eq!(words("command=sh&command=-c&command=echo%20a+b"), ["sh", "-c", "echo a b"]);
        for bad in ["command=", "cmd=sh", &format!("command={}", "x".repeat(MAX_BYTES + 1)), "command=a%00b"]
        {
            assert!(request(bad).is_err(), "{bad:.40}");
        }
    }

    #[test]
    fn a_session_is_resumed_after_so_many_bytes() {
        let id = TerminalId::new();
        assert_eq!(request(&format!("session={id}&received=7")).unwrap(), Request::Resume(id, 7));
        for bad in [
            format!("session={id}"),
            "received=7".to_owned(),
            format!("session={id}&received=-1"),
            "session=term_1&received=0".to_owned(),
            format!("session={id}&received=0&command=sh"),
        ] {
            assert!(request(&bad).is_err(), "{bad}");
        }
    }
}
