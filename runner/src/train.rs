//! Trainings: a program that is started for each of them, by the contract of command engines (docs/JOBS.md). Its folder has
//! `input.json` and the inputs; it writes results, checkpoints and lines of progress there.

use std::{
    ffi::OsString,
    fs::{self, File},
    io,
    path::Path,
    process::{ExitStatus, Stdio},
    time::Duration,
};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use serde::Deserialize;
use serde_json::json;
use tempfile::TempDir;
use tokio::{
    process::{Child, Command},
    time::{MissedTickBehavior, interval, timeout},
};
use tokio_util::sync::CancellationToken;

use crate::{
    door::{Attempt, Error, Phase, Progress, Session, StopReason, Work},
    work::{self, Output, cannot_begin, deliver, left},
};

/// How often progress is read.
const REPORT: Duration = Duration::from_millis(500);
/// Time for a program to write a checkpoint and end.
const GRACE: Duration = Duration::from_secs(15);
/// Exit codes of the contract.
const STOPPED: i32 = 75;
const INVALID: i32 = 2;
/// What of a program's error output is reported, in bytes.
const TAIL: usize = 500;

/// A program that trains.
#[derive(Debug, Clone)]
pub struct Trainer {
    path: OsString,
    args: Vec<OsString>,
}

impl Trainer {
    /// A program and its arguments, separated by spaces. None if there is no word.
    #[must_use]
    pub fn from_words(words: &str) -> Option<Self> {
        let mut words = words.split_whitespace().map(OsString::from);
        words.next().map(|path| Self { path, args: words.collect() })
    }

    fn spawn(&self, folder: &Path) -> io::Result<Child> {
        Command::new(&self.path)
            .args(&self.args)
            .current_dir(folder)
            .env("ATELIER_JOB_DIR", folder)
            .env_remove("ATELIER_WORKER_TOKEN")
            .stdin(Stdio::null())
            .stderr(File::create(folder.join("errors"))?)
            .kill_on_drop(true)
            .spawn()
    }
}

/// How the program has ended.
enum End {
    Exited(io::Result<ExitStatus>),
    Stopped(StopReason),
    /// The process of the worker ends, and with it the session.
    Ending,
}

/// Runs a training to its end.
///
/// # Errors
/// If the session has ended, or the end could not be reported.
pub(crate) async fn run(
    session: &Session,
    trainer: &Trainer,
    attempt: Attempt,
    work: &Work,
    stop: &CancellationToken,
) -> Result<(), Error> {
    let prepared = tokio::select! {
        prepared = prepare(session, attempt, work) => prepared,
        reason = work::stopped(session, attempt) => return left(session, attempt, reason?, true).await,
        () = stop.cancelled() => return Ok(()),
    };
    let folder = match prepared {
        Ok(folder) => folder,
        Err(error) => return cannot_begin(session, attempt, error).await,
    };
    let mut child = match trainer.spawn(folder.path()) {
        Ok(child) => child,
        Err(error) => {
            tracing::warn!(%error, "cannot start the trainer");
            let message = format!("The trainer does not start: {error}.");
            return session.fail(attempt, "engine-failed", &message, (true, false)).await;
        }
    };
    let end = tokio::select! {
        status = child.wait() => End::Exited(status),
        reason = work::stopped(session, attempt) => End::Stopped(reason?),
        lost = follow(session, attempt, folder.path()) => return Err(lost),
        () = stop.cancelled() => End::Ending,
    };
    match end {
        End::Exited(status) => exited(session, attempt, status, folder.path(), stop).await,
        End::Stopped(reason) => {
            let saved = terminate(&mut child).await;
            if saved && reason == StopReason::Preempted {
                save(session, attempt, folder.path()).await;
            }
            left(session, attempt, reason, true).await
        }
        End::Ending => {
            if terminate(&mut child).await {
                save(session, attempt, folder.path()).await;
            }
            Ok(())
        }
    }
}

