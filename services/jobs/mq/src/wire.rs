//! The connection to the broker, cleaned of input that breaks the client library: text that is not UTF-8 ends
//! its connection, and deeply nested tables exhaust its stack. The broker accepts both from publishers, and
//! passes them on.

use std::{
    io::{self, Read, Write},
    net::SocketAddr,
    os::fd::{AsFd, AsRawFd},
    pin::Pin,
    task::{Context, Poll, ready},
    time::{Duration, Instant},
};

use async_rs::{Runtime, Tokio, TokioRuntime, traits::Reactor, util::RuntimeParts};
use futures::{AsyncRead, AsyncWrite, Stream};
use lapin::{AsyncTcpStream, Connection, ConnectionProperties, tcp::AMQPUriTcpExt as _, uri::AMQPUri};

/// Maximum depth of tables and arrays that are left unchanged. Deeper ones become bytes.
const DEPTH: usize = 8;
/// Bytes that are read at a time.
const CHUNK: usize = 16 << 10;
/// Bytes of a frame besides its payload: type, channel and size, and the end.
const FRAME: (usize, usize) = (7, 1);

/// Connects to the broker.
pub(super) async fn connect(uri: AMQPUri, properties: ConnectionProperties) -> lapin::Result<Connection> {
    let tokio = Tokio::current();
    let (plain, reactor) = (TokioRuntime::new(tokio.clone()), CleanReactor(tokio.clone()));
    let connect = async move |uri: AMQPUri, _: Runtime<RuntimeParts<Tokio, CleanReactor>>| {
        let stream = uri.connect_async(&plain).await.map_err(lapin::Error::from)?;
        Ok(AsyncTcpStream::Plain(Clean::new(stream)))
    };
    Connection::connector(uri, Runtime::new(RuntimeParts::new(tokio, reactor)), connect, properties).await
}

/// A stream of tokio, as the client library needs it.
type PlainStream = AsyncTcpStream<<Tokio as Reactor>::TcpStream>;

/// The reactor of tokio, whose streams are cleaned.
#[derive(Debug, Clone)]
struct CleanReactor(Tokio);

impl Reactor for CleanReactor {
    type TcpStream = Clean<PlainStream>;
    type Sleep = <Tokio as Reactor>::Sleep;

    fn register<H: Read + Write + AsFd + AsRawFd + Send + 'static>(
        &self,
        socket: H,
    ) -> io::Result<impl AsyncRead + AsyncWrite + Send + Unpin + 'static> {
        self.0.register(socket)
    }

    fn sleep(&self, duration: Duration) -> Self::Sleep {
        self.0.sleep(duration)
    }

    fn interval(&self, duration: Duration) -> impl Stream<Item = Instant> + Send + 'static {
        self.0.interval(duration)
    }

    fn tcp_connect_addr(
        &self,
        address: SocketAddr,
    ) -> impl Future<Output = io::Result<Self::TcpStream>> + Send + 'static {
        let connect = self.0.tcp_connect_addr(address);
        async move { Ok(Clean::new(AsyncTcpStream::Plain(connect.await?))) }
    }
}

/// A stream that cleans the bytes that it receives, frame by frame.
struct Clean<S> {
    stream: S,
    received: Vec<u8>,
    /// Bytes at the beginning of `received` that are clean, and how many of them were read.
    clean: usize,
    read: usize,
}

impl<S> Clean<S> {
    fn new(stream: S) -> Self {
        Self { stream, received: Vec::new(), clean: 0, read: 0 }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Clean<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        let Self { stream, received, clean, read } = &mut *self;
        while read == clean {
            received.drain(..*clean);
            (*clean, *read) = (0, 0);
            let before = received.len();
            received.resize(before + CHUNK, 0);
            let got = Pin::new(&mut *stream).poll_read(context, &mut received[before..]);
            let count = if let Poll::Ready(Ok(count)) = got { count } else { 0 };
            received.truncate(before + count);
            if ready!(got)? == 0 {
                // the rest is not a frame
                *clean = received.len();
                if *clean == 0 {
                    return Poll::Ready(Ok(0));
                }
            } else {
                *clean = clean_frames(received);
            }
        }
        let count = buffer.len().min(*clean - *read);
        buffer[..count].copy_from_slice(&received[*read..*read + count]);
        *read += count;
        Poll::Ready(Ok(count))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Clean<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, buffer)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_close(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_close(context)
    }
}

