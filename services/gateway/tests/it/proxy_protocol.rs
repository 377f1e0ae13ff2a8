//! The PROXY protocol: the address that the load balancer names is that of the client.

use atelier_gateway::ProxyProtocolConfig;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use crate::platform::Platform;

/// Sends bytes. Returns what comes back before the end.
async fn exchange(platform: &Platform, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect(platform.address).await.unwrap();
    stream.write_all(bytes).await.unwrap();
    let mut answer = Vec::new();
    // a connection that is closed with bytes unread may end in an error
    let _ = stream.read_to_end(&mut answer).await;
    String::from_utf8_lossy(&answer).into_owned()
}

pub(crate) fn v1(client: [u8; 4]) -> Vec<u8> {
    let [a, b, c, d] = client;
    format!("PROXY TCP4 {a}.{b}.{c}.{d} 127.0.0.1 5000 443\r\n").into_bytes()
}

pub(crate) fn v2(client: [u8; 4]) -> Vec<u8> {
    let mut header = b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c".to_vec();
    header.extend(client);
    header.extend([127, 0, 0, 1, 0x13, 0x88, 0x01, 0xbb]);
    header
}

pub(crate) fn trusting(network: &str) -> Option<ProxyProtocolConfig> {
    Some(ProxyProtocolConfig { trusted: vec![network.parse().unwrap()], header_seconds: 1 })
}

const SIGN_IN: &[u8] = b"POST /v1/sessions HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\
                         content-length: 2\r\n\r\n{}";

#[tokio::test]
async fn the_named_address_is_the_one_that_is_limited() {
    let platform = Platform::with(|config| {
        config.proxy_protocol = trusting("127.0.0.0/8");
        config.limits.sign_in_burst = 2;
        config.limits.sign_ins_per_minute = 1;
    })
    .await;
    let sign_in = async |header: Vec<u8>| exchange(&platform, &[&header, SIGN_IN].concat()).await;
    for client in [[203, 0, 113, 1], [203, 0, 113, 2]] {
        for header in [v1(client), v2(client)] {
            let answer = sign_in(header).await;
            assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
            let forwarded = client.map(|part| part.to_string()).join(".");
            assert!(answer.contains(&format!("\"x-forwarded-for\":\"{forwarded}\"")), "{answer}");
        }
        let answer = sign_in(v1(client)).await;
        assert!(answer.starts_with("HTTP/1.1 429"), "{answer}");
    }
}

#[tokio::test]
async fn connections_without_a_valid_header_or_of_others_are_closed() {
    let platform = Platform::with(|config| config.proxy_protocol = trusting("127.0.0.0/8")).await;
    assert_eq!(exchange(&platform, SIGN_IN).await, "");
    // the gateway does not wait for a client that sends nothing
    assert_eq!(exchange(&platform, b"PROXY TCP4 1.2").await, "");
    let platform = Platform::with(|config| config.proxy_protocol = trusting("10.0.0.0/8")).await;
    assert_eq!(exchange(&platform, &[v1([203, 0, 113, 1]).as_slice(), SIGN_IN].concat()).await, "");
}

#[tokio::test]
async fn connections_are_counted_by_the_named_address() {
    let platform = Platform::with(|config| {
        config.proxy_protocol = trusting("127.0.0.0/8");
        config.limits.connections_per_address = 1;
    })
    .await;
    let request = b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n".as_slice();
    let open = async |client: [u8; 4]| {
        let mut stream = TcpStream::connect(platform.address).await.unwrap();
        stream.write_all(&[v1(client).as_slice(), request].concat()).await.unwrap();
        let answered = matches!(stream.read(&mut [0; 1024]).await, Ok(read) if read > 0);
        answered.then_some(stream)
    };
    let one = open([203, 0, 113, 1]).await;
    assert!(one.is_some() && open([203, 0, 113, 2]).await.is_some(), "another client");
    assert!(open([203, 0, 113, 1]).await.is_none(), "a second connection of the same client");
    drop(one);
    testkit::eventually("its place is free again", async || open([203, 0, 113, 1]).await).await;
}
