//! The cache with a local Valkey or Redis that is killed, slow, emptied, damaged or shared.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on must fail loudly")]

use std::{
    convert::Infallible,
    sync::atomic::{AtomicUsize, Ordering},
    time::{Duration, Instant},
};

use atelier_cache::{Area, Cache, CacheConfig, LOCAL_LIFE, PAUSE, Reads, TIMEOUT};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use service::Metrics;
use testkit::{SlowProxy, Valkey, eventually, within};

const LIFE: Duration = Duration::from_secs(60);

fn cache_at(service: &'static str, url: &str, key: u8) -> Cache {
    let config = CacheConfig { url: url.into(), key: STANDARD.encode([key; 32]).into() };
    Cache::new(service, Some(&config), &Metrics::default()).unwrap()
}

fn cache(store: &Valkey) -> Cache {
    cache_at("test", &store.url(), 1)
}

fn area(store: &Valkey) -> Area {
    cache(store).area("things")
}

/// Stores a value. Retries on a busy machine.
async fn put(area: &Area, key: &str, value: &str) {
    eventually("a value is stored", async || area.put(key, &value, LIFE).await.then_some(())).await;
}

async fn found(area: &Area, key: &str) -> Option<String> {
    area.get(key).await
}

#[tokio::test]
async fn replicas_share_values_that_nobody_can_read_in_the_store() {
    let store = Valkey::start().await;
    let (one, two) = (area(&store), area(&store));
    put(&one, "tenant-a:1", "very secret").await;
    eventually("the other replica finds it", async || found(&two, "tenant-a:1").await).await;
    assert_eq!(store.names().await, ["atelier:test:things:tenant-a:1"]);
    let bytes: Vec<u8> = store.run("GET", "atelier:test:things:tenant-a:1").await;
    assert!(!bytes.windows(6).any(|part| part == b"secret"));
    let life: i64 = store.run("PTTL", "atelier:test:things:tenant-a:1").await;
    assert!((1..=60_000).contains(&life), "{life}");
    // another service, another kind of value, and another key of encryption
    for other in [
        cache_at("other", &store.url(), 1).area("things"),
        cache(&store).area("others"),
        cache_at("test", &store.url(), 2).area("things"),
    ] {
        assert_eq!(found(&other, "tenant-a:1").await, None);
    }
    one.remove("tenant-a:1").await;
    eventually("it is removed", async || found(&two, "tenant-a:1").await.is_none().then_some(())).await;
}

#[tokio::test]
async fn a_value_that_was_damaged_or_moved_is_none() {
    let store = Valkey::start().await;
    let area = area(&store);
    put(&area, "tenant-a", "of a").await;
    put(&area, "tenant-b", "of b").await;
    let name = |key: &str| format!("atelier:test:things:{key}");
    let mut bytes: Vec<u8> = store.run("GET", name("tenant-a")).await;
    let () = store.run("SET", (name("tenant-b"), bytes.clone())).await;
    assert_eq!(found(&area, "tenant-b").await, None, "of another tenant");
    *bytes.last_mut().unwrap() ^= 1;
    for damaged in [bytes, b"\"of c\"".to_vec(), Vec::new()] {
        let () = store.run("SET", (name("tenant-a"), damaged)).await;
        assert_eq!(found(&area, "tenant-a").await, None);
    }
    let () = store.run("DEL", name("tenant-a")).await;
    let _: i64 = store.run("RPUSH", (name("tenant-a"), "no text at all")).await;
    assert_eq!(found(&area, "tenant-a").await, None);
    // a value of another type
    put(&area, "number", "seven").await;
    assert_eq!(area.get::<u32>("number").await, None);
    // the next stored value is found
    put(&area, "tenant-a", "of a").await;
    assert_eq!(eventually("it is found", async || found(&area, "tenant-a").await).await, "of a");
}

