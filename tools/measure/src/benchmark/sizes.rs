//! Sizes of the smoke run of each benchmark: just enough to show that it starts, measures and prints its last
//! line.

use super::Bench;

impl Bench {
    /// Whether it uses the built console in a browser, as the stories of CI do: `cargo xtask smoke` runs it only if it is named.
    pub(crate) fn uses_console(self) -> bool {
        matches!(self, Self::Console)
    }

    /// The arguments of a smoke run.
    pub(crate) fn smoke_size(self) -> &'static str {
        match self {
            Self::Claims => "--units 10000 --clients 4 --seconds 1 --rounds 1",
            Self::SignIn => "--people 4 --clients 4 --seconds 1 --rounds 1",
            Self::Cache => "--jobs 2 --reports 4 --reads 20 --replicas 2 --keys 2",
            Self::Queue => "--waiting 100 --releases 10",
            Self::Scale => "--datacenters 3 --units 100 --users 10000 --rate 20 --seconds 1",
            Self::HoldBack => "--seeds 1 --hours 4",
            Self::Console => "--instances 500 --jobs 1000 --rounds 1",
            Self::Instances => {
                "--instances 300 --few 100 --runs 500 --clients 4 --rate 20 --seconds 1 --warm-up-seconds 0 --waiting 20 --grants 3"
            }
            Self::Gateway => "--rounds 1 --seconds 1 --connections 4 --tokens 50 --unseen 200 --at-once",
            Self::GatewayFairness => "--rounds 1 --seconds 1 --connections 4 --times 2",
            Self::Fairness => "--turns 1 --seconds 1 --connections 1 --batch 10 --urgent 100 --jobs 5",
            Self::Operator => "--units 10 --starts 4 --at-a-time 2 --steady-seconds 1",
            Self::JobsCore => "--gpus 80 --queued 500 --rounds 20",
            Self::JobsReplay => "--requests 300",
            Self::JobsFairness => "--windows 1 --bursts 2 --flood 2000",
            Self::JobsEta => "--pools 1 --jobs 100 --draws 4",
            Self::JobsDispatch => "--jobs 10 --queued 200 --workers 2",
            Self::JobsEnqueue => "--seconds 0.2 --clients 4 --messages 200",
            Self::JobsIntake => "--messages 10 --flood 200 --most 400 --turns 1",
            Self::JobsReclaim => "--starts 1",
            Self::JobsRecovery => "--kills 1",
        }
    }

    /// The keys of the last line.
    pub(crate) fn keys(self) -> &'static str {
        match self {
            Self::Claims => "per_s ratio p50_ms p99_ms double",
            Self::SignIn => "p50_ms p99_ms per_s busy_p99_ms hashes_per_s ratio",
            Self::Cache => {
                "writes writes_memory writes_shared reads reads_memory reads_shared exchanges_memory exchanges_shared"
            }
            Self::Queue => "waiting wake_p50_ms wake_p99_ms few_p99_ms growth",
            Self::Scale => "units users claim_p50_ms claim_p99_ms stock_p99_ms database_mib",
            Self::HoldBack => "recalled_share recalled_share_none lost_gpu_s lost_gpu_s_none lent_share",
            Self::Console => "list_ms palette_ms event_ms script_kib requests",
            Self::Instances => "growth p99_ms wake_p99_ms memory_mib",
            Self::Gateway => {
                "hot_ratio distinct_ratio unseen_ratio plain_ratio p99_ratio large_ratio traced_ratio added_us"
            }
            Self::GatewayFairness => "victim_p99_ratio unlimited_p99_ratio victim_p99_ms unlimited_p99_ms",
            Self::Fairness => {
                "profile failed \
                 instances_alone_p99_ms instances_beside_p99_ms instances_ratio instances_machine_p99_ms \
                 instances_machine_ratio \
                 jobs_alone_p99_ms jobs_beside_p99_ms jobs_ratio jobs_machine_p99_ms jobs_machine_ratio \
                 submit_alone_p99_ms submit_beside_p99_ms submit_ratio submit_machine_p99_ms submit_machine_ratio \
                 wait_alone_p99_ms wait_beside_p99_ms wait_ratio"
            }
            Self::Operator => "units p50_ms p99_ms writes_per_start steady_writes memory_per_unit_kib",
            Self::JobsCore => "p50_ms p99_ms starts_per_s rebuild_ms p99_50k_shapes_ms",
            Self::JobsReplay => "jct_mean jct_p99 fifo_mean load_share preempts",
            Self::JobsFairness => "jain share_error reclaim_p99_s flood_ratio",
            Self::JobsEta => "coverage median_error baseline_error coverage_closed median_error_closed",
            Self::JobsDispatch => "p50_ms p99_ms p50_loaded_ms p99_loaded_ms queued",
            Self::JobsEnqueue => {
                "mq_per_s rest_per_s rest_one_tenant_per_s batch_per_s rabbit_per_s pg_commits_per_s best_pg_per_s \
                 best_pg_batch_per_s rest_ratio mq_ratio"
            }
            Self::JobsIntake => {
                "alone_p50_ms alone_p99_ms malformed_p99_ms unrouted_p99_ms uploads_p99_ms jobs_p99_ms"
            }
            Self::JobsReclaim => "starts free_p50_s free_p99_s idle_p50_s idle_p99_s busy_p50_s busy_p99_s",
            Self::JobsRecovery => {
                "jobs kills lost duplicated plain_lost plain_duplicated \
                 undisturbed_http_max_s undisturbed_mq_max_s undisturbed_plain_max_s \
                 broker_http_max_s broker_mq_max_s broker_plain_max_s \
                 jobs_http_max_s jobs_mq_max_s jobs_plain_max_s \
                 postgres_http_max_s postgres_mq_max_s postgres_plain_max_s \
                 workers_http_max_s workers_mq_max_s workers_plain_max_s"
            }
        }
    }
}
