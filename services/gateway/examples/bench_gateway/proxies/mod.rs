//! `cargo xtask bench gateway`: the gateway compared with HAProxy (which verifies the same tokens, checks
//! their claims and counts requests per user) and with plain proxies, before one upstream, interleaved in one
//! run. The proxy under load has the first core, the upstream and wrk have the second. One connection is
//! measured with everything on one core, as waking another one takes longer than any proxy. Access logs are
//! off everywhere.
//!
//! The last line is `gateway: hot_ratio=… distinct_ratio=… unseen_ratio=… plain_ratio=… p99_ratio=…
//! large_ratio=… traced_ratio=… added_us=…`: requests per second of the gateway relative to HAProxy with JWT
//! for one token, 10,000 tokens and tokens never seen before, and to HAProxy as a plain proxy; the p99 with
//! one token relative to HAProxy with JWT; requests per second with bodies of 1 MiB relative to HAProxy with
//! JWT; requests per second of a gateway that exports traces (one request in a hundred) relative to one that
//! does not; and the time that the gateway adds to the median of one connection without a proxy, in
//! microseconds. Each figure is the median of all rounds.

mod load;
mod peers;
mod tokens;

use std::net::SocketAddr;

use testkit::Issuer;

use load::{Load, Sample};
use peers::{Peers, Proxy};
use tokens::Tokens;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Rounds; each measures every proxy once
    #[arg(long, default_value_t = 3)]
    rounds: u32,
    /// Seconds of each measurement
    #[arg(long, default_value_t = 4)]
    seconds: u32,
    /// Connections at a time
    #[arg(long, default_value_t = 64)]
    connections: u32,
    /// Tokens that repeat
    #[arg(long, default_value_t = 10_000)]
    tokens: usize,
    /// Tokens that are sent once
    #[arg(long, default_value_t = 60_000)]
    unseen: usize,
    /// Measure all proxies of a case at a time, which takes less time and says nothing about speed
    #[arg(long)]
    at_once: bool,
}

/// The measured case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Case {
    Hot,
    Distinct,
    Unseen,
    Large,
    One,
}

impl Case {
    const ALL: [Self; 5] = [Self::Hot, Self::Distinct, Self::Unseen, Self::Large, Self::One];

    fn name(self) -> &'static str {
        match self {
            Self::Hot => "one token",
            Self::Distinct => "10,000 tokens",
            Self::Unseen => "new tokens",
            Self::Large => "1 MiB",
            Self::One => "1 connection",
        }
    }

    /// The proxies that take part.
    fn proxies(self) -> &'static [Proxy] {
        match self {
            Self::Hot => {
                &[Proxy::Gateway, Proxy::Traced, Proxy::HaproxyJwt, Proxy::HaproxyPlain, Proxy::NginxPlain]
            }
            Self::Large => &[Proxy::Gateway, Proxy::HaproxyJwt, Proxy::HaproxyPlain, Proxy::NginxPlain],
            Self::Distinct | Self::Unseen => &[Proxy::Gateway, Proxy::HaproxyJwt],
            Self::One => &[Proxy::Gateway, Proxy::HaproxyJwt, Proxy::HaproxyPlain, Proxy::None],
        }
    }
}

pub(crate) async fn run(args: &Args) {
    let folder = tempfile::tempdir().unwrap();
    let issuer = Issuer::start().await;
    println!("signing {} tokens", args.tokens + args.unseen + 1);
    let tokens = Tokens::write(folder.path(), &issuer, args.tokens, args.unseen);
    let mut peers = Peers::start(folder.path(), &issuer).await;
    let token = std::fs::read_to_string(&tokens.one).unwrap();
    for gateway in [Proxy::Gateway, Proxy::Traced] {
        peers.answers(gateway, &token).await;
    }

    let mut samples: Vec<(Case, Proxy, Sample)> = Vec::new();
    for round in 1..=args.rounds {
        println!("round {round} of {}", args.rounds);
        for case in Case::ALL {
            if case == Case::Unseen {
                peers.restart_gateway(&token).await;
                load(args, Case::Hot, peers.address(Proxy::Gateway), &tokens, 1).run();
            }
            let measure = |proxy| (case, proxy, sample(args, case, proxy, &peers, &tokens));
            let proxies = case.proxies().iter().copied();
            if args.at_once {
                std::thread::scope(|scope| {
                    let all: Vec<_> = proxies.map(|proxy| scope.spawn(move || measure(proxy))).collect();
                    samples.extend(all.into_iter().map(|one| one.join().unwrap()));
                });
            } else {
                samples.extend(proxies.map(measure));
            }
        }
    }
    drop(peers);
    print(&samples);
}

