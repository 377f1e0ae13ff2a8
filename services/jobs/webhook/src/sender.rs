//! Sends messages to endpoints. The client's resolver checks the addresses of a name, and the client connects
//! only to checked addresses: a name that changes its address in between has no effect.

use std::{
    error::Error,
    net::{IpAddr, SocketAddr},
    time::Duration,
};

use jiff::Timestamp;
use reqwest::{
    dns::{Addrs, Name, Resolve, Resolving},
    header::RETRY_AFTER,
};
use url::{Host, Url};

use super::{
    addresses::is_public,
    model::{SendError, retry_after},
};
use crate::WebhooksConfig;

/// Longest time for an attempt.
const TIMEOUT: Duration = Duration::from_secs(10);
/// How long a connection is kept for the next message.
const IDLE: Duration = Duration::from_secs(30);

/// A signed message.
pub(super) struct Message<'a> {
    pub(super) id: &'a str,
    pub(super) timestamp: Timestamp,
    pub(super) signature: String,
    pub(super) body: String,
}

/// Sends messages. Clones share connections.
#[derive(Clone)]
pub(super) struct Sender {
    client: reqwest::Client,
    config: WebhooksConfig,
}

impl Sender {
    pub(super) fn new(config: WebhooksConfig) -> anyhow::Result<Self> {
        let builder = reqwest::Client::builder()
            .user_agent("Atelier-Webhooks/1")
            .timeout(TIMEOUT)
            .pool_idle_timeout(IDLE)
            .pool_max_idle_per_host(2)
            .redirect(reqwest::redirect::Policy::none())
            .referer(false)
            // a proxy would resolve the name again
            .no_proxy();
        let resolver = CheckedResolver { allow_private: config.allow_private };
        Ok(Self { client: builder.dns_resolver(resolver).build()?, config })
    }

    /// Reads a URL that messages may be sent to.
    ///
    /// # Errors
    /// Why none may.
    pub(super) fn check(&self, text: &str) -> Result<Url, &'static str> {
        let url: Url = text.parse().map_err(|_| "must be a URL")?;
        if url.scheme() != "https" && !(self.config.allow_http && url.scheme() == "http") {
            return Err("must begin with https://");
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err("must not have a user name or password");
        }
        let address = match url.host() {
            Some(Host::Ipv4(address)) => Some(IpAddr::V4(address)),
            Some(Host::Ipv6(address)) => Some(IpAddr::V6(address)),
            Some(Host::Domain(_)) => None,
            None => return Err("must name a host"),
        };
        if address.is_some_and(|address| !self.config.allow_private && !is_public(address)) {
            return Err("must not be a private address");
        }
        Ok(url)
    }

    /// Sends a message. Returns the status of an answer that accepts it; the rest of the answer is ignored.
    ///
    /// # Errors
    /// Why the endpoint has not accepted it.
    pub(super) async fn send(&self, url: &str, message: &Message<'_>) -> Result<u16, SendError> {
        // a URL that was allowed when it was stored may not be allowed any more
        let url = self.check(url).map_err(|_| SendError::AddressNotAllowed)?;
        let request = self
            .client
            .post(url)
            .header("content-type", "application/json")
            .header("webhook-id", message.id)
            .header("webhook-timestamp", message.timestamp.as_second())
            .header("webhook-signature", &message.signature)
            .body(message.body.clone());
        match request.send().await {
            Ok(answer) if answer.status().is_success() => Ok(answer.status().as_u16()),
            Ok(answer) => {
                let header = answer.headers().get(RETRY_AFTER).and_then(|header| header.to_str().ok());
                let retry_after = header.and_then(|header| retry_after(header, message.timestamp));
                Err(SendError::Refused { status: answer.status().as_u16(), retry_after })
            }
            Err(error) => Err(cause(&error)),
        }
    }
}

fn cause(error: &reqwest::Error) -> SendError {
    let mut source: Option<&(dyn Error + 'static)> = Some(error);
    while let Some(inner) = source {
        if inner.is::<NotAllowed>() {
            return SendError::AddressNotAllowed;
        }
        source = inner.source();
    }
    if error.is_timeout() { SendError::TimedOut } else { SendError::NoConnection }
}

/// Returns the addresses of a name if all of them may be connected to.
struct CheckedResolver {
    allow_private: bool,
}

/// An address of the name is not public.
#[derive(Debug, thiserror::Error)]
#[error("the name has an address that is not public")]
struct NotAllowed;

impl Resolve for CheckedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let allow_private = self.allow_private;
        Box::pin(async move {
            let found: Vec<SocketAddr> = tokio::net::lookup_host((name.as_str(), 0)).await?.collect();
            if !allow_private && found.iter().any(|address| !is_public(address.ip())) {
                return Err(NotAllowed.into());
            }
            Ok(Box::new(found.into_iter()) as Addrs)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sender(allow_http: bool, allow_private: bool) -> Sender {
        Sender::new(WebhooksConfig { allow_http, allow_private }).unwrap()
    }

    #[test]
    fn only_https_to_public_addresses_is_allowed() {
        let strict = sender(false, false);
        for url in [
            "https://example.com/hook",
            "https://example.com:8443/?a=b",
            "https://1.1.1.1/",
            "https://[2606:4700::1]/",
        ] {
            assert!(strict.check(url).is_ok(), "{url}");
        }
        for url in [
            "http://example.com/",
            "ftp://example.com/",
            "example.com",
            "https://",
            "https://u@example.com/",
            "https://u:p@example.com/",
            "https://127.0.0.1/",
            "https://2130706433/",
            "https://0x7f.1/",
            "https://[::1]/",
            "https://[::ffff:10.0.0.1]/",
            "https://169.254.169.254/latest",
        ] {
            assert!(strict.check(url).is_err(), "{url}");
        }
        assert!(sender(true, true).check("http://127.0.0.1:9/").is_ok());
        assert!(sender(true, false).check("http://127.0.0.1:9/").is_err());
    }

    #[tokio::test]
    async fn a_name_with_a_private_address_is_not_connected_to() {
        let message = Message {
            id: "1",
            timestamp: Timestamp::UNIX_EPOCH,
            signature: String::new(),
            body: String::new(),
        };
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://localhost:{}/", listener.local_addr().unwrap().port());
        assert_eq!(sender(true, false).send(&url, &message).await, Err(SendError::AddressNotAllowed));
        let connected = tokio::time::timeout(Duration::ZERO, listener.accept()).await;
        assert!(connected.is_err());
        let url = format!("http://{}/", testkit::NOBODY);
        assert_eq!(sender(true, true).send(&url, &message).await, Err(SendError::NoConnection));
    }
}
