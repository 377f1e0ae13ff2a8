//! The benchmarks by name: their setup and their output.

mod sizes;

use clap::ValueEnum;

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum Bench {
    /// Claims of one hot specification over HTTP, against pgbench on the same Postgres
    Claims,
    /// The gateway beside HAProxy and nginx: requests per second, latency, CPU time
    Gateway,
    /// Effects of a tenant that sends far more than its share on another one, at the gateway and one service
    GatewayFairness,
    /// Effects of a tenant at full speed on another one, on the whole platform: requests, and waits of jobs
    Fairness,
    /// Sign-ins with a password, with one client and with many, beside the hashes that they need
    SignIn,
    /// Savings by the cache: progress of jobs, reads of the catalogue, exchanges of API keys
    Cache,
    /// From a release to the news of the grant, with 10 and with 10,000 instances that wait
    Queue,
    /// The console in Chromium with 100,000 instances and 1,000,000 jobs in the tenant: lists, palette, events, loaded
    /// data
    Console,
    /// Lists, reads, creations and reports of usage with 1,000,000 instances and with 10,000; from a grant to the start of an instance
    Instances,
    /// Claims with one datacenter and 10,000 users, and with 100 and 1,000,000
    Scale,
    /// Jobs a second by REST and by message, beside RabbitMQ alone, Postgres alone, graphile-worker and pg-boss
    JobsEnqueue,
    /// How long a message of a tenant waits for its answer while another sends as many as the broker takes
    JobsIntake,
    /// How soon a worker has a job, with nothing else to do and with 100,000 queued jobs
    JobsDispatch,
    /// Rounds of the scheduling core with 100,000 queued jobs and 5,000 GPUs
    JobsCore,
    /// Requests for pictures, or trainings on several GPUs, replayed by the scheduling core and by simple schedulers
    JobsReplay,
    /// Shares, guarantees, and the effects of a tenant with 100,000 jobs on others
    JobsFairness,
    /// Forecasts of the scheduling core, and their accuracy
    JobsEta,
    /// How soon an instance runs on a GPU that was lent to a worker, beside one that was free
    JobsReclaim,
    /// Starts of users that take a unit from a job, with and without the hold-back, and the losses of jobs
    HoldBack,
    /// Kills of broker, service, Postgres and workers while jobs are submitted: lost and duplicate jobs, and recovery
    /// times
    JobsRecovery,
    /// 5,000 units: starts, API calls, steady state, memory
    Operator,
}

impl Bench {
    /// Its name on the command line, and in the last line.
    pub(crate) fn name(self) -> String {
        self.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
    }

    /// The example that measures, and its command, if it has several. None: this program measures a whole platform.
    pub(crate) fn example(self) -> Option<(&'static str, Option<&'static str>)> {
        Some(match self {
            Self::Claims => ("bench_stock", Some("claims")),
            Self::Cache => ("bench_cache", None),
            Self::Queue => ("bench_stock", Some("queue")),
            Self::Scale => ("bench_stock", Some("scale")),
            Self::HoldBack => ("bench_stock", Some("hold-back")),
            Self::SignIn => ("bench_identity", None),
            Self::Instances => ("bench_gpu", None),
            Self::Operator => ("bench_operator", None),
            Self::Gateway => ("bench_gateway", Some("gateway")),
            Self::GatewayFairness => ("bench_gateway", Some("fairness")),
            Self::JobsEnqueue => ("bench_jobs", Some("enqueue")),
            Self::JobsIntake => ("bench_jobs", Some("intake")),
            Self::JobsDispatch => ("bench_jobs", Some("dispatch")),
            Self::JobsCore => ("bench_jobs", Some("core")),
            Self::JobsReplay => ("bench_jobs", Some("replay")),
            Self::JobsFairness => ("bench_jobs", Some("fairness")),
            Self::JobsEta => ("bench_jobs", Some("eta")),
            Self::Console | Self::Fairness | Self::JobsReclaim | Self::JobsRecovery => return None,
        })
    }

    /// Whether it measures on a Postgres that is started for it.
    pub(crate) fn needs_postgres(self) -> bool {
        match self {
            Self::Claims
            | Self::SignIn
            | Self::Cache
            | Self::Queue
            | Self::Scale
            | Self::HoldBack
            | Self::Instances
            | Self::GatewayFairness
            | Self::JobsEnqueue
            | Self::JobsIntake
            | Self::JobsDispatch => true,
            Self::Gateway
            | Self::Console
            | Self::Fairness
            | Self::Operator
            | Self::JobsCore
            | Self::JobsReplay
            | Self::JobsFairness
            | Self::JobsEta
            | Self::JobsReclaim
            | Self::JobsRecovery => false,
        }
    }
}
