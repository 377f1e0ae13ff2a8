//! The commands of `cargo xtask`, and the programs to build for each. `tools` carries out all but `check`.

/// A command.
#[derive(Debug)]
pub struct Command {
    pub name: &'static str,
    /// One line of help.
    pub about: &'static str,
    pub builds: Builds,
}

/// The programs to compile before the command starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Builds {
    /// None: the command compiles what it needs.
    Nothing,
    /// The program `atelier-tools`.
    Tools,
    /// All programs of the platform, in the same folder.
    Programs,
    /// All programs and all tests.
    Tests,
    /// All programs and all benchmarks.
    Benches,
}

const fn command(name: &'static str, builds: Builds, about: &'static str) -> Command {
    Command { name, about, builds }
}

/// All commands.
pub const COMMANDS: [Command; 24] = [
    command("up", Builds::Programs, "Start the whole platform on this machine, until Ctrl-C"),
    command("demo", Builds::Tools, "Run the whole demo on a running platform, through its public API"),
    command("check", Builds::Nothing, "Check the source: format, dependencies, lints, SQL, documentation"),
    command(
        "test",
        Builds::Tests,
        "Run all tests on a Postgres and a Ceph RGW, and check all generated files",
    ),
    command(
        "console",
        Builds::Tools,
        "Check, build and test the console; --stories tells those of a running platform",
    ),
    command("pace", Builds::Tools, "Print times and sizes of building, testing and running the platform"),
    command(
        "platform",
        Builds::Tools,
        "Write what the chart, the compose file and the images take from platform.toml",
    ),
    command("openapi", Builds::Programs, "Write the services' OpenAPI documents to openapi/"),
    command("console-client", Builds::Programs, "Write the console's client to console/src/api/generated/"),
    command("crds", Builds::Programs, "Write the custom resource definitions to deploy/crds/"),
    command("metrics", Builds::Programs, "Write the list of the services' metrics to docs/METRICS.md"),
    command(
        "sqlx",
        Builds::Tools,
        "Check the SQL of the query macros against a real schema, and write .sqlx/",
    ),
    command(
        "alerts",
        Builds::Tools,
        "Check and test the alert rules, their runbooks and the dashboards (promtool)",
    ),
    command("bench", Builds::Programs, "Measure: claims, gateway, operator and more"),
    command("rest", Builds::Tools, "Measure the resource usage of a running platform while nobody uses it"),
    command(
        "smoke",
        Builds::Benches,
        "Run every benchmark, the soak, a drill and the upgrade in their smallest size, each in its smallest size",
    ),
    command(
        "soak",
        Builds::Programs,
        "Send requests for minutes while instances come and go and gateways are restarted",
    ),
    command(
        "drill",
        Builds::Programs,
        "Inject faults into a separate platform, and show alerts, effects on users and recovery",
    ),
    command("upgrade", Builds::Tools, "Bring a platform of a previous commit to this version under load"),
    command("audit", Builds::Tools, "Verify the audit logs of a running platform, and print them as one"),
    command("mutants", Builds::Tools, "Find changes to the pure rules that no test notices (cargo-mutants)"),
    command("images", Builds::Tools, "Build the container images of the platform"),
    command("seed", Builds::Tools, "Create the demo data on a platform that was started by other means"),
    command(
        "files",
        Builds::Programs,
        "Check what `test` checks beside its cases: generated files, alerts, chart",
    ),
];
