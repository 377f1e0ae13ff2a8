//! `operations.ts`: a constant for each operation, so that a build drops those that nothing uses.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, ensure};
use serde_json::Value;

use super::{
    HEADER, elements, members,
    schema::Expressions,
    text::{camel_case, doc, import_types, key, string},
};

const JSON: &str = "application/json";
const EVENTS: &str = "text/event-stream";

pub(super) fn emit(document: &Value) -> anyhow::Result<String> {
    let (mut constants, mut expressions) = (BTreeMap::new(), Expressions::default());
    let (mut helpers, mut left_out) = (BTreeSet::new(), String::new());
    for (path, item) in members(&document["paths"]) {
        for (method, operation) in members(item) {
            let one = Described { document, path, method, operation };
            let constants_of = one.constants(&mut expressions)?;
            if constants_of.is_empty() {
                left_out += &format!("// - {} {path}: {}\n", method.to_uppercase(), one.summary());
            }
            for (name, helper, text) in constants_of {
                helpers.insert(helper);
                ensure!(constants.insert(name.clone(), text).is_none(), "two operations are named {name}");
            }
        }
    }
    let helpers = helpers.into_iter().collect::<Vec<_>>().join(", ");
    let imports = format!(
        "import {{ {helpers} }} from \"../operation\";\n{}",
        import_types(&expressions.names, "./types")
    );
    let constants = constants.into_values().collect::<Vec<_>>().join("\n");
    let end = if left_out.is_empty() { left_out } else { format!("\n// Without a constant:\n{left_out}") };
    Ok(format!("{HEADER}\n{imports}\n{constants}{end}"))
}

/// An operation of the document.
struct Described<'a> {
    document: &'a Value,
    path: &'a str,
    method: &'a str,
    operation: &'a Value,
}

impl Described<'_> {
    fn summary(&self) -> &str {
        self.operation["summary"].as_str().unwrap_or_default()
    }

    /// Name, helper and text of each constant: one for each way in which the operation answers.
    fn constants(
        &self,
        expressions: &mut Expressions,
    ) -> anyhow::Result<Vec<(String, &'static str, String)>> {
        let id = self.operation["operationId"].as_str();
        let name =
            camel_case(id.with_context(|| format!("{} {} has no operationId", self.method, self.path))?);
        let successes: Vec<_> = members(&self.operation["responses"])
            .filter(|(status, _)| status.starts_with(['2', '3']))
            .collect();
        let mut found = Vec::new();
        let answers = self.answers(&successes, expressions);
        if !answers.is_empty() {
            found.push((name.clone(), "operation", Some(answers.join(" | "))));
        }
        let contents = || successes.iter().flat_map(|(_, response)| members(&response["content"]));
        if let Some((_, event)) =
            contents().find(|(kind, content)| *kind == EVENTS && is_named(&content["schema"]))
        {
            found.push((format!("{name}Stream"), "stream", Some(expressions.of(&event["schema"], ""))));
        }
        let is_raw = contents().any(|(kind, _)| kind != JSON && kind != EVENTS)
            || successes.iter().any(|(status, _)| status.starts_with('3'));
        if is_raw {
            let name = if found.is_empty() { name } else { format!("{name}Raw") };
            found.push((name, "raw", None));
        }
        if found.is_empty() {
            return Ok(Vec::new());
        }
        let request = self.request(expressions)?;
        let comment = doc(self.summary(), "");
        let address = format!("{}, {}", string(&self.method.to_uppercase()), string(self.path));
        let constant = |(name, helper, answer): (String, &'static str, Option<String>)| {
            let answer = answer.map(|answer| format!(", {answer}")).unwrap_or_default();
            let text = format!(
                "{comment}export const {name} = /* @__PURE__ */ {helper}<{request}{answer}>({address});\n"
            );
            (name, helper, text)
        };
        Ok(found.into_iter().map(constant).collect())
    }

    /// The types of the bodies of the successes; none if none of them is JSON or empty.
    fn answers(&self, successes: &[(&str, &Value)], expressions: &mut Expressions) -> Vec<String> {
        let mut answers = Vec::new();
        let mut is_empty = false;
        for (status, response) in successes {
            if let Some(schema) = response["content"].get(JSON).map(|content| &content["schema"]) {
                let answer = expressions.of(schema, "");
                if !answers.contains(&answer) {
                    answers.push(answer);
                }
            }
            is_empty |= *status == "204";
        }
        match (answers.is_empty(), is_empty) {
            (true, true) => vec!["void".to_owned()],
            (false, true) => {
                answers.push("undefined".to_owned());
                answers
            }
            _ => answers,
        }
    }

    /// The type of the request, with the members that it needs.
    fn request(&self, expressions: &mut Expressions) -> anyhow::Result<String> {
        let mut request = Vec::new();
        for place in ["path", "query", "header"] {
            let mut parameters = Vec::new();
            let mut is_required = false;
            for parameter in elements(&self.operation["parameters"]) {
                let parameter = self.resolved(parameter)?;
                if parameter["in"] != place {
                    continue;
                }
                let name = parameter["name"].as_str().context("a parameter has no name")?;
                // the client fills in the headers
                let required = parameter["required"] == true && place != "header";
                is_required |= required;
                let mark = if required { "" } else { "?" };
                parameters.push(format!("{}{mark}: {}", key(name), expressions.of(&parameter["schema"], "")));
            }
            if !parameters.is_empty() {
                let name = if place == "header" { "headers" } else { place };
                let mark = if is_required { "" } else { "?" };
                request.push(format!("{name}{mark}: {{ {} }}", parameters.join("; ")));
            }
        }
        let body = &self.operation["requestBody"];
        if let Some(content) = body["content"].get(JSON) {
            let mark = if body["required"] == true { "" } else { "?" };
            request.push(format!("body{mark}: {}", expressions.of(&content["schema"], "")));
        }
        Ok(match &request[..] {
            [] => "Record<string, never>".to_owned(),
            members => format!("{{ {} }}", members.join("; ")),
        })
    }

    fn resolved<'a>(&'a self, parameter: &'a Value) -> anyhow::Result<&'a Value> {
        let Some(reference) = parameter["$ref"].as_str() else { return Ok(parameter) };
        let target = reference.strip_prefix('#').and_then(|pointer| self.document.pointer(pointer));
        target.with_context(|| format!("there is no {reference}"))
    }
}

