//! Benefit and cost of the hold-back: users' starts that take a unit from a job (they meet a recall) without
//! hold-back, with a hold-back of 1, and with the forecast, refilled only by users' stops, or also by lent
//! workers that return units after their jobs; GPU seconds that jobs lose; units that stay idle.
//!
//! Real: the forecast. The service's own statement runs on a real Postgres every 10 simulated minutes, over the claims of 4 simulated
//! weeks before and of the last hour. Simulated: users (`demand.rs`), jobs (`jobs.rs`), claims and lending (`lending.rs`), for one
//! specification in one datacenter. All numbers are drawn from seeds; of each seed the fifth week is measured.

mod demand;
mod forecast;
mod jobs;
mod lending;
mod random;

use sqlx::postgres::PgConnectOptions;

use demand::{HOUR, WEEK};
use jobs::Queue;
use lending::{Outcome, Policy, simulate};
use random::Random;

/// Name, minimum number of units held back, whether the forecast counts, and whether lent workers return
/// units after their jobs.
const POLICIES: [(&str, u64, bool, bool); 5] = [
    ("no hold-back", 0, false, false),
    ("1", 1, false, false),
    ("1, returns", 1, false, true),
    ("forecast", 1, true, false),
    ("forecast, returns", 1, true, true),
];
/// Weeks before the measured one: as many as the forecast reads.
const HISTORY: u32 = 4;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Units of the specification in the datacenter
    #[arg(long, default_value_t = 200)]
    units: u64,
    /// Drawn courses, a week of each of which is measured
    #[arg(long, default_value_t = 5)]
    seeds: u64,
    /// Hours of that week
    #[arg(long, default_value_t = 168, value_parser = clap::value_parser!(u8).range(1..=168))]
    hours: u8,
    /// `recall_seconds` of the service: the window of the forecast
    #[arg(long, default_value_t = 15)]
    recall_seconds: u32,
    /// Seconds from the recall of a worker, or the end of its last job, to the empty unit; 2 as `bench jobs-reclaim` measures it
    #[arg(long, default_value_t = 2.0)]
    leave_seconds: f64,
    /// Share of jobs that are trainings; with 0.004 about half of the GPU time is theirs
    #[arg(long, default_value_t = 0.004)]
    trainings: f64,
}

pub(crate) async fn run(admin: &PgConnectOptions, args: &Args) {
    let mut conn = forecast::prepare(admin).await;
    let monday = f64::from(HISTORY) * WEEK;
    let measured = (monday, monday + f64::from(args.hours) * HOUR);
    let period = atelier_stock::hold_back::PERIOD.as_secs_f64();
    let mut totals = [const { Vec::<Outcome>::new() }; POLICIES.len()];
    for seed in 1..=args.seeds {
        let starts = demand::starts(&mut Random::new(seed), HISTORY + 1);
        forecast::record(&mut conn, &starts).await;
        let forecasts = forecast::forecasts(&mut conn, measured, args.recall_seconds).await;
        let mean = forecasts.iter().map(|units| *units as f64).sum::<f64>() / forecasts.len() as f64;
        println!("seed {seed}: forecasts mean {mean:.2}, at most {}", forecasts.iter().max().unwrap());
        for ((_, least, is_forecast, returns), outcomes) in POLICIES.into_iter().zip(&mut totals) {
            let forecasts = if is_forecast { &forecasts[..] } else { &[] };
            let policy = Policy { least, forecasts, period, returns, leave: args.leave_seconds };
            outcomes.push(simulate(args.units, &starts, measured, policy, Queue::new(seed, args.trainings)));
        }
    }
    println!(
        "\n{:<22} {:>7} {:>8} {:>7} {:>13} {:>21} {:>9} {:>9} {:>9} {:>7} {:>7}",
        "of a week",
        "starts",
        "recalls",
        "share",
        "of the weeks",
        "single, class, burst",
        "lost s",
        "load s",
        "idle h",
        "lent",
        "useful"
    );
    let weeks = args.seeds as f64 * f64::from(args.hours) * HOUR / WEEK;
    let sums = totals.each_ref().map(|outcomes| {
        let mut sum = Outcome::default();
        outcomes.iter().for_each(|outcome| sum.add(outcome));
        sum
    });
    for (((name, ..), sum), outcomes) in POLICIES.into_iter().zip(&sums).zip(&totals) {
        let shares = || outcomes.iter().map(|outcome| 100.0 * outcome.recalled_share());
        let (low, high) = (shares().fold(f64::INFINITY, f64::min), shares().fold(0.0, f64::max));
        let [single, class, burst] =
            [0, 1, 2].map(|kind| 100.0 * sum.recalled[kind] as f64 / sum.starts[kind] as f64);
        println!(
            "{name:<22} {:>7.0} {:>8.1} {:>6.2}% {:>13} {:>21} {:>9.0} {:>9.0} {:>9.1} {:>6.2}% {:>6.2}%",
            sum.starts.iter().sum::<u64>() as f64 / weeks,
            sum.recalled.iter().sum::<u64>() as f64 / weeks,
            100.0 * sum.recalled_share(),
            format!("{low:.2}–{high:.2}%"),
            format!("{single:.2}, {class:.1}, {burst:.1}%"),
            sum.lost / weeks,
            sum.loading / weeks,
            sum.idle / HOUR / weeks,
            100.0 * sum.lent / sum.capacity,
            100.0 * sum.useful / sum.capacity,
        );
    }
    let [none, .., forecast] = sums;
    println!("\nstarts that found no unit at all: {} and {}", none.unmet, forecast.unmet);
    println!(
        "hold-back: recalled_share={:.4} recalled_share_none={:.4} lost_gpu_s={:.0} lost_gpu_s_none={:.0} lent_share={:.4}",
        forecast.recalled_share(),
        none.recalled_share(),
        forecast.lost / weeks,
        none.lost / weeks,
        forecast.lent / forecast.capacity,
    );
}
