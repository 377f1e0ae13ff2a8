//! Logs: one JSON object per line on standard error.

use tracing_subscriber::{EnvFilter, layer::SubscriberExt, util::SubscriberInitExt};

/// Starts logging for this process, panics included. `RUST_LOG` filters (default `info`).
pub fn init() {
    let filter = EnvFilter::try_from_default_env()
        .unwrap_or_else(|_| EnvFilter::new("info,sqlx=warn,tower=warn,kube_runtime=error"));
    let json = tracing_subscriber::fmt::layer()
        .json()
        .flatten_event(true)
        .with_current_span(true)
        .with_span_list(false)
        .with_writer(std::io::stderr);
    tracing_subscriber::registry().with(filter).with(json).init();
    std::panic::set_hook(Box::new(|panic| {
        let location = panic.location().map(ToString::to_string);
        let message = crate::workers::panic_message(panic.payload());
        tracing::error!(panic.message = message, panic.location = location, "panic");
    }));
}
