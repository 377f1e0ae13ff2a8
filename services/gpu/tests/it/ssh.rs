//! Sessions over SSH, with the OpenSSH client: log-in, commands, terminals, forwarded ports.

use std::{net::SocketAddr, path::PathBuf, process::Stdio, time::Duration};

use auth::{Claims, Role, session_of};
use ids::{ApiKeyId, InstanceId, TenantId, UserId};
use k8s_openapi::api::core::v1::Pod;
use kube::api::Api;
use serde_json::{Value, json};
use testkit::{Client, Response, eventually};
use tokio::{io::AsyncWriteExt, process::Command};

use crate::{
    harness::Fixture,
    neighbours::Condition,
    streams::{bring_up_with_pod, with_pod},
};

/// What a finished program left.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Done {
    pub(crate) status: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

/// A user with a key and the OpenSSH client.
pub(crate) struct Person {
    pub(crate) user: UserId,
    pub(crate) token: String,
    pub(crate) api: Client,
    pub(crate) folder: tempfile::TempDir,
    pub(crate) address: SocketAddr,
}

/// Requires the OpenSSH client.
fn require_openssh() {
    let found = std::process::Command::new("ssh").arg("-V").stderr(Stdio::null()).status();
    assert!(found.is_ok(), "the OpenSSH client is required: apt-get install openssh-client");
}

impl Person {
    /// A member of the tenant. The folder has a key, which is nobody's yet, and the endpoint's host key.
    pub(crate) async fn new(fixture: &Fixture, tenant: TenantId, role: Role) -> Self {
        require_openssh();
        let claims = fixture.issuer.claims(Some((tenant, role)), false);
        let name = match role {
            Role::Viewer => "viewer",
            Role::Member => "member",
            Role::Owner => "owner",
        };
        fixture.neighbours.set_role(tenant, claims.sub, Some(name));
        let token = fixture.issuer.sign(&claims);
        let address = fixture.app.ssh_address().await.unwrap();
        let api = Client::new(&fixture.base).token(&token);
        let person = Self { user: claims.sub, token, api, folder: tempfile::tempdir().unwrap(), address };
        let key = person.path("key");
        let mut made = Command::new("ssh-keygen");
        made.args(["-q", "-t", "ed25519", "-N", "", "-C", "laptop", "-f"]).arg(&key);
        assert!(made.status().await.unwrap().success());
        let endpoint = person.api.get("/v1/ssh").await.expect(200);
        assert_eq!(endpoint.body["port"], address.port());
        std::fs::write(person.path("known_hosts"), format!("{}\n", endpoint.str("known_hosts"))).unwrap();
        person
    }

