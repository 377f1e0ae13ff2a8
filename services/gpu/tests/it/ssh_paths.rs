//! SFTP packet by packet: what clients do with paths and handles besides copying files.

use crate::{
    harness::Fixture,
    ssh::Person,
    ssh_packets::{CREATE, EXCLUSIVE, READ, Reply, Sftp, WRITE, text},
    streams::with_pod,
};

const SIZE: u32 = 1;
const MODE: u32 = 4;
const TIMES: u32 = 8;

fn code(reply: &Reply) -> Option<u32> {
    match reply {
        Reply::Status(code, message) => {
            assert!(!message.is_empty(), "{reply:?}");
            Some(*code)
        }
        _ => None,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn attributes_make_no_file() {
    let fixture = Fixture::start().await;
    let id = with_pod(&fixture).await;
    let person = Person::with_key(&fixture).await;
    let mut sftp = Sftp::open(&person, id).await;
    let attributes = [
        (SIZE, 7_u64.to_be_bytes().to_vec()),
        (MODE, 0o600_u32.to_be_bytes().to_vec()),
        (TIMES, [0, 0, 0, 9, 0, 0, 0, 5].to_vec()),
    ];
    assert_eq!(person.run(id, "ln -s missing dangling").await.status, 0);
    for (flag, value) in &attributes {
        for path in ["missing", "dangling"] {
            let reply = sftp.call(9, &[&text(path.as_bytes()), &flag.to_be_bytes(), value]).await;
            assert_eq!(code(&reply), Some(2), "{flag} of {path}: {reply:?}");
        }
        // one that is removed while it is open
        let handle = sftp.file(b"removed", WRITE | CREATE).await;
        sftp.done(13, &[&text(b"removed")]).await;
        let reply = sftp.call(10, &[&text(&handle), &flag.to_be_bytes(), value]).await;
        assert_eq!(code(&reply), Some(2), "{flag} by a handle: {reply:?}");
        let _ = sftp.close(&handle).await;
    }
    assert_eq!(person.run(id, "ls").await.out, "dangling\n");
    // the times of the last access and of the last change are two
    let handle = sftp.file(b"times", WRITE | CREATE).await;
    sftp.done(10, &[&text(&handle), &TIMES.to_be_bytes(), &[0, 0, 0, 9, 0, 0, 0, 5]]).await;
    let _ = sftp.close(&handle).await;
    assert_eq!(person.run(id, "stat -c '%X %Y' times").await.out, "9 5\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn two_handles_write_in_the_order_of_their_writes() {
    let fixture = Fixture::start().await;
    let id = with_pod(&fixture).await;
    let person = Person::with_key(&fixture).await;
    let mut sftp = Sftp::open(&person, id).await;
    let parts = 128_u32;
    let length = u64::from(parts * 32_768);
    let (one, other) = (sftp.file(b"both", WRITE | CREATE).await, sftp.file(b"both", WRITE).await);
    let expected = [vec![b'1'; usize::try_from(length).unwrap() - 5], vec![b'2'; 10]].concat();
    // both handles are in the middle of the file; the first one sends everything before the other continues
    sftp.wrote(&other, length - 5 - 5, b"22222").await;
    assert!(matches!(sftp.call(8, &[&text(&other)]).await, Reply::Size(_)));
    sftp.wrote(&other, length - 6, b"2").await;
    let mut sent = Vec::new();
    for n in 0..parts {
        sent.push(sftp.write(&one, u64::from(n * 32_768), &[b'1'; 32_768]).await);
    }
    sent.push(sftp.write(&other, length - 5, b"2222222222").await);
    for id in sent {
        assert_eq!(sftp.reply(id).await, Reply::Status(0, "Success".into()));
    }
    for handle in [&other, &one] {
        assert_eq!(sftp.close(handle).await, Reply::Status(0, "Success".into()));
    }
    assert!(sftp.content(b"both").await == expected, "what was written first is there");
}

#[tokio::test(flavor = "multi_thread")]
async fn who_only_reads_may_make_a_file() {
    let fixture = Fixture::start().await;
    let id = with_pod(&fixture).await;
    let person = Person::with_key(&fixture).await;
    let mut sftp = Sftp::open(&person, id).await;
    let handle = sftp.file(b"new", READ | CREATE).await;
    assert_eq!(sftp.read(&handle, 0, 10).await, Reply::Status(1, "End of file".into()));
    let _ = sftp.close(&handle).await;
    assert_eq!(person.run(id, "printf kept >there; stat -c %s new there").await.out, "0\n4\n");
    let handle = sftp.file(b"there", READ | CREATE).await;
    assert_eq!(sftp.read(&handle, 0, 10).await, Reply::Data("kept".into()));
    let flags = READ | CREATE | EXCLUSIVE;
    let refused = sftp.call(3, &[&text(b"there"), &flags.to_be_bytes(), &[0; 4]]).await;
    assert_eq!(code(&refused), Some(4), "{refused:?}");
    assert_eq!(sftp.content(b"there").await, b"kept");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_link_to_a_folder_is_replaced_as_a_whole() {
    let fixture = Fixture::start().await;
    let id = with_pod(&fixture).await;
    let person = Person::with_key(&fixture).await;
    let mut sftp = Sftp::open(&person, id).await;
    let made = "mkdir v1 v2; ln -s v1 current; ln -s v2 next; printf 1 >one; printf 2 >two; ln -s one link";
    assert_eq!(person.run(id, made).await.status, 0);
    let rename = |from: &str, to: &str| {
        [text(b"posix-rename@openssh.com"), text(from.as_bytes()), text(to.as_bytes())].concat()
    };
    // as programs do that put a release in place at once
    sftp.done(200, &[&rename("next", "current")]).await;
    assert_eq!(person.run(id, "readlink current; ls v1 v2").await.out, "v2\nv1:\n\nv2:\n");
    // a file in place of another, and of a link
    sftp.done(200, &[&rename("two", "link")]).await;
    assert_eq!(person.run(id, "cat one link; [ -L link ] || echo file").await.out, "12file\n");
    for (from, to, expected) in [("missing", "current", 2), ("v1", "current", 4), ("one", "v1", 4)] {
        let reply = sftp.call(200, &[&rename(from, to)]).await;
        assert_eq!(code(&reply), Some(expected), "{from} to {to}: {reply:?}");
    }
    assert_eq!(person.run(id, "readlink current; ls v1; cat one").await.out, "v2\n1");
}

#[tokio::test(flavor = "multi_thread")]
async fn no_offset_breaks_the_connection() {
    let fixture = Fixture::start().await;
    let id = with_pod(&fixture).await;
    let person = Person::with_key(&fixture).await;
    let mut sftp = Sftp::open(&person, id).await;
    for offset in [u64::MAX, u64::MAX - 1, 1 << 63, (1 << 63) - 1] {
        let handle = sftp.file(b"far", READ | WRITE | CREATE).await;
        let written = sftp.write(&handle, offset, b"xy").await;
        let (written, closed) = (sftp.reply(written).await, sftp.close(&handle).await);
        assert!(code(&written) != Some(0) || code(&closed) == Some(4), "{offset}: {written:?} {closed:?}");
        let handle = sftp.file(b"far", READ | WRITE).await;
        let read = sftp.read(&handle, offset, 10).await;
        assert!(matches!(code(&read), Some(1 | 4)), "{offset}: {read:?}");
        let size = [&SIZE.to_be_bytes()[..], &offset.to_be_bytes()].concat();
        let set = sftp.call(10, &[&text(&handle), &size]).await;
        assert!(matches!(code(&set), Some(4)) || offset == (1 << 63) - 1, "{offset}: {set:?}");
        let _ = sftp.close(&handle).await;
        sftp.done(13, &[&text(b"far")]).await;
    }
    // a length that no packet has
    let handle = sftp.file(b"near", READ | WRITE | CREATE).await;
    sftp.wrote(&handle, 0, b"near").await;
    assert_eq!(sftp.read(&handle, 0, u32::MAX).await, Reply::Data("near".into()));
    assert_eq!(sftp.read(&handle, 4, 0).await, Reply::Status(1, "End of file".into()));
    assert_eq!(sftp.close(&handle).await, Reply::Status(0, "Success".into()));
}
