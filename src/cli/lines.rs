//! Lines of pipes, as bytes with their line endings. Each direction has its own queue, so that a
//! side that does not read delays nothing else.

use std::{
    io::{self, BufRead},
    thread,
};
use tokio::{
    io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader},
    sync::mpsc::{self, UnboundedReceiver, UnboundedSender, unbounded_channel},
    task::JoinHandle,
};

/// Writes what is queued. The task ends when the queue is dropped or the pipe is closed.
pub(super) fn writer(
    mut pipe: impl AsyncWrite + Unpin + Send + 'static,
) -> (UnboundedSender<Vec<u8>>, JoinHandle<()>) {
    let (send, mut lines) = unbounded_channel::<Vec<u8>>();
    let writing = tokio::spawn(async move {
        while let Some(line) = lines.recv().await {
            if pipe.write_all(&line).await.is_err() || pipe.flush().await.is_err() {
                return;
            }
        }
    });
    (send, writing)
}

/// The lines of a child's output.
pub(super) fn of_pipe(pipe: impl AsyncRead + Unpin + Send + 'static) -> UnboundedReceiver<Vec<u8>> {
    let (send, lines) = unbounded_channel();
    let mut pipe = BufReader::new(pipe);
    tokio::spawn(async move {
        let mut line = Vec::new();
        // Bytes and not text: a line that is no UTF-8 is passed on unchanged too.
        while pipe.read_until(b'\n', &mut line).await.is_ok_and(|length| length > 0) {
            if send.send(std::mem::take(&mut line)).is_err() {
                return;
            }
        }
    });
    lines
}

/// The lines of stdin, read in a thread of its own, because a blocking read of stdin cannot be
/// cancelled. tokio's stdin would keep the runtime from shutting down.
pub(super) fn of_stdin() -> mpsc::Receiver<Vec<u8>> {
    let (send, lines) = mpsc::channel(16);
    thread::spawn(move || {
        let mut stdin = io::stdin().lock();
        let mut line = Vec::new();
        while stdin.read_until(b'\n', &mut line).is_ok_and(|length| length > 0) {
            if send.blocking_send(std::mem::take(&mut line)).is_err() {
                return;
            }
        }
    });
    lines
}

/// These lines, and then the end.
pub(super) fn queued(lines: &[String]) -> mpsc::Receiver<Vec<u8>> {
    let (send, queue) = mpsc::channel(lines.len().max(1));
    for line in lines {
        // There is room for each, and dropping the sender ends the input behind them.
        let _ = send.try_send(format!("{line}\n").into_bytes());
    }
    queue
}