/// Makes the folder of a job, with its inputs and the furthest checkpoint whose hash is right.
async fn prepare(session: &Session, attempt: Attempt, work: &Work) -> Result<TempDir, Error> {
    let loading = Progress { phase: Phase::Loading, step: 0, steps: 0 };
    match session.progress(attempt, loading).await {
        Ok(()) | Err(Error::Unavailable(_)) => {}
        Err(other) => return Err(other),
    }
    let disk = |error: io::Error| Error::Unavailable(error.into());
    let folder = tempfile::Builder::new().prefix("atelier-job-").tempdir().map_err(disk)?;
    let inputs = session.inputs(attempt).await?;
    for name in ["inputs", "outputs"] {
        fs::create_dir(folder.path().join(name)).map_err(disk)?;
    }
    let mut uploads = Vec::new();
    for (n, input) in inputs.uploads.iter().enumerate() {
        let content = session.fetch(input).await?;
        // the service lets only plain names pass
        let path = format!("inputs/{n}-{}", input.name.replace('/', "_"));
        fs::write(folder.path().join(&path), &content).map_err(disk)?;
        uploads.push(path);
    }
    for checkpoint in &inputs.checkpoints {
        match session.fetch(checkpoint).await {
            Ok(content) => {
                tracing::info!(job.id = %attempt.job_id, step = %checkpoint.id, "going on from a checkpoint");
                fs::write(folder.path().join("checkpoint"), &content).map_err(disk)?;
                break;
            }
            Err(Error::Refused { detail, .. }) => tracing::warn!(detail, "a checkpoint cannot be used"),
            Err(other) => return Err(other),
        }
    }
    let Work { application, method, parameters, .. } = work;
    let input =
        json!({ "application": application, "method": method, "parameters": parameters, "uploads": uploads });
    fs::write(folder.path().join("input.json"), input.to_string()).map_err(disk)?;
    Ok(folder)
}

/// A line of progress.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(default)]
struct Line {
    step: u32,
    steps: u32,
    /// Steps that are done in the checkpoint.
    checkpoint: Option<u32>,
}

/// The newest progress and checkpoint in complete lines; others are ignored.
fn read(text: &str) -> Line {
    let complete = text.rsplit_once('\n').map_or("", |(complete, _)| complete);
    let lines = complete.lines().filter_map(|line| serde_json::from_str::<Line>(line).ok());
    lines.fold(Line::default(), |last, line| {
        let (step, steps) = if line.steps > 0 { (line.step, line.steps) } else { (last.step, last.steps) };
        Line { step, steps, checkpoint: line.checkpoint.or(last.checkpoint) }
    })
}

fn progress(folder: &Path) -> Line {
    fs::read_to_string(folder.join("progress")).map(|text| read(&text)).unwrap_or_default()
}

/// Reports progress and uploads checkpoints, until the attempt is not the worker's any more.
async fn follow(session: &Session, attempt: Attempt, folder: &Path) -> Error {
    let mut ticks = interval(REPORT);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut last = Line::default();
    loop {
        ticks.tick().await;
        let now = progress(folder);
        if (now.step, now.steps) != (last.step, last.steps) {
            let progress = Progress { phase: Phase::Working, step: now.step, steps: now.steps };
            match session.progress(attempt, progress).await {
                Ok(()) => (last.step, last.steps) = (now.step, now.steps),
                Err(Error::NotYours) => return Error::NotYours,
                Err(error) => tracing::warn!(error = format!("{error:#}"), "cannot report progress"),
            }
        }
        if now.checkpoint != last.checkpoint {
            last.checkpoint = now.checkpoint;
            save(session, attempt, folder).await;
        }
    }
}

/// Uploads the checkpoint. A failure costs work, not the attempt.
async fn save(session: &Session, attempt: Attempt, folder: &Path) {
    let Some(step) = progress(folder).checkpoint else { return };
    let saved = match fs::read(folder.join("checkpoint")) {
        Ok(content) => session.checkpoint(attempt, step, content).await,
        Err(error) => Err(Error::Unavailable(error.into())),
    };
    match saved {
        Ok(()) => tracing::info!(job.id = %attempt.job_id, step, "checkpoint saved"),
        Err(error) => tracing::warn!(error = format!("{error:#}"), "cannot save a checkpoint"),
    }
}

