//! Spans of units: in the trace of the request whose effect the gpu service wrote into the unit's spec.

use std::time::SystemTime;

use crds::{GpuUnit, GpuUnitStatus, InstanceStatus, names};
use kube::ResourceExt as _;
use traces::{Span, SpanKind, TraceContext};

use super::Reconciler;

impl Reconciler {
    /// The span of a reconcile, while the unit changes because of a recorded request.
    pub(super) fn span(&self, name: &str) -> Span {
        if !self.tracer.is_on() {
            return Span::none();
        }
        let unit = self.applier.cache.unit(name).filter(|unit| !is_settled(unit));
        let Some(request) = unit.as_deref().and_then(request) else { return Span::none() };
        let mut span = self.tracer.reconcile("reconcile GpuUnit", Some(request));
        span.set("atelier.unit.name", name);
        span
    }

    /// Records the start of a pod, from the observation of the request until the probe passes.
    pub(super) fn record_start(&self, unit: &GpuUnit, before: &GpuUnitStatus, after: &GpuUnitStatus) {
        let since = |status: &GpuUnitStatus| status.instance.as_ref()?.running_since.clone();
        let Some(instance) =
            after.instance.as_ref().filter(|_| since(after).is_some() && since(before).is_none())
        else {
            return;
        };
        let Some(requested) = self.applier.cache.requested_at(&unit.name_any()) else { return };
        let Some(begun) = SystemTime::now().checked_sub(requested.elapsed()) else { return };
        let InstanceStatus { namespace, pod_name, .. } = instance;
        let mut span = traces::child_since(SpanKind::Internal, "start pod", begun);
        span.set("k8s.namespace.name", namespace);
        span.set("k8s.pod.name", pod_name);
        if let Some(node) = &after.node {
            span.set("k8s.node.name", node);
        }
    }
}

/// The position of the request in its trace, if that is recorded.
fn request(unit: &GpuUnit) -> Option<TraceContext> {
    let written = unit.annotations().get(names::ANNOTATION_TRACEPARENT)?;
    TraceContext::parse(written).filter(TraceContext::is_sampled)
}

/// Whether the unit has reached its spec: later changes have other causes than the request.
fn is_settled(unit: &GpuUnit) -> bool {
    let actual = unit.status.as_ref().and_then(|status| status.instance.as_ref());
    match (&unit.spec.instance, actual) {
        (None, None) => true,
        (Some(desired), Some(actual)) => {
            actual.running_since.is_some()
                && (&actual.id, actual.attempt, actual.restart)
                    == (&desired.id, desired.attempt, desired.restart)
        }
        _ => false,
    }
}
