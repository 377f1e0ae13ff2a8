//! The tenant predicates of SQL statements.

use std::ops::Range;

/// Columns that hold the tenant of a row.
const COLUMNS: [&str; 3] = ["tenant_id", "holder_tenant", "tenant"];

/// Words and symbols after which a condition begins.
const BEFORE: [&str; 7] = ["where", "and", "or", "on", "not", "when", "("];

/// Returns where the statement requires that a tenant's column equals something: `m.tenant_id = $1`. Assignments are
/// none.
#[must_use]
pub(crate) fn predicates(sql: &str) -> Vec<Range<usize>> {
    let tokens = tokens(sql);
    let text = |n: usize| tokens.get(n).map_or("", |token| &sql[token.clone()]);
    let is_column = |n: usize| COLUMNS.contains(&text(n).rsplit('.').next().unwrap_or_default());
    let mut found = Vec::new();
    for n in 0..tokens.len() {
        let is_condition = n > 0 && BEFORE.contains(&text(n - 1));
        if !is_condition || text(n + 1) != "=" || !(is_column(n) || is_column(n + 2)) || text(n + 2) == "null"
        {
            continue;
        }
        let mut last = n + 2;
        if text(last + 1) == "(" {
            let mut depth = 0;
            last += 1;
            loop {
                depth += i32::from(text(last) == "(") - i32::from(text(last) == ")");
                if depth == 0 {
                    break;
                }
                last += 1;
            }
        }
        while text(last + 1) == "::" {
            last += 2;
        }
        found.push(tokens[n].start..tokens[last].end);
    }
    found
}

/// Names with their dots, parameters, `::`, texts and single symbols.
fn tokens(sql: &str) -> Vec<Range<usize>> {
    let bytes = sql.as_bytes();
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || b"_.$".contains(&byte);
    let (mut tokens, mut at) = (Vec::new(), 0);
    while at < bytes.len() {
        let start = at;
        match bytes[at] {
            byte if byte.is_ascii_whitespace() => {
                at += 1;
                continue;
            }
            b'-' if bytes.get(at + 1) == Some(&b'-') => {
                at += sql[at..].find('\n').unwrap_or(sql.len() - at);
                continue;
            }
            b'\'' => at += 2 + sql[at + 1..].find('\'').unwrap_or_default(),
            b':' if bytes.get(at + 1) == Some(&b':') => at += 2,
            byte if is_word(byte) => {
                while at < bytes.len() && is_word(bytes[at]) {
                    at += 1;
                }
            }
            _ => at += 1,
        }
        tokens.push(start..at);
    }
    tokens
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_are_found_and_assignments_are_not() {
        let found =
            |sql: &str| predicates(sql).into_iter().map(|range| sql[range].to_owned()).collect::<Vec<_>>();
        assert_eq!(found("select 1 from a where tenant_id = $1 and x = $2"), ["tenant_id = $1"]);
        assert_eq!(
            found("select 1 from a join b on (b.tenant_id = a.tenant_id)"),
            ["b.tenant_id = a.tenant_id"]
        );
        assert_eq!(
            found("select 1 where $1 = tenant_id or tenant_id = any($2)"),
            ["$1 = tenant_id", "tenant_id = any($2)"]
        );
        assert_eq!(
            found("select 1 where t.tenant_id = $1::uuid -- and tenant_id = $2"),
            ["t.tenant_id = $1::uuid"]
        );
        assert!(
            found("update a set tenant_id = $1, holder_tenant = null where x = 'tenant_id = $1'").is_empty()
        );
    }
}