/// Has a program write a checkpoint and end. Returns whether it has done so; otherwise it is killed.
async fn terminate(child: &mut Child) -> bool {
    let id = child.id().and_then(|id| i32::try_from(id).ok());
    let told = id.is_some_and(|id| kill(Pid::from_raw(id), Signal::SIGTERM).is_ok());
    match timeout(GRACE, child.wait()).await {
        Ok(Ok(status)) => told && status.code() == Some(STOPPED),
        _ => {
            tracing::warn!("the trainer does not stop");
            let _ = child.kill().await;
            false
        }
    }
}

/// Ends the attempt of a program that has ended by itself.
async fn exited(
    session: &Session,
    attempt: Attempt,
    status: io::Result<ExitStatus>,
    folder: &Path,
    stop: &CancellationToken,
) -> Result<(), Error> {
    let code = status.as_ref().ok().and_then(ExitStatus::code);
    let outputs = if code == Some(0) { outputs(&folder.join("outputs")) } else { Ok(Vec::new()) };
    match (code, outputs) {
        (Some(0), Ok(outputs)) => deliver(session, attempt, outputs, stop).await,
        (Some(INVALID), _) => {
            let message = errors(folder, "The inputs are not valid.");
            session.fail(attempt, "invalid-parameters", &message, (false, false)).await
        }
        (code, _) => {
            tracing::warn!(job.id = %attempt.job_id, code, "the trainer failed");
            session
                .fail(attempt, "engine-failed", &errors(folder, "The trainer failed."), (true, false))
                .await
        }
    }
}

/// The end of what a program has said of its errors.
fn errors(folder: &Path, nothing: &str) -> String {
    let text = fs::read(folder.join("errors")).unwrap_or_default();
    let tail = String::from_utf8_lossy(&text[text.len().saturating_sub(TAIL)..]).replace('\0', "");
    let tail = tail.trim();
    if tail.is_empty() { nothing.to_owned() } else { tail.to_owned() }
}

/// The results, by name.
fn outputs(folder: &Path) -> io::Result<Vec<Output>> {
    let mut outputs = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if !entry.file_type()?.is_file() {
            continue;
        }
        let name = entry.file_name().to_string_lossy().into_owned();
        let content_type = match name.rsplit('.').next() {
            Some("png") => "image/png",
            Some("csv") => "text/csv",
            Some("json") => "application/json",
            Some("txt") => "text/plain",
            _ => "application/octet-stream",
        };
        outputs.push(Output { content: fs::read(entry.path())?, name, content_type });
    }
    outputs.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(outputs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_complete_lines_count() {
        let line = |step, steps, checkpoint| Line { step, steps, checkpoint };
        assert_eq!(read(""), line(0, 0, None));
        assert_eq!(read("{\"step\":5,\"steps\":9,\"loss\":0.1}\n{\"step\":6,\"st"), line(5, 9, None));
        let text = "{\"step\":5,\"steps\":9}\n{\"checkpoint\":5}\nnot JSON\n{\"step\":6,\"steps\":9}\n";
        assert_eq!(read(text), line(6, 9, Some(5)));
    }

    #[test]
    fn a_command_is_words() {
        let trainer = Trainer::from_words(" python3  train.py ").unwrap();
        assert_eq!((trainer.path, trainer.args), ("python3".into(), vec!["train.py".into()]));
        assert!(Trainer::from_words(" ").is_none());
    }

    #[tokio::test]
    async fn a_program_that_does_not_save_is_no_checkpoint() {
        let folder = tempfile::tempdir().unwrap();
        let start = |code: u8| {
            // the file tells that the trap is set
            let script = format!("trap 'exit {code}' TERM; : > ready; while :; do sleep 0.05; done");
            let trainer = Trainer { path: "sh".into(), args: vec!["-c".into(), script.into()] };
            trainer.spawn(folder.path()).unwrap()
        };
        for (code, saved) in [(75, true), (1, false)] {
            let mut child = start(code);
            while !folder.path().join("ready").exists() {
                tokio::task::yield_now().await;
            }
            assert_eq!(terminate(&mut child).await, saved);
            fs::remove_file(folder.path().join("ready")).unwrap();
        }
    }
}
