//! Field sets as in `managedFields`, and the structure of lists and maps: keyed, set or atomic.

use crate::json::texts;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// The known structure of a part of an object.
#[derive(Clone, Copy)]
pub enum Shape<'a> {
    /// A node of a custom kind's schema.
    Schema(&'a Value),
    /// A builtin kind: the name of the field that leads here (empty at the root).
    Builtin(&'a str),
    /// Unknown: maps are granular, lists atomic.
    Untyped,
}

pub enum ListKind {
    Atomic,
    Set,
    Keyed(Vec<String>),
}

/// Keys of the builtin keyed lists by field name.
pub(crate) fn builtin_list(field: &str, items: &[Value]) -> ListKind {
    let keyed = |keys: &[&str]| ListKind::Keyed(keys.iter().map(|&k| k.to_owned()).collect());
    match field {
        "containers"
        | "initContainers"
        | "ephemeralContainers"
        | "env"
        | "volumes"
        | "imagePullSecrets"
        | "secrets"
        | "resourceClaims"
        | "resourceClaimStatuses"
        | "schedulingGates"
        | "claims" => keyed(&["name"]),
        "volumeMounts" => keyed(&["mountPath"]),
        "volumeDevices" => keyed(&["devicePath"]),
        "conditions" => keyed(&["type"]),
        "ownerReferences" | "reservedFor" => keyed(&["uid"]),
        "podIPs" | "hostAliases" => keyed(&["ip"]),
        "topologySpreadConstraints" => keyed(&["topologyKey", "whenUnsatisfiable"]),
        "ports" if items.iter().any(|i| !i["containerPort"].is_null()) => {
            keyed(&["containerPort", "protocol"])
        }
        "ports" if items.iter().any(|i| !i["port"].is_null() && i["from"].is_null()) => {
            keyed(&["port", "protocol"])
        }
        "finalizers" => ListKind::Set,
        _ => ListKind::Atomic,
    }
}

const ATOMIC_MAPS: &[&str] = &[
    "nodeSelector",
    "selector",
    "labelSelector",
    "podSelector",
    "namespaceSelector",
    "fieldRef",
    "secretKeyRef",
    "configMapKeyRef",
    "resourceFieldRef",
    "roleRef",
    "claimRef",
];

impl<'a> Shape<'a> {
    pub fn child(self, key: &'a str) -> Shape<'a> {
        match self {
            Shape::Schema(s) => {
                let found = s["properties"]
                    .get(key)
                    .or_else(|| s.get("additionalProperties").filter(|a| a.is_object()));
                match (key, found) {
                    ("metadata", _)
                        if s["properties"]["spec"].is_object() || s["properties"]["status"].is_object() =>
                    {
                        Shape::Builtin("metadata")
                    }
                    (_, Some(s)) => Shape::Schema(s),
                    ("metadata", None) => Shape::Builtin("metadata"),
                    _ => Shape::Untyped,
                }
            }
            Shape::Builtin(_) => Shape::Builtin(key),
            Shape::Untyped => Shape::Untyped,
        }
    }

    pub fn item(self) -> Shape<'a> {
        match self {
            Shape::Schema(s) => s.get("items").map_or(Shape::Untyped, Shape::Schema),
            other => other,
        }
    }

    pub fn list(self, items: &[Value]) -> ListKind {
        match self {
            Shape::Schema(s) => match s["x-kubernetes-list-type"].as_str() {
                Some("set") => ListKind::Set,
                Some("map") => {
                    ListKind::Keyed(texts(&s["x-kubernetes-list-map-keys"]).map(str::to_owned).collect())
                }
                _ => ListKind::Atomic,
            },
            Shape::Builtin(field) => builtin_list(field, items),
            Shape::Untyped => ListKind::Atomic,
        }
    }

    pub fn atomic_map(self) -> bool {
        match self {
            Shape::Schema(s) => s["x-kubernetes-map-type"] == "atomic",
            Shape::Builtin(field) => ATOMIC_MAPS.contains(&field),
            Shape::Untyped => false,
        }
    }

    /// The default of a key that an item of a keyed list omits.
    fn key_default(self, key: &str) -> Option<Value> {
        match self {
            Shape::Schema(s) => s["properties"][key].get("default").cloned(),
            _ if key == "protocol" => Some("TCP".into()),
            _ => None,
        }
    }
}

/// The path element of an item of a keyed list.
pub(crate) fn key_element(shape: Shape<'_>, keys: &[String], item: &Value) -> String {
    let mut sorted: Vec<&String> = keys.iter().collect();
    sorted.sort();
    let map: Map<String, Value> = sorted
        .into_iter()
        .filter_map(|k| {
            let value = item.get(k).cloned().or_else(|| shape.item().key_default(k));
            value.map(|v| (k.clone(), v))
        })
        .collect();
    format!("k:{}", Value::Object(map))
}

/// A set of field paths.
#[derive(Clone, Default, PartialEq, Debug)]
pub struct FieldSet {
    /// The path to this node is in the set.
    pub member: bool,
    pub children: BTreeMap<String, FieldSet>,
}

pub(crate) type FieldPath = Vec<String>;

impl FieldSet {
    pub fn leaf() -> Self {
        Self { member: true, children: BTreeMap::new() }
    }
    pub fn is_empty(&self) -> bool {
        !self.member && self.children.values().all(Self::is_empty)
    }

    pub fn from_json(value: &Value) -> Self {
        let Some(map) = value.as_object() else { return Self::default() };
        if map.is_empty() {
            return Self::leaf();
        }
        let mut set = Self { member: map.contains_key("."), children: BTreeMap::new() };
        for (key, child) in map.iter().filter(|(k, _)| *k != ".") {
            set.children.insert(key.clone(), Self::from_json(child));
        }
        set
    }

    pub fn to_json(&self) -> Value {
        let mut map = Map::new();
        if self.member && !self.children.is_empty() {
            map.insert(".".into(), Value::Object(Map::new()));
        }
        for (key, child) in &self.children {
            map.insert(key.clone(), child.to_json());
        }
        Value::Object(map)
    }

    pub fn contains(&self, path: &[String]) -> bool {
        match path.split_first() {
            None => self.member,
            Some((first, rest)) => self.children.get(first).is_some_and(|c| c.contains(rest)),
        }
    }

    pub fn union(&mut self, other: &Self) {
        self.member |= other.member;
        for (key, child) in &other.children {
            self.children.entry(key.clone()).or_default().union(child);
        }
    }

    pub fn subtract(&mut self, other: &Self) {
        if other.member {
            self.member = false;
        }
        self.children.retain(|key, child| {
            if let Some(o) = other.children.get(key) {
                child.subtract(o);
            }
            !child.is_empty()
        });
    }

    pub fn intersect(&mut self, other: &Self) {
        self.member &= other.member;
        self.children.retain(|key, child| match other.children.get(key) {
            Some(o) => {
                child.intersect(o);
                !child.is_empty()
            }
            None => false,
        });
    }

    /// Paths in the set, shortest first: list items before their fields.
    pub fn paths(&self) -> Vec<FieldPath> {
        let mut all = Vec::new();
        self.collect(&mut Vec::new(), &mut all);
        all.sort_by_key(Vec::len);
        all
    }
    fn collect(&self, here: &mut FieldPath, all: &mut Vec<FieldPath>) {
        if self.member {
            all.push(here.clone());
        }
        for (key, child) in &self.children {
            here.push(key.clone());
            child.collect(here, all);
            here.pop();
        }
    }
}

/// All fields of a value.
pub(crate) fn set_of(value: &Value, shape: Shape<'_>) -> FieldSet {
    match value {
        Value::Object(map) if !map.is_empty() && !shape.atomic_map() => {
            let mut set = FieldSet::default();
            for (key, child) in map {
                set.children.insert(format!("f:{key}"), set_of(child, shape.child(key)));
            }
            set
        }
        Value::Array(items) if !items.is_empty() => {
            let mut set = FieldSet::default();
            match shape.list(items) {
                ListKind::Atomic => set.member = true,
                ListKind::Set => {
                    for item in items {
                        set.children.insert(format!("v:{item}"), FieldSet::leaf());
                    }
                }
                ListKind::Keyed(keys) => {
                    for item in items {
                        let mut child = set_of(item, shape.item());
                        child.member = true;
                        set.children.insert(key_element(shape, &keys, item), child);
                    }
                }
            }
            set
        }
        _ => FieldSet::leaf(),
    }
}

/// Fields of `new` that `old` lacks or has with another value.
pub(crate) fn changed(old: Option<&Value>, new: &Value, shape: Shape<'_>) -> FieldSet {
    let Some(old) = old else { return set_of(new, shape) };
    if old == new {
        return FieldSet::default();
    }
    match (old, new) {
        (Value::Object(before), Value::Object(map)) if !shape.atomic_map() && !map.is_empty() => {
            let mut set = FieldSet::default();
            for (key, child) in map {
                let part = changed(before.get(key), child, shape.child(key));
                if !part.is_empty() {
                    set.children.insert(format!("f:{key}"), part);
                }
            }
            set
        }
        (Value::Array(before), Value::Array(items)) if !items.is_empty() => match shape.list(items) {
            ListKind::Atomic => FieldSet::leaf(),
            ListKind::Set => {
                let mut set = FieldSet::default();
                for item in items.iter().filter(|i| !before.contains(i)) {
                    set.children.insert(format!("v:{item}"), FieldSet::leaf());
                }
                set
            }
            ListKind::Keyed(keys) => {
                let mut set = FieldSet::default();
                for item in items {
                    let element = key_element(shape, &keys, item);
                    let was = before.iter().find(|b| key_element(shape, &keys, b) == element);
                    let mut part = changed(was, item, shape.item());
                    part.member |= was.is_none();
                    if !part.is_empty() {
                        set.children.insert(element, part);
                    }
                }
                set
            }
        },
        _ => set_of(new, shape),
    }
}

/// The value at a path.
pub(crate) fn lookup<'v>(value: &'v Value, path: &[String], shape: Shape<'_>) -> Option<&'v Value> {
    let Some((first, rest)) = path.split_first() else { return Some(value) };
    if let Some(key) = first.strip_prefix("f:") {
        return lookup(value.get(key)?, rest, shape.child(key));
    }
    let items = value.as_array()?;
    let found = items.iter().find(|i| element_is(first, i, items, shape))?;
    lookup(found, rest, shape.item())
}

fn element_is(element: &str, item: &Value, items: &[Value], shape: Shape<'_>) -> bool {
    if let Some(text) = element.strip_prefix("v:") {
        return *item == text;
    }
    match shape.list(items) {
        ListKind::Keyed(keys) => key_element(shape, &keys, item) == element,
        _ => false,
    }
}

/// Removes the value at a path, and the containers that become empty.
pub(crate) fn remove_at(value: &mut Value, path: &[String], shape: Shape<'_>) {
    let Some((first, rest)) = path.split_first() else { return };
    if let Some(key) = first.strip_prefix("f:") {
        let Some(map) = value.as_object_mut() else { return };
        if rest.is_empty() {
            map.shift_remove(key);
        } else if let Some(child) = map.get_mut(key) {
            let before = size(child);
            remove_at(child, rest, shape.child(key));
            if before > 0 && size(child) == 0 {
                map.shift_remove(key);
            }
        }
        return;
    }
    let Some(items) = value.as_array_mut() else { return };
    let Some(at) = items.iter().position(|i| element_is(first, i, items, shape)) else { return };
    if rest.is_empty() {
        items.remove(at);
    } else {
        remove_at(&mut items[at], rest, shape.item());
    }
}

fn size(value: &Value) -> usize {
    value.as_object().map_or_else(|| value.as_array().map_or(0, Vec::len), Map::len)
}

/// `.spec.containers[name="a"].image` for messages.
pub(crate) fn show(path: &[String]) -> String {
    path.iter()
        .map(|e| {
            if let Some(key) = e.strip_prefix("f:") {
                format!(".{key}")
            } else if let Some(keys) = e.strip_prefix("k:") {
                let map: Map<String, Value> = serde_json::from_str(keys).unwrap_or_default();
                let inner: Vec<String> = map.iter().map(|(k, v)| format!("{k}={v}")).collect();
                format!("[{}]", inner.join(","))
            } else {
                format!("[={}]", e.trim_start_matches("v:"))
            }
        })
        .collect()
}
