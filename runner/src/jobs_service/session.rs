//! A session of the worker: its requests and reports.

use std::net::{IpAddr, SocketAddr};

use bytes::Bytes;
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tokio::net::UdpSocket;

use super::{
    client::Client,
    error::Error,
    transfer::{missing, other_content},
    wire::{Artifact, Attempt, Input, Inputs, Instruction, Models, Phase, Progress, Refused},
};

/// Seconds for which a poll stays open.
const WAIT_SECONDS: u32 = 20;
/// Maximum length of a message, in bytes: the service refuses longer ones.
const MESSAGE: usize = 1_000;

/// A session of the worker.
#[derive(Clone)]
pub(crate) struct Session {
    client: Client,
    number: i64,
}

impl Session {
    /// Begins a session of a worker that has these models. What an earlier one runs is lost.
    pub(crate) async fn begin(client: &Client, models: &Models) -> Result<Self, Error> {
        #[derive(Deserialize)]
        struct Answer {
            session: i64,
        }
        let Answer { session } = client.call("register", &json!(models)).await?;
        Ok(Self { client: client.clone(), number: session })
    }

    /// Ends the session, and the attempt that it runs. It may have ended.
    pub(crate) async fn end(&self) -> Result<(), Error> {
        match self.client.call::<Value>("unregister", &json!({ "session": self.number })).await {
            Ok(_) | Err(Error::NotYours) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Reports the current models of the worker.
    pub(crate) async fn report_models(&self, models: &Models) -> Result<(), Error> {
        let mut body = json!(models);
        body["session"] = self.number.into();
        self.client.call::<Value>("models", &body).await.map(drop)
    }

    /// Waits for an instruction to a worker that runs `running`.
    pub(crate) async fn poll(&self, running: Option<Attempt>) -> Result<Option<Instruction>, Error> {
        #[derive(Deserialize)]
        struct Answer {
            instruction: Option<Instruction>,
        }
        let body = json!({ "session": self.number, "running": running, "wait_seconds": WAIT_SECONDS });
        let Answer { instruction } = self.client.call("poll", &body).await?;
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
        let Answer { handed_over } = self.client.persist(hand_over).await?;
        Ok(handed_over)
    }

    /// Uploads a result.
    pub(crate) async fn upload(
        &self,
        attempt: Attempt,
        artifact: &Artifact,
        content: Bytes,
    ) -> Result<(), Error> {
        let upload = || self.client.persist(|| self.upload_once(attempt, artifact, content.clone()));
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
        self.client.put(&url, content_type, content).await
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
        self.client.put(&url, "application/octet-stream", content.into()).await
    }

    /// Returns where the files are that an attempt needs.
    pub(crate) async fn inputs(&self, attempt: Attempt) -> Result<Inputs, Error> {
        self.client.persist(|| self.of_attempt(attempt, "inputs", json!({}))).await
    }

    /// Downloads a file that an attempt needs, and checks its hash.
    ///
    /// # Errors
    /// [`Error::Refused`] if it is not there, has other content, or the object store does not give it.
    pub(crate) async fn fetch(&self, attempt: Attempt, input: &Input) -> Result<Bytes, Error> {
        let content = match self.client.persist(|| self.client.get(input)).await {
            Err(Error::Stale(_)) => {
                let inputs = self.inputs(attempt).await?;
                let gone = || missing(format!("{} is not there any more.", input.name));
                let fresh = inputs.all().find(|other| other.id == input.id).ok_or_else(gone)?;
                self.client.persist(|| self.client.get(fresh)).await.map_err(Error::lasting)
            }
            fetched => fetched,
        }?;
        let is_right =
            input.sha256.as_ref().is_none_or(|hash| *hash == hex::encode(Sha256::digest(&content)));
        is_right.then_some(content).ok_or_else(|| other_content(input))
    }

    /// The address from which this process reaches the service.
    pub(crate) async fn own_address(&self) -> std::io::Result<IpAddr> {
        let base = &self.client.base;
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
        self.client.persist(|| self.of_attempt::<Value>(attempt, "done", json!({}))).await.map(drop)
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

    /// Ends an attempt with its results, and reports files that are not results.
    pub(crate) async fn complete(
        &self,
        attempt: Attempt,
        artifacts: &[Artifact],
        refused: &[Refused],
    ) -> Result<(), Error> {
        let body = json!({ "artifacts": artifacts, "refused": refused });
        self.client.persist(|| self.of_attempt::<Value>(attempt, "complete", body.clone())).await.map(drop)
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
        self.client.persist(|| self.of_attempt::<Value>(attempt, "fail", body.clone())).await.map(drop)
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
        self.client.call(&format!("attempts/{job_id}/{attempt}/{what}"), &body).await
    }
}

/// A message as the service takes it: without NUL, and not too long.
fn sendable(message: &str) -> String {
    let message = message.replace('\0', "");
    let end = (0..=message.len().min(MESSAGE)).rev().find(|end| message.is_char_boundary(*end));
    message[..end.unwrap_or_default()].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_fits() {
        assert_eq!(sendable("a\0b"), "ab");
        let long = "\u{20ac}".repeat(400);
        assert_eq!(sendable(&long), "\u{20ac}".repeat(333));
    }
}
