//! SFTP packet by packet, over OpenSSH's `ssh -s`: what its own clients do not send, others do.

use std::process::Stdio;

use bytes::{Buf, BufMut, Bytes, BytesMut};
use ids::InstanceId;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    process::{Child, ChildStdin, ChildStdout},
};

use crate::{harness::Fixture, ssh::Person, streams::with_pod};

pub(crate) const READ: u32 = 1;
pub(crate) const WRITE: u32 = 2;
const APPEND: u32 = 4;
pub(crate) const CREATE: u32 = 8;
const TRUNCATE: u32 = 0x10;
pub(crate) const EXCLUSIVE: u32 = 0x20;

/// What a request was answered with.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Reply {
    Status(u32, String),
    Handle(Bytes),
    Data(Bytes),
    Names(Vec<Bytes>),
    /// Of a file of this size.
    Size(u64),
}

/// Offsets and lengths.
type Writes = &'static [(u64, usize)];

pub(crate) struct Sftp {
    _child: Child,
    input: ChildStdin,
    output: ChildStdout,
    next: u32,
}

pub(crate) fn text(bytes: &[u8]) -> Vec<u8> {
    let mut field = Vec::new();
    field.put_u32(u32::try_from(bytes.len()).unwrap());
    field.put_slice(bytes);
    field
}

fn take(packet: &mut Bytes) -> Bytes {
    let length = packet.get_u32() as usize;
    packet.split_to(length)
}

