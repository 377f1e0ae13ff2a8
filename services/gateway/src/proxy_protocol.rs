//! The PROXY protocol, versions 1 and 2: a load balancer in front states the address of its client.
//! <https://www.haproxy.org/download/3.2/doc/proxy-protocol.txt>

use std::{
    io,
    net::{IpAddr, SocketAddr},
    time::Duration,
};

use ipnet::IpNet;
use ppp::{v1, v2};
use serde::Deserialize;
use tokio::{
    io::{AsyncRead, AsyncReadExt},
    time::timeout,
};

/// Maximum number of bytes of a header of version 1.
const MOST_V1: usize = 107;
/// Bytes after the fixed part of a header of version 2 that are accepted. Addresses and common extensions have less.
const MOST_V2: usize = 4096;
/// The shorter of the shortest headers, and the signature of version 2.
const START: usize = 12;

/// The PROXY protocol on the public listener.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProxyProtocolConfig {
    /// Networks of the load balancers. Connections from elsewhere are closed.
    pub trusted: Vec<IpNet>,
    /// Time for the header to arrive, in seconds (default 5).
    #[serde(default = "default_header_seconds")]
    pub header_seconds: u32,
}

fn default_header_seconds() -> u32 {
    5
}

/// A connection that does not begin with a valid header.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("the peer is not a trusted load balancer")]
    Untrusted,
    #[error("no PROXY header in time")]
    TimedOut,
    #[error("no valid PROXY header")]
    Malformed,
    #[error("the connection ended in the PROXY header")]
    Interrupted(#[from] io::Error),
}

impl ProxyProtocolConfig {
    /// Reads the header that a connection from `peer` begins with. Returns the address of the client: that of `peer` if
    /// the load balancer speaks for itself.
    ///
    /// # Errors
    /// If the connection must be closed.
    pub(crate) async fn client(
        &self,
        stream: &mut (impl AsyncRead + Unpin),
        peer: SocketAddr,
    ) -> Result<SocketAddr, Error> {
        if !self.is_trusted(peer.ip()) {
            return Err(Error::Untrusted);
        }
        let limit = Duration::from_secs(self.header_seconds.max(1).into());
        let client = timeout(limit, read(stream)).await.map_err(|_| Error::TimedOut)??;
        Ok(client.unwrap_or(peer))
    }

    fn is_trusted(&self, peer: IpAddr) -> bool {
        let peer = peer.to_canonical();
        self.trusted.iter().any(|network| network.contains(&peer))
    }
}

/// Reads a header and not one byte more. Returns none if it names no address.
async fn read(stream: &mut (impl AsyncRead + Unpin)) -> Result<Option<SocketAddr>, Error> {
    let mut header = vec![0; START];
    stream.read_exact(&mut header).await?;
    if header == v2::PROTOCOL_PREFIX {
        return read_v2(stream, header).await;
    }
    if !header.starts_with(v1::PROTOCOL_PREFIX.as_bytes()) {
        return Err(Error::Malformed);
    }
    while !header.ends_with(b"\r\n") {
        if header.len() == MOST_V1 {
            return Err(Error::Malformed);
        }
        header.push(stream.read_u8().await?);
    }
    match v1::Header::try_from(header.as_slice()).map_err(|_| Error::Malformed)?.addresses {
        v1::Addresses::Tcp4(of) => Ok(Some((of.source_address, of.source_port).into())),
        v1::Addresses::Tcp6(of) => Ok(Some((of.source_address, of.source_port).into())),
        v1::Addresses::Unknown => Ok(None),
    }
}

