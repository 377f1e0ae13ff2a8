//! The events of an outbox that a reader sees.

use std::collections::HashSet;

use api::ErrorChain;
use db::Db;
use feed::{Outbox, Page};
use serde_json::Value;
use service::EventSender;

use crate::{
    Reader,
    follow::{End, Source, message},
    hub::Key,
    now,
    position::Position,
    watched::Subscription,
};

/// Events that are read at a time.
const PAGE: u32 = 200;

pub(crate) struct Follower {
    pub(crate) db: Db,
    pub(crate) reader: Reader,
    pub(crate) outbox: Outbox,
    pub(crate) changes: Subscription<Key>,
    /// there were no events until now
    pub(crate) position: Position,
}

impl Source for Follower {
    fn begin(&mut self) -> Option<String> {
        Some(self.position.to_string())
    }

    async fn send(&mut self, out: &EventSender) -> Result<bool, End> {
        self.changes.seen();
        let mut is_sent = false;
        while self.send_page(out, &mut is_sent).await? {}
        Ok(is_sent)
    }

    async fn changed(&mut self) -> Result<(), End> {
        self.changes.changed().await;
        Ok(())
    }

    fn idle(&mut self) -> Option<String> {
        // there was nothing until now
        self.position.at = now().as_second();
        Some(self.position.to_string())
    }
}

impl Follower {
    /// Sends the next events, equal ones only once. Returns whether there may be more.
    async fn send_page(&mut self, out: &EventSender, is_sent: &mut bool) -> Result<bool, End> {
        let at = now().as_second();
        let page = self.read().await.map_err(|error| {
            tracing::warn!(error = %ErrorChain(&error), "cannot read events");
            End::Unavailable
        })?;
        let mut sent = HashSet::new();
        for (cursor, item) in page.items {
            let event = item.change;
            let data = event.to_string();
            let kind = event["type"].as_str().unwrap_or_default();
            if !sent.contains(&data) {
                let position = Position { at: self.position.at, cursor };
                out.send(message(Some(&position), kind, &data)).await?;
                sent.insert(data);
                *is_sent = true;
            }
        }
        self.position.cursor = page.next;
        if page.complete {
            self.position.at = at;
        }
        Ok(!page.complete)
    }

    async fn read(&self) -> sqlx::Result<Page<Value>> {
        let mut tx = self.reader.begin(&self.db).await?;
        self.outbox.page(&mut tx, &self.position.cursor, PAGE).await
    }
}
