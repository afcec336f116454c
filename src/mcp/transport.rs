//! The transport: one JSON-RPC message a line on standard input and output.
//!
//! One thread reads, another writes. The reader checks each line before the protocol library sees it, and answers a
//! malformed one itself, with its id if that is usable, so that it does not end the server.

use std::collections::HashSet;
use std::io::{BufRead, Read as _, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};

use rmcp::RoleServer;
use rmcp::model::{ClientJsonRpcMessage, ClientNotification, ClientRequest, JsonRpcMessage, RequestId};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use serde_json::{Value, json};
use tokio::sync::{Notify, mpsc as channel, oneshot};

use crate::error::{Error, Result};

/// The longest line that is read.
const MAX_LINE_BYTES: u64 = 16 << 20;
/// The largest number of messages in the queue.
const QUEUE: usize = 64;

/// The requests that we answer.
const METHODS: &[&str] = &[
    "initialize",
    "ping",
    "server/discover",
    "tools/list",
    "tools/call",
    "resources/list",
    "resources/templates/list",
    "resources/read",
    "prompts/list",
    "prompts/get",
    "completion/complete",
];

/// A line to write, and a sender that reports when it is written.
type Line = (String, Option<oneshot::Sender<()>>);

/// Requests that are not answered yet.
#[derive(Default)]
struct Open {
    ids: Mutex<HashSet<RequestId>>,
    changed: Notify,
}

impl Open {
    fn ids(&self) -> MutexGuard<'_, HashSet<RequestId>> {
        self.ids.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Removes a request that was answered or cancelled.
    fn answered(&self, id: Option<&RequestId>) {
        if let Some(id) = id {
            self.ids().remove(id);
            self.changed.notify_waiters();
        }
    }

    /// Waits until every request is answered or cancelled.
    async fn settled(&self) {
        loop {
            let changed = self.changed.notified();
            if self.ids().is_empty() {
                return;
            }
            changed.await;
        }
    }
}

/// The connection to a client.
pub struct Wire {
    incoming: channel::Receiver<ClientJsonRpcMessage>,
    outgoing: Option<mpsc::Sender<Line>>,
    open: Arc<Open>,
    has_ended: Arc<AtomicBool>,
}

/// The thread that writes.
pub struct Writer {
    thread: std::thread::JoinHandle<()>,
    has_ended: Arc<AtomicBool>,
}

impl Writer {
    /// Waits until everything is written, if the input has ended. The [`Wire`] must have been dropped.
    pub fn finish(self) {
        // Otherwise the reader may wait for a line for ever, and holds a sender of the writer's queue.
        if self.has_ended.load(Ordering::Acquire) {
            let _ = self.thread.join();
        }
    }
}

impl Wire {
    /// Starts a reading and a writing thread; each creates its `input` or `output`.
    ///
    /// # Errors
    ///
    /// If a thread cannot be started.
    pub fn start<I: BufRead, O: Write>(
        input: impl FnOnce() -> I + Send + 'static,
        output: impl FnOnce() -> O + Send + 'static,
    ) -> Result<(Self, Writer)> {
        let fail = |error: std::io::Error| Error::other("cannot start a thread").because(error);
        let (outgoing, lines) = mpsc::channel::<Line>();
        let thread =
            std::thread::Builder::new().name("writer".into()).spawn(move || write(output(), &lines)).map_err(fail)?;
        let (sender, incoming) = channel::channel(QUEUE);
        let open = Arc::new(Open::default());
        let reader = Reader { replies: outgoing.clone(), sender, open: Arc::clone(&open), is_open: false };
        std::thread::Builder::new().name("reader".into()).spawn(move || reader.run(input())).map_err(fail)?;
        let has_ended = Arc::new(AtomicBool::new(false));
        let writer = Writer { thread, has_ended: Arc::clone(&has_ended) };
        Ok((Wire { incoming, outgoing: Some(outgoing), open, has_ended }, writer))
    }
}

impl Transport<RoleServer> for Wire {
    type Error = std::io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = std::result::Result<(), Self::Error>> + Send + 'static {
        let outgoing = self.outgoing.clone();
        let open = Arc::clone(&self.open);
        async move {
            let line = serde_json::to_string(&item)?;
            let id = match &item {
                JsonRpcMessage::Response(response) => Some(&response.id),
                JsonRpcMessage::Error(error) => error.id.as_ref(),
                JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_) => None,
            };
            let (done, written) = oneshot::channel();
            let gone = || std::io::Error::from(std::io::ErrorKind::BrokenPipe);
            outgoing.ok_or_else(gone)?.send((line, Some(done))).map_err(|_| gone())?;
            let outcome = written.await.map_err(|_| gone());
            open.answered(id);
            outcome
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        match self.incoming.recv().await {
            Some(message) => Some(message),
            None => {
                // Requests that came before the end of the input are still answered.
                self.open.settled().await;
                self.has_ended.store(true, Ordering::Release);
                None
            }
        }
    }

    async fn close(&mut self) -> std::result::Result<(), Self::Error> {
        self.outgoing = None;
        Ok(())
    }
}

fn write(mut output: impl Write, lines: &mpsc::Receiver<Line>) {
    for (line, done) in lines {
        let written = output.write_all(line.as_bytes()).and_then(|()| output.write_all(b"\n"));
        if written.and_then(|()| output.flush()).is_err() {
            // The client has closed the pipe.
            std::process::exit(0);
        }
        if let Some(done) = done {
            let _ = done.send(());
        }
    }
}

