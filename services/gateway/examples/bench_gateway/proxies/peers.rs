//! The gateway and the proxies to compare, each a process of its own on the first core; the upstream on the
//! second.

use std::{
    net::SocketAddr,
    path::Path,
    process::{Child, Command, Stdio},
};

use testkit::{Collector, Issuer, eventually};

use crate::serve::{self, Gateway, Service};

/// The target of requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Proxy {
    Gateway,
    /// The gateway that records one request in a hundred.
    Traced,
    /// HAProxy that verifies tokens, checks their claims and counts requests per user.
    HaproxyJwt,
    HaproxyPlain,
    NginxPlain,
    /// The upstream itself.
    None,
}

impl Proxy {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Gateway => "gateway",
            Self::Traced => "gateway, traced",
            Self::HaproxyJwt => "HAProxy, JWT",
            Self::HaproxyPlain => "HAProxy, plain",
            Self::NginxPlain => "nginx, plain",
            Self::None => "upstream",
        }
    }
}

/// A process that is killed when this is dropped.
struct Process(Child);

impl Process {
    /// Starts a program on one core.
    fn start(core: &str, program: &str, arguments: &[&str]) -> Self {
        let mut command = Command::new("taskset");
        command.args(["-c", core, program]).args(arguments).stdout(Stdio::null());
        Self(command.env("RUST_LOG", "error").spawn().unwrap_or_else(|error| panic!("{program}: {error}")))
    }

    /// Moves the process and its children to another core.
    fn pin(&self, core: &str) {
        let children = std::fs::read_to_string(format!("/proc/{0}/task/{0}/children", self.0.id()));
        let children = children.unwrap_or_default();
        for id in children.split_whitespace().map(str::to_owned).chain([self.0.id().to_string()]) {
            let pinned = Command::new("taskset").args(["-a", "-c", "-p", core, &id]).output().unwrap();
            assert!(pinned.status.success(), "{}", String::from_utf8_lossy(&pinned.stderr));
        }
    }

    /// CPU time of the process and of its living children.
    fn cpu_seconds(&self) -> f64 {
        let children = std::fs::read_to_string(format!("/proc/{0}/task/{0}/children", self.0.id()));
        let children = children.unwrap_or_default();
        let ids = children.split_whitespace().map(str::to_owned).chain([self.0.id().to_string()]);
        let ticks: f64 = ids.map(|id| ticks(&id)).sum();
        ticks / 100.0
    }
}

/// User and system time in clock ticks: the 14th and 15th fields of `/proc/<pid>/stat`.
fn ticks(id: &str) -> f64 {
    let Ok(stat) = std::fs::read_to_string(format!("/proc/{id}/stat")) else { return 0.0 };
    let (_, fields) = stat.rsplit_once(") ").unwrap();
    fields.split(' ').skip(11).take(2).map(|ticks| ticks.parse::<f64>().unwrap()).sum()
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = nix::sys::signal::kill(
            nix::unistd::Pid::from_raw(i32::try_from(self.0.id()).unwrap()),
            nix::sys::signal::Signal::SIGTERM,
        );
        let _ = self.0.wait();
    }
}

pub(crate) struct Peers {
    gateway: Process,
    traced: Process,
    haproxy_jwt: Process,
    haproxy_plain: Process,
    nginx: Process,
    _upstream: Process,
    addresses: [SocketAddr; 6],
    service: Service,
}

impl Peers {
    pub(crate) async fn start(folder: &Path, issuer: &Issuer) -> Self {
        let addresses = [(); 6].map(|()| serve::free_address());
        let [gateway, jwt, plain, nginx, upstream, traced] = addresses;
        let file = |name: &str, text: String| {
            let path = folder.join(name);
            std::fs::write(&path, text).unwrap();
            path
        };
        std::fs::write(folder.join("large"), vec![b'x'; 1024 * 1024]).unwrap();
        std::fs::write(folder.join("key.pem"), issuer.public_key_pem()).unwrap();

        let upstream_file = file("upstream.conf", upstream_config(folder, upstream));
        let nginx_file = file("nginx.conf", nginx_config(folder, nginx, upstream));
        let jwt_checks = jwt_checks(folder, &issuer.config().issuer);
        let jwt_file = file("jwt.cfg", haproxy_config(jwt, upstream, &jwt_checks));
        let plain_file = file("plain.cfg", haproxy_config(plain, upstream, ""));
        let service = |listen, traces| {
            Service::Gateway(Gateway {
                listen,
                metrics_listen: serve::free_address(),
                upstream,
                issuer: issuer.config().issuer,
                limit: None,
                traces,
            })
        };
        let traces = Collector::start().await.endpoint();
        let (service, traced) = (service(gateway, None), service(traced, Some(traces)));
        let path = |path: &Path| path.to_str().unwrap().to_owned();
        let peers = Self {
            _upstream: Process::start("1", "nginx", &["-c", &path(&upstream_file)]),
            nginx: Process::start("0", "nginx", &["-c", &path(&nginx_file)]),
            haproxy_jwt: Process::start("0", "haproxy", &["-db", "-f", &path(&jwt_file)]),
            haproxy_plain: Process::start("0", "haproxy", &["-db", "-f", &path(&plain_file)]),
            gateway: Process(service.start("0")),
            traced: Process(traced.start("0")),
            addresses,
            service,
        };
        for address in addresses {
            serve::listens(address).await;
        }
        peers
    }

    pub(crate) fn address(&self, proxy: Proxy) -> SocketAddr {
        let n = match proxy {
            Proxy::Gateway => 0,
            Proxy::HaproxyJwt => 1,
            Proxy::HaproxyPlain => 2,
            Proxy::NginxPlain => 3,
            Proxy::None => 4,
            Proxy::Traced => 5,
        };
        self.addresses[n]
    }

