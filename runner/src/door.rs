//! Calls of the jobs service's listener for workers (docs/JOBS.md).

use std::{
    net::{IpAddr, SocketAddr},
    time::Duration,
};

use backon::{ExponentialBuilder, Retryable as _};
use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use bytes::Bytes;
use ids::JobId;
use md5::Md5;
use reqwest::{Response, StatusCode, header};
use secrecy::{ExposeSecret as _, SecretString};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};
use tokio::net::UdpSocket;
use url::Url;

use crate::{
    inventory::Models,
    refusal::{self, Meaning},
};

/// Seconds for which a poll stays open.
const WAIT_SECONDS: u32 = 20;
/// Limit of a call, longer than a poll.
const TIMEOUT: Duration = Duration::from_secs(40);

/// The hash that an object store compares an upload with (RFC 1864).
const CONTENT_MD5: &str = "content-md5";

/// Why a call has no result.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// The session has ended, or the attempt is not the worker's.
    #[error("the session or attempt is not this worker's any more")]
    NotYours,
    /// The call was refused; a repetition would be, too.
    #[error("{code}: {detail}")]
    Refused { code: String, detail: String },
    /// The object store refused an address; another one may be accepted.
    #[error("{0}")]
    Stale(String),
    /// The service does not answer, or not properly.
    #[error("the jobs service does not answer")]
    Unavailable(#[source] anyhow::Error),
}

/// Code of an attempt whose workers have not all begun.
pub(crate) const INCOMPLETE: &str = "gang-incomplete";
/// Code of a result that the service does not find.
pub(crate) const UPLOAD_MISSING: &str = "upload-missing";
/// Maximum length of a message, in bytes: the service refuses longer ones.
const MESSAGE: usize = 1_000;

/// An attempt of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(crate) struct Attempt {
    pub(crate) job_id: JobId,
    pub(crate) attempt: i32,
}

/// A job to run.
#[derive(Debug, Deserialize)]
pub(crate) struct Work {
    pub(crate) job_id: JobId,
    pub(crate) attempt: i32,
    pub(crate) application: String,
    pub(crate) method: String,
    pub(crate) parameters: Map<String, Value>,
    /// Of an attempt that has several workers.
    #[serde(default)]
    pub(crate) gang: Option<Gang>,
}

/// The place of the worker among those of the attempt.
#[derive(Debug, Clone, Copy, Deserialize)]
pub(crate) struct Gang {
    pub(crate) rank: u32,
    pub(crate) world_size: u32,
}

impl Work {
    /// Whether this worker reports progress, checkpoints and results.
    pub(crate) fn leads(&self) -> bool {
        self.gang.is_none_or(|gang| gang.rank == 0)
    }
}

/// Why an attempt has to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum StopReason {
    Cancelled,
    Preempted,
    NotYours,
}

/// What the worker is to do.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Instruction {
    Work(Work),
    Stop { reason: StopReason },
}

/// What the engine and the runner do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Phase {
    Loading,
    Working,
    Uploading,
}

/// How far an attempt is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Progress {
    pub(crate) phase: Phase,
    pub(crate) step: u32,
    pub(crate) steps: u32,
}

/// A file that an attempt needs.
#[derive(Debug, Deserialize)]
pub(crate) struct Input {
    /// Of the upload, result or model; the steps of a checkpoint.
    pub(crate) id: Value,
    pub(crate) name: String,
    bytes: u64,
    /// In hexadecimal, if it is known.
    sha256: Option<String>,
    /// Of the content that was seen when the file was ready. A service of the previous release does not tell it.
    #[serde(default)]
    etag: Option<String>,
    url: String,
}

/// The files that an attempt needs.
#[derive(Debug, Deserialize)]
pub(crate) struct Inputs {
    pub(crate) uploads: Vec<Input>,
    /// Results of other jobs. A service of the previous release sends none.
    #[serde(default)]
    pub(crate) artifacts: Vec<Input>,
    pub(crate) models: Vec<Input>,
    /// The furthest first.
    pub(crate) checkpoints: Vec<Input>,
}

/// What a program has left that is no result.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Refused {
    pub(crate) name: String,
    pub(crate) reason: &'static str,
}

/// A result that was uploaded.
#[derive(Debug, Serialize)]
pub(crate) struct Artifact {
    pub(crate) name: String,
    pub(crate) content_type: &'static str,
    /// In hexadecimal.
    pub(crate) sha256: String,
    pub(crate) bytes: usize,
}