/// Reads and checks lines.
struct Reader {
    // Declared, and so dropped, before `sender`: when the queue of messages ends, all replies have been sent.
    replies: mpsc::Sender<Line>,
    sender: channel::Sender<ClientJsonRpcMessage>,
    open: Arc<Open>,
    /// Whether the client has initialized.
    is_open: bool,
}

/// The decision about a line.
enum Verdict {
    Pass(Box<ClientJsonRpcMessage>),
    Ignore,
    Refuse { id: Value, code: i64, message: String },
}

impl Reader {
    fn run(mut self, mut input: impl BufRead) {
        let mut is_first = true;
        loop {
            let mut line = Vec::new();
            match input.by_ref().take(MAX_LINE_BYTES + 1).read_until(b'\n', &mut line) {
                Ok(0) | Err(_) => return,
                Ok(_) => {}
            }
            if line.len() as u64 > MAX_LINE_BYTES && line.last() != Some(&b'\n') {
                drop(line);
                if input.skip_until(b'\n').is_err() {
                    return;
                }
                self.refuse(&Value::Null, -32600, "the message is longer than 16 MiB");
                continue;
            }
            let mut text = line.trim_ascii();
            if is_first {
                // Some clients begin with a byte order mark, and some with blank lines.
                text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text).trim_ascii();
            }
            if text.is_empty() {
                continue;
            }
            is_first = false;
            match self.judge(text) {
                Verdict::Pass(message) => {
                    if self.sender.blocking_send(*message).is_err() {
                        return;
                    }
                }
                Verdict::Ignore => {}
                Verdict::Refuse { id, code, message } => self.refuse(&id, code, &message),
            }
        }
    }

    fn refuse(&self, id: &Value, code: i64, message: &str) {
        let reply = json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": message } });
        let _ = self.replies.send((reply.to_string(), None));
    }

    fn judge(&mut self, line: &[u8]) -> Verdict {
        let refuse = |id: &Value, code: i64, message: String| Verdict::Refuse { id: id.clone(), code, message };
        let null = Value::Null;
        let text = match std::str::from_utf8(line) {
            Ok(text) => text,
            Err(_) => return refuse(&null, -32700, "parse error: the line is not UTF-8".into()),
        };
        let mut value: Value = match serde_json::from_str(text) {
            Ok(value) => value,
            Err(error) => return refuse(&null, -32700, format!("parse error: {error}")),
        };
        let Some(object) = value.as_object_mut() else {
            return refuse(&null, -32600, "invalid request: a message is one object".into());
        };
        let method = object.get("method").and_then(Value::as_str).map(str::to_owned);
        let Some(id) = object.get("id").cloned() else {
            return match method {
                Some(_) => self.notification(value),
                None if object.contains_key("method") => Verdict::Ignore,
                None => refuse(&null, -32600, "invalid request: there is neither a method nor an id".into()),
            };
        };
        if !(id.is_string() || id.is_i64()) {
            return refuse(&null, -32600, "invalid request: the id must be a string or an integer".into());
        }
        let is_response = object.contains_key("result") || object.contains_key("error");
        let Some(method) = method else {
            // The server sends no requests, so a response is for nobody.
            if is_response && !object.contains_key("method") {
                return Verdict::Ignore;
            }
            return refuse(&id, -32600, "invalid request: the method is missing".into());
        };
        if object.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
            return refuse(&id, -32600, "invalid request: jsonrpc must be \"2.0\"".into());
        }
        if !METHODS.contains(&method.as_str()) {
            let shown = crate::outside::quoted(&method);
            return refuse(&id, -32601, format!("method not found: {shown}"));
        }
        match object.get("params") {
            Some(Value::Null) => drop(object.remove("params")),
            Some(params) if !params.is_object() => return refuse(&id, -32602, "params must be an object".into()),
            _ => {}
        }
        let params = object.get("params");
        if params.and_then(|params| params.get("cursor")).is_some_and(|cursor| !cursor.is_string()) {
            return refuse(&id, -32602, "invalid cursor: it must be a string".into());
        }
        let is_modern =
            params.is_some_and(|params| params.pointer("/_meta/io.modelcontextprotocol~1protocolVersion").is_some());
        // The library answers a ping of any protocol version.
        if is_modern && method == "ping" {
            return refuse(&id, -32601, format!("method not found: {method}"));
        }
        let decoded: std::result::Result<ClientJsonRpcMessage, _> = serde_json::from_value(value);
        match decoded {
            // The library parses any request that fits no known method as a custom one.
            Ok(JsonRpcMessage::Request(request)) if !matches!(request.request, ClientRequest::CustomRequest(_)) => {
                self.is_open |= method == "initialize" || (is_modern && method != "server/discover");
                self.open.ids().insert(request.id.clone());
                Verdict::Pass(Box::new(JsonRpcMessage::Request(request)))
            }
            _ => refuse(&id, -32602, format!("invalid params for {method}")),
        }
    }

    fn notification(&mut self, value: Value) -> Verdict {
        if !self.is_open || value.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
            return Verdict::Ignore;
        }
        match serde_json::from_value::<ClientJsonRpcMessage>(value) {
            Ok(JsonRpcMessage::Notification(notification)) => {
                if let ClientNotification::CancelledNotification(cancelled) = &notification.notification {
                    self.open.answered(cancelled.params.request_id.as_ref());
                }
                Verdict::Pass(Box::new(JsonRpcMessage::Notification(notification)))
            }
            _ => Verdict::Ignore,
        }
    }
}
