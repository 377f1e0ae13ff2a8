//! The rule for migrations: expand, then contract. Replicas of the previous release run on the new schema
//! until they are replaced, so a migration may not remove what they use. Objects that no release in use needs
//! are removed under a line
//!
//! ```sql
//! -- contract: unused since 0.3.0
//! alter table units drop column work_at;
//! ```
//!
//! that names the release which stopped using it.

use std::path::Path;

use anyhow::{Context, bail};

/// Marks a statement that takes away something unused.
const CONTRACT: &str = "-- contract: unused since ";

/// Checks all migrations.
///
/// # Errors
/// Names each statement that an older replica does not survive.
pub fn check() -> anyhow::Result<()> {
    let folder = xtask::root().join("migrations");
    let mut breaks = Vec::new();
    for service in std::fs::read_dir(&folder)? {
        let service = service?.path();
        for file in std::fs::read_dir(&service)? {
            let file = file?.path();
            let name = relative(&folder, &file);
            let text = std::fs::read_to_string(&file).with_context(|| name.clone())?;
            breaks.extend(contractions(&text).into_iter().map(|found| format!("{name}: {found}")));
        }
    }
    breaks.sort();
    if breaks.is_empty() {
        return Ok(());
    }
    bail!(
        "replicas of the previous release do not survive:\n{}\nExpand first; take away in a later release, under a line \
         `{CONTRACT}<release>` (docs/UPGRADE.md)",
        breaks.join("\n")
    )
}

fn relative(folder: &Path, file: &Path) -> String {
    file.strip_prefix(folder).unwrap_or(file).display().to_string()
}

/// The statements of a migration that take something away without naming the release which stopped using it.
fn contractions(sql: &str) -> Vec<String> {
    let all = statements(sql);
    let tables: Vec<_> = all.iter().filter_map(|one| created(&one.text)).collect();
    let mut found = Vec::new();
    for statement in &all {
        // what the same migration creates is not in use yet
        let is_new = altered(&statement.text).is_some_and(|table| tables.contains(&table));
        if statement.is_contraction || is_new {
            continue;
        }
        found.extend(reason(&statement.text, sql).map(|reason| format!("{reason}: {}", statement.text)));
    }
    found
}

struct Statement {
    /// In lower case, without comments, words separated by one blank.
    text: String,
    /// Whether the comment before it names the release.
    is_contraction: bool,
}

/// Splits at semicolons outside of strings, comments and bodies of functions.
fn statements(sql: &str) -> Vec<Statement> {
    let (mut all, mut text, mut is_contraction) = (Vec::new(), String::new(), false);
    let mut rest = sql;
    while !rest.is_empty() {
        let skipped = if let Some(comment) = rest.strip_prefix("--") {
            let length = comment.find('\n').map_or(rest.len(), |end| end + 3);
            let release = rest.strip_prefix(CONTRACT).and_then(|release| release.lines().next());
            is_contraction |= release.is_some_and(|release| release.trim().starts_with(char::is_numeric));
            text.push(' ');
            length
        } else if rest.starts_with("/*") {
            text.push(' ');
            rest.find("*/").map_or(rest.len(), |end| end + 2)
        } else if let Some(length) = quoted(rest) {
            text.push_str("'…'");
            length
        } else if rest.starts_with(';') {
            let words = text.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase();
            if !words.is_empty() {
                all.push(Statement { text: words, is_contraction });
            }
            (text, is_contraction) = (String::new(), false);
            1
        } else {
            let length = rest.chars().next().map_or(1, char::len_utf8);
            text.push_str(&rest[..length]);
            length
        };
        rest = &rest[skipped..];
    }
    all
}

/// The length of a string or dollar-quoted body at the beginning of the text.
fn quoted(text: &str) -> Option<usize> {
    if let Some(inside) = text.strip_prefix('\'') {
        return Some(inside.find('\'').map_or(text.len(), |end| end + 2));
    }
    let tag_end = text.strip_prefix('$')?.find('$')? + 2;
    let tag = &text[..tag_end];
    if !tag[1..tag_end - 1].chars().all(|letter| letter.is_alphanumeric() || letter == '_') {
        return None;
    }
    Some(text[tag_end..].find(tag).map_or(text.len(), |end| tag_end + end + tag.len()))
}

