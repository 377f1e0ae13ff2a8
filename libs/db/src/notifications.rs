//! Notifications: one connection of a process listens to all channels that its tasks wait on. It also holds
//! the locks of the process, which need no writes and are released as soon as the process ends.

use std::{collections::HashMap, convert::Infallible, sync::Arc};

use sqlx::{PgPool, postgres::PgListener};
use tokio::sync::{
    Mutex,
    broadcast::{self, error::RecvError},
    mpsc, oneshot,
};

/// Notifications that a slow receiver may leave unread before the oldest are lost.
const UNREAD: usize = 1024;

#[derive(Debug, Clone)]
enum Heard {
    Notified(Arc<str>),
    Reconnected,
    Failed(Arc<sqlx::Error>),
}

/// Requests to the connection.
#[derive(Debug)]
enum Request {
    /// The notifications of a channel.
    Listen(&'static str, oneshot::Sender<broadcast::Receiver<Heard>>),
    /// A lock, if it is free.
    Lock(Arc<str>, oneshot::Sender<Option<oneshot::Receiver<Infallible>>>),
    /// The end of a lock.
    Unlock(Arc<str>),
}

/// The connection, made when it is first needed. Clones share it.
#[derive(Debug, Clone)]
pub(crate) struct Listener {
    pool: PgPool,
    requests: Arc<Mutex<Option<mpsc::UnboundedSender<Request>>>>,
}

impl Listener {
    /// A listener on a connection of `pool`, which it has to itself.
    pub(crate) fn new(pool: PgPool) -> Self {
        Self { pool, requests: Arc::default() }
    }

    pub(crate) async fn listen(&self, channel: &'static str) -> sqlx::Result<Notifications> {
        let requests = self.requests().await?;
        let (answer, receiver) = oneshot::channel();
        // if the connection ends meanwhile, the request is dropped
        let _ = requests.send(Request::Listen(channel, answer));
        receiver.await.map(Notifications).map_err(|_| sqlx::Error::WorkerCrashed)
    }

    pub(crate) async fn lock(&self, name: &str) -> sqlx::Result<Option<Lock>> {
        let (requests, name) = (self.requests().await?, Arc::<str>::from(name));
        let (answer, receiver) = oneshot::channel();
        let _ = requests.send(Request::Lock(Arc::clone(&name), answer));
        let lost = receiver.await.map_err(|_| sqlx::Error::WorkerCrashed)?;
        Ok(lost.map(|lost| Lock { name, requests, lost }))
    }

    async fn requests(&self) -> sqlx::Result<mpsc::UnboundedSender<Request>> {
        let mut open = self.requests.lock().await;
        Ok(match &*open {
            Some(requests) if !requests.is_closed() => requests.clone(),
            _ => open.insert(start(&self.pool).await?).clone(),
        })
    }

