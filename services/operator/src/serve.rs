//! The process put together: client, operator, Operator API.

use anyhow::Context as _;
use jiff::Timestamp;
use service::{Front, Process};

use crate::config::Config;
use crate::http::{self, Api};
use crate::run::{self, Metrics, Operator, Options};

/// Runs the operator and its API until `shutdown`.
///
/// # Errors
/// When the cluster's credentials cannot be read, or the address cannot be bound.
pub async fn serve(config: Config, process: Process) -> anyhow::Result<()> {
    let client = config.client().await.context("cannot use the cluster's credentials")?;
    if config.install {
        run::install(&client).await.context("cannot install the custom resource definitions")?;
    }
    let clock = Timestamp::now;
    let identity =
        config.identity.clone().unwrap_or_else(|| format!("operator-{}", uuid::Uuid::new_v4().simple()));
    let metrics = Metrics::default();
    let shutdown = process.shutdown.clone();
    process.metrics.register(|registry| metrics.register(registry));
    let options = Options { identity, workers: config.workers, lease: config.lease(), clock, hook: None };
    let operator = Operator::new(client.clone(), config.settings.clone(), options, metrics);
    let units = operator.units();
    let token = shutdown.token();
    shutdown.track(operator.run(token));

    let probe = client.clone();
    let front = Front::new(&process, move || {
        let client = probe.clone();
        async move {
            client
                .apiserver_version()
                .await
                .map(drop)
                .map_err(|error| format!("the Kubernetes API does not answer: {error}"))
        }
    });
    let api = Api::new(client, units, config.callers.clone(), config.gpu_resource.clone(), clock);
    let (tended, token) = (api.clone(), shutdown.token());
    shutdown.track(async move { token.run_until_cancelled_owned(tended.tend()).await.unwrap_or_default() });
    service::serve(config.listen, front.serve(http::router(api)), &shutdown).await
}