/// Whether a schema has more information than that it is text.
fn is_named(schema: &Value) -> bool {
    schema["$ref"].is_string() || schema["oneOf"].is_array()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn emitted(path: &str, method: &str, operation: &Value) -> String {
        let parameters = json!({
            "IfMatch": { "name": "If-Match", "in": "header", "required": true, "schema": { "type": "string" } },
        });
        let document = json!({
            "paths": { path: { method: operation } },
            "components": { "parameters": parameters },
        });
        let text = emit(&document).unwrap();
        text.strip_prefix(HEADER).unwrap().to_owned()
    }

    fn schema(name: &str) -> Value {
        json!({ "schema": { "$ref": format!("#/components/schemas/{name}") } })
    }

    #[test]
    fn an_operation_has_the_members_that_it_needs() {
        let operation = json!({
            "operationId": "update_instance",
            "summary": "Change an instance",
            "parameters": [
                { "name": "id", "in": "path", "required": true, "schema": { "$ref": "#/components/schemas/InstanceId" } },
                { "name": "limit", "in": "query", "required": false, "schema": { "type": "integer" } },
                { "$ref": "#/components/parameters/IfMatch" },
            ],
            "requestBody": { "required": true, "content": { JSON: schema("InstanceChange") } },
            "responses": {
                "200": { "content": { JSON: schema("Instance") } },
                "202": { "content": { JSON: schema("Accepted") } },
                "4XX": { "content": { JSON: schema("Problem") } },
            },
        });
        assert_eq!(
            emitted("/v1/instances/{id}", "patch", &operation),
            r#"
import { operation } from "../operation";
import type { Accepted, Instance, InstanceChange, InstanceId } from "./types";

/** Change an instance */
export const updateInstance = /* @__PURE__ */ operation<{ path: { id: InstanceId }; query?: { limit?: number }; headers?: { "If-Match"?: string }; body: InstanceChange }, Instance | Accepted>("PATCH", "/v1/instances/{id}");
"#
        );
    }

    #[test]
    fn without_a_body_the_answer_is_void() {
        let operation = json!({ "operationId": "delete_session", "responses": { "204": {} } });
        let text = emitted("/v1/sessions/current", "delete", &operation);
        assert!(
            text.ends_with("operation<Record<string, never>, void>(\"DELETE\", \"/v1/sessions/current\");\n"),
            "{text}"
        );
    }

    #[test]
    fn streams_and_downloads_have_constants_of_their_own() {
        let both = json!({ "operationId": "list_events", "responses": { "200": { "content": {
            JSON: schema("Page_Event"), EVENTS: schema("Event"),
        } } } });
        let text = emitted("/v1/events", "get", &both);
        assert!(text.contains("import { operation, stream } from"), "{text}");
        assert!(
            text.contains("listEvents = /* @__PURE__ */ operation<Record<string, never>, PageEvent>("),
            "{text}"
        );
        assert!(
            text.contains("listEventsStream = /* @__PURE__ */ stream<Record<string, never>, Event>("),
            "{text}"
        );
        let moved = json!({ "operationId": "get_content", "responses": { "307": {} } });
        let text = emitted("/v1/models/{id}/content", "get", &moved);
        assert!(text.contains("getContent = /* @__PURE__ */ raw<Record<string, never>>("), "{text}");
    }

    #[test]
    fn what_has_no_constant_is_listed() {
        let socket = json!({ "operationId": "open_terminal", "summary": "Open a terminal", "responses": { "101": {} } });
        let text = emitted("/v1/instances/{id}/terminal", "get", &socket);
        assert!(
            text.ends_with("// Without a constant:\n// - GET /v1/instances/{id}/terminal: Open a terminal\n")
        );
    }
}
