//! `scp` and `sftp` over SSH.

use std::path::Path;

use testkit::eventually;

use crate::{
    harness::Fixture,
    ssh::{Done, Person, done},
    streams::with_pod,
};

const MIB: usize = 1024 * 1024;

/// Bytes that do not repeat soon.
fn bytes(length: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut bytes = Vec::with_capacity(length + 8);
    while bytes.len() < length {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        bytes.extend_from_slice(&state.to_le_bytes());
    }
    bytes.truncate(length);
    bytes
}

async fn scp(person: &Person, from: &str, to: &str) -> Done {
    let mut scp = person.program("scp");
    scp.args(["-q", from, to]);
    done(scp).await
}

async fn sftp(person: &Person, host: &str, batch: &str) -> Done {
    std::fs::write(person.path("batch"), batch).unwrap();
    let mut sftp = person.program("sftp");
    sftp.arg("-b").arg(person.path("batch")).arg(host);
    done(sftp).await
}

#[tokio::test(flavor = "multi_thread")]
async fn large_files_are_copied_both_ways() {
    let fixture = Fixture::start().await;
    let id = with_pod(&fixture).await;
    let person = Person::with_key(&fixture).await;
    let content = bytes(64 * MIB);
    let (local, back) = (person.path("large"), person.path("back"));
    std::fs::write(&local, &content).unwrap();
    let up = scp(&person, local.to_str().unwrap(), &format!("{id}@127.0.0.1:large")).await;
    assert_eq!((up.status, up.err.as_str()), (0, ""));
    let sums = person.run(id, "sha256sum <large").await;
    let local_sum =
        std::process::Command::new("sha256sum").stdin(std::fs::File::open(&local).unwrap()).output();
    assert_eq!(sums.out.as_bytes(), local_sum.unwrap().stdout);
    let down = scp(&person, &format!("{id}@127.0.0.1:large"), back.to_str().unwrap()).await;
    assert_eq!((down.status, down.err.as_str()), (0, ""));
    assert!(std::fs::read(&back).unwrap() == content, "the copy differs");
    // a smaller file in its place leaves nothing of the larger one, and keeps its mode
    let small = person.path("small");
    std::fs::write(&small, "#!/bin/sh\n").unwrap();
    std::fs::set_permissions(&small, std::os::unix::fs::PermissionsExt::from_mode(0o750)).unwrap();
    let target = format!("{id}@127.0.0.1:run me's");
    assert_eq!(scp(&person, small.to_str().unwrap(), &format!("{id}@127.0.0.1:large")).await.status, 0);
    assert_eq!(scp(&person, small.to_str().unwrap(), &target).await.status, 0);
    assert_eq!(person.run(id, "cat large; stat -c %a \"run me's\"").await.out, "#!/bin/sh\n750\n");
    let missing = scp(&person, &format!("{id}@127.0.0.1:missing"), back.to_str().unwrap()).await;
    assert!(missing.status != 0 && missing.err.contains("No such file"), "{missing:?}");
}

fn lines(path: &Path) -> Vec<String> {
    std::fs::read_to_string(path).unwrap().lines().map(str::to_owned).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn directories_are_listed_made_renamed_and_removed() {
    let fixture = Fixture::start().await;
    let id = with_pod(&fixture).await;
    let person = Person::with_key(&fixture).await;
    let host = format!("{id}@127.0.0.1");
    let (local, back) = (person.path("local"), person.path("back"));
    std::fs::write(&local, "one\ntwo\n").unwrap();
    let put = local.display();
    let batch = format!(
        "pwd\nmkdir made\nput {put} made/a\nput {put} \"made/b c\"\nrename made/a made/d\nchmod 600 made/d\n\
         ln -s d made/link\nls -la made\nget made/link {}\n",
        back.display()
    );
    let ran = sftp(&person, &host, &batch).await;
    assert_eq!(ran.status, 0, "{ran:?}");
    assert_eq!(lines(&back), ["one", "two"]);
    for expected in ["-rw-------", " b c", " d\n", " link\n", "lrwxrwxrwx"] {
        assert!(ran.out.contains(expected), "{expected} is not in {}", ran.out);
    }
    let home = person.run(id, "pwd").await.out;
    assert!(ran.out.contains(&format!("Remote working directory: {home}")), "{}", ran.out);
    let read = person.run(id, "ls -A made; stat -c %a made/d; readlink made/link").await;
    assert_eq!(read.out, "b c\nd\nlink\n600\nd\n");
    // what is partly there is completed, in both directions
    assert_eq!(person.run(id, "printf 'one\\n' >made/part").await.status, 0);
    std::fs::write(&back, "one\n").unwrap();
    let resumed = format!("reput {put} made/part\nreget made/part {}\n", back.display());
    assert_eq!(sftp(&person, &host, &resumed).await.status, 0);
    assert_eq!(person.run(id, "cat made/part").await.out, "one\ntwo\n");
    assert_eq!(lines(&back), ["one", "two"]);
    for (bad, said) in [
        ("get nowhere/x", "not found"),
        ("mkdir made", "Failure"),
        ("rmdir made", "Failure"),
        ("rm made", "Failure"),
        ("cd made/d", "not a directory"),
    ] {
        let refused = sftp(&person, &host, &format!("{bad}\n")).await;
        let (err, said) = (refused.err.to_lowercase(), said.to_lowercase());
        assert!(
            refused.status == 1 && (err.contains(&said) || err.contains("exists") || err.contains("empty")),
            "{bad}: {refused:?}"
        );
    }
    let removed =
        sftp(&person, &host, "rm made/d\nrm \"made/b c\"\nrm made/link\nrm made/part\nrmdir made\n").await;
    assert_eq!(removed.status, 0, "{removed:?}");
    assert_eq!(person.run(id, "[ ! -e made ]").await.status, 0);
    // many files, and names that only a machine writes
    let many = "mkdir many; cd many; i=0; while [ $i -lt 1500 ]; do : >f$i; i=$((i + 1)); done; : >'new\nline'; : >'$(x)'; : >.hidden";
    assert_eq!(person.run(id, many).await.status, 0);
    let listed = sftp(&person, &host, "ls -1a many\n").await;
    assert_eq!(listed.out.matches("many/").count(), 1503, "{:.300}", listed.out);
    eventually("transfers are in the record", async || {
        let owner = fixture.user(fixture.tenant, auth::Role::Owner);
        let page = owner.get(&format!("/v1/ssh-sessions?instance_id={id}")).await.expect(200);
        let items = page.body["items"].as_array().unwrap().clone();
        items.iter().any(|session| session["sftp"] == 1).then_some(())
    })
    .await;
}