    fn process(&self, proxy: Proxy) -> Option<&Process> {
        match proxy {
            Proxy::Gateway => Some(&self.gateway),
            Proxy::Traced => Some(&self.traced),
            Proxy::HaproxyJwt => Some(&self.haproxy_jwt),
            Proxy::HaproxyPlain => Some(&self.haproxy_plain),
            Proxy::NginxPlain => Some(&self.nginx),
            Proxy::None => None,
        }
    }

    /// CPU time of a proxy.
    pub(crate) fn cpu_seconds(&self, proxy: Proxy) -> f64 {
        self.process(proxy).map_or(0.0, Process::cpu_seconds)
    }

    /// Moves a proxy to the core of the upstream and of wrk, or back to its own.
    pub(crate) fn share_core(&self, proxy: Proxy, shared: bool) {
        if let Some(process) = self.process(proxy) {
            process.pin(if shared { "1" } else { "0" });
        }
    }

    /// Replaces the gateway by one that has seen no token but this.
    pub(crate) async fn restart_gateway(&mut self, token: &str) {
        // the port is free once the old one has ended
        drop(std::mem::replace(&mut self.gateway, Process::start("0", "true", &[])));
        self.gateway = Process(self.service.start("0"));
        self.answers(Proxy::Gateway, token).await;
    }

    /// Waits until a gateway has read keys and revocations.
    pub(crate) async fn answers(&self, gateway: Proxy, token: &str) {
        let url = format!("http://{}/v1/stock", self.address(gateway));
        let http = reqwest::Client::new();
        eventually("the gateway answers", async || {
            let response = http.get(&url).bearer_auth(token).send().await.ok()?;
            response.status().is_success().then_some(())
        })
        .await;
    }
}

/// One worker in the foreground, its files in `folder`.
fn nginx_config_of(folder: &Path, name: &str, http: &str) -> String {
    let folder = folder.display();
    format!(
        "daemon off; worker_processes 1; pid {folder}/{name}.pid; error_log {folder}/{name}.log error;\n\
         events {{ worker_connections 1024; }}\n\
         http {{\n access_log off; keepalive_requests 1000000000; sendfile on; tcp_nopush on; tcp_nodelay on;\n\
         client_body_temp_path {folder}/{name}-b; proxy_temp_path {folder}/{name}-p; fastcgi_temp_path {folder}/{name}-f;\n\
         uwsgi_temp_path {folder}/{name}-u; scgi_temp_path {folder}/{name}-s;\n{http}\n}}\n"
    )
}

fn upstream_config(folder: &Path, listen: SocketAddr) -> String {
    let body = format!("{{\"items\":[\"{}\"]}}", "x".repeat(1000));
    let http = format!(
        "server {{ listen {listen}; default_type application/json;\n\
         location = /v1/stock/large {{ alias {}/large; }}\n location / {{ return 200 '{body}'; }} }}",
        folder.display()
    );
    nginx_config_of(folder, "upstream", &http)
}

fn nginx_config(folder: &Path, listen: SocketAddr, upstream: SocketAddr) -> String {
    let http = format!(
        "upstream up {{ server {upstream}; keepalive 64; keepalive_requests 1000000000; }}\n\
         server {{ listen {listen}; location / {{ proxy_pass http://up; proxy_http_version 1.1;\n\
         proxy_set_header Connection \"\"; proxy_set_header Host $host; proxy_set_header X-Forwarded-For $remote_addr; }} }}"
    );
    nginx_config_of(folder, "nginx", &http)
}

fn haproxy_config(listen: SocketAddr, upstream: SocketAddr, checks: &str) -> String {
    format!(
        "global\n    nbthread 1\n    maxconn 1024\n\
         defaults\n    mode http\n    timeout client 60s\n    timeout server 60s\n    timeout connect 2s\n    \
         option http-keep-alive\n    http-reuse always\n\
         frontend public\n    bind {listen}\n{checks}    http-request del-header cookie\n    \
         http-request set-header X-Forwarded-For %[src]\n    default_backend up\n\
         backend up\n    server up {upstream}\n"
    )
}

/// The checks of the gateway that HAProxy has too.
fn jwt_checks(folder: &Path, issuer: &str) -> String {
    let key = folder.join("key.pem");
    format!(
        "    stick-table type string len 64 size 200k expire 10s store http_req_rate(1s)\n    \
         http-request set-var(txn.bearer) http_auth_bearer\n    \
         http-request set-var(txn.alg) var(txn.bearer),jwt_header_query('$.alg')\n    \
         http-request deny deny_status 401 unless {{ var(txn.alg) -m str RS256 }}\n    \
         http-request deny deny_status 401 unless {{ var(txn.bearer),jwt_verify(txn.alg,\"{}\") 1 }}\n    \
         http-request deny deny_status 401 unless {{ var(txn.bearer),jwt_payload_query('$.iss') -m str {issuer} }}\n    \
         http-request deny deny_status 401 unless {{ var(txn.bearer),jwt_payload_query('$.aud') -m str atelier }}\n    \
         http-request set-var(txn.exp) var(txn.bearer),jwt_payload_query('$.exp','int')\n    \
         http-request set-var(txn.now) date()\n    \
         http-request deny deny_status 401 if {{ var(txn.exp),sub(txn.now) -m int lt 0 }}\n    \
         http-request track-sc0 var(txn.bearer),jwt_payload_query('$.sub')\n    \
         http-request deny deny_status 429 if {{ sc_http_req_rate(0) gt 1000000 }}\n",
        key.display()
    )
}
