//! Pruning and defaulting of objects.

use super::{Node, at_root, join};
use serde_json::Value;

impl Node {
    pub(super) fn prune(&self, value: &mut Value, path: &str, root: bool, dropped: &mut Vec<String>) {
        match value {
            Value::Object(map) => {
                let keys: Vec<String> = map.keys().cloned().collect();
                for key in keys {
                    if root && at_root(&key) {
                        continue;
                    }
                    match self.property(&key) {
                        Some(node) => {
                            if let Some(child) = map.get_mut(&key) {
                                node.prune(child, &join(path, &key), false, dropped);
                            }
                        }
                        None if self.preserve => {}
                        None => {
                            map.shift_remove(&key);
                            dropped.push(join(path, &key));
                        }
                    }
                }
            }
            Value::Array(items) => {
                if let Some(node) = &self.items {
                    for (i, item) in items.iter_mut().enumerate() {
                        node.prune(item, &format!("{path}[{i}]"), false, dropped);
                    }
                }
            }
            _ => {}
        }
    }

    pub(super) fn fill(&self, value: &mut Value) {
        match value {
            Value::Object(map) => {
                for (key, node) in &self.properties {
                    if let Some(default) = &node.default {
                        let absent = map.get(key).is_none_or(|v| v.is_null() && !node.nullable);
                        if absent {
                            map.insert(key.clone(), default.clone());
                        }
                    } else if map.get(key).is_some_and(Value::is_null)
                        && !node.nullable
                        && !self.required.contains(key)
                    {
                        map.shift_remove(key);
                    }
                }
                for (key, child) in map.iter_mut() {
                    if let Some(node) = self.property(key) {
                        node.fill(child);
                    }
                }
            }
            Value::Array(items) => {
                if let Some(node) = &self.items {
                    items.iter_mut().for_each(|i| node.fill(i));
                }
            }
            _ => {}
        }
    }
}
