//! Messages that a well-meaning client does not send: bytes where text belongs, and tables in tables.

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};
use url::Url;
use uuid::Uuid;

use crate::{
    fixture::pool,
    mq_tenant::{Studio, fox, named},
};

/// A connection to the broker, of AMQP 0-9-1 as far as publishing needs it.
struct Raw {
    stream: TcpStream,
    user: String,
}

fn short(text: &[u8]) -> Vec<u8> {
    [&[u8::try_from(text.len()).unwrap()], text].concat()
}

fn long(content: &[u8]) -> Vec<u8> {
    [&u32::try_from(content.len()).unwrap().to_be_bytes(), content].concat()
}

/// A field of a table.
fn field(name: &[u8], kind: u8, content: &[u8]) -> Vec<u8> {
    [short(name), vec![kind], long(content)].concat()
}

impl Raw {
    async fn connect(url: &str) -> Self {
        let url: Url = url.parse().unwrap();
        let stream = TcpStream::connect((url.host_str().unwrap(), url.port().unwrap())).await.unwrap();
        let (user, password) = (url.username().to_owned(), url.password().unwrap());
        let mut raw = Self { stream, user };
        raw.stream.write_all(b"AMQP\x00\x00\x09\x01").await.unwrap();
        raw.answer([10, 10]).await;
        let plain = long(format!("\0{}\0{password}", raw.user).as_bytes());
        raw.method(0, &[&[0, 10, 0, 11], &long(b"")[..], &short(b"PLAIN"), &plain, &short(b"en_US")]).await;
        let tune = raw.answer([10, 30]).await;
        raw.method(0, &[&[0, 10, 0, 31], &tune[4..10], &[0, 0]]).await;
        raw.method(0, &[&[0, 10, 0, 40], &short(b"/")[..], &[0, 0]]).await;
        raw.answer([10, 41]).await;
        raw.method(1, &[&[0, 20, 0, 10, 0]]).await;
        raw.answer([20, 11]).await;
        raw.method(1, &[&[0, 85, 0, 10, 0]]).await;
        raw.answer([85, 11]).await;
        raw
    }

    async fn frame(&mut self, kind: u8, channel: u8, payload: &[u8]) {
        let frame = [&[kind, 0, channel], &long(payload)[..], &[0xce]].concat();
        self.stream.write_all(&frame).await.unwrap();
    }

    async fn method(&mut self, channel: u8, parts: &[&[u8]]) {
        self.frame(1, channel, &parts.concat()).await;
    }

    /// Waits for the method with this class and number.
    async fn answer(&mut self, [class, method]: [u8; 2]) -> Vec<u8> {
        let mut head = [0; 7];
        self.stream.read_exact(&mut head).await.unwrap();
        let size = u32::from_be_bytes(head[3..].try_into().unwrap());
        let mut payload = vec![0; usize::try_from(size).unwrap() + 1];
        self.stream.read_exact(&mut payload).await.unwrap();
        assert_eq!(payload[..4], [0, class, 0, method], "{}", String::from_utf8_lossy(&payload));
        payload
    }

    /// Publishes a job, and waits until the broker has confirmed it.
    async fn publish(&mut self, key: &[u8], headers: &[u8], correlation_id: Option<&[u8]>) {
        let body = fox(Uuid::nil(), "a fox").body;
        let publish = [&[0, 60, 0, 40, 0, 0], &short(b"atelier.jobs")[..], &short(key), &[0]];
        self.method(1, &publish).await;
        let flags = (1_u16 << 13) | (u16::from(correlation_id.is_some()) << 10) | (1 << 4);
        let properties = [
            &[0, 60, 0, 0][..],
            &u64::try_from(body.len()).unwrap().to_be_bytes(),
            &flags.to_be_bytes(),
            &long(headers),
            &correlation_id.map(short).unwrap_or_default(),
            &short(self.user.as_bytes()),
        ];
        self.frame(2, 1, &properties.concat()).await;
        self.frame(3, 1, &body).await;
        self.answer([60, 80]).await;
    }
}

#[tokio::test]
async fn mq_bytes_where_text_belongs_and_tables_without_end_harm_nobody() {
    let studio = Studio::new().await;
    let service = studio.fixture.start().await;
    let _ = pool(&studio.fixture.admin(&service)).await;
    let (tenant, other) = (studio.tenant(&service).await, studio.tenant(&service).await);
    let (mut line, mut victim) = (tenant.open().await, other.open().await);
    let mut raw = Raw::connect(&tenant.url).await;
    let mut deep = Vec::new();
    for _ in 0..15_000 {
        deep = field(b"", b'F', &deep);
    }
    let headers = |number: Uuid, more: &[u8]| {
        let number = field(b"reqNo", b'S', number.to_string().as_bytes());
        [&number[..], &field(b"taskType", b'S', b"GC"), more].concat()
    };
    let bad = [0xff, 0xfe];
    for (key, more, correlation_id, event) in [
        (&b"ordinary"[..], field(&bad, b'S', &bad), None, "accepted"),
        (b"ordinary", deep, None, "accepted"),
        (b"ordinary", field(b"group", b'S', &bad), None, "accepted"),
        (&bad, Vec::new(), None, "rejected"),
        (b"ordinary", Vec::new(), Some(&bad[..]), "rejected"),
    ] {
        let number = Uuid::new_v4();
        raw.publish(key, &headers(number, &more), correlation_id).await;
        let answer = line.event().await;
        assert_eq!(answer["event"], event, "{key:?} {correlation_id:?} {answer}");
        if correlation_id.is_none() {
            assert_eq!(answer["reqNo"], number.to_string());
        }
        let number = Uuid::new_v4();
        victim.send(&fox(number, "a fox")).await;
        assert_eq!(named(&victim.event().await), ("accepted", number));
    }
    service.stop().await;
}
