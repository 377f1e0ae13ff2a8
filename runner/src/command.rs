//! Programs that are started for one attempt each, by the contract of command engines (docs/JOBS.md): trainers, and programs of
//! tenants. The folder has `input.json` and the inputs; the program writes results, checkpoints and lines of progress there.

use std::{
    ffi::OsString,
    fs::{self, File},
    io::{self, Write as _},
    os::unix::process::ExitStatusExt as _,
    path::Path,
    process::{ExitStatus, Stdio},
    time::Duration,
};

use serde::Deserialize;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::{
    process,
    time::{MissedTickBehavior, interval, sleep, timeout},
};
use tokio_util::sync::CancellationToken;

use crate::{
    attempt::{cannot_begin, left, stopped},
    child::Program,
    deliveries::Deliveries,
    engine::{ENGINE_FAILED, Failure},
    fault,
    gang::{self, Place},
    jobs_service::{Attempt, Error, Phase, Progress, Refused, Session, StopReason, Work},
    output::{Log, open, outputs, read_end, read_file},
    supervisor,
};

/// How often progress is read.
const REPORT: Duration = Duration::from_millis(500);
/// Time for a program to write a checkpoint and end.
const GRACE: Duration = Duration::from_secs(15);
/// Exit codes of the contract.
const STOPPED: i32 = 75;
const INVALID: i32 = 2;
/// Maximum part of a program's error output that is reported, in bytes.
const TAIL: u64 = 500;
/// Part of it in which a fault is searched, in bytes.
const FAULTS: u64 = 4096;

/// A program that is started for each attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    path: OsString,
    args: Vec<OsString>,
    env: Vec<(OsString, OsString)>,
}

impl Command {
    /// A program and its arguments, separated by spaces. None if there is no word.
    #[must_use]
    pub fn from_words(words: &str) -> Option<Self> {
        let mut words = words.split_whitespace().map(OsString::from);
        words.next().map(|path| Self { path, args: words.collect(), env: Vec::new() })
    }

    /// The program of a `command.run` job; none if its parameters have no command.
    pub(crate) fn of_job(work: &Work) -> Option<Self> {
        let words = work.parameters.get("command")?.as_array()?;
        let mut words = words.iter().filter_map(Value::as_str).map(OsString::from);
        let env = work.parameters.get("env").and_then(Value::as_object);
        let variable = |(name, value): (&String, &Value)| Some((name.into(), value.as_str()?.into()));
        let env = env.into_iter().flatten().filter_map(variable).collect();
        words.next().map(|path| Self { path, args: words.collect(), env })
    }

    fn spawn(&self, folder: &Path, place: &[(&str, String)]) -> io::Result<Program> {
        let log = File::create(folder.join("log"))?;
        let mut command = process::Command::new(&self.path);
        command.args(&self.args).current_dir(folder);
        command.env_remove("ATELIER_WORKER_TOKEN").env_remove("ATELIER_JOBS_URL");
        // deleted with the folder
        command.env("TMPDIR", folder.join("tmp"));
        command.envs(self.env.iter().map(|(name, value)| (name, value)));
        command.envs(place.iter().map(|(name, value)| (name, value)));
        command.env("ATELIER_JOB_DIR", folder).stdin(Stdio::null());
        command.stdout(log.try_clone()?).stderr(log);
        Program::spawn(&mut command)
    }
}

/// How the program has ended.
enum End {
    Exited(io::Result<ExitStatus>),
    Stopped(StopReason),
    /// `max_seconds` has passed.
    TimedOut,
    /// The process of the worker ends, and with it the session.
    Ending,
}

