//! The layers between TCP and HTTP: the PROXY protocol, then TLS.

use std::{io, net::SocketAddr};

use tokio::net::TcpStream;
use tokio_rustls::server::TlsStream;
use tokio_util::either::Either;

use crate::{
    proxy_protocol::{self, ProxyProtocolConfig},
    tls::Tls,
};

/// A connection that carries HTTP.
pub(crate) type Stream = Either<TcpStream, Box<TlsStream<TcpStream>>>;

/// How accepted connections become connections that carry HTTP.
#[derive(Clone, Default)]
pub(crate) struct Transport {
    pub(crate) proxy_protocol: Option<ProxyProtocolConfig>,
    pub(crate) tls: Option<Tls>,
}

/// A connection that never carries HTTP.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error(transparent)]
    ProxyProtocol(#[from] proxy_protocol::Error),
    #[error("TLS handshake failed")]
    Tls(#[source] io::Error),
}

impl Transport {
    /// Returns the connection with the address of the client.
    ///
    /// # Errors
    /// If the connection must be closed.
    pub(crate) async fn open(
        &self,
        mut stream: TcpStream,
        peer: SocketAddr,
    ) -> Result<(Stream, SocketAddr), Error> {
        let client = match &self.proxy_protocol {
            Some(config) => config.client(&mut stream, peer).await?,
            None => peer,
        };
        match &self.tls {
            Some(tls) => {
                let stream = tls.accept(stream).await.map_err(Error::Tls)?;
                Ok((Either::Right(Box::new(stream)), client))
            }
            None => Ok((Either::Left(stream), client)),
        }
    }
}
