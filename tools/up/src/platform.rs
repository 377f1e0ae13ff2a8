//! The processes of the platform and the order in which they start.

use std::{
    path::{Path, PathBuf},
    rc::Rc,
    time::{Duration, Instant},
};

use anyhow::{Context, bail};
use machine::{
    access::{Access, Second},
    config::{Config, DATABASE},
    own::Started,
    postgres::{Options, Postgres},
    process,
    secrets::{self, Secrets},
};
use nix::sys::signal::Signal;
use rabbitmq::Broker;
use secrecy::SecretString;
use sqlx::{AssertSqlSafe, Connection, PgConnection};

use super::{
    broker,
    gateways::{self, Gateway},
    settings::{self, Datacenter},
    supervise::{self, Supervised, logged},
};

/// Services with a schema in Postgres.
pub fn stateful() -> Vec<&'static str> {
    platform::stateful().map(|service| service.name.as_str()).collect()
}

/// Everything that `up` runs.
pub struct Platform {
    pub config: Config,
    /// The same, with the ports at which the services reach Postgres and the object store.
    endpoints: Config,
    /// Whether it is that of a drill.
    is_drilled: bool,
    /// Whether it has a pool of jobs with workers. Programs of an earlier version may not know the settings for it.
    pub runs_jobs: bool,
    pub datacenters: Vec<Datacenter>,
    gateways: Vec<Gateway>,
    /// The folder of the built console.
    pub console: Option<PathBuf>,
    pub data: PathBuf,
    pub secrets: Secrets,
    pub programs: PathBuf,
    postgres: Option<Postgres>,
    /// Whether the message broker is started.
    has_broker: bool,
    /// The message broker, or why there is none.
    pub broker: Result<Broker, String>,
    processes: Vec<Supervised>,
    http: reqwest::Client,
}

/// Memory in bytes.
pub struct Memory {
    /// Memory of the platform's programs.
    pub platform: u64,
    pub postgres: u64,
    pub broker: Option<u64>,
}

fn print_time(what: &str, begun: Instant) {
    println!("  {what:<28} {:>6.2} s", begun.elapsed().as_secs_f64());
}

impl Platform {
    pub fn new(
        config: Config,
        datacenters: Vec<Datacenter>,
        gateways: Vec<Gateway>,
        data: &Path,
        programs: PathBuf,
        secrets: Secrets,
    ) -> anyhow::Result<Self> {
        Ok(Self {
            endpoints: config.clone(),
            is_drilled: false,
            runs_jobs: false,
            config,
            datacenters,
            gateways,
            console: None,
            data: data.to_owned(),
            secrets,
            programs,
            postgres: None,
            has_broker: false,
            broker: Err("it is not needed".to_owned()),
            processes: Vec::new(),
            http: machine::http::client()?,
        })
    }

    /// Lets the services reach Postgres and the object store on other ports than their own.
    pub fn reach_through(&mut self, postgres: u16, object_store: u16) {
        self.endpoints.ports["postgres"] = postgres;
        self.endpoints.ports["object_store"] = object_store;
    }

    /// Lets a new signing key sign after seconds instead of minutes, and the gpu service have fewer connections to Postgres
    /// than two gateways send requests at least (4 each), so that its pool can be exhausted.
    pub fn prepare_for_drill(&mut self) {
        self.is_drilled = true;
    }

    /// Lets the jobs service run workers, and take jobs in from a message broker unless there is a reason to have none.
    pub fn prepare_for_jobs(&mut self, no_broker: Option<String>) {
        self.runs_jobs = true;
        self.has_broker = no_broker.is_none();
        self.broker = Err(no_broker.unwrap_or_default());
    }

    /// The platform as the command sees it for which it was started.
    ///
    /// # Errors
    /// If it does not run.
    pub fn started(&self) -> anyhow::Result<Started> {
        let postgres = self.postgres.as_ref().context("Postgres is not up")?;
        Ok(Started {
            access: Access::read(&self.data.join(Access::FILE))?,
            data: self.data.clone(),
            programs: self.programs.clone(),
            database: postgres.admin().database(DATABASE),
            broker: self.broker.as_ref().map(Broker::url).map_err(Clone::clone),
            cluster_url: format!("http://127.0.0.1:{}", self.datacenters[0].cluster_port),
            cluster_token: settings::administrators_token(&self.datacenters[0], &self.data)?,
            postgres: Rc::clone(&postgres.control),
            processes: self.processes.iter().map(|process| (process.name(), process.control())).collect(),
        })
    }

