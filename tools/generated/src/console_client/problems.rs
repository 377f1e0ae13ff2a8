//! `problems.ts`: the types of problems, from the list that the gateway adds to the schema of them.

use anyhow::{Context, ensure};
use serde_json::Value;

use super::{
    HEADER, elements, members,
    text::{doc, key, string},
};

const TYPES: &str = r#"
/** Last segment of the problem's type. */
export type ProblemSlug = keyof typeof problems;

/** Members that problems of one type may have in addition to the standard ones. */
export interface ProblemMembers {
"#;

pub(super) fn emit(document: &Value) -> anyhow::Result<String> {
    let known = &document["components"]["schemas"]["ProblemType"]["x-problem-types"];
    ensure!(known.is_array(), "the document does not list the types of problems");
    let (mut problems, mut extra) = (String::new(), String::new());
    for problem in elements(known) {
        let text = |member: &str| problem[member].as_str().context("a type of problem is incomplete");
        let name = string(text("slug")?);
        problems += &doc(text("next")?, "  ");
        problems +=
            &format!("  {name}: {{ status: {}, title: {} }},\n", problem["status"], string(text("title")?));
        let mut lines = String::new();
        for (member, described) in members(&problem["members"]) {
            lines += &doc(described["description"].as_str().unwrap_or_default(), "    ");
            lines += &format!("    {}?: {};\n", key(member), json_type(&described["type"]));
        }
        if !lines.is_empty() {
            extra += &format!("  {name}: {{\n{lines}  }};\n");
        }
    }
    let table = format!(
        "/** Every type of problem, by its slug: status, title, and what to do. */\nexport const problems = {{\n{problems}}} as const;\n"
    );
    Ok(format!("{HEADER}\n{table}{TYPES}{extra}}}\n"))
}

fn json_type(kind: &Value) -> &'static str {
    match kind.as_str() {
        Some("string") => "string | null",
        Some("integer") => "number | null",
        Some("array") => "unknown[]",
        _ => "unknown",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_problem_has_status_title_and_members() {
        let types = json!([
            { "slug": "not-found", "status": 404, "title": "Not found", "next": "Check the id.", "members": {} },
            { "slug": "last-owner", "status": 409, "title": "Last owner", "next": "Add one.",
              "members": { "tenant_id": { "type": "string", "description": "The tenant." } } },
        ]);
        let document =
            json!({ "components": { "schemas": { "ProblemType": { "x-problem-types": types } } } });
        assert_eq!(
            emit(&document).unwrap().strip_prefix(HEADER).unwrap(),
            r#"
/** Every type of problem, by its slug: status, title, and what to do. */
export const problems = {
  /** Check the id. */
  "not-found": { status: 404, title: "Not found" },
  /** Add one. */
  "last-owner": { status: 409, title: "Last owner" },
} as const;

/** Last segment of the problem's type. */
export type ProblemSlug = keyof typeof problems;

/** Members that problems of one type may have in addition to the standard ones. */
export interface ProblemMembers {
  "last-owner": {
    /** The tenant. */
    tenant_id?: string | null;
  };
}
"#
        );
    }

    #[test]
    fn a_document_without_the_list_is_refused() {
        assert!(emit(&json!({})).is_err());
    }
}
