//! Commands over SSH that close their output, leave their input alone, or leave programs behind.

use std::process::Stdio;

use testkit::eventually;
use tokio::process::Command;

use crate::{
    harness::Fixture,
    ssh::{Person, done, fed},
    streams::with_pod,
};

#[tokio::test(flavor = "multi_thread")]
async fn a_command_that_closes_its_output_gets_all_of_its_input() {
    let fixture = Fixture::start().await;
    let id = with_pod(&fixture).await;
    let person = Person::with_key(&fixture).await;
    let input = vec![b'x'; 8 * 1024 * 1024];
    for (n, command) in [
        "exec cat >file.N 2>&1",
        "cat >file.N 2>/dev/null",
        "exec >/dev/null 2>&1; cat >file.N",
        "exec sh -c 'exec >/dev/null 2>&1; exec cat >file.N'",
        "exec dd of=file.N 2>/dev/null",
        "exec >&- 2>&-; cat >file.N",
    ]
    .iter()
    .enumerate()
    {
        let command = command.replace('N', &n.to_string());
        let fed = fed(person.ssh(id, &[&command]), input.clone()).await;
        assert_eq!(fed.status.code(), Some(0), "{command}: {}", String::from_utf8_lossy(&fed.stderr));
        let size = person.run(id, &format!("stat -c %s file.{n}")).await.out;
        assert_eq!(size.trim(), input.len().to_string(), "{command}");
    }
    // an archive, as people copy folders
    let folder = person.path("folder");
    std::fs::create_dir(&folder).unwrap();
    for n in 0..20 {
        std::fs::write(folder.join(format!("f{n}")), &input[..100_000]).unwrap();
    }
    let archive = Command::new("tar").arg("-C").arg(&folder).args(["-cf", "-", "."]).output().await.unwrap();
    let unpacked =
        fed(person.ssh(id, &["mkdir -p to && cd to && exec tar xf - >/dev/null 2>&1"]), archive.stdout).await;
    assert_eq!(unpacked.status.code(), Some(0));
    assert_eq!(person.run(id, "cat to/f* | wc -c").await.out.trim(), "2000000");
    // the status is the program's, whatever it has closed
    assert_eq!(person.run(id, "exec >/dev/null 2>&1; sleep 6; exit 9").await.status, 9);
}

#[tokio::test(flavor = "multi_thread")]
async fn programs_in_the_background_go_on_and_those_of_a_lost_client_end() {
    let fixture = Fixture::start().await;
    let id = with_pod(&fixture).await;
    let person = Person::with_key(&fixture).await;
    // a session ends with its shell once nothing else writes to it
    for left in [
        "nohup sleep 1000 >/dev/null 2>&1 &",
        "sleep 1000 >/dev/null 2>&1 </dev/null &",
        "(exec sleep 1000) 3<&0 <&3 >/dev/null 2>&1 &",
        "setsid sleep 1000 >/dev/null 2>&1 &",
    ] {
        let ran = person.run(id, &format!("{left}\necho $!")).await;
        assert_eq!((ran.status, ran.err.as_str()), (0, ""), "{left}");
        let pid = ran.out.trim().to_owned();
        assert_eq!(person.run(id, &format!("kill -0 {pid}")).await.status, 0, "{left}");
        assert_eq!(person.run(id, &format!("kill {pid}")).await.status, 0, "{left}");
    }
    // a client that is killed while the command does not read what it has sent
    let endless = std::fs::File::open("/dev/zero").unwrap();
    let mut ssh = person.ssh(id, &["echo $$ >pid; exec sleep 1000"]);
    let mut child = ssh.stdin(endless).stdout(Stdio::null()).spawn().unwrap();
    let pid = eventually("the command runs", async || {
        let pid = person.run(id, "cat pid 2>/dev/null").await.out.trim().to_owned();
        (!pid.is_empty()).then_some(pid)
    })
    .await;
    child.kill().await.unwrap();
    eventually("the command has ended", async || {
        (person.run(id, &format!("kill -0 {pid} 2>/dev/null")).await.status != 0).then_some(())
    })
    .await;
    // a command need not be UTF-8
    let mut ssh = person.program("ssh");
    let printf: &std::ffi::OsStr =
        std::os::unix::ffi::OsStrExt::from_bytes(b"printf '\xff\xfe' | od -An -tx1");
    ssh.arg(format!("{id}@127.0.0.1")).arg(printf);
    let ran = done(ssh).await;
    assert_eq!((ran.status, ran.out.trim()), (0, "ff fe"), "{ran:?}");
}