    /// Starts Postgres, the cluster and the object store.
    pub async fn start_foundations(&mut self, postgres_bin: &Path) -> anyhow::Result<()> {
        println!("starting");
        for folder in ["config", "log"] {
            std::fs::create_dir_all(self.data.join(folder))?;
        }
        if self.has_broker {
            self.broker = Ok(Broker::launch(&broker::options(&self.config, &self.data))?);
        }
        let own: Vec<_> = self.datacenters.iter().filter(|one| one.kubeconfig.is_none()).cloned().collect();
        for datacenter in &own {
            let cluster = settings::cluster(datacenter, &self.data, &self.programs);
            self.start("devcluster", datacenter.cluster, &cluster)?;
        }
        let object_store = settings::object_store(&self.config, &self.data, &self.secrets);
        self.start("devs3", "devs3", &object_store)?;

        let begun = Instant::now();
        let options = Options {
            bin: postgres_bin,
            data: self.data.join("postgres"),
            port: self.config.ports["postgres"],
            password: &self.secrets.postgres_password,
            fsync: true,
            max_connections: 200,
        };
        // stored before it answers, so that an interruption stops it
        self.postgres.insert(Postgres::launch(&options).await?).answers().await?;
        print_time("Postgres", begun);
        let object_store = self.config.ports["object_store"];
        for datacenter in own {
            let port = datacenter.cluster_port;
            self.wait_for(datacenter.cluster, &format!("http://127.0.0.1:{port}/readyz")).await?;
            print_time(&format!("development cluster {}", datacenter.name), begun);
        }
        self.wait_for("devs3", &format!("http://127.0.0.1:{object_store}/")).await?;
        print_time("object store", begun);
        Ok(())
    }

