//! Forwarded ports: `direct-tcpip` to the instance's own ports, over the cluster's `portforward`.
//!
//! `portforward` has no half-close. What the instance still sends after the client has ended its side arrives, as long
//! as it sends something.

use std::time::Duration;

use api::ErrorChain;
use clusters::{Forward, Forwarded};
use ids::InstanceId;
use russh::{
    Channel, ChannelMsg, ChannelOpenFailure,
    server::{ChannelOpenHandle, Msg},
};
use tokio::time::{interval, timeout};

use super::{
    access,
    channel::{self, Inbox, Outbox},
    context::Context,
    exec::PING,
    metrics::Kind,
};

/// How long the instance may be silent after the client has ended its side.
const LINGER: Duration = Duration::from_secs(60);

/// Returns the port, if the host is the instance itself.
pub(super) fn port(host: &str, port: u32, instance: InstanceId) -> Option<u16> {
    let local = host.eq_ignore_ascii_case("localhost")
        || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
        || access::instance(host) == Some(instance);
    u16::try_from(port).ok().filter(|port| local && *port > 0)
}

/// Connects to the port and copies bytes until one side ends.
pub(super) async fn run(context: Context, channel: Channel<Msg>, reply: ChannelOpenHandle, port: u16) {
    let stop = context.stop.clone();
    stop.run_until_cancelled(async {
        let opened = match context.container().await {
            Ok(container) => container.cluster.forward(&container.pod, port).await.map_err(|error| {
                tracing::debug!(error = %ErrorChain(&error), port, "cannot forward port");
            }),
            Err(_) => Err(()),
        };
        let Ok((to, from)) = opened else {
            reply.reject(ChannelOpenFailure::ConnectFailed).await;
            return;
        };
        context.admitted.count(Kind::Forward);
        context.ssh.metrics.channel(Kind::Forward);
        reply.accept().await;
        let (reader, writer) = channel::split(channel);
        tokio::select! {
            () = send(&context, reader, to) => {}
            () = receive(&context, &writer, from) => {}
        }
        writer.end(None).await;
    })
    .await;
}

/// Copies what the client sends, until its channel is closed or both sides have been silent after its end.
async fn send(context: &Context, mut reader: Inbox, mut to: Forward) {
    let mut ping = interval(PING);
    let mut active = context.admitted.activity();
    loop {
        tokio::select! {
            message = reader.wait() => match message {
                Some(ChannelMsg::Data { data }) => {
                    context.admitted.touch();
                    if to.write(&data).await.is_err() {
                        return;
                    }
                }
                Some(ChannelMsg::Eof) => break,
                Some(ChannelMsg::Close) | None => return,
                Some(_) => {}
            },
            _ = ping.tick() => if to.ping().await.is_err() { return },
        }
    }
    let silence = async { while timeout(LINGER, active.changed()).await.is_ok() {} };
    let closed = async { while !matches!(reader.wait().await, Some(ChannelMsg::Close) | None) {} };
    tokio::select! {
        () = silence => {}
        () = closed => {}
    }
}

async fn receive(context: &Context, writer: &Outbox, mut from: Forwarded) {
    loop {
        match from.next().await {
            Some(Ok(bytes)) => {
                context.admitted.touch();
                if writer.data(bytes).await.is_err() {
                    return;
                }
            }
            Some(Err(why)) => {
                tracing::debug!(why, "forwarded port failed");
                return;
            }
            None => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_instance_itself_is_reached() {
        let id = InstanceId::new();
        for host in
            ["localhost", "LOCALHOST", "127.0.0.1", "127.1.2.3", "::1", &id.to_string(), &id.k8s_name()]
        {
            assert_eq!(port(host, 7860, id), Some(7860), "{host}");
        }
        for host in
            ["", "10.0.0.1", "169.254.169.254", "0.0.0.0", "example.com", &InstanceId::new().to_string()]
        {
            assert_eq!(port(host, 7860, id), None, "{host}");
        }
        assert_eq!(port("localhost", 0, id), None);
        assert_eq!(port("localhost", 65536, id), None);
    }
}
