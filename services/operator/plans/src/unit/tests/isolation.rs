//! Code of tenants, in a runtime of its own.

use super::*;

const CLASS: &str = "gvisor";

/// A unit that is to run code of a tenant.
fn of_tenant() -> GpuUnit {
    let mut unit = unit(true);
    unit.spec.instance.as_mut().unwrap().trust = Trust::Tenant;
    unit
}

fn settings() -> Settings {
    let tenant_code = TenantCode { runtime_class: Some(CLASS.to_owned()), ..TenantCode::default() };
    Settings { tenant_code, ..Settings::default() }
}

/// A unit with its place, in a cluster with the class.
fn with_class(pods: Vec<ObservedPod>, memory: &str) -> Snapshot {
    let class = json!({
        "metadata": {"name": CLASS}, "handler": "runsc", "overhead": {"podFixed": {"memory": memory, "cpu": "250m"}},
    });
    let class = ObservedRuntimeClass::of(&serde_json::from_value(class).unwrap());
    Snapshot { runtime_classes: [(CLASS.to_owned(), class)].into(), ..snapshot(pods) }
}

fn tenant_code(plan: &Plan) -> (&str, TenantCodeReason) {
    let condition = condition(plan, names::CONDITION_TENANT_CODE);
    (&condition.status, condition.reason.parse().unwrap())
}

/// The pod of the instance that the plan creates.
fn created(plan: &Plan) -> PodSpec {
    let pods = plan.before_status.iter().filter_map(|action| match action {
        Action::CreatePod(pod) => Some(pod),
        _ => None,
    });
    let mut pods =
        pods.filter(|pod| pod.metadata.labels.as_ref().unwrap()[names::LABEL_ROLE] == names::ROLE_INSTANCE);
    pods.next().expect("an instance pod is created").spec.clone().unwrap()
}

#[test]
fn without_a_choice_of_the_administrator_code_of_tenants_does_not_start() {
    let plan = planned(&of_tenant(), &snapshot(vec![placeholder()]));
    assert_eq!(failure(&plan), Some(FailureReason::RuntimeUnavailable));
    assert_eq!(tenant_code(&plan), ("False", TenantCodeReason::NoIsolatedRuntime));
    assert_eq!(plan.before_status, [], "nothing was created");
    let message = &plan.status.last_failure.as_ref().unwrap().message;
    assert!(message.contains("no isolated runtime for code of tenants"), "{message}");
    // nor does it wait for a place first
    assert_eq!(failure(&planned(&of_tenant(), &snapshot(vec![]))), Some(FailureReason::RuntimeUnavailable));

    let accepted = TenantCode { accept_default_runtime: true, ..TenantCode::default() };
    let settings = Settings { tenant_code: accepted, ..Settings::default() };
    let plan = super::plan(&of_tenant(), &snapshot(vec![placeholder()]), &settings);
    assert_eq!(tenant_code(&plan), ("True", TenantCodeReason::DefaultRuntimeAccepted));
    assert_eq!(created(&plan).runtime_class_name, None);
    let of_platform = planned(&unit(true), &snapshot(vec![placeholder()]));
    assert_eq!((failure(&of_platform), created(&of_platform).runtime_class_name), (None, None));
}

#[test]
fn an_isolated_pod_and_its_overhead_fit_the_place_of_the_placeholder() {
    let snapshot = with_class(vec![placeholder()], "128Mi");
    let plan = super::plan(&of_tenant(), &snapshot, &settings());
    assert_eq!(tenant_code(&plan), ("True", TenantCodeReason::Isolated));
    assert_eq!(condition(&plan, names::CONDITION_TENANT_CODE).message, "RuntimeClass gvisor");
    let spec = created(&plan);
    assert_eq!((spec.runtime_class_name.as_deref(), spec.host_users), (Some(CLASS), None));
    let resources = spec.containers[0].resources.clone().unwrap();
    for quantities in [resources.requests.unwrap(), resources.limits.unwrap()] {
        assert_eq!(
            ["cpu", "memory", "nvidia.com/gpu"].map(|name| quantities[name].0.as_str()),
            ["3750m", &((16 * 1024 - 128) * 1024 * 1024_i64).to_string(), "1"]
        );
    }
    let of_platform = created(&super::plan(&unit(true), &snapshot, &settings()));
    assert_eq!(of_platform.runtime_class_name, None);
    assert_eq!(
        of_platform.containers[0].resources.as_ref().unwrap().requests.as_ref().unwrap()["cpu"].0,
        "4"
    );

    let mut mapped = settings();
    mapped.tenant_code.user_namespace = true;
    assert_eq!(created(&super::plan(&of_tenant(), &snapshot, &mapped)).host_users, Some(false));

    let small = super::plan(&of_tenant(), &with_class(vec![placeholder()], "16Gi"), &settings());
    assert_eq!(failure(&small), Some(FailureReason::InvalidTemplate));
    let message = &small.status.last_failure.as_ref().unwrap().message;
    assert_eq!(message, "the unit has 16Gi of memory, of which the runtime takes 16Gi");
}