    /// Creates roles and schemas, runs the migrations, and installs the custom resources.
    pub async fn migrate(&mut self, services: &[&'static str]) -> anyhow::Result<()> {
        let begun = Instant::now();
        for datacenter in &self.datacenters {
            settings::write_clients_kubeconfig(datacenter, &self.data)?;
        }
        let postgres = self.postgres.as_ref().context("Postgres is not up")?;
        let mut admin = PgConnection::connect_with(&postgres.admin()).await?;
        let exists: bool = sqlx::query_scalar("select exists(select from pg_database where datname = $1)")
            .bind(DATABASE)
            .fetch_one(&mut admin)
            .await?;
        if !exists {
            let create = AssertSqlSafe(format!("create database {DATABASE}"));
            sqlx::raw_sql(create).execute(&mut admin).await?;
        }
        admin.close().await?;
        let mut admin = PgConnection::connect_with(&postgres.admin().database(DATABASE)).await?;
        let password = || SecretString::from(self.secrets.database_password.clone());
        for service in services {
            let passwords = provision::Passwords { owner: password(), app: password(), worker: password() };
            provision::provision(&mut admin, service, &passwords).await?;
        }
        provision::provision_reader(&mut admin, &password()).await?;
        let settings = settings::admin(&self.config, &self.datacenters, &self.data, &self.secrets);
        secrets::write_private(&self.config_file("admin"), settings.as_bytes())?;
        admin.close().await?;
        let migrations = services.iter().map(|service| {
            let text = self.settings(service);
            let file = self.config_file(service);
            let program = self.programs.join(format!("atelier-{service}"));
            async move {
                secrets::write_private(&file, text.as_bytes())?;
                let mut command = process::command(program, Signal::SIGKILL);
                command.args(["migrate", "--config"]).arg(&file);
                process::run(&format!("the migration of {service}"), command).await
            }
        });
        let definitions = self.datacenters.iter().map(|datacenter| {
            let text = settings::operator(datacenter, &self.data, &self.secrets);
            let file = self.config_file(datacenter.operator);
            let program = self.programs.join("atelier-operator");
            async move {
                secrets::write_private(&file, text.as_bytes())?;
                let mut command = process::command(program, Signal::SIGKILL);
                command.args(["install", "--config"]).arg(&file);
                process::run("the installation of the custom resources", command).await
            }
        });
        let migrated = async {
            futures::future::try_join_all(migrations).await.with_context(|| {
                let data = self.data.display();
                format!(
                    "if the data in {data} is of another version, start over with `cargo xtask up --fresh`"
                )
            })
        };
        futures::future::try_join(migrated, futures::future::try_join_all(definitions)).await?;
        print_time("schemas", begun);
        Ok(())
    }

    /// Starts the operators, the services and the gateway.
    pub async fn start_services(&mut self) -> anyhow::Result<()> {
        let begun = Instant::now();
        for datacenter in self.datacenters.clone() {
            let text = settings::operator(&datacenter, &self.data, &self.secrets);
            self.start("operator", datacenter.operator, &text)?;
        }
        for service in stateful() {
            self.start(service, service, &self.settings(service))?;
        }
        let modules = gateways::modules(&self.datacenters, &self.gateways);
        for gateway in self.gateways.clone() {
            let mut text = gateway.settings(&self.config, &self.secrets, &modules);
            if let Some(folder) = &self.console {
                text.push_str(&gateways::console(&self.config, folder));
            }
            self.start("gateway", gateway.name, &text)?;
        }
        let ports = self.config.ports.clone();
        let operators: Vec<_> =
            self.datacenters.iter().map(|one| (one.operator, one.operator_port)).collect();
        let services = stateful().into_iter().map(|name| (name, ports[name]));
        for (service, port) in operators.into_iter().chain(services) {
            self.wait_for(service, &format!("http://127.0.0.1:{port}/readyz")).await?;
            print_time(service, begun);
        }
        if self.gateways.len() > 1 {
            // to HAProxy a gateway is ready until a check has failed
            for gateway in self.gateways.clone() {
                self.wait_for(gateway.name, &format!("http://127.0.0.1:{}/metrics", gateway.metrics_port))
                    .await?;
            }
            self.start_balancer(&gateways::balancer(&self.config, &self.gateways))?;
        }
        let gateway = self.gateways[0].name;
        self.wait_for(gateway, &format!("http://127.0.0.1:{}/readyz", ports["gateway"])).await?;
        print_time(gateway, begun);
        Ok(())
    }

    /// Waits until the broker takes connections. If it does not start, the platform does without.
    pub async fn await_broker(&mut self, begun: Instant) -> anyhow::Result<()> {
        let Ok(broker) = &mut self.broker else { return Ok(()) };
        if let Err(error) = broker.answers().await {
            println!("  {error:#}");
            self.broker = Err(format!("see {}", broker::folder(&self.data).join("log").display()));
            self.stop_one("jobs").await;
            self.start("jobs", "jobs", &self.settings("jobs"))?;
            return self
                .wait_for("jobs", &format!("http://127.0.0.1:{}/readyz", self.config.ports["jobs"]))
                .await;
        }
        print_time("RabbitMQ", begun);
        Ok(())
    }

    fn settings(&self, service: &str) -> String {
        let mut text =
            settings::service(service, &self.endpoints, &self.datacenters, &self.data, &self.secrets);
        match service {
            "identity" if self.is_drilled => {
                text.push_str("\n[signing]\npublish_before_seconds = 6\npoll_seconds = 2\n");
                text
            }
            "jobs" if self.runs_jobs => {
                text.push_str(&settings::fleet(&self.config, &self.secrets));
                if let Ok(broker) = &self.broker {
                    text.push_str(&settings::mq(&self.config, &broker.url(), &broker.management_url()));
                }
                text
            }
            "gpu" if self.is_drilled => text.replace("[database]\n", "[database]\nmax_connections = 6\n"),
            _ => text,
        }
    }

    /// The second datacenter, for the demo.
    pub fn second(&self) -> Option<Second> {
        let datacenter = self.datacenters.get(1)?;
        let cluster = self.config_file(datacenter.cluster);
        Some(Second { datacenter: datacenter.name.to_owned(), cluster })
    }

    fn config_file(&self, name: &str) -> PathBuf {
        self.data.join(format!("config/{name}.toml"))
    }

    /// Starts a program as a process of this name.
    pub fn start(&mut self, program: &str, name: &'static str, config: &str) -> anyhow::Result<()> {
        let file = self.config_file(name);
        secrets::write_private(&file, config.as_bytes())?;
        let serves = !matches!(program, "devcluster" | "devs3");
        let program = self.programs.join(format!("atelier-{program}"));
        let log = self.data.join(format!("log/{name}.log"));
        let otlp = self.config.otlp.clone();
        self.processes.push(Supervised::start(name, move || {
            let mut command = process::command(&program, Signal::SIGTERM);
            if serves {
                command.arg("serve");
            }
            // enough for one user, regardless of the number of cores
            command.env("TOKIO_WORKER_THREADS", "2");
            if let Some(otlp) = otlp.as_ref().filter(|_| serves) {
                command.env("ATELIER_TELEMETRY__ENDPOINT", otlp);
                command.env("ATELIER_TELEMETRY__SAMPLE_RATIO", "1");
            }
            command.arg("--config").arg(&file);
            logged(command, &log)
        })?);
        Ok(())
    }

    /// Ends the process of this name in an orderly way.
    pub async fn stop_one(&mut self, name: &str) {
        if let Some(n) = self.processes.iter().position(|process| process.name() == name) {
            self.processes.remove(n).stop().await;
        }
    }

    /// Starts a registered worker of jobs that draws and trains on the CPU: the stand-ins as its engines, and the runner.
    pub async fn start_worker(&mut self, token: &str) -> anyhow::Result<()> {
        let (port, jobs) = (self.config.ports["engine"], self.config.ports["jobs_workers"]);
        let engine = self.programs.join("atelier-webui");
        let (log, pictures) = (self.data.join("log/engine.log"), self.data.join("engine"));
        let loras = self.data.join("engine-loras");
        let engine_loras = loras.clone();
        self.processes.push(Supervised::start("engine", move || {
            let mut command = process::command(&engine, Signal::SIGTERM);
            command.arg("--port").arg(port.to_string()).arg("--output-dir").arg(&pictures);
            command.arg("--lora-dir").arg(&engine_loras);
            logged(command, &log)
        })?);
        let trainer = self.programs.join("atelier-trainer");
        let runner = self.programs.join("atelier-runner");
        let (log, token) = (self.data.join("log/runner.log"), token.to_owned());
        self.processes.push(Supervised::start("runner", move || {
            let mut command = process::command(&runner, Signal::SIGTERM);
            command.env("ATELIER_JOBS_URL", format!("http://127.0.0.1:{jobs}"));
            command.env("ATELIER_WORKER_TOKEN", &token);
            command.env("ATELIER_ENGINE_URL", format!("http://127.0.0.1:{port}"));
            command.env("ATELIER_LORA_DIR", &loras).env("ATELIER_TRAINER_COMMAND", &trainer);
            logged(command, &log)
        })?);
        self.wait_for("engine", &format!("http://127.0.0.1:{port}/internal/ping")).await
    }

    /// Starts HAProxy with this configuration.
    pub fn start_balancer(&mut self, config: &str) -> anyhow::Result<()> {
        let file = self.data.join("config/balancer.cfg");
        std::fs::write(&file, config)?;
        let log = self.data.join("log/balancer.log");
        self.processes.push(Supervised::start(gateways::BALANCER, move || {
            let mut command = process::command("haproxy", Signal::SIGTERM);
            command.arg("-db").arg("-f").arg(&file);
            logged(command, &log)
        })?);
        Ok(())
    }

    /// Waits until the URL answers. Fails with the last lines of the log if the process ends first.
    pub async fn wait_for(&mut self, name: &'static str, url: &str) -> anyhow::Result<()> {
        let log = self.data.join(format!("log/{name}.log"));
        let (http, processes) = (&self.http, &mut self.processes);
        process::until(&format!("{name} is ready"), Duration::from_secs(30), async || {
            for process in processes.iter_mut() {
                if let Some(running) = process.running()
                    && running.name == name
                    && let Some(how) = running.has_ended()
                {
                    bail!("{name} ended ({how}):\n{}", last_lines(&log));
                }
            }
            // the object store answers 403 without credentials
            Ok(http.get(url).send().await.is_ok_and(|answer| !answer.status().is_server_error()))
        })
        .await
        .map_err(|error| error.context(format!("see {}", log.display())))
    }

    /// Restarts what ends, until `interrupted`.
    pub async fn watch(&mut self, interrupted: impl Future<Output = ()>) -> anyhow::Result<()> {
        let postgres = self.postgres.as_mut().context("Postgres is not up")?;
        tokio::select! {
            () = interrupted => Ok(()),
            () = supervise::keep_up(&mut self.processes) => Ok(()),
            () = broker::keep_up(self.broker.as_mut().ok()) => Ok(()),
            error = postgres.keep_up() => Err(error),
        }
    }

    /// The memory of the programs. Linux only.
    pub fn memory(&self) -> Option<Memory> {
        let mut platform = 0;
        for process in &self.processes {
            platform += process::memory(process.control().pid()?)?;
        }
        let postgres = self.postgres.as_ref()?.process.pid();
        let backends: u64 = process::children(postgres).into_iter().filter_map(process::memory).sum();
        let broker = self.broker.as_ref().ok().and_then(Broker::pid).and_then(process::memory);
        Some(Memory { platform, postgres: process::memory(postgres)? + backends, broker })
    }

    /// Stops everything in reverse order.
    pub async fn stop(&mut self) {
        while let Some(process) = self.processes.pop() {
            process.stop().await;
        }
        let broker = async {
            if let Ok(broker) = &mut self.broker {
                broker.stop().await;
            }
        };
        let postgres = async {
            if let Some(postgres) = self.postgres.take() {
                postgres.stop().await;
            }
        };
        tokio::join!(broker, postgres);
    }
}

fn last_lines(log: &Path) -> String {
    let text = std::fs::read_to_string(log).unwrap_or_default();
    let lines: Vec<_> = text.lines().collect();
    lines[lines.len().saturating_sub(10)..].join("\n")
}
