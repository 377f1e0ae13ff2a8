//! The container runtime of a unit: from the cluster's policy for tenant code, and the runtimes of the cluster and
//! node. Pure.

use std::collections::BTreeMap;

use crds::{Instance, TenantCodeReason, Trust};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;

use super::planner::Planner;
use crate::observation::{ObservedNode, ObservedRuntimeClass};
use crate::settings::Settings;

/// How the pod of an instance is isolated.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Isolation {
    /// RuntimeClass; the cluster's default runtime if absent.
    pub runtime_class: Option<String>,
    /// Whether its users are mapped to others of the node.
    pub user_namespace: bool,
    /// The overhead of the runtime. It is a part of the unit's resources.
    pub overhead: BTreeMap<String, Quantity>,
}

/// Why code cannot run here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) reason: TenantCodeReason,
    pub(super) message: String,
}

/// The runtime classes of the cluster, by name.
type Classes = BTreeMap<String, ObservedRuntimeClass>;

/// The trust and runtime of the code.
struct Wanted<'a> {
    trust: Trust,
    runtime_class: Option<&'a str>,
    root_inside: bool,
}

impl<'a> From<&'a Instance> for Wanted<'a> {
    fn from(instance: &'a Instance) -> Self {
        Self {
            trust: instance.trust,
            runtime_class: instance.runtime_class_name.as_deref(),
            root_inside: instance.root_inside,
        }
    }
}

/// Any code of a tenant.
const TENANT_CODE: Wanted<'static> = Wanted { trust: Trust::Tenant, runtime_class: None, root_inside: false };

impl Planner<'_> {
    /// The isolation of the instance on the node, or on any if none is given.
    pub(super) fn isolation(&self, wanted: &Instance, node: Option<&str>) -> Result<Isolation, Refusal> {
        isolation(&wanted.into(), self.settings, &self.snapshot.runtime_classes, self.known_node(node))
    }

    /// The isolation of code of tenants in the unit's place.
    pub(super) fn tenant_code(&self) -> Result<Isolation, Refusal> {
        let node = self.known_node(self.plan.status.node.as_deref());
        isolation(&TENANT_CODE, self.settings, &self.snapshot.runtime_classes, node)
    }

    fn known_node<'n>(&'n self, name: Option<&'n str>) -> Option<(&'n str, &'n ObservedNode)> {
        Some((name?, self.snapshot.nodes.get(name?)?))
    }
}

fn isolation(
    wanted: &Wanted<'_>,
    settings: &Settings,
    classes: &Classes,
    node: Option<(&str, &ObservedNode)>,
) -> Result<Isolation, Refusal> {
    let refused = |reason, message| Err(Refusal { reason, message });
    let (platform, tenant) = (&settings.platform_code, &settings.tenant_code);
    let (runtime_class, user_namespace) = match wanted.trust {
        Trust::Platform => {
            (wanted.runtime_class.or(platform.runtime_class.as_deref()), platform.user_namespace)
        }
        Trust::Tenant if tenant.runtime_class.is_none() && !tenant.accept_default_runtime => {
            let message = "the cluster has no isolated runtime for code of tenants: the setting `tenant_code` of \
                           its operator names none, and does not accept the default one";
            return refused(TenantCodeReason::NoIsolatedRuntime, message.to_owned());
        }
        // the runtime class of the catalogue may not isolate
        Trust::Tenant => (tenant.runtime_class.as_deref().or(wanted.runtime_class), tenant.user_namespace),
    };
    let user_namespace = user_namespace || wanted.root_inside;
    let class = match runtime_class {
        None => None,
        Some(name) => match classes.get(name) {
            Some(class) => Some((name, class)),
            None => {
                let message = format!("the cluster has no RuntimeClass \"{name}\"");
                return refused(TenantCodeReason::RuntimeClassMissing, message);
            }
        },
    };
    if let Some((name, node)) = node
        && let Some(message) = unsuitable(name, node, class, user_namespace)
    {
        return refused(TenantCodeReason::NodeUnsuitable, message);
    }
    Ok(Isolation {
        runtime_class: runtime_class.map(str::to_owned),
        user_namespace,
        overhead: class.map(|(_, class)| class.overhead.clone()).unwrap_or_default(),
    })
}

