//! The definitions are valid for an API server and contain the intended rules.
#![expect(clippy::unwrap_used, reason = "a failed assertion is the point of a test")]

use atelier_crds::{Allocation, GpuUnitSpec, GpuUnitStatus, UnitState, definitions};
use serde_json::{Value, json};

/// Asserts a structural schema: each node has a type and no forbidden keyword.
fn assert_structural(path: &str, node: &Value) {
    let object = node.as_object().unwrap();
    for word in ["$ref", "definitions", "oneOf", "anyOf", "allOf", "const", "nullable"] {
        assert!(!object.contains_key(word), "{path}: {word} in {node}");
    }
    assert!(object.contains_key("type"), "{path}: no type in {node}");
    if let Some(properties) = object.get("properties") {
        for (name, child) in properties.as_object().unwrap() {
            assert_structural(&format!("{path}.{name}"), child);
        }
    }
    for key in ["items", "additionalProperties"] {
        if let Some(child) = object.get(key).filter(|child| child.is_object()) {
            assert_structural(&format!("{path}[]"), child);
        }
    }
}

#[test]
fn definitions_are_structural() {
    for definition in definitions() {
        let value = serde_json::to_value(&definition).unwrap();
        let version = &value["spec"]["versions"][0];
        assert_eq!(version["subresources"]["status"], json!({}));
        let schema = &version["schema"]["openAPIV3Schema"];
        for (name, child) in schema["properties"].as_object().unwrap() {
            assert_structural(name, child);
        }
        assert!(!version["additionalPrinterColumns"].as_array().unwrap().is_empty());
    }
}

#[test]
fn the_spec_of_a_unit_has_transition_rules() {
    let unit = serde_json::to_value(&definitions()[0]).unwrap();
    let rules = &unit["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["x-kubernetes-validations"];
    assert_eq!(rules.as_array().unwrap().len(), 4, "{rules}");
}

#[test]
fn an_allocation_is_tagged_by_kind() {
    let read: Allocation =
        serde_json::from_value(json!({"kind": "hami", "memoryMib": 8000, "cores": 30})).unwrap();
    assert_eq!(read, Allocation::Hami { memory_mib: 8000, cores: 30 });
    let read: Allocation =
        serde_json::from_value(json!({"kind": "time_slice", "resource": "nvidia.com/gpu.shared"})).unwrap();
    assert_eq!(
        serde_json::to_value(&read).unwrap(),
        json!({"kind": "time_slice", "resource": "nvidia.com/gpu.shared"})
    );
}

#[test]
fn a_partial_spec_reads_with_defaults() {
    let spec: GpuUnitSpec = serde_json::from_value(json!({
        "gpuSpec": "3080-small-4-1",
        "resources": {"cpu": "4", "memory": "16Gi"},
        "gpu": {"model": "RTX 3080", "count": 1, "allocation": {"kind": "device", "resource": "nvidia.com/gpu"}},
        "instance": {"id": "inst-00000000000000000000000000000001", "attempt": 1,
            "tenantId": "ten-00000000000000000000000000000001", "image": "atelier/webui:1.6"}
    }))
    .unwrap();
    let instance = spec.instance.unwrap();
    assert_eq!(
        (instance.restart, instance.start_timeout_seconds, instance.termination_grace_period_seconds),
        (0, 600, 30)
    );
    assert_eq!(GpuUnitStatus::default().state, UnitState::Init);
}