    pub(crate) async fn close(&self) {
        self.pool.close().await;
    }
}

/// Notifications of one channel, from [`crate::Db::listen`].
#[derive(Debug)]
pub struct Notifications(broadcast::Receiver<Heard>);

impl Notifications {
    /// Waits for the next notification, and returns its payload. None if some may have been lost: the connection was
    /// re-established, or the receiver was too slow. Cancel safe.
    ///
    /// # Errors
    /// If the connection is lost and cannot be made at once. After that, nothing listens to the channel.
    pub async fn recv(&mut self) -> Result<Option<Arc<str>>, Arc<sqlx::Error>> {
        match self.0.recv().await {
            Ok(Heard::Notified(payload)) => Ok(Some(payload)),
            Ok(Heard::Reconnected) | Err(RecvError::Lagged(_)) => Ok(None),
            Ok(Heard::Failed(error)) => Err(error),
            Err(RecvError::Closed) => Err(Arc::new(sqlx::Error::WorkerCrashed)),
        }
    }
}

/// A lock that this process has, from [`crate::Db::lock`]. It ends when this is dropped.
#[derive(Debug)]
pub struct Lock {
    name: Arc<str>,
    requests: mpsc::UnboundedSender<Request>,
    lost: oneshot::Receiver<Infallible>,
}

impl Lock {
    /// Waits until the connection that has the lock is lost: another process may have it then.
    pub async fn lost(&mut self) {
        // nothing is sent: the other end is dropped
        let _ = (&mut self.lost).await;
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // without the connection there is no lock
        let _ = self.requests.send(Request::Unlock(Arc::clone(&self.name)));
    }
}

async fn start(pool: &PgPool) -> sqlx::Result<mpsc::UnboundedSender<Request>> {
    let connection = connect(pool).await?;
    let (requests, received) = mpsc::unbounded_channel();
    tokio::spawn(run(pool.clone(), connection, received));
    Ok(requests)
}

async fn connect(pool: &PgPool) -> sqlx::Result<PgListener> {
    let mut connection = PgListener::connect_with(pool).await?;
    connection.eager_reconnect(false);
    Ok(connection)
}

/// Distributes notifications until the connection fails or all users of the listener are gone.
async fn run(pool: PgPool, mut connection: PgListener, mut requests: mpsc::UnboundedReceiver<Request>) {
    let mut channels = HashMap::<&'static str, broadcast::Sender<Heard>>::new();
    let mut locks = HashMap::<Arc<str>, oneshot::Sender<Infallible>>::new();
    let error = loop {
        tokio::select! {
            request = requests.recv() => {
                let Some(request) = request else { return };
                let done = match request {
                    Request::Listen(channel, answer) => {
                        let is_heard = channels.contains_key(channel);
                        let heard =
                            channels.entry(channel).or_insert_with(|| broadcast::Sender::new(UNREAD)).subscribe();
                        let listening = if is_heard { Ok(()) } else { connection.listen(channel).await };
                        let _ = answer.send(heard);
                        listening
                    }
                    Request::Lock(name, answer) => lock(&mut connection, &mut locks, name, answer).await,
                    Request::Unlock(name) => match locks.remove(&name) {
                        Some(_) => unlock(&mut connection, &name).await,
                        None => Ok(()),
                    },
                };
                if let Err(error) = done {
                    break error;
                }
            }
            heard = connection.try_recv() => match heard {
                Ok(Some(heard)) => {
                    if let Some(channel) = channels.get(heard.channel()) {
                        let _ = channel.send(Heard::Notified(heard.payload().into()));
                    }
                }
                Ok(None) => match reconnect(&pool, channels.keys().copied()).await {
                    Ok(anew) => {
                        locks.clear();
                        connection = anew;
                        tell(&channels, &Heard::Reconnected);
                    }
                    Err(error) => break error,
                }
                Err(error) => break error,
            },
        }
    };
    // a subscriber that learns of the end may listen again at once, on a new connection
    drop(requests);
    tell(&channels, &Heard::Failed(Arc::new(error)));
}

/// Takes a lock that is free in this process and in Postgres.
async fn lock(
    connection: &mut PgListener,
    locks: &mut HashMap<Arc<str>, oneshot::Sender<Infallible>>,
    name: Arc<str>,
    answer: oneshot::Sender<Option<oneshot::Receiver<Infallible>>>,
) -> sqlx::Result<()> {
    let is_taken = if locks.contains_key(&name) {
        false
    } else {
        let sql = "select pg_try_advisory_lock(hashtextextended(current_schema() || ':' || $1, 0))";
        sqlx::query_scalar(sql).bind(&*name).fetch_one(&mut *connection).await?
    };
    let (ended, lost) = oneshot::channel();
    if !is_taken {
        let _ = answer.send(None);
    } else if answer.send(Some(lost)).is_ok() {
        locks.insert(name, ended);
    } else {
        return unlock(connection, &name).await;
    }
    Ok(())
}

async fn unlock(connection: &mut PgListener, name: &str) -> sqlx::Result<()> {
    let sql = "select pg_advisory_unlock(hashtextextended(current_schema() || ':' || $1, 0))";
    sqlx::query(sql).bind(name).execute(connection).await.map(drop)
}

async fn reconnect(
    pool: &PgPool,
    channels: impl IntoIterator<Item = &'static str>,
) -> sqlx::Result<PgListener> {
    let mut connection = connect(pool).await?;
    connection.listen_all(channels).await?;
    Ok(connection)
}

fn tell(channels: &HashMap<&'static str, broadcast::Sender<Heard>>, what: &Heard) {
    for channel in channels.values() {
        let _ = channel.send(what.clone());
    }
}
