//! Label and field selectors of lists and watches.

use crate::error::Failure;

use serde_json::Value;

/// Parsed selectors; the default selects everything.
#[derive(Debug, Clone, Default)]
pub struct Selector {
    labels: Vec<Label>,
    fields: Vec<Field>,
}

#[derive(Debug, Clone)]
enum Label {
    In(String, Vec<String>),
    NotIn(String, Vec<String>),
    Exists(String),
    Absent(String),
}

#[derive(Debug, Clone)]
struct Field {
    path: Vec<String>,
    value: String,
    equal: bool,
}

/// Whether a field can be used in field selectors of a builtin kind.
fn selectable(kind: &str, path: &str) -> bool {
    if matches!(path, "metadata.name" | "metadata.namespace") {
        return true;
    }
    match kind {
        "pods" => matches!(
            path,
            "spec.nodeName"
                | "status.phase"
                | "spec.restartPolicy"
                | "spec.schedulerName"
                | "status.podIP"
                | "spec.serviceAccountName"
                | "status.nominatedNodeName"
                | "spec.hostNetwork"
        ),
        "events" => matches!(
            path,
            "involvedObject.kind"
                | "involvedObject.namespace"
                | "involvedObject.name"
                | "involvedObject.uid"
                | "involvedObject.apiVersion"
                | "involvedObject.resourceVersion"
                | "involvedObject.fieldPath"
                | "reason"
                | "reportingComponent"
                | "source"
                | "type"
        ),
        "nodes" => path == "spec.unschedulable",
        "namespaces" => path == "status.phase",
        "secrets" => path == "type",
        "resourceslices.resource.k8s.io" => matches!(path, "spec.driver" | "spec.nodeName"),
        _ => false,
    }
}

impl Selector {
    /// Parses the query parameters; `extra` are the selectable fields of a custom kind.
    pub fn parse(kind: &str, labels: &str, fields: &str, extra: &[String]) -> Result<Self, Failure> {
        let mut selector = Self::default();
        for term in split_terms(labels) {
            selector.labels.push(parse_label(term)?);
        }
        for term in fields.split(',').map(str::trim).filter(|t| !t.is_empty()) {
            let (path, value, equal) = if let Some((p, v)) = term.split_once("!=") {
                (p, v, false)
            } else if let Some((p, v)) = term.split_once("==").or_else(|| term.split_once('=')) {
                (p, v, true)
            } else {
                return Err(Failure::bad_request(format!("invalid field selector: {term}")));
            };
            if !selectable(kind, path) && !extra.iter().any(|e| e == path) {
                return Err(Failure::bad_request(format!("field label not supported: {path}")));
            }
            let path = path.split('.').map(str::to_owned).collect();
            selector.fields.push(Field { path, value: value.replace('\\', ""), equal });
        }
        Ok(selector)
    }

    /// The conjunction of two selectors.
    pub fn and(mut self, other: Self) -> Self {
        self.labels.extend(other.labels);
        self.fields.extend(other.fields);
        self
    }

    pub fn is_everything(&self) -> bool {
        self.labels.is_empty() && self.fields.is_empty()
    }

    pub fn matches(&self, object: &Value) -> bool {
        let labels = if self.labels.is_empty() { &Value::Null } else { &object["metadata"]["labels"] };
        self.labels.iter().all(|l| match l {
            Label::In(k, v) => labels[k].as_str().is_some_and(|x| v.iter().any(|y| y == x)),
            Label::NotIn(k, v) => !labels[k].as_str().is_some_and(|x| v.iter().any(|y| y == x)),
            Label::Exists(k) => labels[k].is_string(),
            Label::Absent(k) => !labels[k].is_string(),
        }) && self.fields.iter().all(|f| {
            let found = f.path.iter().fold(object, |v, p| &v[p]);
            let is_same = match found {
                Value::String(text) => *text == f.value,
                Value::Null => matches!(f.value.as_str(), "" | "false"),
                other => f.value == format!("{other}"),
            };
            is_same == f.equal
        })
    }
}

fn split_terms(text: &str) -> Vec<&str> {
    let (mut depth, mut start, mut terms) = (0, 0, Vec::new());
    for (i, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            ',' if depth == 0 => {
                terms.push(&text[start..i]);
                start = i + 1;
            }
            _ => {}
        }
    }
    terms.push(&text[start..]);
    terms.into_iter().map(str::trim).filter(|t| !t.is_empty()).collect()
}

fn parse_label(term: &str) -> Result<Label, Failure> {
    let bad = || Failure::bad_request(format!("unable to parse requirement: {term}"));
    if let Some(key) = term.strip_prefix('!') {
        return Ok(Label::Absent(key.trim().to_owned()));
    }
    if let Some((key, list)) = term.split_once('(') {
        let values = list.strip_suffix(')').ok_or_else(bad)?;
        let values = values.split(',').map(|v| v.trim().to_owned()).collect();
        return match key.trim().split_once(char::is_whitespace).map(|(k, op)| (k.to_owned(), op.trim())) {
            Some((key, "in")) => Ok(Label::In(key, values)),
            Some((key, "notin")) => Ok(Label::NotIn(key, values)),
            _ => Err(bad()),
        };
    }
    if let Some((key, value)) = term.split_once("!=") {
        return Ok(Label::NotIn(key.trim().to_owned(), vec![value.trim().to_owned()]));
    }
    if let Some((key, value)) = term.split_once("==").or_else(|| term.split_once('=')) {
        return Ok(Label::In(key.trim().to_owned(), vec![value.trim().to_owned()]));
    }
    if term.contains(char::is_whitespace) { Err(bad()) } else { Ok(Label::Exists(term.to_owned())) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn selectors_select() {
        let o = json!({ "metadata": { "name": "a", "labels": { "app": "x", "tier": "1" } }, "spec": { "nodeName": "n1" } });
        for (labels, fields, hit) in [
            ("app=x", "", true),
            ("app==x,tier!=2", "", true),
            ("app in (x, y),tier", "", true),
            ("app notin (x)", "", false),
            ("!app", "", false),
            ("", "spec.nodeName=n1", true),
            ("", "spec.nodeName!=n1", false),
            ("", "spec.nodeName=", false),
        ] {
            let s = Selector::parse("pods", labels, fields, &[]).expect("parses");
            assert_eq!(s.matches(&o), hit, "{labels} {fields}");
        }
        assert!(Selector::parse("pods", "", "spec.color=red", &[]).is_err());
    }
}
