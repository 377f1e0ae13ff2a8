//! Every body of the committed OpenAPI documents has an example, and every example conforms to its schema.

use serde_json::Value;

use crate::{
    conformity::departures,
    documents::{documents, object},
};

/// The errors of the examples of the documents, by location.
struct Departures<'d> {
    document: &'d Value,
    found: Vec<String>,
    checked: usize,
}

impl Departures<'_> {
    /// Checks the examples of a body, a parameter or a schema, in `holder`.
    fn check(&mut self, at: &str, schema: &Value, holder: &Value) {
        let named = object(&holder["examples"]).map(|(_, example)| match example["$ref"].as_str() {
            Some(target) => &self.document.pointer(target.trim_start_matches('#')).unwrap()["value"],
            None => &example["value"],
        });
        let listed = holder["examples"].as_array().into_iter().flatten();
        let values: Vec<&Value> = holder.get("example").into_iter().chain(named).chain(listed).collect();
        for value in values {
            let found = departures(self.document, schema, value);
            self.found.extend(found.into_iter().map(|one| format!("{at} {one}")));
            self.checked += 1;
        }
    }

    fn body(&mut self, at: &str, body: &Value) {
        for (media_type, content) in object(&body["content"]) {
            let has_example = !content["example"].is_null() || !content["examples"].is_null();
            if media_type.ends_with("json") && !has_example {
                self.found.push(format!("{at}: no example"));
            }
            self.check(at, &content["schema"], content);
        }
    }

    fn operation(&mut self, operation: &Value) {
        let id = operation["operationId"].as_str().unwrap();
        self.body(&format!("{id}: request"), &operation["requestBody"]);
        for (status, response) in object(&operation["responses"]) {
            self.body(&format!("{id}: {status}"), response);
        }
        for parameter in operation["parameters"].as_array().into_iter().flatten() {
            self.check(&format!("{id}: {}", parameter["name"]), &parameter["schema"], parameter);
        }
    }

    fn schema(&mut self, at: &str, schema: &Value) {
        self.check(at, schema, schema);
        for (name, property) in object(&schema["properties"]) {
            self.schema(&format!("{at}/{name}"), property);
        }
    }
}

#[test]
fn every_body_has_an_example_that_conforms_to_its_schema() {
    let (mut found, mut checked) = (Vec::new(), 0);
    for (service, document) in documents() {
        let mut departures = Departures { document: &document, found: Vec::new(), checked: 0 };
        for (_, item) in object(&document["paths"]) {
            object(item).for_each(|(_, operation)| departures.operation(operation));
        }
        for (name, schema) in object(&document["components"]["schemas"]) {
            departures.schema(name, schema);
        }
        found.extend(departures.found.into_iter().map(|one| format!("{service}: {one}")));
        checked += departures.checked;
    }
    assert!(found.is_empty(), "{} of {checked} examples:\n{}", found.len(), found.join("\n"));
    assert!(checked > 1000, "only {checked} examples");
}
