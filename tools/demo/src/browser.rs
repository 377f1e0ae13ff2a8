//! An instance's URL, as a browser uses it: ticket, cookie, pages, API, WebSocket.
//!
//! Not every resolver maps `*.localhost` to this machine, so the address is given.

use std::net::{Ipv4Addr, SocketAddr};

use anyhow::{Context, ensure};
use futures::{SinkExt, StreamExt};
use reqwest::{Method, header};
use serde_json::Value;
use tokio::net::TcpStream;
use tokio_tungstenite::{
    MaybeTlsStream, WebSocketStream, client_async,
    tungstenite::{Message, client::IntoClientRequest, http::HeaderValue},
};
use url::Url;

pub struct Browser {
    http: reqwest::Client,
    base: Url,
    address: SocketAddr,
    cookie: String,
}

pub type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;

/// Opens a WebSocket to `url` at `address` with one additional header.
pub async fn websocket(
    url: &str,
    address: SocketAddr,
    header: (&'static str, &str),
) -> anyhow::Result<Socket> {
    let mut request = url.into_client_request()?;
    request.headers_mut().insert(header.0, HeaderValue::from_str(header.1)?);
    let stream = TcpStream::connect(address).await?;
    let (socket, _) = Box::pin(client_async(request, MaybeTlsStream::Plain(stream))).await?;
    Ok(socket)
}

/// Returns the status of a page of an instance without a cookie.
pub async fn status_of(url: &str) -> anyhow::Result<u16> {
    let url: Url = url.parse()?;
    let (http, _) = client_of(&url)?;
    Ok(http.get(url).send().await?.status().as_u16())
}

/// A client that finds the host of the URL at this machine, and the address.
fn client_of(url: &Url) -> anyhow::Result<(reqwest::Client, SocketAddr)> {
    let host = url.host_str().context("a URL without a host")?;
    let port = url.port_or_known_default().context("no port")?;
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    Ok((machine::http::builder().resolve(host, address).build()?, address))
}

impl Browser {
    /// Opens an instance with the URL of a ticket, which works once and sets a cookie for this host only.
    pub async fn open(ticket_url: &str) -> anyhow::Result<Self> {
        let url: Url = ticket_url.parse()?;
        let (http, address) = client_of(&url)?;
        let answer = http.get(url.clone()).send().await?;
        ensure!(answer.status() == 303, "the ticket does not open the instance: {}", answer.status());
        let set = answer.headers().get(header::SET_COOKIE).context("no cookie")?.to_str()?.to_owned();
        ensure!(set.contains("HttpOnly") && !set.contains("Domain="), "not a host-locked cookie: {set}");
        let cookie = set.split(';').next().unwrap_or_default().to_owned();
        let again = http.get(url.clone()).send().await?;
        ensure!(again.status() != 303, "the ticket opens the instance twice");
        Ok(Self { http, base: url.join("/")?, address, cookie })
    }

    pub async fn get(&self, path: &str) -> anyhow::Result<(u16, String)> {
        let answer = self.http.get(self.base.join(path)?).header(header::COOKIE, &self.cookie).send().await?;
        Ok((answer.status().as_u16(), answer.text().await?))
    }

    /// Status of the page without the cookie.
    pub async fn get_anonymously(&self, path: &str) -> anyhow::Result<u16> {
        Ok(self.http.get(self.base.join(path)?).send().await?.status().as_u16())
    }

    pub async fn post(&self, path: &str, body: &Value) -> anyhow::Result<Value> {
        let request = self.http.request(Method::POST, self.base.join(path)?).json(body);
        let answer = request.header(header::COOKIE, &self.cookie).send().await?.error_for_status()?;
        Ok(answer.json().await?)
    }

    /// Opens the WebSocket at `path`.
    pub async fn websocket(&self, path: &str) -> anyhow::Result<Socket> {
        let mut url = self.base.join(path)?;
        url.set_scheme("ws").map_err(|()| anyhow::anyhow!("no WebSocket URL"))?;
        websocket(url.as_str(), self.address, ("cookie", &self.cookie)).await
    }

    /// Sends a text over a WebSocket and waits for its echo.
    pub async fn exchange(socket: &mut Socket, text: &str) -> anyhow::Result<()> {
        socket.send(Message::text(text)).await?;
        while let Some(message) = socket.next().await {
            if message?.to_text().is_ok_and(|got| got.contains(text)) {
                return Ok(());
            }
        }
        anyhow::bail!("the WebSocket closed without an echo")
    }

    /// Sends a text over the WebSocket at `path`, waits for its echo, and closes it.
    pub async fn echo(&self, path: &str, text: &str) -> anyhow::Result<()> {
        let mut socket = self.websocket(path).await?;
        Self::exchange(&mut socket, text).await?;
        Ok(socket.close(None).await?)
    }
}