/// Runs a program to its end.
///
/// # Errors
/// If the session has ended, or the end could not be reported.
pub(crate) async fn run(
    session: &Session,
    command: &Command,
    work: &Work,
    deliveries: &Deliveries,
    stop: &CancellationToken,
) -> Result<(), Error> {
    let attempt = Attempt { job_id: work.job_id, attempt: work.attempt };
    let prepared = tokio::select! {
        prepared = prepare(session, attempt, work) => prepared,
        reason = stopped(session, attempt) => return left(session, attempt, reason?, true).await,
        () = stop.cancelled() => return Ok(()),
    };
    let (folder, place) = match prepared {
        Ok(prepared) => prepared,
        Err(error) => return cannot_begin(session, attempt, error).await,
    };
    let program = match command.spawn(folder.path(), &place) {
        Ok(program) => program,
        Err(error) => {
            tracing::warn!(%error, "cannot start the program");
            let message = format!("The program does not start: {error}.");
            return session.fail(attempt, "engine-failed", &message, (false, false)).await;
        }
    };
    let leads = work.leads();
    let mut running = Running { session, attempt, deliveries, folder, leads, program, log: Log::default() };
    let limit = work.parameters.get("max_seconds").and_then(Value::as_u64);
    let limit = async {
        match limit {
            Some(seconds) => sleep(Duration::from_secs(seconds)).await,
            None => std::future::pending().await,
        }
    };
    let end = tokio::select! {
        status = running.follow() => End::Exited(status?),
        reason = stopped(session, attempt) => End::Stopped(reason?),
        () = limit => End::TimedOut,
        () = stop.cancelled() => End::Ending,
    };
    running.end(end, stop).await
}

/// A program that runs.
struct Running<'a> {
    session: &'a Session,
    attempt: Attempt,
    deliveries: &'a Deliveries,
    folder: TempDir,
    /// Whether this is rank 0, which reports progress, checkpoints and results.
    leads: bool,
    program: Program,
    log: Log,
}