/// Cleans the whole frames at the beginning. Returns their length.
fn clean_frames(bytes: &mut [u8]) -> usize {
    // the broker does not speak this version of the protocol
    if bytes.starts_with(b"AMQP") {
        return bytes.len();
    }
    let mut at = 0;
    while let Some(size) = bytes.get(at + 3..at + FRAME.0).and_then(|size| size.try_into().ok()) {
        let end = at + FRAME.0 + u32::from_be_bytes(size) as usize + FRAME.1;
        let Some(frame) = bytes.get_mut(at..end) else { break };
        let (kind, last) = (frame[0], frame.len() - FRAME.1);
        let mut fields = Fields { bytes: &mut frame[FRAME.0..last], at: 0 };
        // what cannot be read is left to the client library
        let _ = match kind {
            1 => fields.clean_method(),
            2 => fields.clean_properties(),
            _ => None,
        };
        at = end;
    }
    at
}

/// The fields of a frame.
struct Fields<'a> {
    bytes: &'a mut [u8],
    at: usize,
}

impl Fields<'_> {
    /// Skips this number of bytes.
    fn pass(&mut self, count: usize) -> Option<&mut [u8]> {
        let end = self.at.checked_add(count)?;
        let passed = self.bytes.get_mut(self.at..end)?;
        self.at = end;
        Some(passed)
    }

    /// Reads a number of this length in bytes.
    fn number(&mut self, count: usize) -> Option<usize> {
        Some(self.pass(count)?.iter().fold(0, |number, byte| number << 8 | usize::from(*byte)))
    }

    fn text(&mut self) -> Option<()> {
        let count = self.number(1)?;
        let text = self.pass(count)?;
        while let Err(error) = std::str::from_utf8(text) {
            let begin = error.valid_up_to();
            let count = error.error_len().unwrap_or(text.len() - begin);
            text[begin..begin + count].fill(b'?');
        }
        Some(())
    }

    fn clean_method(&mut self) -> Option<()> {
        match (self.number(2)?, self.number(2)?) {
            // deliver, and the answer to get: whose messages, exchange and routing key
            (60, 60) => {
                self.text()?;
                self.pass(9)?;
            }
            (60, 71) => {
                self.pass(9)?;
            }
            // return: why, exchange and routing key
            (60, 50) => {
                self.pass(2)?;
                self.text()?;
            }
            _ => return None,
        }
        self.text()?;
        self.text()
    }

    fn clean_properties(&mut self) -> Option<()> {
        self.pass(12)?;
        let flags = self.number(2)?;
        for bit in (2..16).rev().filter(|bit| flags >> bit & 1 == 1) {
            match bit {
                13 => self.table(DEPTH)?,
                // delivery mode, priority and timestamp
                12 | 11 => {
                    self.pass(1)?;
                }
                6 => {
                    self.pass(8)?;
                }
                _ => self.text()?,
            }
        }
        Some(())
    }

    fn table(&mut self, depth: usize) -> Option<()> {
        let end = self.number(4)?.checked_add(self.at)?;
        while self.at < end {
            self.text()?;
            self.value(depth)?;
        }
        Some(())
    }

    fn value(&mut self, depth: usize) -> Option<()> {
        let kind = self.pass(1)?;
        if depth == 0 && matches!(kind, [b'F' | b'A']) {
            // has the same form
            kind[0] = b'x';
        }
        let count = match kind[0] {
            b'F' => return self.table(depth - 1),
            b'A' => {
                let end = self.number(4)?.checked_add(self.at)?;
                while self.at < end {
                    self.value(depth - 1)?;
                }
                return Some(());
            }
            b'S' | b'x' => self.number(4)?,
            b'V' => 0,
            b't' | b'b' | b'B' => 1,
            b's' | b'u' | b'U' => 2,
            b'I' | b'i' | b'f' => 4,
            b'D' => 5,
            b'l' | b'L' | b'd' | b'T' => 8,
            _ => return None,
        };
        self.pass(count)?;
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use futures::{AsyncReadExt as _, io::Cursor};

    use super::*;

    fn text(text: &[u8]) -> Vec<u8> {
        [&[u8::try_from(text.len()).unwrap()], text].concat()
    }

    fn long(kind: u8, content: &[u8]) -> Vec<u8> {
        [&[kind][..], &u32::try_from(content.len()).unwrap().to_be_bytes(), content].concat()
    }

    fn frame(kind: u8, payload: &[u8]) -> Vec<u8> {
        let size = u32::try_from(payload.len()).unwrap().to_be_bytes();
        [&[kind, 0, 1], &size[..], payload, &[0xce]].concat()
    }

    /// A header frame with a table of headers, a correlation id and a user.
    fn header(table: &[u8], correlation_id: &[u8]) -> Vec<u8> {
        let fixed = [0, 60, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2];
        let flags: u16 = 1 << 13 | 1 << 12 | 1 << 10 | 1 << 6 | 1 << 4;
        let table = long(0, table);
        let payload = [
            &fixed[..],
            &flags.to_be_bytes(),
            &table[1..],
            &[2],
            &text(correlation_id),
            &[0; 8],
            &text(b"mqc"),
        ];
        frame(2, &payload.concat())
    }

    fn deliver(key: &[u8]) -> Vec<u8> {
        let payload = [&[0, 60, 0, 60], &text(b"tag")[..], &[0; 9], &text(b"atelier.jobs"), &text(key)];
        frame(1, &payload.concat())
    }

    /// What comes of bytes that arrive by so many.
    async fn cleaned(bytes: &[u8], by: usize) -> Vec<u8> {
        let chunks: Vec<io::Result<Vec<u8>>> = bytes.chunks(by).map(|chunk| Ok(chunk.to_vec())).collect();
        let stream = futures::TryStreamExt::into_async_read(futures::stream::iter(chunks));
        let mut all = Vec::new();
        Clean::new(stream).read_to_end(&mut all).await.unwrap();
        all
    }

    #[tokio::test]
    async fn text_that_is_no_utf_8_is_replaced() {
        let entry = |name: &[u8], value: &[u8]| [text(name), value.to_vec()].concat();
        let values = [
            long(b'S', &[0xff]),
            vec![b'V'],
            vec![b't', 1],
            vec![b's', 0, 8],
            vec![b'I', 0, 0, 0, 8],
            [vec![b'D'], vec![0; 5]].concat(),
            [vec![b'l'], vec![0; 8]].concat(),
        ];
        let table = |name: &[u8]| {
            let inner = entry(name, &long(b'A', &values.concat()));
            [entry(name, &long(b'F', &inner)), entry(b"reqNo", &long(b'S', b"1"))].concat()
        };
        let body = frame(3, &[0xff, 0xfe]);
        let bad =
            [header(&table(&[b'a', 0xff]), &[0xc3]), body.clone(), deliver(&[0xff, 0xfe]), frame(8, &[])]
                .concat();
        let good = [header(&table(b"a?"), b"?"), body, deliver(b"??"), frame(8, &[])].concat();
        for by in [1, 7, 100, 10_000] {
            assert_eq!(cleaned(&bad, by).await, good, "{by}");
            assert_eq!(cleaned(&good, by).await, good, "{by}");
        }
        // what is no frame
        let other = b"AMQP\x00\x00\x09\x01";
        assert_eq!(cleaned(other, 3).await, other);
        assert_eq!(cleaned(&good[..good.len() - 4], 50).await, good[..good.len() - 4]);
    }

    #[tokio::test]
    async fn tables_in_tables_without_end_become_bytes() {
        let nested = |count: usize, last: u8| {
            let mut table = long(b'F', &[]);
            for _ in 0..count {
                table = long(b'F', &[text(b""), table].concat());
            }
            let at = table.len() - 5;
            table[at] = last;
            [text(b"x"), table].concat()
        };
        let shallow = header(&nested(DEPTH - 1, b'F'), b"1");
        assert_eq!(cleaned(&shallow, 1_000).await, shallow);
        let deep = header(&nested(DEPTH, b'F'), b"1");
        assert_eq!(cleaned(&deep, 1_000).await, header(&nested(DEPTH, b'x'), b"1"));
        let without_end = header(&nested(15_000, b'F'), b"1");
        let cleaned = cleaned(&without_end, 1_000).await;
        assert_eq!(cleaned.len(), without_end.len());
        assert_eq!(cleaned.iter().zip(&without_end).filter(|(one, other)| one != other).count(), 1);
    }

    #[tokio::test]
    async fn what_cannot_be_read_is_left() {
        for payload in [&[][..], &[0, 60], &[0; 13], &[0xff; 40], &[0, 60, 0, 60, 0xff, 1]] {
            for kind in 0..4 {
                let frame = frame(kind, payload);
                assert_eq!(cleaned(&frame, 10).await, frame);
            }
        }
        let mut empty = Cursor::new(Vec::new());
        let mut all = Vec::new();
        assert_eq!(Clean::new(&mut empty).read_to_end(&mut all).await.unwrap(), 0);
    }
}
