//! Sends rows of the log to a syslog receiver (RFC 5424).

use crate::config::SyslogAddress;
use countersign_domain::log::{LogLine, LogRow};
use countersign_tokens::clock;
use std::time::Duration;
use tokio::{
    io::AsyncWriteExt,
    net::{TcpStream, UdpSocket, UnixDatagram},
    time::timeout,
};

/// How long a connection and a page of rows may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// The largest message, in bytes: more may not fit into a datagram.
const LARGEST: usize = 8_000;

/// Sends these rows.
pub(super) async fn send(address: &SyslogAddress, lines: &[LogLine]) -> Result<(), String> {
    let host = gethostname::gethostname().to_string_lossy().into_owned();
    let messages = lines.iter().filter_map(|line| match line {
        LogLine::Row(row, hash) => Some(message(&host, row, hash)),
        LogLine::Checkpoint(_) => None,
    });
    let messages: Vec<String> = messages.collect();
    let sent = timeout(PATIENCE, send_messages(address, &messages)).await;
    sent.map_err(|_| "it takes too long".to_owned())?.map_err(|error| error.to_string())
}

async fn send_messages(address: &SyslogAddress, messages: &[String]) -> std::io::Result<()> {
    match address {
        SyslogAddress::Udp(host) => {
            let socket = match tokio::net::lookup_host(host).await?.next() {
                Some(to) if to.is_ipv6() => UdpSocket::bind("[::]:0").await?,
                _ => UdpSocket::bind("0.0.0.0:0").await?,
            };
            socket.connect(host).await?;
            for message in messages {
                socket.send(message.as_bytes()).await?;
            }
        }
        SyslogAddress::Unix(path) => {
            let socket = UnixDatagram::unbound()?;
            socket.connect(path)?;
            for message in messages {
                socket.send(message.as_bytes()).await?;
            }
        }
        SyslogAddress::Tcp(host) => {
            let mut stream = TcpStream::connect(host).await?;
            for message in messages {
                // Octet counting (RFC 6587).
                let framed = format!("{} {message}", message.len());
                stream.write_all(framed.as_bytes()).await?;
            }
            stream.shutdown().await?;
        }
    }
    Ok(())
}

/// A row as a message of the facility "log audit".
fn message(host: &str, row: &LogRow, hash: &str) -> String {
    let LogRow { seq, at, kind, ask, data } = row;
    // A warning for what was refused, information for the rest.
    let warns = matches!(kind.as_str(), "ruled" | "refused" | "log_broken" | "log_key");
    let severity = if warns { 4 } else { 6 };
    let priority = 13 * 8 + severity;
    let (at, ask) = (clock::rfc3339(*at), ask.as_deref().unwrap_or("-"));
    let plain = |text: &str| -> String {
        let graphic = text.chars().filter(char::is_ascii_graphic).take(200).collect::<String>();
        if graphic.is_empty() { "-".to_owned() } else { graphic }
    };
    let (host, kind) = (plain(host), plain(kind));
    let mut message = format!(
        "<{priority}>1 {at} {host} countersign {} {kind} [countersign@32473 seq=\"{seq}\" \
         ask=\"{ask}\" hash=\"{hash}\"] ",
        std::process::id()
    );
    let room = LARGEST.saturating_sub(message.len());
    match data.len() > room {
        true => {
            let cut = (0..=room).rev().find(|at| data.is_char_boundary(*at)).unwrap_or(0);
            message.push_str(data.get(..cut).unwrap_or_default());
            message.push('…');
        }
        false => message.push_str(data),
    }
    message
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(kind: &str, data: &str) -> LogRow {
        let ask = Some("k3f9".to_owned());
        LogRow { seq: 7, at: 1_766_743_200_123, kind: kind.to_owned(), ask, data: data.to_owned() }
    }

    #[test]
    fn a_row_is_a_message_of_rfc_5424() {
        let pid = std::process::id();
        let wanted = format!(
            "<110>1 {} mill countersign {pid} answered [countersign@32473 seq=\"7\" \
             ask=\"k3f9\" hash=\"ab\"] {{\"a\":1}}",
            clock::rfc3339(1_766_743_200_123)
        );
        assert_eq!(message("mill", &row("answered", "{\"a\":1}"), "ab"), wanted);
        assert!(message("a b\n", &row("ruled", ""), "").starts_with("<108>1 "));
        assert!(message("a b\n", &row("ruled", ""), "").contains(" ab countersign "));
    }

    #[test]
    fn a_long_row_is_cut_and_its_hash_is_not() {
        let long = message("mill", &row("ruled", &"ü".repeat(9_000)), &"0".repeat(64));
        assert!(long.len() <= LARGEST + 3 && long.ends_with('…'), "{}", long.len());
        assert!(long.contains(&"0".repeat(64)));
    }
}
