//! Lines of pipes, as bytes with their line endings. Each direction has its own queue, so that a
//! side that does not read delays nothing else.

use super::say;
use anyhow::{Context as _, Result};
use std::{
    io::{self, BufRead, Read as _},
    thread,
    time::Duration,
};
use tokio::{
    io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader},
    process::Child,
    sync::mpsc::{self, UnboundedReceiver, UnboundedSender, unbounded_channel},
    task::JoinHandle,
    time::timeout,
};

/// The longest line that is read: many pictures in one message. One without an end must not fill
/// the memory.
const LONGEST: usize = 64 << 20;

/// The time for a reader to read the last lines.
const LAST_LINES: Duration = Duration::from_secs(2);

/// Lines that are queued for a pipe, and the task that writes them. It ends when this is dropped or
/// the pipe is closed.
pub(super) struct LineWriter {
    queue: UnboundedSender<Vec<u8>>,
    writing: JoinHandle<()>,
}

impl LineWriter {
    pub(super) fn new(mut pipe: impl AsyncWrite + Unpin + Send + 'static) -> Self {
        let (queue, mut lines) = unbounded_channel::<Vec<u8>>();
        let writing = tokio::spawn(async move {
            while let Some(line) = lines.recv().await {
                if pipe.write_all(&line).await.is_err() || pipe.flush().await.is_err() {
                    return;
                }
            }
        });
        Self { queue, writing }
    }

    /// Queues a line with its line ending.
    pub(super) fn send(&self, line: Vec<u8>) {
        // A reader that is gone is noticed elsewhere: where its process is awaited, or in `closed`.
        let _ = self.queue.send(line);
    }

    /// Returns once nobody reads any more.
    pub(super) async fn closed(&self) {
        self.queue.closed().await;
    }

    /// Writes the last lines.
    pub(super) async fn finish(self) {
        drop(self.queue);
        let _ = timeout(LAST_LINES, self.writing).await;
    }
}

/// The lines of a child's output.
pub(super) fn of_pipe(pipe: impl AsyncRead + Unpin + Send + 'static) -> UnboundedReceiver<Vec<u8>> {
    let (send, lines) = unbounded_channel();
    let mut pipe = BufReader::new(pipe);
    tokio::spawn(async move {
        let mut line = Vec::new();
        // Bytes and not text: a line that is no UTF-8 is passed on unchanged too.
        loop {
            let read = (&mut pipe).take(LONGEST as u64).read_until(b'\n', &mut line).await;
            if !goes_on(&read, &line) || send.send(std::mem::take(&mut line)).is_err() {
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
        loop {
            let read = (&mut stdin).take(LONGEST as u64).read_until(b'\n', &mut line);
            if !goes_on(&read, &line) || send.blocking_send(std::mem::take(&mut line)).is_err() {
                return;
            }
        }
    });
    lines
}

/// Returns whether this is a line, behind which another may come.
// FAIL-CLOSED: what follows a line that is too long is not read, as if the writer were gone.
fn goes_on(read: &io::Result<usize>, line: &[u8]) -> bool {
    let is_cut = line.len() >= LONGEST && !line.ends_with(b"\n");
    if is_cut {
        say::aside(&format!("a line of more than {} MiB: nothing more is read", LONGEST >> 20));
    }
    !is_cut && read.as_ref().is_ok_and(|length| *length > 0)
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

/// A line with its line ending, or the end of our own input.
pub(super) enum PipeInput {
    /// From the program that we run.
    Inner(Vec<u8>),
    /// From the program that runs us.
    Outer(Vec<u8>),
    /// The program that runs us closed its output.
    OuterEnded,
}

/// The lines in both directions, and the tasks that write them.
pub(super) struct Pipes {
    inner: UnboundedReceiver<Vec<u8>>,
    outer: mpsc::Receiver<Vec<u8>>,
    outer_ended: bool,
    to_inner: Option<LineWriter>,
    to_outer: LineWriter,
}

impl Pipes {
    /// Between a program that we run, and these lines and our own stdout.
    pub(super) fn with_lines(inner: &mut Child, outer: mpsc::Receiver<Vec<u8>>) -> Result<Self> {
        let stdin = inner.stdin.take().context("the program has no stdin")?;
        let stdout = inner.stdout.take().context("the program has no stdout")?;
        Ok(Self {
            inner: of_pipe(stdout),
            outer,
            outer_ended: false,
            to_inner: Some(LineWriter::new(stdin)),
            to_outer: LineWriter::new(tokio::io::stdout()),
        })
    }

    /// The next line of either side; `None` after the end of the inner program's output.
    pub(super) async fn next(&mut self) -> Option<PipeInput> {
        tokio::select! {
            line = self.inner.recv() => line.map(PipeInput::Inner),
            line = self.outer.recv(), if !self.outer_ended => Some(match line {
                Some(line) => PipeInput::Outer(line),
                None => {
                    self.outer_ended = true;
                    PipeInput::OuterEnded
                }
            }),
        }
    }

    pub(super) fn to_inner(&self, line: Vec<u8>) {
        if let Some(inner) = &self.to_inner {
            inner.send(line);
        }
    }

    pub(super) fn to_outer(&self, line: Vec<u8>) {
        self.to_outer.send(line);
    }

    /// Closes the inner program's input once everything queued is written.
    pub(super) fn close_inner(&mut self) {
        self.to_inner = None;
    }

    /// Writes the last lines.
    pub(super) async fn finish(self) {
        self.to_outer.finish().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_line_without_an_end_is_the_end_of_the_input() {
        let endless = AsyncReadExt::chain(&b"one\n\xff\n"[..], tokio::io::repeat(b'x'));
        let mut lines = of_pipe(endless);
        assert_eq!(lines.recv().await, Some(b"one\n".to_vec()));
        assert_eq!(lines.recv().await, Some(b"\xff\n".to_vec()));
        assert_eq!(lines.recv().await, None);
    }

    #[tokio::test]
    async fn a_last_line_needs_no_line_ending() {
        let mut lines = of_pipe(&b"one\ntwo"[..]);
        assert_eq!(lines.recv().await, Some(b"one\n".to_vec()));
        assert_eq!(lines.recv().await, Some(b"two".to_vec()));
        assert_eq!(lines.recv().await, None);
    }
}
