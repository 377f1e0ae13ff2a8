//! Notifications: one connection of a process listens to all channels that its workers wait on.

use std::{collections::HashMap, sync::Arc};

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

/// A channel to listen to, and where its notifications are asked for.
type Request = (&'static str, oneshot::Sender<broadcast::Receiver<Heard>>);

/// The connection, made when it is first needed. Clones share it.
#[derive(Debug, Clone)]
pub(crate) struct Listener {
    pool: PgPool,
    requests: Arc<Mutex<Option<mpsc::Sender<Request>>>>,
}

impl Listener {
    /// A listener on a connection of `pool`, which it has to itself.
    pub(crate) fn new(pool: PgPool) -> Self {
        Self { pool, requests: Arc::default() }
    }

    pub(crate) async fn listen(&self, channel: &'static str) -> sqlx::Result<Notifications> {
        let mut open = self.requests.lock().await;
        let requests = match &*open {
            Some(requests) if !requests.is_closed() => requests.clone(),
            _ => open.insert(start(&self.pool).await?).clone(),
        };
        let (answer, receiver) = oneshot::channel();
        // if the connection ends meanwhile, the request is dropped
        let _ = requests.send((channel, answer)).await;
        receiver.await.map(Notifications).map_err(|_| sqlx::Error::WorkerCrashed)
    }

    pub(crate) async fn close(&self) {
        self.pool.close().await;
    }
}

/// Notifications of one channel, from [`crate::Db::listen`].
#[derive(Debug)]
pub struct Notifications(broadcast::Receiver<Heard>);

impl Notifications {
    /// Waits for the next notification, and returns its payload. None if some may have been lost: the connection was made
    /// anew, or the receiver was too slow. May be dropped while it waits: nothing is lost then.
    ///
    /// # Errors
    /// If the connection is lost and cannot be made at once. The channel is then listened to no more.
    pub async fn recv(&mut self) -> Result<Option<Arc<str>>, Arc<sqlx::Error>> {
        match self.0.recv().await {
            Ok(Heard::Notified(payload)) => Ok(Some(payload)),
            Ok(Heard::Reconnected) | Err(RecvError::Lagged(_)) => Ok(None),
            Ok(Heard::Failed(error)) => Err(error),
            Err(RecvError::Closed) => Err(Arc::new(sqlx::Error::WorkerCrashed)),
        }
    }
}

async fn start(pool: &PgPool) -> sqlx::Result<mpsc::Sender<Request>> {
    let connection = connect(pool).await?;
    let (requests, received) = mpsc::channel(1);
    tokio::spawn(run(pool.clone(), connection, received));
    Ok(requests)
}

async fn connect(pool: &PgPool) -> sqlx::Result<PgListener> {
    let mut connection = PgListener::connect_with(pool).await?;
    connection.eager_reconnect(false);
    Ok(connection)
}

/// Hands out notifications until the connection fails or all users of the listener are gone.
async fn run(pool: PgPool, mut connection: PgListener, mut requests: mpsc::Receiver<Request>) {
    let mut channels = HashMap::<&'static str, broadcast::Sender<Heard>>::new();
    let error = loop {
        tokio::select! {
            request = requests.recv() => {
                let Some((channel, answer)) = request else { return };
                let is_heard = channels.contains_key(channel);
                let heard = channels.entry(channel).or_insert_with(|| broadcast::Sender::new(UNREAD)).subscribe();
                let listening = if is_heard { Ok(()) } else { connection.listen(channel).await };
                let _ = answer.send(heard);
                if let Err(error) = listening {
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
                        connection = anew;
                        tell(&channels, &Heard::Reconnected);
                    }
                    Err(error) => break error,
                }
                Err(error) => break error,
            },
        }
    };
    // a subscriber that is told may listen again at once, on a new connection
    drop(requests);
    tell(&channels, &Heard::Failed(Arc::new(error)));
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
