//! `cargo xtask bench console`: how soon a person sees and can use the console's lists when the tenant has very many instances and
//! jobs. Postgres, the services, the gateway and the built console are real; the rows are copies of one instance that has run, and of
//! jobs. `console/bench/` measures in Chromium, and prints the table and the last line.

mod instances;
mod jobs;

use std::time::Instant;

use anyhow::{Context, ensure};
use clap::Parser;
use machine::{
    access::Access,
    client::Api,
    own::Task,
    process::{self, Running},
};
use nix::sys::signal::Signal;
use serde_json::json;
use sqlx::{AssertSqlSafe, Connection, PgConnection, postgres::PgConnectOptions};
use xtask::packages::{self, Consent};

use super::{PROFILE, platform::measure};

#[derive(Debug, Parser)]
struct Args {
    /// Instances of the tenant
    #[arg(long, default_value_t = 100_000)]
    instances: i64,
    /// Jobs of the tenant
    #[arg(long, default_value_t = 1_000_000)]
    jobs: i64,
    /// Times that each figure is measured
    #[arg(long, default_value_t = 7)]
    rounds: u32,
    /// Keep the platform with its rows up afterwards, until Ctrl-C
    #[arg(long)]
    stay: bool,
}

pub(super) fn run(rest: &[String], consent: Consent) -> anyhow::Result<Task> {
    let name = "console".to_owned();
    let args = Args::try_parse_from(std::iter::once(&name).chain(rest))?;
    let folder = packages::for_console(consent)?;
    let built = packages::console(consent)?.context("the console is not built")?;
    measure(false, Some(built), async move |access, processes| {
        println!("programs of {}, built in {PROFILE}", machine::programs::folder()?.display());
        let begun = Instant::now();
        fill(&args, &access, processes.database()).await?;
        println!(
            "{} instances and {} jobs after {:.0} s",
            args.instances,
            args.jobs,
            begun.elapsed().as_secs_f64()
        );
        let mut npm = process::command("npm", Signal::SIGTERM);
        npm.current_dir(&folder).args(["run", "--silent", "bench"]);
        npm.env("CONSOLE_URL", &access.gateway).env("ROUNDS", args.rounds.to_string());
        npm.env("DESIGNER_EMAIL", &access.designer.email);
        npm.env("DESIGNER_PASSWORD", &access.designer.password);
        let ended = Running::spawn("npm", npm)?.ended().await;
        if args.stay {
            println!("{} stays up, until Ctrl-C", access.gateway);
            std::future::pending::<()>().await;
        }
        ensure!(ended == "exit status: 0", "the measurement failed ({ended})");
        Ok(())
    })
}

/// Inserts the instances and jobs of the designer's tenant.
async fn fill(args: &Args, access: &Access, database: PgConnectOptions) -> anyhow::Result<()> {
    let visitor = Api::new(&access.gateway)?;
    let admin = visitor.sign_in(&access.administrator).await?;
    let designer = visitor.sign_in(&access.designer).await?;
    let mut conn = PgConnection::connect_with(&database).await?;
    let model = instances::run_one(&designer).await?;
    instances::copy(&mut conn, &model, args.instances).await?;
    let pool = json!({ "name": "bench", "gpu_specs": [instances::GPU_SPEC] });
    admin.post("/v1/platform-pools", pool, 201).await?;
    jobs::insert(&mut conn, &model, args.jobs).await?;
    sqlx::raw_sql("checkpoint").execute(&mut conn).await?;
    conn.close().await?;
    Ok(())
}

/// Carries out statements that know the number of rows, `$1`, and the instance that is copied, `$2`; then
/// runs the maintenance that would disturb the measurement.
async fn insert(
    conn: &mut PgConnection,
    statements: &[(&str, &'static str)],
    count: i64,
    model: &str,
) -> anyhow::Result<()> {
    for (table, statement) in statements {
        let inserted = sqlx::query(*statement).bind(count).bind(model).execute(&mut *conn).await;
        inserted.with_context(|| format!("rows of {table}"))?;
        sqlx::raw_sql(AssertSqlSafe(format!("vacuum (analyze) {table}"))).execute(&mut *conn).await?;
    }
    Ok(())
}
