//! Session channels: a shell, a command or file transfers, over the cluster's `exec`.
//!
//! The command that `exec` runs is a script of the container's `sh`, which prints its process id before it becomes the
//! user's shell: `exec` itself can neither signal a command nor end one when its client is gone.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use clusters::{ExecInput, ExecOutput, ExecStatus, Output};
use instances::instance::Container;
use russh::{Channel, ChannelMsg, Sig, server::Msg};
use tokio::{
    sync::watch,
    time::{interval, timeout},
};

use super::{
    channel::{self, Inbox, Outbox},
    context::Context,
    exec::{PING, open, printf_format},
    metrics::Kind,
    sftp,
};

/// How long a signal to a command may take.
const SIGNAL: Duration = Duration::from_secs(2);
/// Limit of bytes in a command. It becomes part of a URL.
const MAX_COMMAND: usize = 16 * 1024;
/// The longest line with a process id.
const MAX_PID: usize = 16;
/// Exit status when there is no command; `ssh` uses the same.
const NO_STATUS: u32 = 255;

/// Becomes the user's shell. Parameters: terminal type, columns, rows, and the command, if there is one: as it is, or
/// empty and followed by its [`printf_format`].
const START: &str = r#"printf '%s\n' "$$"
if [ -n "$1" ]; then TERM=$1; export TERM; stty cols "$2" rows "$3" 2>/dev/null; fi
cd "${HOME:-.}" 2>/dev/null
[ -x "${SHELL:-}" ] || SHELL=$(command -v bash || command -v sh)
export SHELL
if [ $# -gt 4 ]; then c=$(printf "$5."); set -- "$1" "$2" "$3" "${c%.}"; fi
if [ $# -gt 3 ]; then exec "$SHELL" -c "$4"; fi
exec "$SHELL""#;

/// A requested terminal.
struct Terminal {
    kind: String,
    columns: u16,
    rows: u16,
}

/// What a client starts on a channel.
enum Start {
    Shell,
    Command(Vec<u8>),
    Sftp,
}

/// Waits for what the client starts, and carries it until one side ends.
pub(super) async fn run(context: Context, channel: Channel<Msg>) {
    let (mut reader, writer) = channel::split(channel);
    let started = context.stop.clone().run_until_cancelled_owned(started(&mut reader)).await;
    let Some(Some((start, terminal))) = started else { return };
    let kind = match start {
        Start::Shell => Kind::Shell,
        Start::Command(_) => Kind::Command,
        Start::Sftp => Kind::Sftp,
    };
    context.admitted.count(kind);
    context.ssh.metrics.channel(kind);
    let status = match context.container().await {
        Err(why) => Err(why),
        Ok(container) => match start {
            Start::Shell => bridge(&context, &container, (reader, &writer), terminal, Vec::new()).await,
            Start::Command(command) => match words(command) {
                Some(command) => bridge(&context, &container, (reader, &writer), terminal, command).await,
                None => Err(format!(
                    "The command must have at most {MAX_COMMAND} bytes, a quarter if it is not UTF-8, and no zero byte. Send a \
                     longer script to `sh` on standard input."
                )),
            },
            Start::Sftp => sftp::run(&context, container, reader, &writer).await.map(Some),
        },
    };
    let status = match status {
        Ok(Some(status)) => status,
        // the client is gone
        Ok(None) => return,
        Err(why) => {
            let _ = writer.error(format!("{why}\r\n").into()).await;
            NO_STATUS
        }
    };
    writer.end(Some(status)).await;
}

async fn started(reader: &mut Inbox) -> Option<(Start, Option<Terminal>)> {
    let mut terminal = None;
    loop {
        match reader.wait().await? {
            ChannelMsg::RequestPty { term, col_width, row_height, .. } => {
                let kind = if is_terminal_type(&term) { term } else { "dumb".to_owned() };
                terminal = Some(Terminal { kind, columns: edge(col_width), rows: edge(row_height) });
            }
            ChannelMsg::WindowChange { col_width, row_height, .. } => {
                if let Some(terminal) = &mut terminal {
                    (terminal.columns, terminal.rows) = (edge(col_width), edge(row_height));
                }
            }
            ChannelMsg::RequestShell { .. } => return Some((Start::Shell, terminal)),
            ChannelMsg::Exec { command, .. } => return Some((Start::Command(command), terminal)),
            ChannelMsg::RequestSubsystem { name, .. } if name == "sftp" => {
                return Some((Start::Sftp, terminal));
            }
            ChannelMsg::Close => return None,
            _ => {}
        }
    }
}

/// The parameters of [`START`] for a command. The cluster accepts only UTF-8.
fn words(command: Vec<u8>) -> Option<Vec<String>> {
    if command.contains(&0) {
        return None;
    }
    let words = match String::from_utf8(command) {
        Ok(command) => vec![command],
        Err(error) => vec![String::new(), printf_format(error.as_bytes())],
    };
    let length: usize = words.iter().map(String::len).sum();
    (length <= MAX_COMMAND).then_some(words)
}

fn edge(cells: u32) -> u16 {
    u16::try_from(cells).unwrap_or(u16::MAX).max(1)
}

fn is_terminal_type(name: &str) -> bool {
    (1..=64).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-+._".contains(&byte))
}

/// Runs the shell, or the command in it, until it ends or the client is gone. Returns its exit status; none if the
/// client is gone.
async fn bridge(
    context: &Context,
    container: &Container,
    (reader, writer): (Inbox, &Outbox),
    terminal: Option<Terminal>,
    command: Vec<String>,
) -> Result<Option<u32>, String> {
    let mut words: Vec<String> = ["sh", "-c", START, "sh"].map(str::to_owned).into();
    words.extend(match &terminal {
        Some(Terminal { kind, columns, rows }) => [kind.clone(), columns.to_string(), rows.to_string()],
        None => [const { String::new() }; 3],
    });
    words.extend(command);
    let (mut input, output) = open(container, &words, terminal.is_some()).await?;
    if let Some(Terminal { columns, rows, .. }) = terminal {
        // without `stty` in the image, the terminal gets its size here
        let _ = input.resize(columns, rows).await;
    }
    let pid = watch::Sender::new(None);
    let status = tokio::select! {
        biased;
        () = context.stop.cancelled() => None,
        status = receive(context, output, writer, &pid) => Some(status),
        () = send(context, container, reader, input, &pid) => None,
    };
    match status {
        Some(Some(ExecStatus::Exited(status))) => Ok(Some(status)),
        Some(Some(ExecStatus::Failed(why))) => Err(format!("The instance cannot run a shell: {why}")),
        Some(None) => Err("The connection to the instance was lost.".to_owned()),
        None => {
            let pid = pid.borrow().clone();
            if let Some(pid) = pid {
                signal(container, "HUP", &pid).await;
            }
            Ok(None)
        }
    }
}

/// Copies what the command sends, after the line with its process id. Returns how it ended.
async fn receive(
    context: &Context,
    mut output: ExecOutput,
    writer: &Outbox,
    pid: &watch::Sender<Option<String>>,
) -> Option<ExecStatus> {
    let mut line = Some(BytesMut::new());
    loop {
        let sent = match output.next().await? {
            Output::Ended(status) => return Some(status),
            Output::Stderr(bytes) => writer.error(bytes).await,
            Output::Stdout(mut bytes) => {
                if let Some(mut begun) = line.take() {
                    begun.extend_from_slice(&bytes);
                    match split_pid(begun) {
                        Ok((found, rest)) => {
                            pid.send_replace(Some(found));
                            bytes = rest;
                        }
                        Err(begun) => {
                            line = Some(begun);
                            continue;
                        }
                    }
                }
                if bytes.is_empty() {
                    continue;
                }
                writer.data(bytes).await
            }
        };
        context.admitted.touch();
        // the client is gone: `send` ends too
        if sent.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

/// Splits the first line, a process id, from the rest. Gives the bytes back while the line is not complete.
fn split_pid(mut begun: BytesMut) -> Result<(String, Bytes), BytesMut> {
    let Some(end) = begun.iter().position(|byte| *byte == b'\n') else {
        // no process id is this long: the container's `sh` is not a shell
        return if begun.len() > MAX_PID { Ok((String::new(), begun.freeze())) } else { Err(begun) };
    };
    let line = begun.split_to(end + 1);
    let digits = line.iter().filter(|byte| byte.is_ascii_digit()).map(|byte| char::from(*byte)).collect();
    Ok((digits, begun.freeze()))
}

/// Copies what the client sends, once the command runs; signals and sizes too. Returns when the client closes the
/// channel.
async fn send(
    context: &Context,
    container: &Container,
    mut reader: Inbox,
    mut input: ExecInput,
    pid: &watch::Sender<Option<String>>,
) {
    // earlier input would be echoed before the line with the process id
    let pid =
        pid.subscribe().wait_for(Option::is_some).await.ok().and_then(|pid| pid.clone()).unwrap_or_default();
    let mut ping = interval(PING);
    loop {
        let message = tokio::select! {
            _ = ping.tick() => {
                // `receive` detects a broken connection
                let _ = input.ping().await;
                continue;
            }
            message = reader.wait() => message,
        };
        match message {
            Some(ChannelMsg::Data { data }) => {
                context.admitted.touch();
                // the command may have closed its input and still write output
                let _ = input.write(&data).await;
            }
            Some(ChannelMsg::Eof) => {
                let _ = input.end().await;
            }
            Some(ChannelMsg::WindowChange { col_width, row_height, .. }) => {
                let _ = input.resize(edge(col_width), edge(row_height)).await;
            }
            Some(ChannelMsg::Signal { signal: sent }) => {
                if let Some(name) = name(&sent) {
                    signal(container, name, &pid).await;
                }
            }
            Some(ChannelMsg::Close) | None => return,
            Some(_) => {}
        }
    }
}

/// The name of a signal that clients may send.
fn name(signal: &Sig) -> Option<&'static str> {
    match signal {
        Sig::ABRT => Some("ABRT"),
        Sig::ALRM => Some("ALRM"),
        Sig::HUP => Some("HUP"),
        Sig::INT => Some("INT"),
        Sig::KILL => Some("KILL"),
        Sig::PIPE => Some("PIPE"),
        Sig::QUIT => Some("QUIT"),
        Sig::TERM => Some("TERM"),
        Sig::USR1 => Some("USR1"),
        Sig::Custom(name) if name == "USR2" => Some("USR2"),
        _ => None,
    }
}

/// Signals the process group of a command.
async fn signal(container: &Container, name: &str, pid: &str) {
    if pid.is_empty() {
        return;
    }
    let words = ["sh", "-c", r#"kill -s "$1" -- "-$2""#, "sh", name, pid].map(str::to_owned);
    let sent = timeout(SIGNAL, async {
        let Ok((_input, mut output)) = open(container, &words, false).await else { return };
        while let Some(Output::Stdout(_) | Output::Stderr(_)) = output.next().await {}
    });
    if sent.await.is_err() {
        tracing::debug!(signal = name, "the signal was not confirmed in time");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_is_the_process_id() {
        let split = |text: &str| split_pid(BytesMut::from(text));
        assert_eq!(split("42\nhello\n"), Ok(("42".into(), Bytes::from_static(b"hello\n"))));
        assert_eq!(split("42\r\n"), Ok(("42".into(), Bytes::new())), "a terminal adds a return");
        assert_eq!(split("4"), Err(BytesMut::from("4")));
        let other = "no shell says this here";
        assert_eq!(split(other), Ok((String::new(), Bytes::from_static(other.as_bytes()))));
    }

    #[test]
    fn any_bytes_are_a_format_for_printf() {
        let all: Vec<u8> = (1..=255).chain(*b"-n %s \\0 $(x) '\"").collect();
        let script = format!("printf '{}'", printf_format(&all));
        for shell in ["sh", "bash"] {
            let printed = std::process::Command::new(shell).args(["-c", &script]).output().unwrap();
            assert_eq!(printed.stdout, all, "{shell}");
        }
        assert_eq!(printf_format(b"-a b/c.d"), r"\055a b/c.d");
    }

    #[test]
    fn a_command_is_one_word_or_encoded() {
        assert_eq!(words("echo \u{fc}".into()), Some(vec!["echo \u{fc}".into()]));
        assert_eq!(words(b"echo \xff".into()), Some(vec![String::new(), r"echo \377".into()]));
        for bad in [&b"a\0b"[..], &[b'x'; MAX_COMMAND + 1], &[0xff; MAX_COMMAND / 2], b"\0\xff"] {
            assert_eq!(words(bad.into()), None);
        }
    }

    #[test]
    fn a_terminal_type_is_a_plain_name() {
        assert!(is_terminal_type("xterm-256color"));
        for bad in ["", "a b", "$(id)", "x\ny", &"x".repeat(65)] {
            assert!(!is_terminal_type(bad), "{bad}");
        }
    }
}
