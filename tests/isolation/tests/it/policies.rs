//! Row-level security, as the catalogue of Postgres states it.

use crate::support::{Rows, schemas};
use sqlx::{PgConnection, Row};

/// Tables that name tenants or users and are open to all requests, each with the reason.
const OPEN: [(&str, &str); 7] = [
    ("identity.tenants", "names of tenants; requests read one by its id, after the caller's membership"),
    ("identity.users", "accounts belong to no tenant; sign-in finds them by address"),
    (
        "identity.oidc_accounts",
        "accounts belong to no tenant; sign-in finds them by what the provider vouches for",
    ),
    ("identity.operations", "deletions of tenants, for administrators only"),
    ("identity.known_networks", "networks from which users sign in; nothing returns them"),
    ("identity.idempotency_keys", "scoped by user"),
    ("stock.operations", "changes of the stock, for administrators only"),
];

/// What policies may show to requests: rows of the transaction's tenant, user, session, API key or challenge, all rows to
/// administrators, units without a holder, invitations to the user's address, and replies to requests by their scope.
const CONDITIONS: [&str; 13] = [
    "(tenant_id = TENANT)",
    "(id = TENANT)",
    "(user_id = USER)",
    "(session_id = SESSION)",
    "ADMIN",
    "(secret_hash = API_KEY)",
    "(hash = CHALLENGE)",
    "((user_id = USER) OR (id = SESSION))",
    "((holder_tenant IS NULL) OR (holder_tenant = TENANT))",
    "(lower(email) = ( SELECT lower(u.email) AS lower FROM identity.users u WHERE (u.id = USER)))",
    r"((scope !~~ 'ten\_%'::text) OR (scope = TENANT_SCOPE))",
    r"CASE WHEN (scope ~~ 'ten\_%'::text) THEN (scope = TENANT_SCOPE) WHEN (scope ~~ 'own\_usr\_%'::text) THEN (scope = USER_SCOPE) ELSE true END",
    "",
];

/// A policy's expression with short names for what its transaction is set to.
fn short(expression: &str) -> String {
    let setting = |name: &str| format!("NULLIF(current_setting('atelier.{name}'::text, true), ''::text)");
    let scope =
        |prefix: &str, name| format!("('{prefix}'::text || replace({}, '-'::text, ''::text))", setting(name));
    let tenant = format!("({})::uuid", setting("tenant"));
    let admin = "(current_setting('atelier.admin'::text, true) = 'on'::text)";
    let mut text = expression.split_whitespace().collect::<Vec<_>>().join(" ");
    for (long, name) in [
        (scope("ten_", "tenant"), "TENANT_SCOPE"),
        (scope("own_usr_", "user"), "USER_SCOPE"),
        // read once per statement
        (format!("( SELECT {tenant} AS \"nullif\")"), "TENANT"),
        (format!("( SELECT {admin})"), "ADMIN"),
        (tenant, "TENANT"),
        (format!("({})::uuid", setting("user")), "USER"),
        (format!("({})::uuid", setting("session")), "SESSION"),
        (format!("decode({}, 'hex'::text)", setting("api_key")), "API_KEY"),
        (format!("decode({}, 'hex'::text)", setting("passkey_challenge")), "CHALLENGE"),
        (admin.to_owned(), "ADMIN"),
    ] {
        text = text.replace(&long, name);
    }
    text
}

/// Returns what is wrong with the policies of a database. `rows` are those that name something of a tenant.
pub(crate) async fn faults(conn: &mut PgConnection, rows: &Rows) -> Vec<String> {
    let mut faults = Vec::new();
    let tables = "select format('%I.%I', n.nspname, c.relname), c.relrowsecurity and c.relforcerowsecurity,
                      exists(select from pg_attribute a where a.attrelid = c.oid
                             and a.attname in ('tenant_id', 'holder_tenant', 'user_id')),
                      has_any_column_privilege(format('atelier_%s_app', n.nspname), c.oid, 'select, update')
                  from pg_class c join pg_namespace n on n.oid = c.relnamespace
                  where n.nspname = any($1) and c.relkind = 'r'";
    for table in sqlx::query(tables).bind(schemas()).fetch_all(&mut *conn).await.unwrap() {
        let name: String = table.get(0);
        let (is_forced, has_column, is_used): (bool, bool, bool) = (table.get(1), table.get(2), table.get(3));
        let names_tenants = has_column || rows.get(&name).is_some_and(|rows| !rows.is_empty());
        let is_open = OPEN.iter().any(|(open, _)| *open == name);
        if names_tenants && is_used && !is_forced && !is_open {
            faults.push(format!("{name} names tenants and has no forced row-level security"));
        }
    }
    let policies =
        "select format('%I.%I', schemaname, tablename), policyname::text, permissive, roles::text, qual,
                        with_check, schemaname::text from pg_policies
                    where schemaname = any($1)";
    for policy in sqlx::query(policies).bind(schemas()).fetch_all(&mut *conn).await.unwrap() {
        let text = |n: usize| policy.get::<Option<String>, _>(n).unwrap_or_default();
        let (name, roles, schema) = (format!("{} on {}", text(1), text(0)), text(3), text(6));
        if [format!("{{atelier_{schema}_worker}}"), format!("{{atelier_{schema}_owner}}")].contains(&roles) {
            continue;
        }
        if roles != format!("{{atelier_{schema}_app}}") {
            faults.push(format!("the policy {name} is for the roles {roles}"));
        }
        for expression in [text(4), text(5)].map(|expression| short(&expression)) {
            if text(2) == "PERMISSIVE" && !CONDITIONS.contains(&expression.as_str()) {
                faults.push(format!("the policy {name} shows rows where {expression}"));
            }
        }
    }
    // the reader of `atelier-admin` reads everything, and no service has its password
    let roles =
        "select rolname::text from pg_roles r where rolname like 'atelier\\_%' and rolname <> 'atelier_reader' and (rolsuper or rolbypassrls
                     or exists(select from pg_auth_members m where m.member = r.oid)
                     or rolname like '%\\_app' and exists(select from pg_class c where c.relowner = r.oid))";
    for role in sqlx::query_scalar::<_, String>(roles).fetch_all(conn).await.unwrap() {
        faults.push(format!("the role {role} can bypass row-level security"));
    }
    faults
}