fn sample(args: &Args, case: Case, proxy: Proxy, peers: &Peers, tokens: &Tokens) -> Sample {
    peers.share_core(proxy, case == Case::One);
    let cpu = peers.cpu_seconds(proxy);
    let mut sample = load(args, case, peers.address(proxy), tokens, args.seconds).run();
    peers.share_core(proxy, false);
    sample.cpu_ms = (peers.cpu_seconds(proxy) - cpu) * 1000.0 / sample.requests.max(1.0);
    sample
}

fn load<'a>(args: &Args, case: Case, address: SocketAddr, tokens: &'a Tokens, seconds: u32) -> Load<'a> {
    let (path, tokens, connections) = match case {
        Case::Hot => ("/v1/stock", &tokens.one, args.connections),
        Case::Distinct => ("/v1/stock", &tokens.repeating, args.connections),
        Case::Unseen => ("/v1/stock", &tokens.unseen, args.connections),
        Case::Large => ("/v1/stock/large", &tokens.one, args.connections),
        Case::One => ("/v1/stock", &tokens.one, 1),
    };
    // no token is sent twice
    let seconds = if case == Case::Unseen { seconds.min(2) } else { seconds };
    Load { address, path, tokens, connections, seconds }
}

fn print(samples: &[(Case, Proxy, Sample)]) {
    println!(
        "{:>14} {:>15} {:>10} {:>9} {:>9} {:>12}",
        "", "", "requests/s", "p50 ms", "p99 ms", "CPU ms/req"
    );
    let median = |case, proxy, of: fn(&Sample) -> f64| {
        let mut all: Vec<f64> =
            samples.iter().filter(|(c, p, _)| (*c, *p) == (case, proxy)).map(|(.., s)| of(s)).collect();
        all.sort_by(f64::total_cmp);
        all[all.len() / 2]
    };
    for case in Case::ALL {
        for &proxy in case.proxies() {
            println!(
                "{:>14} {:>15} {:>10.0} {:>9.3} {:>9.3} {:>12.4}",
                case.name(),
                proxy.name(),
                median(case, proxy, |s| s.per_second),
                median(case, proxy, |s| s.p50_ms),
                median(case, proxy, |s| s.p99_ms),
                median(case, proxy, |s| s.cpu_ms),
            );
        }
    }
    let ratio = |case, peer, of| median(case, Proxy::Gateway, of) / median(case, peer, of);
    println!(
        "gateway: hot_ratio={:.2} distinct_ratio={:.2} unseen_ratio={:.2} plain_ratio={:.2} p99_ratio={:.2} \
         large_ratio={:.2} traced_ratio={:.3} added_us={:.0}",
        ratio(Case::Hot, Proxy::HaproxyJwt, |s| s.per_second),
        ratio(Case::Distinct, Proxy::HaproxyJwt, |s| s.per_second),
        ratio(Case::Unseen, Proxy::HaproxyJwt, |s| s.per_second),
        ratio(Case::Hot, Proxy::HaproxyPlain, |s| s.per_second),
        ratio(Case::Hot, Proxy::HaproxyJwt, |s| s.p99_ms),
        ratio(Case::Large, Proxy::HaproxyJwt, |s| s.per_second),
        median(Case::Hot, Proxy::Traced, |s| s.per_second)
            / median(Case::Hot, Proxy::Gateway, |s| s.per_second),
        (median(Case::One, Proxy::Gateway, |s| s.p50_ms) - median(Case::One, Proxy::None, |s| s.p50_ms))
            * 1000.0,
    );
}