/// The listener.
#[derive(Clone)]
pub(crate) struct Door {
    http: reqwest::Client,
    base: Url,
    token: SecretString,
    away: Duration,
}

impl Door {
    /// Transfers and results are repeated for the time `away`.
    pub(crate) fn new(http: reqwest::Client, base: Url, token: SecretString, away: Duration) -> Self {
        Self { http, base, token, away }
    }

    /// Begins a session of a worker that has these models. What an earlier one runs is lost.
    pub(crate) async fn register(&self, models: &Models) -> Result<Session, Error> {
        #[derive(Deserialize)]
        struct Answer {
            session: i64,
        }
        let Answer { session } = self.call("register", &json!(models)).await?;
        Ok(Session { door: self.clone(), number: session })
    }

    async fn call<T: DeserializeOwned>(&self, path: &str, body: &Value) -> Result<T, Error> {
        let url = format!("{}/worker/v1/{path}", self.base.as_str().trim_end_matches('/'));
        let request = self.http.post(url).timeout(TIMEOUT).bearer_auth(self.token.expose_secret());
        let response = request.json(body).send().await.map_err(|error| Error::Unavailable(error.into()))?;
        let status = response.status();
        let text = response.bytes().await.map_err(|error| Error::Unavailable(error.into()))?;
        if status.is_success() {
            return serde_json::from_slice(&text).map_err(|error| Error::Unavailable(error.into()));
        }
        Err(refusal(status, &serde_json::from_slice(&text).unwrap_or_default()))
    }

    /// Repeats a call while the service does not answer.
    async fn persist<T, R>(&self, call: impl FnMut() -> R) -> Result<T, Error>
    where
        R: Future<Output = Result<T, Error>>,
    {
        let delays = ExponentialBuilder::default()
            .with_min_delay(Duration::from_millis(200))
            .with_max_delay(Duration::from_secs(10))
            .with_jitter()
            .without_max_times()
            .with_total_delay(Some(self.away));
        call.retry(delays)
            .when(|error| matches!(error, Error::Unavailable(_)))
            .notify(|error, _| tracing::warn!(error = format!("{error:?}"), "repeating a call"))
            .await
    }
}

/// The error of an RFC 9457 problem.
fn refusal(status: StatusCode, problem: &Value) -> Error {
    let kind = problem["type"].as_str().unwrap_or_default();
    let code = kind.rsplit('/').next().unwrap_or_default();
    let detail = problem["detail"].as_str().unwrap_or_default();
    match (status, code) {
        (_, "attempt-not-yours") => Error::NotYours,
        _ if status.is_client_error() && status != StatusCode::TOO_MANY_REQUESTS => {
            Error::Refused { code: code.to_owned(), detail: detail.to_owned() }
        }
        _ => Error::Unavailable(anyhow::anyhow!("{status} {code}: {detail}")),
    }
}

/// A session of the worker.
#[derive(Clone)]
pub(crate) struct Session {
    door: Door,
    number: i64,
}

