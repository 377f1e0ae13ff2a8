//! The log file of a container: each line of its output, after the time at which it was read.

use std::sync::Arc;
use std::time::Duration;

use objects::time::now_micro;
use tokio::fs::File;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWriteExt, BufReader};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::hub::Hub;
use crate::runtime::process::Launched;

pub(super) struct Logs(JoinHandle<()>);

impl Logs {
    /// Writes the output of a process to its pod's log.
    pub(super) fn keep(hub: &Arc<Hub>, uid: &str, launched: &mut Launched) -> Self {
        let (tx, mut rx) = mpsc::channel::<Vec<u8>>(64);
        if let Some(stdout) = launched.child.stdout.take() {
            tokio::spawn(read_lines(stdout, tx.clone()));
        }
        if let Some(stderr) = launched.child.stderr.take() {
            tokio::spawn(read_lines(stderr, tx));
        }
        // before the container is reported as running
        let file = std::fs::File::create(hub.runtime.log_file(uid, false));
        let (hub, uid) = (hub.clone(), uid.to_owned());
        Self(tokio::spawn(async move {
            let Ok(mut file) = file.map(File::from_std) else { return };
            // the last line of one stream may be incomplete; the other stream continues on a new line
            let mut incomplete = false;
            while let Some(mut line) = rx.recv().await {
                if incomplete {
                    line.insert(0, b'\n');
                }
                incomplete = !line.ends_with(b"\n");
                if file.write_all(&line).await.is_err() || file.flush().await.is_err() {
                    return;
                }
                hub.runtime.log_grew(&uid);
            }
        }))
    }

    /// Waits for the last lines; not for a child process that keeps the pipe open.
    pub(super) async fn finish(self) {
        let _ = tokio::time::timeout(Duration::from_secs(2), self.0).await;
    }
}

async fn read_lines(from: impl AsyncRead + Unpin + Send + 'static, to: mpsc::Sender<Vec<u8>>) {
    let mut reader = BufReader::new(from);
    loop {
        let mut line = Vec::new();
        match reader.read_until(b'\n', &mut line).await {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
        let mut stamped = now_micro().into_bytes();
        stamped.push(b' ');
        stamped.extend_from_slice(&line);
        if to.send(stamped).await.is_err() {
            return;
        }
    }
}