#[tokio::test]
async fn a_store_that_is_killed_answers_none_and_is_used_again() {
    let store = Valkey::start().await;
    let (area, port) = (area(&store), store.port());
    put(&area, "a", "1").await;
    drop(store);
    let begun = Instant::now();
    for _ in 0..200 {
        assert_eq!(found(&area, "a").await, None);
        assert!(!area.put("a", &"2", LIFE).await);
    }
    assert!(begun.elapsed() < Duration::from_secs(1), "{:?} for 400 calls", begun.elapsed());
    let _store = Valkey::at(port).await;
    put(&area, "a", "3").await;
    assert_eq!(eventually("it is found", async || found(&area, "a").await).await, "3");
}

#[tokio::test]
async fn a_slow_store_delays_few_calls() {
    let store = Valkey::start().await;
    let proxy = SlowProxy::start(format!("127.0.0.1:{}", store.port())).await;
    let area = cache_at("test", &format!("redis://{}", proxy.address()), 1).area("things");
    put(&area, "a", "1").await;
    proxy.hold_back(Duration::from_secs(5));
    let begun = Instant::now();
    let (mut late, mut calls) = (0, 0);
    while begun.elapsed() < Duration::from_millis(500) {
        let one = Instant::now();
        assert_eq!(found(&area, "a").await, None);
        calls += 1;
        late += usize::from(one.elapsed() >= TIMEOUT);
        tokio::task::yield_now().await;
    }
    assert!(late >= 1 && late * 10 <= calls, "{late} of {calls}");
    proxy.hold_back(Duration::ZERO);
    within(Duration::from_secs(10), "it is used again", async || found(&area, "a").await).await;
}

/// A TLS connection takes several round trips: a first call that had to open it would exceed its time.
#[tokio::test]
async fn a_connection_is_made_before_the_first_call() {
    let store = Valkey::start().await;
    let _cache = cache(&store);
    eventually("it has connected", async || {
        let clients: String = store.run("CLIENT", "LIST").await;
        // one of the two connections is that of this command
        (clients.lines().count() == 2).then_some(())
    })
    .await;
}

#[tokio::test]
async fn a_store_that_was_late_once_is_used_again_at_once() {
    let store = Valkey::start().await;
    let proxy = SlowProxy::start(format!("127.0.0.1:{}", store.port())).await;
    let area = cache_at("test", &format!("redis://{}", proxy.address()), 1).area("things");
    within(Duration::from_secs(20), "a moment costs a moment", async || {
        put(&area, "a", "1").await;
        proxy.hold_back(Duration::from_secs(5));
        assert!(!area.put("a", &"2", LIFE).await);
        proxy.hold_back(Duration::ZERO);
        let begun = Instant::now();
        put(&area, "a", "3").await;
        // on a busy machine the answer may be late again
        (begun.elapsed() < PAUSE / 2).then_some(())
    })
    .await;
}

#[tokio::test]
async fn a_full_store_stores_nothing_and_fails_nobody() {
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let store = Valkey::with(port, &["--maxmemory", "1", "--maxmemory-policy", "noeviction"]).await;
    let area = area(&store);
    assert!(!area.put("a", &"1", LIFE).await);
    assert_eq!(found(&area, "a").await, None);
}

#[tokio::test]
async fn a_store_with_a_password_is_used_with_it_only() {
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let _store = Valkey::with(port, &["--requirepass", "sesame"]).await;
    let with = cache_at("test", &format!("redis://:sesame@127.0.0.1:{port}"), 1).area("things");
    put(&with, "a", "1").await;
    let without = cache_at("test", &format!("redis://127.0.0.1:{port}"), 1).area("things");
    assert!(!without.put("a", &"2", LIFE).await);
    assert_eq!(eventually("it is found", async || found(&with, "a").await).await, "1");
}

/// Reads, and the number of those that the cache did not answer.
struct Source {
    value: AtomicUsize,
    reads: AtomicUsize,
}

impl Source {
    fn new() -> Self {
        Self { value: AtomicUsize::new(1), reads: AtomicUsize::new(0) }
    }