    /// A member of the tenant with a registered key.
    pub(crate) async fn with_key(fixture: &Fixture) -> Self {
        let person = Self::new(fixture, fixture.tenant, Role::Member).await;
        let _ = person.add_key().await.expect(201);
        person
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn public_key(&self) -> String {
        std::fs::read_to_string(self.path("key.pub")).unwrap()
    }

    pub(crate) async fn add_key(&self) -> Response {
        self.api.post("/v1/ssh-keys", json!({ "public_key": self.public_key() })).await
    }

    /// One of OpenSSH's programs, with this user's key.
    pub(crate) fn program(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        let port = if program == "ssh" { "-p" } else { "-P" };
        command.args(["-F", "none", port, &self.address.port().to_string(), "-i"]).arg(self.path("key"));
        for option in [
            "IdentitiesOnly=yes",
            "IdentityAgent=none",
            "BatchMode=yes",
            "StrictHostKeyChecking=yes",
            "ExitOnForwardFailure=yes",
            &format!("UserKnownHostsFile={}", self.path("known_hosts").display()),
            "GlobalKnownHostsFile=none",
        ] {
            command.args(["-o", option]);
        }
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
        command
    }

    /// `ssh <instance>@… <arguments>`.
    pub(crate) fn ssh(&self, instance: impl std::fmt::Display, arguments: &[&str]) -> Command {
        let mut command = self.program("ssh");
        command.arg(format!("{instance}@127.0.0.1")).args(arguments);
        command
    }

    /// Runs a command in the instance.
    pub(crate) async fn run(&self, instance: impl std::fmt::Display, command: &str) -> Done {
        done(self.ssh(instance, &[command])).await
    }
}

/// Runs a program to its end.
pub(crate) async fn done(mut command: Command) -> Done {
    let output = tokio::time::timeout(Duration::from_secs(60), command.output()).await;
    let output = output.expect("the program ends").unwrap();
    Done {
        status: output.status.code().unwrap_or(-1),
        out: String::from_utf8_lossy(&output.stdout).into_owned(),
        err: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// Runs a program with this input to its end.
pub(crate) async fn fed(mut command: Command, input: Vec<u8>) -> std::process::Output {
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let feed = tokio::spawn(async move {
        // the command may not read to the end
        let _ = stdin.write_all(&input).await;
    });
    let output = tokio::time::timeout(Duration::from_secs(60), child.wait_with_output()).await;
    feed.await.unwrap();
    output.expect("the program ends").unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_has_its_streams_and_its_exit_status() {
    let fixture = Fixture::start().await;
    let id = with_pod(&fixture).await;
    let person = Person::with_key(&fixture).await;
    let ran = person.run(id, "echo out; echo err >&2; exit 7").await;
    assert_eq!(ran, Done { status: 7, out: "out\n".into(), err: "err\n".into() });
    let other_form = person.run(id.k8s_name(), "true").await;
    assert_eq!((other_form.status, other_form.err.as_str()), (0, ""));
    // quotes arrive as they were sent, in any language
    let quoted = person.run(id, "printf '%s|' \"a b\" 'it'\\''s' ü").await;
    assert_eq!(quoted.out, "a b|it's|ü|");
    // the environment of the client does not
    let mut ordered = person.program("ssh");
    ordered.args(["-o", "SendEnv=LC_TEST"]).env("LC_TEST", "x");
    ordered.arg(format!("{id}@127.0.0.1")).arg("echo \"${LC_TEST:-none}\"");
    assert_eq!(done(ordered).await.out, "none\n");

    // input to its end, and as much back as was sent: neither direction waits for the other
    let input: Vec<u8> =
        (0..8 * 1024 * 1024_u32).map(|n| n.wrapping_mul(2_654_435_761).to_be_bytes()[0]).collect();
    let echoed = fed(person.ssh(id, &["cat"]), input.clone()).await;
    assert_eq!(echoed.status.code(), Some(0));
    assert!(echoed.stdout == input, "{} of {} bytes", echoed.stdout.len(), input.len());
    // a shell without a terminal reads its script from standard input
    let script = fed(person.ssh(id, &[]), b"echo from $((40 + 2)); exit 3\n".to_vec()).await;
    assert_eq!((script.status.code(), &script.stdout[..]), (Some(3), &b"from 42\n"[..]));
    // the command is ended with its client
    let mut child = person.ssh(id, &["echo $$ > pid; sleep 1000"]).spawn().unwrap();
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
    let keys = person.api.get("/v1/ssh-keys").await.expect(200);
    assert!(keys.body["items"][0]["last_used_at"].is_string(), "{}", keys.text);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_terminal_has_a_type_and_a_size_that_changes() {
    let fixture = Fixture::start().await;
    let id = with_pod(&fixture).await;
    let person = Person::with_key(&fixture).await;
    let ready = person.path("ready");
    let remote = format!(
        "tty >/dev/null && echo \"terminal $TERM\"; stty size; touch {}; \
         until [ \"$(stty size)\" = '40 120' ]; do sleep 0.05; done; stty size; exit 5",
        ready.display()
    );
    let ssh = person.ssh(id, &["-tt", &remote]);
    let words: Vec<String> = std::iter::once(ssh.as_std().get_program())
        .chain(ssh.as_std().get_args())
        .map(|word| format!("'{}'", word.to_str().unwrap().replace('\'', "'\\''")))
        .collect();
    // `script` gives the client a terminal
    let local = format!(
        "stty rows 37 cols 101; ( until [ -e {} ]; do sleep 0.05; done; stty rows 40 cols 120 </dev/tty ) & {}",
        ready.display(),
        words.join(" ")
    );
    let mut script = Command::new("script");
    script.args(["-qec", &local, "/dev/null"]).env("TERM", "xterm-test").kill_on_drop(true);
    script.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let ran = done(script).await;
    // `script` types the end of its input, which the terminal shows at any time
    let shown = ran.out.replace('\r', "").replace("^@", "");
    assert!(shown.contains("terminal xterm-test\n37 101\n40 120\n"), "{ran:?}");
    assert_eq!(ran.status, 5);
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_right_all_instances_look_alike() {
    let fixture = Fixture::start().await;
    let id = with_pod(&fixture).await;
    let stopped = fixture.ordered(Fixture::order()).await;
    let unit = fixture.unit_of(stopped).await;
    fixture.act(stopped, "stop").await;
    fixture.emptied(&unit).await;
    fixture.operator.ended(&unit, 10).await;
    fixture.in_state(stopped, "stopped").await;

    let owner = Person::with_key(&fixture).await;
    assert_eq!(owner.run(id, "true").await.status, 0);
    let told = owner.run(stopped, "true").await;
    assert_eq!(told.status, 255);
    assert_eq!(told.err.trim(), "The instance is stopped. Start it, then connect again.");
    assert_eq!(owner.run(InstanceId::new(), "true").await.status, 255);

    // one that a service manages has secrets of the service
    let managed = fixture.managed(&fixture.managed_order()).await;
    assert!(owner.run(managed, "true").await.err.contains("Permission denied"));

    // of another tenant, a viewer, one with an unknown key
    let stranger = Person::new(&fixture, TenantId::new(), Role::Owner).await;
    let _ = stranger.add_key().await.expect(201);
    let viewer = Person::new(&fixture, fixture.tenant, Role::Viewer).await;
    let _ = viewer.add_key().await.expect(201);
    let keyless = Person::new(&fixture, fixture.tenant, Role::Member).await;
    for person in [&stranger, &viewer, &keyless] {
        for user in [id.to_string(), stopped.to_string(), InstanceId::new().to_string(), "root".to_owned()] {
            let refused = person.run(&user, "true").await;
            let message = refused.err.replace(&user, "X");
            assert_eq!(
                (refused.status, message.trim()),
                (255, "X@127.0.0.1: Permission denied (publickey).")
            );
        }
    }
    let passwords = done({
        let mut ssh = owner.program("ssh");
        ssh.args(["-o", "PubkeyAuthentication=no", &format!("{id}@127.0.0.1"), "true"]);
        ssh
    });
    assert!(passwords.await.err.contains("Permission denied (publickey)"));
    // while the identity service is away, no new user gets in
    fixture.neighbours.be(Condition::Away);
    assert!(owner.run(id, "true").await.err.contains("Permission denied"));
    fixture.neighbours.be(Condition::Well);
    assert_eq!(owner.run(id, "true").await.status, 0);
}

/// A listener with a small HTTP server that says its name.
async fn serve(address: SocketAddr, name: &'static str) -> u16 {
    let listener = tokio::net::TcpListener::bind(address).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let router = axum::Router::new().route("/", axum::routing::get(move || async move { name }));
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    port
}

fn free_port() -> u16 {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

#[tokio::test(flavor = "multi_thread")]
async fn ports_of_the_instance_are_forwarded_and_no_others() {
    let fixture = Fixture::start().await;
    let id = with_pod(&fixture).await;
    let person = Person::with_key(&fixture).await;
    let pods: Api<Pod> = Api::namespaced(fixture.kube.clone(), &fixture.tenant.k8s_name());
    let pod = pods.get(&format!("{}-1", id.k8s_name())).await.unwrap();
    let pod_ip = pod.status.unwrap().pod_ip.unwrap();
    // what the instance would serve: the addresses of pods are addresses of this machine
    let own = serve(format!("{pod_ip}:0").parse().unwrap(), "own").await;
    let inner = serve("127.0.0.1:0".parse().unwrap(), "inner").await;
    let targets = [
        format!("{id}:{own}"),
        format!("localhost:{inner}"),
        format!("localhost:{}", free_port()),
        format!("169.254.169.254:{inner}"),
    ];
    // another test may have a port that was free, and answer nothing
    let client = reqwest::Client::builder().timeout(Duration::from_secs(20)).build().unwrap();
    let fetch = async |port: u16| {
        let answer = client.get(format!("http://127.0.0.1:{port}/")).send().await.ok()?;
        answer.text().await.ok()
    };
    let (forwarding, [to_own, to_inner, to_none, elsewhere]) = loop {
        let ports = targets.each_ref().map(|_| free_port());
        let mut ssh = person.program("ssh");
        for (port, target) in ports.iter().zip(&targets) {
            ssh.args(["-L", &format!("127.0.0.1:{port}:{target}")]);
        }
        ssh.args(["-N", &format!("{id}@127.0.0.1")]);
        let mut ended = Box::pin(done(ssh));
        let own = async || fetch(ports[0]).await.filter(|text| text == "own");
        tokio::select! {
            ended = &mut ended => {
                // another process took a port that was free
                assert!(ended.err.contains("Address already in use"), "{ended:?}");
            }
            _ = eventually("the port is forwarded", own) => break (ended, ports),
        }
    };
    assert_eq!(fetch(to_inner).await.as_deref(), Some("inner"));
    let all = futures::future::join_all((0..20).map(|_| fetch(to_own))).await;
    assert!(all.iter().all(|text| text.as_deref() == Some("own")));
    assert_eq!(fetch(to_none).await, None);
    assert_eq!(fetch(elsewhere).await, None);
    drop(forwarding);
    // nothing is forwarded to the client, nor its agent and display
    let mut reverse = person.program("ssh");
    reverse.args(["-R", &format!("{}:localhost:22", free_port()), "-N", &format!("{id}@127.0.0.1")]);
    let refused = done(reverse).await;
    assert!(refused.status == 255 && refused.err.contains("remote port forwarding failed"), "{refused:?}");
    let mut agent = person.program("ssh");
    agent.args(["-A", "-X", &format!("{id}@127.0.0.1"), "echo \"${SSH_AUTH_SOCK:-none} ${DISPLAY:-none}\""]);
    assert_eq!(done(agent).await.out, "none none\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn many_sessions_run_at_once_and_a_tenant_has_so_many() {
    let fixture = Fixture::start().await;
    let id = with_pod(&fixture).await;
    let person = Person::with_key(&fixture).await;
    let all = (0..20).map(|n| person.run(id, Box::leak(format!("echo {n}; exit {n}").into_boxed_str())));
    for (n, ran) in futures::future::join_all(all).await.into_iter().enumerate() {
        assert_eq!((ran.status, ran.out), (i32::try_from(n).unwrap(), format!("{n}\n")), "{}", ran.err);
    }
    // 30 is the limit of connections in these tests
    let mut open = Vec::new();
    let refused = eventually("the limit is reached", async || {
        open.push(person.ssh(id, &["cat"]).stdin(Stdio::piped()).spawn().unwrap());
        let ran = person.run(id, "true").await;
        (ran.status != 0).then_some(ran)
    })
    .await;
    assert!(refused.err.contains("this tenant has 30 SSH connections open"), "{refused:?}");
    drop(open);
    eventually("closed connections are not counted", async || {
        (person.run(id, "true").await.status == 0).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_of_an_instance_opens_this_one_only() {
    let fixture = Fixture::start().await;
    let person = Person::new(&fixture, fixture.tenant, Role::Member).await;
    let mut order = Fixture::order();
    order["ssh_keys"] = json!([person.public_key(), person.public_key()]);
    let id = person.api.post("/v1/instances", order.clone()).await.expect(202).str("id").parse().unwrap();
    bring_up_with_pod(&fixture, id).await;
    let other = with_pod(&fixture).await;
    assert_eq!(person.run(id, "echo in").await.out, "in\n");
    assert_eq!(person.run(other, "true").await.status, 255);
    let keys = person.api.get(&format!("/v1/instances/{id}/ssh-keys")).await.expect(200);
    assert_eq!(keys.body["items"].as_array().unwrap().len(), 1, "{}", keys.text);
    assert_eq!(keys.body["items"][0]["name"], "laptop");
    order["ssh_keys"] = json!(["nonsense"]);
    let refused = person.api.post("/v1/instances", order).await.expect_problem(422, "invalid-field");
    assert_eq!(refused.body["errors"][0]["pointer"], "/ssh_keys/0");
    // added later, to the other one
    let path = format!("/v1/instances/{other}/ssh-keys");
    let _ =
        person.api.post(&path, json!({ "public_key": person.public_key(), "name": "ci" })).await.expect(201);
    assert_eq!(person.run(other, "true").await.status, 0);
    // it opens nothing once the user who added it has lost the role
    fixture.neighbours.set_role(fixture.tenant, person.user, Some("viewer"));
    assert_eq!(person.run(other, "true").await.status, 255);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_that_an_api_key_adds_opens_the_tenant_of_that_one_only() {
    let fixture = Fixture::start().await;
    let id = with_pod(&fixture).await;
    let person = Person::new(&fixture, fixture.tenant, Role::Member).await;
    let elsewhere = TenantId::new();
    fixture.neighbours.set_role(elsewhere, person.user, Some("member"));
    let script = |tenant, scope: &str| {
        let claims = fixture.issuer.claims(Some((tenant, Role::Member)), false);
        let (key, scope) = (Some(ApiKeyId::new()), Some(scope.to_owned()));
        let claims = Claims { sub: person.user, sid: key.map(session_of), key, scope, ..claims };
        Client::new(&fixture.base).token(&fixture.issuer.sign(&claims))
    };
    let new = json!({ "public_key": person.public_key() });
    let all = "account:write instances:write";
    // a shell is more than the account
    let refused = script(fixture.tenant, "account:write").post("/v1/ssh-keys", new.clone()).await;
    assert_eq!(refused.expect_problem(403, "insufficient-scope").str("scope"), "instances:write");
    let made = script(elsewhere, all).post("/v1/ssh-keys", new.clone()).await.expect(201);
    assert_eq!(person.run(id, "true").await.status, 255);
    let _ = person.api.delete(&format!("/v1/ssh-keys/{}", made.str("id"))).await.expect(204);
    let _ = script(fixture.tenant, all).post("/v1/ssh-keys", new).await.expect(201);
    assert_eq!(person.run(id, "true").await.status, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn all_replicas_have_the_same_host_key_also_after_a_restart() {
    let fixture = Fixture::start().await;
    let id = with_pod(&fixture).await;
    let mut person = Person::with_key(&fixture).await;
    let before = person.api.get("/v1/ssh").await.expect(200);
    let replica = fixture.replica().await;
    let of_replica = Client::new(&replica.base).token(&person.token).get("/v1/ssh").await.expect(200);
    assert_eq!(of_replica.body["host_key"], before.body["host_key"]);
    assert!(before.str("fingerprint").starts_with("SHA256:"));
    // the client, which knows the first one's key, accepts that of a new process
    fixture.process.shutdown.begin();
    fixture.process.shutdown.finish().await;
    person.address = replica.app.ssh_address().await.unwrap();
    let line = std::fs::read_to_string(person.path("known_hosts")).unwrap();
    let (_, key) = line.split_once(' ').unwrap();
    std::fs::write(person.path("known_hosts"), format!("[127.0.0.1]:{} {key}", person.address.port()))
        .unwrap();
    assert_eq!(person.run(id, "echo again").await.out, "again\n");
    // the private half is in no answer, and no request can read it
    let mut as_app = fixture.service_db.platform().await.unwrap();
    let read = sqlx::query("select private_key from ssh_host_key").execute(&mut *as_app).await;
    assert!(read.unwrap_err().to_string().contains("permission denied"));
    let mut admin = fixture.db.admin().await;
    let count: i64 =
        sqlx::query_scalar("select count(*) from gpu.ssh_host_key").fetch_one(&mut admin).await.unwrap();
    assert_eq!(count, 1);
    let expected = ["fingerprint", "host", "host_key", "known_hosts", "port"];
    let mut members: Vec<&String> = before.body.as_object().unwrap().keys().collect();
    members.sort_unstable();
    assert_eq!(members, expected);
    replica.process.shutdown.begin();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_configured_host_key_wins_and_without_an_endpoint_there_is_none() {
    let fixture = Fixture::start().await;
    let person = Person::with_key(&fixture).await;
    let start = async |config: atelier_gpu::Config| {
        let process = service::Process::default();
        let app = atelier_gpu::App::new(config, process.clone()).unwrap();
        app.start_workers();
        let base = testkit::serve(app.router()).await;
        (Client::new(&base).token(&person.token).get("/v1/ssh").await, process)
    };
    let mut config = fixture.config.clone();
    config.ssh.as_mut().unwrap().host_key_file = Some(person.path("key"));
    let (answer, process) = start(config.clone()).await;
    let public = person.public_key();
    assert_eq!(answer.expect(200).body["host_key"], Value::from(public.rsplit_once(' ').unwrap().0));
    process.shutdown.begin();
    config.ssh = None;
    let (answer, process) = start(config).await;
    answer.expect_problem(404, "not-found");
    process.shutdown.begin();
}