/// What the node lacks. A kubelet that reports no runtime handlers may have them.
fn unsuitable(
    name: &str,
    node: &ObservedNode,
    class: Option<(&str, &ObservedRuntimeClass)>,
    user_namespace: bool,
) -> Option<String> {
    // the default handler has no name
    let handler = class.map_or("", |(_, class)| class.handler.as_str());
    if let Some((class_name, class)) = class {
        let mut labels = class.node_selector.iter();
        if let Some((label, value)) = labels.find(|(label, value)| node.labels.get(*label) != Some(value)) {
            return Some(format!(
                "node {name} does not have the label {label}={value}, which the RuntimeClass \"{class_name}\" requires"
            ));
        }
        if !node.handlers.is_empty() && !node.handlers.contains_key(handler) {
            return Some(format!(
                "node {name} has no runtime handler \"{handler}\", which the RuntimeClass \"{class_name}\" names"
            ));
        }
    }
    let has_user_namespaces = node.handlers.get(handler).copied().unwrap_or(true);
    (user_namespace && !has_user_namespaces).then(|| match class {
        Some((class, _)) => {
            format!("the runtime of the RuntimeClass \"{class}\" has no user namespaces on node {name}")
        }
        None => format!("the default runtime has no user namespaces on node {name}"),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::settings::TenantCode;

    fn classes() -> Classes {
        let class = |handler: &str, value| {
            let value = json!({"metadata": {"name": handler}, "handler": handler, "scheduling": value});
            ObservedRuntimeClass::of(&serde_json::from_value(value).unwrap())
        };
        [
            ("gvisor".to_owned(), class("runsc", json!(null))),
            ("kata".to_owned(), class("kata-qemu", json!({"nodeSelector": {"vm": "yes"}}))),
        ]
        .into()
    }

    fn node(handlers: &[(&str, bool)]) -> ObservedNode {
        let handlers = handlers.iter().map(|(name, users)| ((*name).to_owned(), *users)).collect();
        ObservedNode { handlers, ..ObservedNode::default() }
    }

    fn tenant(runtime_class: Option<&str>, accept_default_runtime: bool) -> Settings {
        let runtime_class = runtime_class.map(str::to_owned);
        let tenant_code = TenantCode { runtime_class, accept_default_runtime, user_namespace: false };
        Settings { tenant_code, ..Settings::default() }
    }

    /// The runtime class of code, or why it does not run.
    fn class_of(
        wanted: &Wanted<'_>,
        settings: &Settings,
        node: Option<&ObservedNode>,
    ) -> Result<Option<String>, TenantCodeReason> {
        let found = isolation(wanted, settings, &classes(), node.map(|node| ("n", node)));
        found.map(|isolation| isolation.runtime_class).map_err(|refusal| refusal.reason)
    }

    #[test]
    fn code_of_tenants_needs_an_isolated_runtime_unless_the_default_one_is_accepted() {
        let named = Wanted { runtime_class: Some("kata"), ..TENANT_CODE };
        for (settings, wanted, expected) in [
            (tenant(None, false), &TENANT_CODE, Err(TenantCodeReason::NoIsolatedRuntime)),
            // a class that the catalogue names is none of the policy's
            (tenant(None, false), &named, Err(TenantCodeReason::NoIsolatedRuntime)),
            (tenant(None, true), &TENANT_CODE, Ok(None)),
            (tenant(None, true), &named, Ok(Some("kata"))),
            (tenant(Some("gvisor"), false), &TENANT_CODE, Ok(Some("gvisor"))),
            (tenant(Some("gvisor"), true), &named, Ok(Some("gvisor"))),
            (tenant(Some("none"), true), &TENANT_CODE, Err(TenantCodeReason::RuntimeClassMissing)),
        ] {
            let expected = expected.map(|name: Option<&str>| name.map(str::to_owned));
            assert_eq!(class_of(wanted, &settings, None), expected);
        }
        assert_eq!(
            class_of(&TENANT_CODE, &Settings::default(), None),
            Err(TenantCodeReason::NoIsolatedRuntime)
        );
    }

    #[test]
    fn code_of_the_platform_runs_as_the_catalogue_says_or_else_the_policy() {
        let wanted = |runtime_class| Wanted { trust: Trust::Platform, runtime_class, root_inside: false };
        let mut settings = Settings::default();
        assert_eq!(class_of(&wanted(None), &settings, None), Ok(None));
        settings.platform_code.runtime_class = Some("gvisor".to_owned());
        assert_eq!(class_of(&wanted(None), &settings, None), Ok(Some("gvisor".to_owned())));
        assert_eq!(class_of(&wanted(Some("kata")), &settings, None), Ok(Some("kata".to_owned())));
        let missing = class_of(&wanted(Some("none")), &settings, None);
        assert_eq!(missing, Err(TenantCodeReason::RuntimeClassMissing));
    }

    #[test]
    fn the_node_must_have_what_the_class_needs() {
        let refused = Err(TenantCodeReason::NodeUnsuitable);
        let on = |class: &str, node: &ObservedNode| {
            class_of(&TENANT_CODE, &tenant(Some(class), false), Some(node)).map(|_| ())
        };
        assert_eq!(on("gvisor", &node(&[("", true), ("runsc", false)])), Ok(()));
        assert_eq!(on("gvisor", &node(&[("", true)])), refused);
        assert_eq!(on("gvisor", &node(&[])), Ok(()), "an old kubelet reports none");
        let mut labelled = node(&[("kata-qemu", true)]);
        assert_eq!(on("kata", &labelled), refused);
        labelled.labels.insert("vm".to_owned(), "yes".to_owned());
        assert_eq!(on("kata", &labelled), Ok(()));
    }

    #[test]
    fn users_are_mapped_by_policy_and_for_root_where_the_runtime_can() {
        let users = |settings: &Settings, root_inside, node: &ObservedNode| {
            let wanted = Wanted { root_inside, ..TENANT_CODE };
            let found = isolation(&wanted, settings, &classes(), Some(("n", node)));
            found.map(|isolation| isolation.user_namespace).map_err(|refusal| refusal.message)
        };
        let (can, cannot) = (node(&[("", true), ("runsc", true)]), node(&[("", false), ("runsc", false)]));
        let mut settings = tenant(Some("gvisor"), false);
        assert_eq!(users(&settings, false, &cannot), Ok(false));
        assert_eq!(users(&settings, true, &can), Ok(true));
        settings.tenant_code.user_namespace = true;
        assert_eq!(users(&settings, false, &can), Ok(true));
        let why = users(&settings, false, &cannot).unwrap_err();
        assert_eq!(why, "the runtime of the RuntimeClass \"gvisor\" has no user namespaces on node n");
        settings.tenant_code = TenantCode { runtime_class: None, ..tenant(None, true).tenant_code };
        assert!(users(&settings, true, &cannot).unwrap_err().starts_with("the default runtime"));
    }
}