impl Running<'_> {
    /// Reports progress and the log, and uploads checkpoints, until the program has ended.
    ///
    /// # Errors
    /// If the attempt is not the worker's any more.
    async fn follow(&mut self) -> Result<io::Result<ExitStatus>, Error> {
        let mut ticks = interval(REPORT);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut last = Line::default();
        loop {
            tokio::select! {
                status = self.program.wait() => {
                    self.send_log().await;
                    return Ok(status);
                }
                _ = ticks.tick() => {}
            }
            if self.leads {
                self.report(&mut last).await?;
            }
        }
    }

    async fn report(&mut self, last: &mut Line) -> Result<(), Error> {
        let now = progress(self.folder.path());
        if (now.step, now.steps) != (last.step, last.steps) {
            let progress = Progress { phase: Phase::Working, step: now.step, steps: now.steps };
            match self.session.progress(self.attempt, progress).await {
                Ok(()) => (last.step, last.steps) = (now.step, now.steps),
                Err(Error::NotYours) => return Err(Error::NotYours),
                Err(error) => tracing::warn!(error = format!("{error:#}"), "cannot report progress"),
            }
        }
        if now.checkpoint != last.checkpoint {
            last.checkpoint = now.checkpoint;
            self.save().await;
        }
        self.send_log().await;
        Ok(())
    }

    async fn send_log(&mut self) {
        if self.leads
            && let Err(error) = self.log.send(self.session, self.attempt, self.folder.path()).await
        {
            tracing::warn!(error = format!("{error:#}"), "cannot send the log");
        }
    }

    /// Uploads the checkpoint. A failure costs work, not the attempt.
    async fn save(&self) {
        let Some(step) = progress(self.folder.path()).checkpoint.filter(|_| self.leads) else { return };
        let saved = match read_file(&self.folder.path().join("checkpoint")) {
            Ok(content) => self.session.checkpoint(self.attempt, step, content).await,
            Err(error) => Err(Error::Unavailable(error.into())),
        };
        match saved {
            Ok(()) => tracing::info!(job.id = %self.attempt.job_id, step, "checkpoint saved"),
            Err(error) => tracing::warn!(error = format!("{error:#}"), "cannot save a checkpoint"),
        }
    }

    /// Ends the program, if it runs, and the attempt.
    async fn end(mut self, end: End, stop: &CancellationToken) -> Result<(), Error> {
        match end {
            End::Exited(status) => self.exited(status, stop).await,
            End::Stopped(reason) => {
                let saved = terminate(&mut self.program).await;
                self.send_log().await;
                if saved && reason == StopReason::Preempted {
                    self.save().await;
                }
                left(self.session, self.attempt, reason, true).await
            }
            End::TimedOut => {
                terminate(&mut self.program).await;
                self.send_log().await;
                let message = "The program has worked for `max_seconds`.";
                self.session.fail(self.attempt, "timed-out", message, (false, false)).await
            }
            End::Ending => {
                if terminate(&mut self.program).await {
                    self.save().await;
                }
                Ok(())
            }
        }
    }

    /// Ends the attempt of a program that has exited without being told to.
    async fn exited(mut self, status: io::Result<ExitStatus>, stop: &CancellationToken) -> Result<(), Error> {
        let (session, attempt) = (self.session, self.attempt);
        let status = status.ok();
        match (status.and_then(|status| status.code()), status.and_then(|status| status.signal())) {
            (Some(0), _) if !self.leads => gang::done(session, attempt, stop).await,
            (Some(0), _) => match outputs(&self.folder.path().join("outputs")) {
                Ok(left) => {
                    if !left.refused.is_empty() {
                        self.tell_refused(&left.refused).await;
                    }
                    let left = (left, Some(self.folder));
                    self.deliveries.deliver(session, attempt, left, stop).await
                }
                Err(error) => {
                    let message = format!("The results cannot be read: {error}.");
                    session.fail(attempt, "engine-failed", &message, (true, false)).await
                }
            },
            (Some(INVALID), _) => {
                let message = self.last_words("The inputs are not valid.");
                session.fail(attempt, "invalid-parameters", &message, (false, false)).await
            }
            (code, signal) => {
                tracing::warn!(job.id = %attempt.job_id, code, signal, "the program failed");
                let how = match (code, signal) {
                    (Some(code), _) => format!("The program failed with exit code {code}."),
                    (None, Some(9)) => "The program was killed, perhaps for lack of memory.".to_owned(),
                    (None, Some(signal)) => format!("The program was ended by signal {signal}."),
                    (None, None) => "The program failed.".to_owned(),
                };
                let message = self.last_words(&how);
                let (code, is_retryable) = match fault::of(&self.tail(FAULTS)) {
                    Some(fault) => {
                        let Failure { code, is_retryable, .. } = Failure::of_fault(fault, "");
                        (code, is_retryable)
                    }
                    None => (ENGINE_FAILED, true),
                };
                session.fail(attempt, code, &message, (is_retryable, false)).await
            }
        }
    }

    /// Writes the files that are not results into the log of the program, and sends the log.
    async fn tell_refused(&mut self, refused: &[Refused]) {
        let lines: String = refused
            .iter()
            .map(|Refused { name, reason }| format!("not delivered: {name}: {reason}\n"))
            .collect();
        let log = open(&self.folder.path().join("log"), File::options().append(true));
        if let Err(error) = log.and_then(|mut log| log.write_all(lines.as_bytes())) {
            tracing::warn!(%error, "cannot write the log");
        }
        self.send_log().await;
    }

    /// The last part of the output of a program.
    fn last_words(&self, nothing: &str) -> String {
        let tail = self.tail(TAIL);
        let tail = tail.trim();
        if tail.is_empty() { nothing.to_owned() } else { tail.to_owned() }
    }

    /// The last bytes of what a program has written.
    fn tail(&self, bytes: u64) -> String {
        let text = read_end(&self.folder.path().join("log"), bytes).unwrap_or_default();
        String::from_utf8_lossy(&text).replace('\0', "")
    }
}

