//! Names and comments of TypeScript.

/// Longest line of a union or of a list of imports.
const WIDTH: usize = 110;

/// `start_instance` as `startInstance`.
pub(super) fn camel_case(name: &str) -> String {
    let mut words = name.split('_').filter(|word| !word.is_empty());
    let first = words.next().unwrap_or_default().to_owned();
    words.fold(first, |name, word| name + &capitalized(word))
}

/// The name of a schema as that of a type: `Page_Instance` as `PageInstance`.
pub(super) fn type_name(schema: &str) -> String {
    schema.split(|letter: char| !letter.is_ascii_alphanumeric()).map(capitalized).collect()
}

fn capitalized(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// The name of a member, in quotes if it needs them.
pub(super) fn key(name: &str) -> String {
    let is_plain = name.starts_with(|letter: char| letter.is_ascii_alphabetic() || letter == '_')
        && name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_');
    if is_plain { name.to_owned() } else { string(name) }
}

/// A string literal.
pub(super) fn string(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// A doc comment with its line end; nothing for an empty text.
pub(super) fn doc(text: &str, indent: &str) -> String {
    let text = text.trim().replace("*/", "*\u{200b}/");
    let lines: Vec<_> = text.lines().map(str::trim_end).collect();
    match lines[..] {
        [] => String::new(),
        [line] => format!("{indent}/** {line} */\n"),
        _ => {
            let body: String =
                lines.iter().map(|line| format!("{indent} * {line}").trim_end().to_owned() + "\n").collect();
            format!("{indent}/**\n{body}{indent} */\n")
        }
    }
}

/// A union of these types, on several lines if it is long.
pub(super) fn union(members: &[String], indent: &str) -> String {
    let line = members.join(" | ");
    if members.len() < 2 || line.len() + indent.len() <= WIDTH && !line.contains('\n') {
        return line;
    }
    members.iter().map(|member| format!("\n{indent}  | {member}")).collect()
}

/// An import of types, on several lines if it is long.
pub(super) fn import_types<'a>(names: impl IntoIterator<Item = &'a String>, from: &str) -> String {
    let names: Vec<_> = names.into_iter().map(String::as_str).collect();
    if names.is_empty() {
        return String::new();
    }
    let line = format!("import type {{ {} }} from {};\n", names.join(", "), string(from));
    if line.len() <= WIDTH {
        return line;
    }
    let lines: String = names.iter().map(|name| format!("  {name},\n")).collect();
    format!("import type {{\n{lines}}} from {};\n", string(from))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_typescript() {
        assert_eq!(camel_case("start_instance"), "startInstance");
        assert_eq!(camel_case("list_gpu_specs"), "listGpuSpecs");
        assert_eq!(type_name("Page_Instance"), "PageInstance");
        assert_eq!(type_name("InstanceId"), "InstanceId");
        assert_eq!(key("gpu_spec"), "gpu_spec");
        assert_eq!(key("Idempotency-Key"), "\"Idempotency-Key\"");
    }

    #[test]
    fn a_comment_cannot_be_ended_by_its_text() {
        assert_eq!(doc("One line.", "  "), "  /** One line. */\n");
        assert_eq!(doc("Two\n\nlines.", ""), "/**\n * Two\n *\n * lines.\n */\n");
        assert_eq!(doc("`*/*`", ""), "/** `*\u{200b}/*` */\n");
        assert_eq!(doc("", ""), "");
    }
}