impl Sftp {
    pub(crate) async fn open(person: &Person, id: InstanceId) -> Self {
        let mut ssh = person.program("ssh");
        ssh.args(["-s", &format!("{id}@127.0.0.1"), "sftp"]).stdin(Stdio::piped()).stderr(Stdio::inherit());
        let mut child = ssh.spawn().unwrap();
        let (input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let mut sftp = Self { _child: child, input, output, next: 0 };
        sftp.packet(&[1, 0, 0, 0, 3]).await;
        assert_eq!(sftp.received().await[0], 2);
        sftp
    }

    async fn packet(&mut self, packet: &[u8]) {
        self.input.write_u32(u32::try_from(packet.len()).unwrap()).await.unwrap();
        self.input.write_all(packet).await.unwrap();
    }

    async fn received(&mut self) -> Bytes {
        let length = self.output.read_u32().await.unwrap() as usize;
        let mut packet = BytesMut::zeroed(length);
        self.output.read_exact(&mut packet).await.unwrap();
        packet.freeze()
    }

    /// Sends a request; its reply is read later.
    async fn send(&mut self, kind: u8, fields: &[&[u8]]) -> u32 {
        self.next += 1;
        let mut packet = vec![kind];
        packet.put_u32(self.next);
        packet.extend(fields.concat());
        self.packet(&packet).await;
        self.next
    }

    pub(crate) async fn reply(&mut self, id: u32) -> Reply {
        let reply = tokio::time::timeout(std::time::Duration::from_secs(60), self.received()).await;
        let mut reply = reply.expect("a reply");
        let kind = reply.get_u8();
        assert_eq!(reply.get_u32(), id);
        match kind {
            101 => {
                let (code, message) = (reply.get_u32(), take(&mut reply));
                Reply::Status(code, String::from_utf8(message.to_vec()).unwrap())
            }
            102 => Reply::Handle(take(&mut reply)),
            103 => Reply::Data(take(&mut reply)),
            104 => {
                let count = reply.get_u32();
                let name = |_| {
                    let (name, _long) = (take(&mut reply), take(&mut reply));
                    for flag in [1, 2, 4, 8].into_iter().filter({
                        let flags = reply.get_u32();
                        move |flag| flags & flag != 0
                    }) {
                        reply.advance(if flag == 4 { 4 } else { 8 });
                    }
                    name
                };
                Reply::Names((0..count).map(name).collect())
            }
            105 => {
                assert_eq!(reply.get_u32() & 1, 1);
                Reply::Size(reply.get_u64())
            }
            other => panic!("a reply of kind {other}"),
        }
    }

    pub(crate) async fn call(&mut self, kind: u8, fields: &[&[u8]]) -> Reply {
        let id = self.send(kind, fields).await;
        self.reply(id).await
    }

    pub(crate) async fn done(&mut self, kind: u8, fields: &[&[u8]]) {
        assert_eq!(self.call(kind, fields).await, Reply::Status(0, "Success".into()), "request {kind}");
    }

    pub(crate) async fn file(&mut self, path: &[u8], flags: u32) -> Bytes {
        match self.call(3, &[&text(path), &flags.to_be_bytes(), &[0; 4]]).await {
            Reply::Handle(handle) => handle,
            other => panic!("{other:?}"),
        }
    }

    pub(crate) async fn write(&mut self, handle: &[u8], offset: u64, bytes: &[u8]) -> u32 {
        self.send(6, &[&text(handle), &offset.to_be_bytes(), &text(bytes)]).await
    }

    pub(crate) async fn wrote(&mut self, handle: &[u8], offset: u64, bytes: &[u8]) {
        let id = self.write(handle, offset, bytes).await;
        assert_eq!(self.reply(id).await, Reply::Status(0, "Success".into()));
    }

    pub(crate) async fn read(&mut self, handle: &[u8], offset: u64, length: u32) -> Reply {
        self.call(5, &[&text(handle), &offset.to_be_bytes(), &length.to_be_bytes()]).await
    }

    pub(crate) async fn close(&mut self, handle: &[u8]) -> Reply {
        self.call(4, &[&text(handle)]).await
    }

    /// Reads a file to its end.
    pub(crate) async fn content(&mut self, path: &[u8]) -> Vec<u8> {
        let handle = self.file(path, READ).await;
        let mut content = Vec::new();
        while let Reply::Data(part) = self.read(&handle, content.len() as u64, 32_768).await {
            content.extend_from_slice(&part);
        }
        assert_eq!(self.close(&handle).await, Reply::Status(0, "Success".into()));
        content
    }
}

/// Bytes of all values, which differ with the seed.
fn bytes(seed: usize, length: usize) -> Vec<u8> {
    (0..length)
        .map(|n| (n.wrapping_mul(167) >> 3).wrapping_add(seed.wrapping_mul(31)).to_le_bytes()[0])
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_write_begins_anywhere() {
    let fixture = Fixture::start().await;
    let id = with_pod(&fixture).await;
    let person = Person::with_key(&fixture).await;
    let mut sftp = Sftp::open(&person, id).await;
    // flags, bytes that are there, and writes: their offset and length
    let cases: &[(&str, u32, usize, Writes)] = &[
        ("one in the middle", READ | WRITE, 100_000, &[(5, 70_000)]),
        ("parts in order", READ | WRITE, 100_000, &[(5, 32_768), (32_773, 32_768), (65_541, 4_464)]),
        ("at the end", WRITE, 1_000, &[(1_000, 40_000), (41_000, 1)]),
        ("beyond the end", WRITE | CREATE, 0, &[(1_000_000, 10)]),
        ("one byte each", WRITE, 10, &[(9, 1), (0, 1), (4, 1)]),
        (
            "from the last to the first",
            WRITE | CREATE | TRUNCATE,
            500,
            &[(65_536, 32_768), (32_768, 32_768), (0, 32_768)],
        ),
        (
            "overlapping",
            WRITE | CREATE,
            50_000,
            &[(0, 20_000), (10_000, 20_000), (5_000, 10_000), (5_000, 10)],
        ),
        ("the same again", WRITE | CREATE, 0, &[(0, 1_000), (0, 1_000), (7, 200_000), (7, 200_000)]),
        ("always at the end", WRITE | APPEND, 1_000, &[(0, 10), (500, 70_000), (0, 1)]),
        ("none", WRITE | CREATE, 12, &[]),
        ("an empty one", WRITE | CREATE, 12, &[(5, 0)]),
    ];
    for (n, (name, flags, there, writes)) in cases.iter().enumerate() {
        let path = format!("file {n}");
        let mut expected = bytes(99, *there);
        let made = sftp.file(path.as_bytes(), WRITE | CREATE | EXCLUSIVE).await;
        sftp.wrote(&made, 0, &expected).await;
        assert_eq!(sftp.close(&made).await, Reply::Status(0, "Success".into()));
        if flags & TRUNCATE != 0 {
            expected.clear();
        }
        let handle = sftp.file(path.as_bytes(), *flags).await;
        let mut sent = Vec::new();
        // all are sent before the first reply is read
        for (seed, (offset, length)) in writes.iter().enumerate() {
            let part = bytes(seed, *length);
            let start = if flags & APPEND == 0 { usize::try_from(*offset).unwrap() } else { expected.len() };
            if !part.is_empty() {
                expected.resize(expected.len().max(start + part.len()), 0);
                expected[start..start + part.len()].copy_from_slice(&part);
            }
            sent.push(sftp.write(&handle, *offset, &part).await);
        }
        for id in sent {
            assert_eq!(sftp.reply(id).await, Reply::Status(0, "Success".into()), "{name}");
        }
        // the size is right before the file is closed, by its handle and its path
        let size = Reply::Size(expected.len() as u64);
        assert_eq!(sftp.call(8, &[&text(&handle)]).await, size, "{name}");
        assert_eq!(sftp.call(17, &[&text(path.as_bytes())]).await, size, "{name}");
        assert_eq!(sftp.close(&handle).await, Reply::Status(0, "Success".into()), "{name}");
        assert!(sftp.content(path.as_bytes()).await == expected, "{name}: the content differs");
    }
    // holes take no space
    let handle = sftp.file(b"sparse", WRITE | CREATE).await;
    sftp.wrote(&handle, 1 << 40, b"end").await;
    assert_eq!(sftp.close(&handle).await, Reply::Status(0, "Success".into()));
    let sizes = person.run(id, "stat -c '%s %b' sparse; tail -c 3 sparse").await.out;
    let (size, blocks) = sizes.lines().next().unwrap().split_once(' ').unwrap();
    assert_eq!(size, ((1_u64 << 40) + 3).to_string());
    assert!(blocks.parse::<u64>().unwrap() < 1_000 && sizes.ends_with("end"), "{sizes}");
}

#[tokio::test(flavor = "multi_thread")]
async fn reads_see_what_was_written_wherever_it_was() {
    let fixture = Fixture::start().await;
    let id = with_pod(&fixture).await;
    let person = Person::with_key(&fixture).await;
    let mut sftp = Sftp::open(&person, id).await;
    let content = bytes(1, 100_000);
    let handle = sftp.file(b"both", READ | WRITE | CREATE).await;
    sftp.wrote(&handle, 0, &content).await;
    let data = |bytes: &[u8]| Reply::Data(Bytes::copy_from_slice(bytes));
    assert_eq!(sftp.read(&handle, 10, 5).await, data(&content[10..15]));
    // what the reader has read ahead is not what there is
    sftp.wrote(&handle, 15, b"new").await;
    assert_eq!(sftp.read(&handle, 15, 5).await, data(&[b'n', b'e', b'w', content[18], content[19]]));
    let other = sftp.file(b"both", READ).await;
    assert_eq!(sftp.read(&other, 99_999, 10).await, data(&content[99_999..]));
    assert_eq!(sftp.read(&other, 100_000, 10).await, Reply::Status(1, "End of file".into()));
    // a file that grows, as logs do
    sftp.wrote(&handle, 100_000, b"more").await;
    assert_eq!(sftp.read(&other, 100_000, 10).await, data(b"more"));
    assert_eq!(sftp.read(&other, 100_004, 10).await, Reply::Status(1, "End of file".into()));
    assert_eq!(person.run(id, "printf again >>both").await.status, 0);
    assert_eq!(sftp.read(&other, 100_004, 10).await, data(b"again"));
    // shortened and lengthened by its handle, and then written on
    for size in [20_u64, 30] {
        sftp.done(10, &[&text(&handle), &1_u32.to_be_bytes(), &size.to_be_bytes()]).await;
        assert_eq!(sftp.call(8, &[&text(&handle)]).await, Reply::Size(size));
    }
    assert_eq!(sftp.read(&other, 18, 100).await, data(&[&content[18..20], &[0; 10][..]].concat()));
    sftp.wrote(&handle, 30, b"!").await;
    // renamed while it is open
    sftp.done(18, &[&text(b"both"), &text(b"renamed")]).await;
    sftp.wrote(&handle, 31, b"?").await;
    assert_eq!(sftp.close(&handle).await, Reply::Status(0, "Success".into()));
    assert_eq!(person.run(id, "tail -c 2 renamed; [ ! -e both ]").await.out, "!?");
    // what was confirmed is written, also if the client is gone before it closes the file
    let left = sftp.file(b"left", WRITE | CREATE).await;
    sftp.wrote(&left, 0, &content).await;
    drop(sftp);
    testkit::eventually("it is written", async || {
        (person.run(id, "stat -c %s left").await.out.trim() == "100000").then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_refusal_says_why() {
    let fixture = Fixture::start().await;
    let id = with_pod(&fixture).await;
    let person = Person::with_key(&fixture).await;
    let mut sftp = Sftp::open(&person, id).await;
    assert_eq!(person.run(id, "mkdir folder && : >folder/file && ln -s /dev/full full").await.status, 0);
    // a disk that is full, at any position: the write fails, or the closing, and whatever follows
    for offset in [0_u64, 5] {
        let handle = sftp.file(b"full", WRITE).await;
        let mut replies = Vec::new();
        for n in 0..20 {
            let id = sftp.write(&handle, offset + n * 32_768, &bytes(1, 32_768)).await;
            replies.push(sftp.reply(id).await);
        }
        let closed = sftp.close(&handle).await;
        let Reply::Status(4, message) = &closed else { panic!("{closed:?}") };
        assert!(message.contains("No space left on device"), "{message}");
        let refused = replies.iter().skip_while(|reply| matches!(reply, Reply::Status(0, _)));
        assert!(refused.into_iter().all(|reply| *reply == closed), "{replies:?}");
    }
    let flags = |flags: u32| flags.to_be_bytes();
    for (kind, fields, code) in [
        (3, [text(b"missing"), flags(READ).into(), vec![0; 4]].concat(), 2),
        (3, [text(b"missing"), flags(WRITE).into(), vec![0; 4]].concat(), 2),
        (3, [text(b"missing/file"), flags(WRITE | CREATE).into(), vec![0; 4]].concat(), 2),
        (3, [text(b"folder"), flags(READ).into(), vec![0; 4]].concat(), 4),
        (3, [text(b"folder"), flags(WRITE).into(), vec![0; 4]].concat(), 4),
        (3, [text(b"folder/file"), flags(WRITE | CREATE | EXCLUSIVE).into(), vec![0; 4]].concat(), 4),
        (11, text(b"folder/file"), 4),
        (11, text(b"missing"), 2),
        (13, text(b"folder"), 4),
        (13, text(b"missing"), 2),
        (14, [text(b"folder"), vec![0; 4]].concat(), 4),
        (15, text(b"folder"), 4),
        (17, text(b"missing"), 2),
        (18, [text(b"folder"), text(b"full")].concat(), 4),
        (19, text(b"folder"), 4),
        (20, [text(b"x"), text(b"folder")].concat(), 4),
        (4, text(b"\0\0\0\x7f"), 4),
        (6, [text(b"\0\0\0\x7f"), vec![0; 8], text(b"x")].concat(), 4),
        (200, text(b"statvfs@openssh.com"), 8),
    ] {
        let reply = sftp.call(kind, &[&fields]).await;
        let Reply::Status(got, message) = &reply else { panic!("{kind}: {reply:?}") };
        assert_eq!((*got, message.is_empty()), (code, false), "request {kind} {fields:?}: {message}");
    }
    // a file that is removed while it is open is not made again
    let handle = sftp.file(b"gone", WRITE | CREATE).await;
    sftp.done(13, &[&text(b"gone")]).await;
    let written = sftp.write(&handle, 5, b"x").await;
    let (written, closed) = (sftp.reply(written).await, sftp.close(&handle).await);
    assert!(
        matches!(written, Reply::Status(0 | 2, _)) && matches!(closed, Reply::Status(2, _)),
        "{written:?} {closed:?}"
    );
    assert_eq!(person.run(id, "[ ! -e gone ]").await.status, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn names_are_bytes() {
    let fixture = Fixture::start().await;
    let id = with_pod(&fixture).await;
    let person = Person::with_key(&fixture).await;
    let mut sftp = Sftp::open(&person, id).await;
    let folder: &[u8] = b"f\xe4hre \x80";
    sftp.done(14, &[&text(folder), &[0; 4]]).await;
    let mut all = Vec::new();
    // each byte that a name may have, alone and at both ends
    for byte in (1..=255_u8).filter(|byte| *byte != b'/') {
        let name = if byte % 3 == 0 { vec![byte, b'x', byte] } else { vec![b'-', byte] };
        let path = [folder, b"/", &name].concat();
        // some are written, which takes a command, the others are only made
        let handle = sftp.file(&path, WRITE | CREATE | EXCLUSIVE).await;
        if byte >= 0xf0 || !byte.is_ascii_graphic() && byte < 0x90 {
            sftp.wrote(&handle, 0, &path).await;
            sftp.wrote(&handle, 3, &path).await;
            assert_eq!(sftp.close(&handle).await, Reply::Status(0, "Success".into()), "{byte}");
            assert_eq!(sftp.content(&path).await, [&path[..3], &path].concat(), "{byte}");
        } else {
            assert_eq!(sftp.close(&handle).await, Reply::Status(0, "Success".into()), "{byte}");
        }
        all.push(name);
    }
    let Reply::Handle(handle) = sftp.call(11, &[&text(folder)]).await else { panic!("no directory") };
    let mut listed = Vec::new();
    while let Reply::Names(names) = sftp.call(12, &[&text(&handle)]).await {
        listed.extend(names.iter().map(|name| name.to_vec()));
    }
    listed.retain(|name| name != b"." && name != b"..");
    listed.sort();
    all.sort();
    assert_eq!(listed, all);
    let (from, to) = ([folder, b"/-\xfe"].concat(), [folder, b"/\xfe\xff\n"].concat());
    sftp.done(18, &[&text(&from), &text(&to)]).await;
    sftp.done(20, &[&text(b"\xfe\xff\n"), &text(&[folder, b"/link\xff"].concat())]).await;
    let link = sftp.call(19, &[&text(&[folder, b"/link\xff"].concat())]).await;
    assert_eq!(link, Reply::Names(vec![Bytes::from_static(b"\xfe\xff\n")]));
    assert_eq!(sftp.call(17, &[&text(&to)]).await, Reply::Size(3 + from.len() as u64));
    let real = sftp.call(16, &[&text(&to)]).await;
    let Reply::Names(real) = real else { panic!("{real:?}") };
    assert!(real[0].ends_with(&to), "{real:?}");
    for path in [&to, &[folder, b"/link\xff"].concat()] {
        sftp.done(13, &[&text(path)]).await;
    }
}