    async fn read(&self) -> Result<usize, Infallible> {
        self.reads.fetch_add(1, Ordering::SeqCst);
        Ok(self.value.load(Ordering::SeqCst))
    }

    async fn ask(&self, reads: &Reads) -> usize {
        reads.read(&"question", self.read()).await.unwrap()
    }

    /// Reads until the answer is cached.
    async fn is_remembered(&self, reads: &Reads) {
        eventually("an answer is remembered", async || {
            let before = self.reads.load(Ordering::SeqCst);
            self.ask(reads).await;
            (self.reads.load(Ordering::SeqCst) == before).then_some(())
        })
        .await;
    }
}

#[tokio::test]
async fn an_answer_is_read_once_by_all_replicas_until_something_changes() {
    let store = Valkey::start().await;
    let (one, two) = (Reads::new(&cache(&store), "reads"), Reads::new(&cache(&store), "reads"));
    let source = Source::new();
    source.is_remembered(&one).await;
    source.is_remembered(&two).await;
    source.value.store(2, Ordering::SeqCst);
    one.changed().await;
    assert_eq!((source.ask(&one).await, source.ask(&two).await), (2, 2));
    // an answer that was read before a change and is stored after it
    source.is_remembered(&one).await;
    let other = "another question";
    let late = one.read(&other, async {
        let before = source.read().await;
        source.value.store(3, Ordering::SeqCst);
        two.changed().await;
        before
    });
    assert_eq!(late.await.unwrap(), 2);
    assert_eq!(one.read(&other, source.read()).await.unwrap(), 3);
    // the store is empty
    let () = store.run("FLUSHALL", "SYNC").await;
    source.value.store(4, Ordering::SeqCst);
    assert_eq!(source.ask(&two).await, 4);
    // an error is not cached
    let failed: Result<u32, &str> = one.read(&"failing", async { Err("away") }).await;
    assert_eq!(failed, Err("away"));
    assert_eq!(one.read(&"failing", async { Ok::<_, &str>(5) }).await, Ok(5));
}

#[tokio::test]
async fn answers_are_read_while_the_store_is_away() {
    let store = Valkey::start().await;
    let reads = Reads::new(&cache(&store), "reads");
    let source = Source::new();
    source.is_remembered(&reads).await;
    drop(store);
    for value in 2..50 {
        source.value.store(value, Ordering::SeqCst);
        assert_eq!(source.ask(&reads).await, value);
    }
}

#[tokio::test]
async fn without_a_store_values_stay_in_the_process() {
    let new = || Cache::new("test", None, &Metrics::default()).unwrap();
    let (one, two) = (new(), new());
    assert!(!one.is_shared());
    assert!(one.area("things").put("a", &"1", LIFE).await);
    assert_eq!(found(&one.area("things"), "a").await.as_deref(), Some("1"));
    assert_eq!(found(&two.area("things"), "a").await, None);
    let (first, second) = (Reads::new(&one, "reads"), Reads::new(&two, "reads"));
    let source = Source::new();
    source.is_remembered(&first).await;
    source.is_remembered(&second).await;
    source.value.store(2, Ordering::SeqCst);
    first.changed().await;
    assert_eq!(source.ask(&first).await, 2, "at once where it was changed");
    let begun = Instant::now();
    eventually("the other process reads again", async || (source.ask(&second).await == 2).then_some(()))
        .await;
    assert!(begun.elapsed() < LOCAL_LIFE * 3, "{:?}", begun.elapsed());
}

#[tokio::test]
async fn what_is_configured_wrongly_is_named() {
    let refused = |url: &str, key: &str| {
        let config = CacheConfig { url: url.into(), key: key.into() };
        format!("{:#}", Cache::new("test", Some(&config), &Metrics::default()).err().unwrap())
    };
    let key = STANDARD.encode([1; 32]);
    assert!(refused("http://x", &key).starts_with("cache.url"));
    assert!(refused("redis://x", "short").starts_with("cache.key"));
}