impl Session {
    /// Ends the session, and the attempt that it runs. It may have ended.
    pub(crate) async fn end(&self) -> Result<(), Error> {
        match self.door.call::<Value>("unregister", &json!({ "session": self.number })).await {
            Ok(_) | Err(Error::NotYours) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Tells what the worker has now.
    pub(crate) async fn report_models(&self, models: &Models) -> Result<(), Error> {
        let mut body = json!(models);
        body["session"] = self.number.into();
        self.door.call::<Value>("models", &body).await.map(drop)
    }

    /// Waits for an instruction to a worker that runs `running`.
    pub(crate) async fn poll(&self, running: Option<Attempt>) -> Result<Option<Instruction>, Error> {
        #[derive(Deserialize)]
        struct Answer {
            instruction: Option<Instruction>,
        }
        let body = json!({ "session": self.number, "running": running, "wait_seconds": WAIT_SECONDS });
        let Answer { instruction } = self.door.call("poll", &body).await?;
        Ok(instruction)
    }

    /// Reports how far an attempt is.
    pub(crate) async fn progress(&self, attempt: Attempt, progress: Progress) -> Result<(), Error> {
        let Progress { phase, step, steps } = progress;
        let body = json!({ "phase": phase, "step": step, "steps": steps });
        self.of_attempt::<Value>(attempt, "progress", body).await.map(drop)
    }

    /// Reports that the results of an attempt are uploaded. Returns whether its job was cancelled.
    pub(crate) async fn is_cancelled(&self, attempt: Attempt) -> Result<bool, Error> {
        #[derive(Deserialize)]
        struct Answer {
            state: String,
        }
        let body = json!({ "phase": Phase::Uploading, "step": 0, "steps": 0 });
        let Answer { state } = self.of_attempt(attempt, "progress", body).await?;
        Ok(state == "cancelling")
    }

    /// Asks for other jobs while the results of an attempt are uploaded. Returns whether the worker gets some.
    pub(crate) async fn hand_over(&self, attempt: Attempt) -> Result<bool, Error> {
        #[derive(Deserialize)]
        struct Answer {
            handed_over: bool,
        }
        let hand_over = || self.of_attempt(attempt, "deliver", json!({}));
        let Answer { handed_over } = self.door.persist(hand_over).await?;
        Ok(handed_over)
    }

    /// Uploads a result.
    pub(crate) async fn upload(
        &self,
        attempt: Attempt,
        artifact: &Artifact,
        content: Bytes,
    ) -> Result<(), Error> {
        let upload = || self.door.persist(|| self.upload_once(attempt, artifact, content.clone()));
        match upload().await {
            Err(Error::Stale(_)) => upload().await.map_err(Error::lasting),
            uploaded => uploaded,
        }
    }

    async fn upload_once(&self, attempt: Attempt, artifact: &Artifact, content: Bytes) -> Result<(), Error> {
        #[derive(Deserialize)]
        struct Answer {
            url: String,
        }
        let Artifact { name, content_type, bytes, .. } = artifact;
        let body = json!({ "name": name, "content_type": content_type, "bytes": bytes });
        let Answer { url } = self.of_attempt(attempt, "uploads", body).await?;
        self.put(&url, content_type, content).await
    }

    /// Uploads an object. The store refuses content that has changed on its way.
    async fn put(&self, url: &str, content_type: &str, content: Bytes) -> Result<(), Error> {
        let hash = BASE64.encode(Md5::digest(&content));
        let put =
            self.door.http.put(url).header(header::CONTENT_TYPE, content_type).header(CONTENT_MD5, hash);
        // it is signed, and left out of a request with an empty body otherwise
        let put = put.header(header::CONTENT_LENGTH, content.len());
        let put = put.timeout(self.door.away).body(content).send().await;
        // the address holds a signature
        accepted(put.map_err(|error| Error::Unavailable(error.without_url().into()))?).await.map(drop)
    }

    /// Uploads a checkpoint. Not repeated: there will be another.
    pub(crate) async fn checkpoint(
        &self,
        attempt: Attempt,
        step: u32,
        content: Vec<u8>,
    ) -> Result<(), Error> {
        #[derive(Deserialize)]
        struct Answer {
            url: String,
        }
        let sha256 = hex::encode(Sha256::digest(&content));
        let body = json!({ "step": step, "sha256": sha256, "bytes": content.len() });
        let Answer { url } = self.of_attempt(attempt, "checkpoints", body).await?;
        self.put(&url, "application/octet-stream", content.into()).await
    }

    /// Returns where the files are that an attempt needs.
    pub(crate) async fn inputs(&self, attempt: Attempt) -> Result<Inputs, Error> {
        self.door.persist(|| self.of_attempt(attempt, "inputs", json!({}))).await
    }

    /// Downloads a file that an attempt needs, and checks its hash.
    ///
    /// # Errors
    /// [`Error::Refused`] if it is not there, has other content, or the object store does not give it.
    pub(crate) async fn fetch(&self, attempt: Attempt, input: &Input) -> Result<Bytes, Error> {
        let content = match self.door.persist(|| self.fetch_once(input)).await {
            Err(Error::Stale(_)) => {
                let inputs = self.inputs(attempt).await?;
                let gone = || missing(format!("{} is not there any more.", input.name));
                let fresh = inputs.all().find(|other| other.id == input.id).ok_or_else(gone)?;
                self.door.persist(|| self.fetch_once(fresh)).await.map_err(Error::lasting)
            }
            fetched => fetched,
        }?;
        let is_right =
            input.sha256.as_ref().is_none_or(|hash| *hash == hex::encode(Sha256::digest(&content)));
        is_right.then_some(content).ok_or_else(|| other_content(input))
    }

    async fn fetch_once(&self, input: &Input) -> Result<Bytes, Error> {
        let lost = |error: reqwest::Error| Error::Unavailable(error.without_url().into());
        let mut get = self.door.http.get(&input.url).timeout(self.door.away);
        if let Some(etag) = &input.etag {
            get = get.header(header::IF_MATCH, etag);
        }
        let answer = get.send().await.map_err(lost)?;
        match answer.status() {
            StatusCode::PRECONDITION_FAILED => Err(missing(format!("{} was replaced.", input.name))),
            StatusCode::NOT_FOUND => Err(missing(format!("{} is not there any more.", input.name))),
            _ => content(accepted(answer).await?, input).await,
        }
    }

    /// The address from which this process reaches the service.
    pub(crate) async fn own_address(&self) -> std::io::Result<IpAddr> {
        let base = &self.door.base;
        let service = (base.host_str().unwrap_or_default(), base.port_or_known_default().unwrap_or_default());
        let socket = UdpSocket::bind("0.0.0.0:0").await?;
        // sends nothing
        socket.connect(service).await?;
        Ok(socket.local_addr()?.ip())
    }

    /// Reports where the other workers of the attempt reach this one. Returns where they reach rank 0, once all have reported.
    pub(crate) async fn join(
        &self,
        attempt: Attempt,
        address: SocketAddr,
    ) -> Result<Option<SocketAddr>, Error> {
        #[derive(Deserialize)]
        struct Answer {
            master: Option<SocketAddr>,
        }
        let Answer { master } = self.of_attempt(attempt, "join", json!({ "address": address })).await?;
        Ok(master)
    }

    /// Reports that the program of this worker has ended as it should.
    pub(crate) async fn done(&self, attempt: Attempt) -> Result<(), Error> {
        self.door.persist(|| self.of_attempt::<Value>(attempt, "done", json!({}))).await.map(drop)
    }

    /// Sends a part of the program's log. Returns until where the service has it.
    pub(crate) async fn log(
        &self,
        attempt: Attempt,
        (from, until): (u64, u64),
        text: &str,
    ) -> Result<u64, Error> {
        #[derive(Deserialize)]
        struct Answer {
            until: u64,
        }
        let body = json!({ "from": from, "until": until, "text": text });
        let Answer { until } = self.of_attempt(attempt, "log", body).await?;
        Ok(until)
    }

    /// Ends an attempt with its results, and tells what is none.
    pub(crate) async fn complete(
        &self,
        attempt: Attempt,
        artifacts: &[Artifact],
        refused: &[Refused],
    ) -> Result<(), Error> {
        let mut body = json!({ "artifacts": artifacts });
        // a service of the previous release does not know it
        if !refused.is_empty() {
            body["refused"] = json!(refused);
        }
        self.door.persist(|| self.of_attempt::<Value>(attempt, "complete", body.clone())).await.map(drop)
    }

    /// Ends an attempt without results, and the session with it if the worker cannot run another job.
    pub(crate) async fn fail(
        &self,
        attempt: Attempt,
        code: &str,
        message: &str,
        (is_retryable, ends_session): (bool, bool),
    ) -> Result<(), Error> {
        let message = sendable(message);
        let body = json!({
            "code": code, "message": message, "retryable": is_retryable, "ends_session": ends_session,
        });
        self.door.persist(|| self.of_attempt::<Value>(attempt, "fail", body.clone())).await.map(drop)
    }

    /// Ends an attempt that was told to stop, and the session as [`Self::fail`] does.
    pub(crate) async fn leave(&self, attempt: Attempt, ends_session: bool) -> Result<(), Error> {
        self.of_attempt::<Value>(attempt, "leave", json!({ "ends_session": ends_session })).await.map(drop)
    }

    async fn of_attempt<T: DeserializeOwned>(
        &self,
        attempt: Attempt,
        what: &str,
        mut body: Value,
    ) -> Result<T, Error> {
        body["session"] = self.number.into();
        let Attempt { job_id, attempt } = attempt;
        self.door.call(&format!("attempts/{job_id}/{attempt}/{what}"), &body).await
    }
}

fn missing(detail: String) -> Error {
    Error::Refused { code: "input-missing".to_owned(), detail }
}

fn other_content(input: &Input) -> Error {
    missing(format!("{} has other content than was announced.", input.name))
}

/// Reads a file of the announced size. One that its tenant has replaced may have any, and is not read further.
async fn content(mut answer: Response, input: &Input) -> Result<Bytes, Error> {
    let mut content = Vec::new();
    while let Some(part) =
        answer.chunk().await.map_err(|error| Error::Unavailable(error.without_url().into()))?
    {
        content.extend_from_slice(&part);
        if content.len() as u64 > input.bytes {
            return Err(other_content(input));
        }
    }
    if content.len() as u64 == input.bytes { Ok(content.into()) } else { Err(other_content(input)) }
}

impl Error {
    /// The error when a fresh address was refused, too.
    fn lasting(self) -> Self {
        match self {
            Self::Stale(detail) => Self::Refused { code: refusal::REFUSED.to_owned(), detail },
            other => other,
        }
    }
}

impl Inputs {
    fn all(&self) -> impl Iterator<Item = &Input> {
        self.uploads.iter().chain(&self.artifacts).chain(&self.models).chain(&self.checkpoints)
    }
}

/// Returns the answer of the object store, if it is a success.
async fn accepted(answer: Response) -> Result<Response, Error> {
    let status = answer.status();
    if status.is_success() {
        return Ok(answer);
    }
    let body = answer.text().await.unwrap_or_default();
    let code = refusal::code(&body);
    let detail = format!("The object store answers {status} {code}.");
    Err(match refusal::meaning(status, code) {
        Meaning::Passing => Error::Unavailable(anyhow::anyhow!("{detail}")),
        Meaning::Stale => Error::Stale(detail),
        Meaning::Final(code) => Error::Refused { code: code.to_owned(), detail },
    })
}

/// A message as the service takes it: without NUL, and not too long.
fn sendable(message: &str) -> String {
    let message = message.replace('\0', "");
    let end = (0..=message.len().min(MESSAGE)).rev().find(|end| message.is_char_boundary(*end));
    message[..end.unwrap_or_default()].to_owned()
}

#[cfg(test)]
mod tests {
    use std::sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    };

    use tokio::{
        io::{AsyncReadExt as _, AsyncWriteExt as _},
        net::TcpListener,
    };

    use super::*;

    /// An object store that sends this head, and then chunks of 64 KiB until the client disconnects. Returns its URL and the number of chunks sent.
    async fn endless(head: &'static str, part: Vec<u8>) -> (String, Arc<AtomicUsize>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/object", listener.local_addr().unwrap());
        let counted = Arc::new(AtomicUsize::new(0));
        let sent = Arc::clone(&counted);
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let _ = stream.read(&mut [0; 4096]).await;
                let _ = stream.write_all(head.as_bytes()).await;
                while stream.write_all(&part).await.is_ok() {
                    sent.fetch_add(1, Ordering::Relaxed);
                }
            }
        });
        (url, counted)
    }

    #[tokio::test]
    async fn a_file_that_was_replaced_is_not_read_further_than_it_should_be() {
        const PART: usize = 65_536;
        let chunk = [format!("{PART:x}\r\n").into_bytes(), vec![b'x'; PART], b"\r\n".to_vec()].concat();
        for (head, part) in [
            ("HTTP/1.1 200 OK\r\ncontent-length: 1099511627776\r\n\r\n", vec![b'x'; PART]),
            ("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n", chunk),
        ] {
            let (url, parts) = endless(head, part).await;
            let base = Url::parse("http://127.0.0.1:9/").unwrap();
            let door = Door::new(reqwest::Client::new(), base, String::new().into(), Duration::from_secs(60));
            let session = Session { door, number: 1 };
            let input = Input {
                id: json!("art_1"),
                name: "0.png".to_owned(),
                bytes: 100_000,
                sha256: None,
                etag: None,
                url,
            };
            let attempt = Attempt { job_id: JobId::new(), attempt: 1 };
            let fetched = tokio::time::timeout(Duration::from_secs(30), session.fetch(attempt, &input)).await;
            let refused = fetched.expect("it is not read to its end").unwrap_err();
            assert!(
                matches!(&refused, Error::Refused { code, .. } if code == "input-missing"),
                "{refused:?}"
            );
            // some chunks stay in the buffers of the kernel
            assert!(parts.load(Ordering::Relaxed) < 1_000, "{head}");
        }
    }

    #[test]
    fn a_message_fits() {
        assert_eq!(sendable("a\0b"), "ab");
        let long = "\u{20ac}".repeat(400);
        assert_eq!(sendable(&long), "\u{20ac}".repeat(333));
    }
}