#[test]
fn a_class_that_is_gone_fails_starts_and_leaves_what_runs() {
    let gone = super::plan(&of_tenant(), &snapshot(vec![placeholder()]), &settings());
    assert_eq!(failure(&gone), Some(FailureReason::RuntimeUnavailable));
    assert_eq!(tenant_code(&gone), ("False", TenantCodeReason::RuntimeClassMissing));
    let message = &gone.status.last_failure.as_ref().unwrap().message;
    assert_eq!(message, "the cluster has no RuntimeClass \"gvisor\"");
    let running = super::plan(&of_tenant(), &snapshot(vec![ready_pod()]), &settings());
    assert_eq!((failure(&running), ready(&running)), (None, InstanceReason::Running));
    assert_eq!(tenant_code(&running).0, "False");
}

#[test]
fn the_node_of_the_place_needs_the_handler() {
    let mut snapshot = with_class(vec![placeholder()], "1Mi");
    let handlers = [(String::new(), true)].into();
    snapshot.nodes.insert(NODE.to_owned(), ObservedNode { handlers, ..node() });
    let plan = super::plan(&of_tenant(), &snapshot, &settings());
    assert_eq!(failure(&plan), Some(FailureReason::RuntimeUnavailable));
    assert_eq!(tenant_code(&plan), ("False", TenantCodeReason::NodeUnsuitable));
    let message = &plan.status.last_failure.as_ref().unwrap().message;
    assert!(message.contains("node node-1 has no runtime handler \"runsc\""), "{message}");
}

#[test]
fn a_pod_is_pulled_with_the_secret_of_its_instance() {
    let mut unit = unit(true);
    let plain = created(&planned(&unit, &snapshot(vec![placeholder()])));
    assert_eq!((plain.image_pull_secrets, plain.containers[0].image_pull_policy.as_deref()), (None, None));
    let instance = unit.spec.instance.as_mut().unwrap();
    (instance.pull_secret_name, instance.always_pull) = (Some("s-1".to_owned()), true);
    let pulled = created(&planned(&unit, &snapshot(vec![placeholder()])));
    assert_eq!(pulled.image_pull_secrets.unwrap()[0].name, "s-1");
    assert_eq!(pulled.containers[0].image_pull_policy.as_deref(), Some("Always"));
}

#[test]
fn a_registry_that_denies_the_pull_is_told_from_one_that_does_not_answer() {
    let failed = |message: &str| {
        let waiting = StatusReason { reason: "ImagePullBackOff".to_owned(), message: message.to_owned() };
        let pod = ObservedPod { waiting: Some(waiting), container_running: false, ..instance_pod() };
        let first = planned(&unit(true), &Snapshot { now: after(1), ..snapshot(vec![pod.clone()]) });
        let later = Snapshot { now: after(59), ..snapshot(vec![pod]) };
        let plan = planned(&with_status(unit(true), first.status), &later);
        (failure(&plan).unwrap(), plan.status.last_failure.unwrap().message)
    };
    for denied in [
        "failed to resolve reference \"r/a:1\": failed to authorize: failed to fetch oauth token: unexpected status from \
         GET request to https://r/token?scope=a: 401 Unauthorized",
        "pull access denied, repository does not exist or may require authorization: server message: \
         insufficient_scope: authorization failed",
        "reading manifest 1 in r/a: unauthorized: authentication required",
        "unexpected status from HEAD request to https://r/v2/a/manifests/1: 403 Forbidden",
    ] {
        let (reason, message) = failed(denied);
        assert_eq!(reason, FailureReason::ImagePullDenied, "{denied}");
        assert!(message.contains("registry credential") && message.contains(denied), "{message}");
    }
    for other in ["failed to do request: connection refused", "r/unauthorized/a:1: not found"] {
        assert_eq!(failed(other).0, FailureReason::ImagePullFailed, "{other}");
    }
}