/// The table that a statement creates.
fn created(statement: &str) -> Option<&str> {
    let rest = statement.strip_prefix("create table ")?;
    rest.strip_prefix("if not exists ").unwrap_or(rest).split([' ', '(']).next()
}

/// The table that a statement alters.
fn altered(statement: &str) -> Option<&str> {
    let rest = statement.strip_prefix("alter table ")?;
    rest.strip_prefix("only ").unwrap_or(rest).split(' ').next()
}

/// Why an older replica does not survive the statement.
fn reason(statement: &str, sql: &str) -> Option<&'static str> {
    const DROPPED: [&str; 6] = ["table", "view", "materialized view", "type", "schema", "sequence"];
    if let Some(what) = statement.strip_prefix("drop ")
        && DROPPED.iter().any(|kind| what.strip_prefix(kind).is_some_and(|rest| rest.starts_with(' ')))
    {
        return Some("takes away what an older replica reads or writes");
    }
    if statement.starts_with("alter ") && statement.contains(" rename ") {
        return Some("an older replica knows the old name");
    }
    statement.strip_prefix("alter table ")?;
    statement.split(',').find_map(|action| action_reason(action.trim(), sql))
}

/// Why an older replica does not survive a part of an `alter table`.
fn action_reason(action: &str, sql: &str) -> Option<&'static str> {
    let words: Vec<_> = action.split(' ').collect();
    let follows = |sequence: &[&str]| words.windows(sequence.len()).position(|found| found == sequence);
    if follows(&["drop", "column"]).is_some() {
        return Some("takes away what an older replica reads or writes");
    }
    if follows(&["drop", "default"]).is_some() {
        return Some("an older replica does not write the column");
    }
    if let Some(at) = follows(&["set", "not", "null"]) {
        let column = at.checked_sub(1).map_or("", |before| words[before]);
        let default = format!("alter column {column} set default");
        let has_default =
            sql.to_lowercase().split_whitespace().collect::<Vec<_>>().join(" ").contains(&default);
        return (!has_default).then_some("an older replica may write null");
    }
    if let Some(at) = follows(&["alter", "column"])
        && (words.get(at + 3) == Some(&"type") || words[at..].join(" ").contains("set data type"))
    {
        return Some("an older replica knows the old type");
    }
    let adds = follows(&["add", "column"]).is_some();
    if adds
        && follows(&["not", "null"]).is_some()
        && !action.contains(" default ")
        && !action.contains(" generated ")
    {
        return Some("an older replica does not write the column");
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_migrations_can_be_survived() {
        check().unwrap();
    }

    #[test]
    fn what_an_older_replica_does_not_survive_is_named() {
        for (sql, breaks) in [
            ("alter table units drop column node;", true),
            ("ALTER TABLE units\n    DROP COLUMN node;", true),
            ("drop table units;", true),
            ("drop type kind;", true),
            ("alter table units rename column a to b;", true),
            ("alter table units rename to things;", true),
            ("alter table units alter column a set not null;", true),
            ("alter table units alter column a set default 0, alter column a set not null;", false),
            ("alter table units alter column a type bigint;", true),
            ("alter table units alter column a set data type bigint using a::bigint;", true),
            ("alter table units alter column a drop default;", true),
            ("alter table units add column a text not null;", true),
            ("alter table units add column a text not null default '', add column b int;", false),
            ("alter table units add column a text;", false),
            ("alter table units alter column a drop not null;", false),
            ("create table things (a int not null); alter table things alter column a type text;", false),
            ("drop index units_work; drop policy app on units; drop function f();", false),
            ("-- drop table units;\nselect 'drop table units;';", false),
            ("create function f() returns void language sql as $$ drop table x; $$;", false),
            ("-- contract: unused since 0.3.0\nalter table units drop column node;", false),
            ("-- contract: unused since forever\nalter table units drop column node;", true),
            ("-- contract: unused since 0.3.0\nselect 1;\nalter table units drop column node;", true),
        ] {
            assert_eq!(!contractions(sql).is_empty(), breaks, "{sql}: {:?}", contractions(sql));
        }
    }
}
