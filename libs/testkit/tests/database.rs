//! A test's database is removed with the test, even if the test leaves work unfinished.

#![expect(clippy::unwrap_used, reason = "a failed assertion is the point of a test")]

use atelier_testkit::TestDb;
use sqlx::{Connection as _, PgConnection};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    runtime::{Builder, Runtime},
};

fn runtime() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

/// A connection to `database` that does not answer the server's request for a password.
async fn half_open(database: &str) -> TcpStream {
    let server: url::Url = std::env::var("TEST_POSTGRES").unwrap().parse().unwrap();
    let address = (server.host_str().unwrap(), server.port().unwrap());
    let mut stream = TcpStream::connect(address).await.unwrap();
    let startup = format!("\0\x03\0\0user\0{}\0database\0{database}\0\0", server.username());
    stream.write_u32(u32::try_from(startup.len()).unwrap() + 4).await.unwrap();
    stream.write_all(startup.as_bytes()).await.unwrap();
    let mut authentication = [0; 9];
    stream.read_exact(&mut authentication).await.unwrap();
    assert_eq!(authentication[0], b'R', "{authentication:?}");
    stream
}

#[test]
fn a_half_open_connection_does_not_block_the_removal() {
    let runtime = runtime();
    let name = runtime.block_on(async {
        let database = TestDb::new();
        let mut admin = database.admin().await;
        let name: String =
            sqlx::query_scalar("select current_database()").fetch_one(&mut admin).await.unwrap();
        let waiting = half_open(&name).await;
        drop(database);
        let mut rest = [0; 1024];
        while let Ok(read) = waiting.try_read(&mut rest) {
            assert_ne!(read, 0, "the server closed the connection before the removal let the test continue");
        }
        tokio::spawn(async move {
            let _open = waiting;
            std::future::pending::<()>().await;
        });
        name
    });
    drop(runtime);
    self::runtime().block_on(async {
        let mut conn = PgConnection::connect(&std::env::var("TEST_POSTGRES").unwrap()).await.unwrap();
        let exists: bool = sqlx::query_scalar("select exists(select from pg_database where datname = $1)")
            .bind(name)
            .fetch_one(&mut conn)
            .await
            .unwrap();
        assert!(!exists, "the database outlived the runtime");
    });
}