async fn read_v2(
    stream: &mut (impl AsyncRead + Unpin),
    mut header: Vec<u8>,
) -> Result<Option<SocketAddr>, Error> {
    let (version_and_command, family) = (stream.read_u8().await?, stream.read_u8().await?);
    let length = stream.read_u16().await?;
    if usize::from(length) > MOST_V2 {
        return Err(Error::Malformed);
    }
    header.extend([version_and_command, family]);
    header.extend(length.to_be_bytes());
    let fixed = header.len();
    header.resize(fixed + usize::from(length), 0);
    stream.read_exact(&mut header[fixed..]).await?;
    let header = v2::Header::try_from(header.as_slice()).map_err(|_| Error::Malformed)?;
    match (header.command, header.addresses) {
        // a health check of the load balancer
        (v2::Command::Local, _) => Ok(None),
        (v2::Command::Proxy, v2::Addresses::IPv4(of)) => Ok(Some((of.source_address, of.source_port).into())),
        (v2::Command::Proxy, v2::Addresses::IPv6(of)) => Ok(Some((of.source_address, of.source_port).into())),
        (v2::Command::Proxy, v2::Addresses::Unspecified | v2::Addresses::Unix(_)) => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(trusted: &[&str]) -> ProxyProtocolConfig {
        ProxyProtocolConfig {
            trusted: trusted.iter().map(|network| network.parse().unwrap()).collect(),
            header_seconds: 1,
        }
    }

    const PEER: &str = "10.0.0.1:5000";

    /// What a header says, and what is left after it.
    async fn parsed(bytes: &[u8]) -> Result<(String, Vec<u8>), Error> {
        let mut rest = bytes;
        let client = config(&["10.0.0.0/8"]).client(&mut rest, PEER.parse().unwrap()).await?;
        Ok((client.to_string(), rest.to_vec()))
    }

    fn v2(command: u8, family: u8, rest: &[u8]) -> Vec<u8> {
        let mut bytes = v2::PROTOCOL_PREFIX.to_vec();
        bytes.extend([0x20 | command, family]);
        bytes.extend(u16::try_from(rest.len()).unwrap().to_be_bytes());
        bytes.extend(rest);
        bytes
    }

    #[tokio::test]
    async fn both_versions_name_the_client_and_leave_what_follows() {
        let four = [203, 0, 113, 7, 10, 0, 0, 1, 0x13, 0x88, 0x01, 0xbb];
        let mut six = [0; 36];
        six[..2].copy_from_slice(&[0x20, 0x01]);
        six[15] = 9;
        six[33] = 80;
        // with an extension (TLV) behind the addresses
        let extended = [four.as_slice(), &[0x04, 0, 2, 1, 1]].concat();
        for (header, client) in [
            (b"PROXY TCP4 203.0.113.7 10.0.0.1 5000 443\r\n".to_vec(), "203.0.113.7:5000"),
            (b"PROXY TCP6 2001::9 2001::1 80 443\r\n".to_vec(), "[2001::9]:80"),
            (b"PROXY UNKNOWN\r\n".to_vec(), PEER),
            (b"PROXY UNKNOWN and more\r\n".to_vec(), PEER),
            (v2(1, 0x11, &four), "203.0.113.7:5000"),
            (v2(1, 0x11, &extended), "203.0.113.7:5000"),
            (v2(1, 0x21, &six), "[2001::9]:80"),
            (v2(0, 0x00, &[]), PEER),
            (v2(0, 0x11, &four), PEER),
            (v2(1, 0x00, &[]), PEER),
        ] {
            let (found, rest) = parsed(&[&header, b"GET / HTTP/1.1\r\n".as_slice()].concat()).await.unwrap();
            assert_eq!((found.as_str(), rest.as_slice()), (client, b"GET / HTTP/1.1\r\n".as_slice()));
        }
    }

    #[tokio::test]
    async fn other_beginnings_are_refused() {
        let short = v2(1, 0x11, &[203, 0, 113, 7]);
        let long = v2(1, 0x11, &vec![0; MOST_V2 + 1]);
        let endless = format!("PROXY TCP4 {}", "1".repeat(200));
        for bytes in [
            b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n".as_slice(),
            b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\x00",
            b"PROXY TCP4 203.0.113.7 10.0.0.1 5000\r\n",
            b"PROXY TCP4 2001::9 10.0.0.1 5000 443\r\n",
            b"PROXY UDP4 203.0.113.7 10.0.0.1 5000 443\r\n",
            endless.as_bytes(),
            &short,
            &long,
        ] {
            assert!(matches!(parsed(bytes).await, Err(Error::Malformed)), "{bytes:?}");
        }
        for bytes in [b"PROXY".as_slice(), b"PROXY TCP4 1.1.1.1", v2::PROTOCOL_PREFIX, b""] {
            assert!(matches!(parsed(bytes).await, Err(Error::Interrupted(_))), "{bytes:?}");
        }
    }

    #[tokio::test]
    async fn only_trusted_load_balancers_name_clients() {
        let header = b"PROXY TCP4 203.0.113.7 10.0.0.1 5000 443\r\n";
        for (peer, trusted) in [
            ("10.0.0.1:1", true),
            ("[::ffff:10.0.0.1]:1", true),
            ("[fd00::1]:1", true),
            ("11.0.0.1:1", false),
            ("[::1]:1", false),
        ] {
            let config = config(&["10.0.0.0/8", "fd00::/8"]);
            let client = config.client(&mut header.as_slice(), peer.parse().unwrap()).await;
            assert_eq!(client.is_ok(), trusted, "{peer}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_header_that_never_ends_is_not_waited_for() {
        let (mut stream, _open) = tokio::io::duplex(64);
        let client = config(&["10.0.0.0/8"]).client(&mut stream, PEER.parse().unwrap()).await;
        assert!(matches!(client, Err(Error::TimedOut)));
    }

    proptest::proptest! {
        #[test]
        fn no_bytes_make_it_panic(start in 0..3usize, rest: Vec<u8>) {
            let prefix: &[u8] = [b"".as_slice(), b"PROXY TCP4 ", v2::PROTOCOL_PREFIX][start];
            let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
            let _ = runtime.block_on(parsed(&[prefix, &rest].concat()));
        }
    }
}