/// Makes the folder of a job, with its inputs and the latest checkpoint with a matching hash, and waits for the other
/// workers of the attempt. Returns the folder, and the environment variables with the rank of this worker.
async fn prepare(session: &Session, attempt: Attempt, work: &Work) -> Result<(TempDir, Place), Error> {
    if work.leads() {
        report_phase(session, attempt, Phase::Loading).await?;
    }
    let disk = |error: io::Error| Error::Unavailable(error.into());
    let folder = tempfile::Builder::new().prefix("atelier-job-").tempdir().map_err(disk)?;
    let inputs = session.inputs(attempt).await?;
    for name in ["inputs", "outputs", "tmp"] {
        fs::create_dir(folder.path().join(name)).map_err(disk)?;
    }
    let mut uploads = Vec::new();
    for (n, input) in inputs.uploads.iter().enumerate() {
        let content = session.fetch(attempt, input).await?;
        // the service lets only plain names pass
        let path = format!("inputs/{n}-{}", input.name.replace('/', "_"));
        fs::write(folder.path().join(&path), &content).map_err(disk)?;
        uploads.push(path);
    }
    let mut models = Vec::new();
    for input in &inputs.models {
        let content = session.fetch(attempt, input).await?;
        let path = format!("inputs/{}.safetensors", input.id.as_str().unwrap_or_default());
        fs::write(folder.path().join(&path), &content).map_err(disk)?;
        models.push(json!({ "id": input.id, "path": path }));
    }
    for checkpoint in &inputs.checkpoints {
        match session.fetch(attempt, checkpoint).await {
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
    let input = json!({ "application": application, "method": method, "parameters": parameters, "uploads": uploads,
                "models": models });
    fs::write(folder.path().join("input.json"), input.to_string()).map_err(disk)?;
    let place = gang::join(session, attempt, work).await?;
    // a trainer reports its first step, a program of a tenant need not report any
    if work.leads() && work.application == "command" {
        report_phase(session, attempt, Phase::Working).await?;
    }
    Ok((folder, place))
}

async fn report_phase(session: &Session, attempt: Attempt, phase: Phase) -> Result<(), Error> {
    match session.progress(attempt, Progress { phase, step: 0, steps: 0 }).await {
        Ok(()) | Err(Error::Unavailable(_)) => Ok(()),
        Err(other) => Err(other),
    }
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
    read_file(&folder.join("progress")).map(|text| read(&String::from_utf8_lossy(&text))).unwrap_or_default()
}

/// Has a program write a checkpoint and end. Returns whether it has done so; otherwise it is killed. What it has started ends with
/// it.
async fn terminate(program: &mut Program) -> bool {
    let told = program.signal(supervisor::TERMINATE);
    match timeout(GRACE, program.wait()).await {
        Ok(Ok(status)) => told && status.code() == Some(STOPPED),
        _ => {
            tracing::warn!("the program does not stop");
            let _ = program.kill().await;
            false
        }
    }
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
        let trainer = Command::from_words(" python3  train.py ").unwrap();
        assert_eq!((trainer.path, trainer.args), ("python3".into(), vec!["train.py".into()]));
        assert!(Command::from_words(" ").is_none());
    }

    #[tokio::test]
    async fn a_program_that_does_not_save_is_no_checkpoint() {
        let folder = tempfile::tempdir().unwrap();
        let start = |code: u8| {
            // the file tells that the trap is set
            let script = format!("trap 'exit {code}' TERM; : > ready; while :; do sleep 0.05; done");
            let program =
                Command { path: "sh".into(), args: vec!["-c".into(), script.into()], env: Vec::new() };
            program.spawn(folder.path(), &[]).unwrap()
        };
        for (code, saved) in [(75, true), (1, false)] {
            let mut program = start(code);
            while !folder.path().join("ready").exists() {
                tokio::task::yield_now().await;
            }
            assert_eq!(terminate(&mut program).await, saved);
            fs::remove_file(folder.path().join("ready")).unwrap();
        }
    }
}
