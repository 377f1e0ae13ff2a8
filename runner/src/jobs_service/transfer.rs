//! Uploads to the object store and downloads from it, by signed addresses.

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use bytes::Bytes;
use md5::Md5;
use reqwest::{Response, StatusCode, header};
use sha2::Digest as _;

use super::{client::Client, error::Error, wire::Input};
use crate::refusal::{self, Meaning};

/// The hash that an object store compares an upload with (RFC 1864).
const CONTENT_MD5: &str = "content-md5";

impl Client {
    /// Uploads an object. The store refuses content that has changed on its way.
    pub(super) async fn put(&self, url: &str, content_type: &str, content: Bytes) -> Result<(), Error> {
        let hash = BASE64.encode(Md5::digest(&content));
        let put = self.http.put(url).header(header::CONTENT_TYPE, content_type).header(CONTENT_MD5, hash);
        // it is signed, and left out of a request with an empty body otherwise
        let put = put.header(header::CONTENT_LENGTH, content.len());
        let put = put.timeout(self.away).body(content).send().await;
        // the address holds a signature
        accepted(put.map_err(|error| Error::Unavailable(error.without_url().into()))?).await.map(drop)
    }

    /// Downloads a file of the announced size, unless it was replaced.
    pub(super) async fn get(&self, input: &Input) -> Result<Bytes, Error> {
        let lost = |error: reqwest::Error| Error::Unavailable(error.without_url().into());
        let mut get = self.http.get(&input.url).timeout(self.away);
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
}

pub(super) fn missing(detail: String) -> Error {
    Error::Refused { code: "input-missing".to_owned(), detail }
}

pub(super) fn other_content(input: &Input) -> Error {
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

#[cfg(test)]
mod tests {
    use std::{
        sync::{
            Arc,
            atomic::{AtomicUsize, Ordering},
        },
        time::Duration,
    };

    use serde_json::json;
    use tokio::{
        io::{AsyncReadExt as _, AsyncWriteExt as _},
        net::TcpListener,
    };
    use url::Url;

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
            let client =
                Client::new(reqwest::Client::new(), base, String::new().into(), Duration::from_secs(60));
            let input = Input {
                id: json!("art_1"),
                name: "0.png".to_owned(),
                bytes: 100_000,
                sha256: None,
                etag: None,
                url,
            };
            let fetched = tokio::time::timeout(Duration::from_secs(30), client.get(&input)).await;
            let refused = fetched.expect("it is not read to its end").unwrap_err();
            assert!(
                matches!(&refused, Error::Refused { code, .. } if code == "input-missing"),
                "{refused:?}"
            );
            // some chunks stay in the buffers of the kernel
            assert!(parts.load(Ordering::Relaxed) < 1_000, "{head}");
        }
    }
}
