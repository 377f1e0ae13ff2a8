//! `cargo xtask bench jobs-reclaim`: instances are started on an unused GPU, on one lent to an idle worker,
//! and on one whose worker makes a picture.

use clap::Parser;
use demo::lending;
use machine::{client::Api, own::Task, process};

use super::platform::{measure, quantile};

#[derive(Debug, Parser)]
struct Args {
    /// Starts of each kind
    #[arg(long, default_value_t = 20)]
    starts: usize,
}

/// Seconds from the order of an instance until it runs.
#[derive(Default)]
struct Seconds {
    free: Vec<f64>,
    idle: Vec<f64>,
    busy: Vec<f64>,
}

pub(super) fn run(rest: &[String]) -> anyhow::Result<Task> {
    let name = "jobs-reclaim".to_owned();
    let args = Args::try_parse_from(std::iter::once(&name).chain(rest))?;
    measure(true, None, async move |access, _| {
        let mut seconds = Seconds::default();
        for n in 0..args.starts {
            // tokens last for a quarter of an hour
            let visitor = Api::new(&access.gateway)?;
            let admin = visitor.sign_in(&access.administrator).await?;
            let designer = visitor.sign_in(&access.designer).await?;
            start(&admin, &designer, &mut seconds).await?;
            println!(
                "{:>3}   free {:>5.2} s   idle worker {:>5.2} s   busy worker {:>5.2} s",
                n + 1,
                seconds.free.last().copied().unwrap_or_default(),
                seconds.idle.last().copied().unwrap_or_default(),
                seconds.busy.last().copied().unwrap_or_default(),
            );
        }
        let Seconds { free, idle, busy } = &mut seconds;
        println!(
            "jobs-reclaim: starts={} free_p50_s={:.2} free_p99_s={:.2} idle_p50_s={:.2} idle_p99_s={:.2} \
             busy_p50_s={:.2} busy_p99_s={:.2}",
            args.starts,
            quantile(free, 0.5),
            quantile(free, 0.99),
            quantile(idle, 0.5),
            quantile(idle, 0.99),
            quantile(busy, 0.5),
            quantile(busy, 0.99),
        );
        Ok(())
    })
}

/// Starts one instance of each kind.
async fn start(admin: &Api, designer: &Api, seconds: &mut Seconds) -> anyhow::Result<()> {
    let pool = lending::pool(admin).await?.ok_or_else(|| anyhow::anyhow!("no pool lends"))?;
    for is_busy in [true, false] {
        let mut loan = lending::order(admin, designer, pool.clone()).await?;
        if !is_busy {
            lending::cancel_all(designer, &loan).await?;
            lending::expect_idle(admin, &loan).await?;
        }
        seconds.free.push(lending::start_on_free(designer, &mut loan).await? / 1000.0);
        if is_busy {
            seconds.busy.push(lending::start_on_lent(admin, designer, &mut loan).await? / 1000.0);
            lending::cancel_all(designer, &loan).await?;
        } else {
            seconds.idle.push(lending::start(designer, &mut loan).await? / 1000.0);
        }
        lending::delete(designer, &loan).await?;
        process::until("the units are free", lending::LIMIT, async || lending::is_free(admin).await).await?;
    }
    Ok(())
}
