//! Load by wrk.

use std::{net::SocketAddr, path::Path, process::Command};

/// A load.
pub(crate) struct Load<'a> {
    pub(crate) address: SocketAddr,
    pub(crate) path: &'a str,
    /// A file with a token in each line.
    pub(crate) tokens: &'a Path,
    pub(crate) connections: u32,
    pub(crate) seconds: u32,
}

/// The measurements of wrk.
#[derive(Debug)]
pub(crate) struct Sample {
    pub(crate) requests: f64,
    pub(crate) per_second: f64,
    pub(crate) p50_ms: f64,
    pub(crate) p99_ms: f64,
    /// CPU time of the proxy per request.
    pub(crate) cpu_ms: f64,
}

/// Sends a request with each token in turn. The requests are made before the measurement begins.
pub(crate) const SCRIPT: &str = r#"
local requests = {}
local sent = 0

function init(arguments)
  for token in io.lines(arguments[1]) do
    requests[#requests + 1] = wrk.format("GET", arguments[2], { ["Authorization"] = "Bearer " .. token })
  end
end

function request()
  sent = sent + 1
  return requests[(sent - 1) % #requests + 1]
end

function done(summary, latency)
  local errors = summary.errors
  io.write(string.format("errors connect %d read %d write %d status %d timeout %d\n",
    errors.connect, errors.read, errors.write, errors.status, errors.timeout))
  io.write(string.format("result %d %d %f %f %d\n", summary.requests, summary.duration,
    latency:percentile(50), latency:percentile(99),
    errors.connect + errors.read + errors.write + errors.status + errors.timeout))
end
"#;

impl Load<'_> {
    /// Runs it on the second core.
    pub(crate) fn run(&self) -> Sample {
        let script = self.tokens.with_file_name("load.lua");
        let mut wrk = Command::new("taskset");
        wrk.args(["-c", "1", "wrk", "-t1"]);
        wrk.args([format!("-c{}", self.connections), format!("-d{}s", self.seconds), "-s".to_owned()]);
        wrk.arg(script).arg(format!("http://{}", self.address)).arg("--").arg(self.tokens).arg(self.path);
        let output = wrk.output().expect("taskset and wrk");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let line = text.lines().find_map(|line| line.strip_prefix("result "));
        let fields: Vec<f64> = line
            .unwrap_or_else(|| panic!("wrk: {text} {}", String::from_utf8_lossy(&output.stderr)))
            .split(' ')
            .map(|field| field.parse().unwrap())
            .collect();
        let [requests, microseconds, p50, p99, errors] = fields[..] else { panic!("{text}") };
        assert!(
            errors == 0.0 && requests > 0.0,
            "{errors} of {requests} requests to {} failed: {text}",
            self.address
        );
        Sample {
            requests,
            per_second: requests / microseconds * 1e6,
            p50_ms: p50 / 1000.0,
            p99_ms: p99 / 1000.0,
            cpu_ms: 0.0,
        }
    }
}
