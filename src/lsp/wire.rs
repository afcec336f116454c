//! Messages of the protocol in a stream: a header with a length, and JSON of that length.

use std::io::{self, BufRead, Read as _, Write};

use serde_json::{Value, json};

use crate::error::{Error, Result};

/// The longest message that is read: a text of this length is beyond what editors open.
const MAX_BYTES: u64 = 64 << 20;
/// The longest line of a header.
const MAX_HEADER_BYTES: u64 = 4096;
/// The most lines of a header.
const MAX_HEADERS: usize = 64;

/// A message of the editor.
#[derive(Debug, PartialEq)]
pub enum Incoming {
    /// A request, which wants an answer.
    Request {
        /// The id that the answer repeats: a number or a text.
        id: Value,
        /// The method.
        method: String,
        /// The parameters; null if there are none.
        params: Value,
    },
    /// A notification, which wants none.
    Notification {
        /// The method.
        method: String,
        /// The parameters; null if there are none.
        params: Value,
    },
    /// An answer. Nothing is asked of the editor.
    Response,
    /// A well-framed text that is no message: the code and the text of the error that the editor gets.
    Bad(Code, String),
}

/// The codes of errors, as in JSON-RPC 2.0 and in the protocol.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[repr(i32)]
pub enum Code {
    /// The text is no JSON.
    ParseError = -32700,
    /// The text is no request, or not one for this moment.
    InvalidRequest = -32600,
    /// There is no such method.
    MethodNotFound = -32601,
    /// The parameters are not those of the method.
    InvalidParams = -32602,
    /// A request before `initialize`.
    NotInitialized = -32002,
}

/// Reads the next message; `None` at the end of the stream.
///
/// # Errors
///
/// If the stream is not the protocol: where the next message would begin is then unknown. Also if a message is longer than
/// [`MAX_BYTES`], and if it cannot be read.
pub fn read(input: &mut impl BufRead) -> Result<Option<Incoming>> {
    let Some(bytes) = read_length(input)? else { return Ok(None) };
    if bytes > MAX_BYTES {
        return Err(broken(&format!("a message of {bytes} bytes is too long")));
    }
    let mut text = Vec::new();
    let read = input.take(bytes).read_to_end(&mut text).map_err(unreadable)?;
    if (read as u64) < bytes {
        return Err(broken("the stream ends within a message"));
    }
    Ok(Some(match serde_json::from_slice(&text) {
        Ok(message) => incoming(message),
        Err(error) => Incoming::Bad(Code::ParseError, error.to_string()),
    }))
}

/// Reads a header and returns the length of what follows; `None` at the end of the stream.
fn read_length(input: &mut impl BufRead) -> Result<Option<u64>> {
    let mut length = None;
    for number in 0..MAX_HEADERS {
        let mut line = Vec::new();
        input.take(MAX_HEADER_BYTES).read_until(b'\n', &mut line).map_err(unreadable)?;
        if line.is_empty() && number == 0 {
            return Ok(None);
        }
        let text = line.strip_suffix(b"\n").and_then(|line| std::str::from_utf8(line).ok());
        let text = text.ok_or_else(|| broken("there is no header"))?.trim_end_matches('\r');
        if text.is_empty() {
            return Ok(Some(length.ok_or_else(|| broken("the header has no 'Content-Length'"))?));
        }
        let (name, value) = text.split_once(':').ok_or_else(|| broken("there is no header"))?;
        if name.trim().eq_ignore_ascii_case("Content-Length") {
            length = Some(value.trim().parse().map_err(|_| broken("the 'Content-Length' is no number"))?);
        }
    }
    Err(broken("the header does not end"))
}

fn incoming(mut message: Value) -> Incoming {
    let method = message.get("method").and_then(Value::as_str).map(str::to_owned);
    let params = message.get_mut("params").map(Value::take).unwrap_or_default();
    match (method, message.get("id")) {
        (Some(method), Some(id)) if id.is_number() || id.is_string() => {
            Incoming::Request { id: id.clone(), method, params }
        }
        (Some(method), None) => Incoming::Notification { method, params },
        (None, Some(_)) if message.get("result").is_some() || message.get("error").is_some() => Incoming::Response,
        _ => Incoming::Bad(Code::InvalidRequest, "this is no request".to_owned()),
    }
}

/// Writes the answer to a request; with a null `id`, the answer to a text that was no request.
///
/// # Errors
///
/// If the editor does not read any more.
pub fn write(out: &mut impl Write, id: &Value, outcome: Result<Value, (Code, String)>) -> io::Result<()> {
    let message = match outcome {
        Ok(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
        Err((code, message)) => {
            json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code as i32, "message": message } })
        }
    };
    let text = message.to_string();
    write!(out, "Content-Length: {}\r\n\r\n{text}", text.len())?;
    out.flush()
}

fn broken(reason: &str) -> Error {
    Error::other("cannot speak with the editor").because(reason.to_owned())
}

fn unreadable(error: io::Error) -> Error {
    Error::other("cannot read what the editor says").because(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn framed(text: &str) -> String {
        format!("Content-Length: {}\r\n\r\n{text}", text.len())
    }

    fn told(stream: &str) -> String {
        match read(&mut stream.as_bytes()) {
            Ok(message) => format!("{message:?}"),
            Err(error) => format!("{error}"),
        }
    }

    #[test]
    fn a_stream_is_messages_and_nothing_else() {
        let request = r#"{"jsonrpc":"2.0","id":"a","method":"shutdown"}"#;
        let expected = Incoming::Request { id: "a".into(), method: "shutdown".into(), params: Value::Null };
        let stream = format!("content-length:{}\nContent-Type: x\n\n{request}", request.len());
        assert_eq!(read(&mut stream.as_bytes()).ok().flatten(), Some(expected), "as lenient as a header may be");
        assert_eq!(told(""), "None");
        let refused = "cannot speak with the editor: ";
        for (stream, reason) in [
            ("hello\n", "there is no header"),
            ("hello", "there is no header"),
            ("\r\n", "the header has no 'Content-Length'"),
            ("Content-Length: -1\r\n\r\n", "the 'Content-Length' is no number"),
            ("Content-Length: 99999999999999999999\r\n\r\n", "the 'Content-Length' is no number"),
            ("Content-Length: 18446744073709551615\r\n\r\n", "a message of 18446744073709551615 bytes is too long"),
            ("Content-Length: 9\r\n\r\n{}", "the stream ends within a message"),
        ] {
            assert_eq!(told(stream), format!("{refused}{reason}"), "{stream:?}");
        }
        assert_eq!(told(&"a: b\r\n".repeat(MAX_HEADERS + 1)), format!("{refused}the header does not end"));
        assert_eq!(told(&"x".repeat(1 << 20)), format!("{refused}there is no header"));
    }

    #[test]
    fn a_message_that_is_none_is_told_and_the_next_is_read() {
        for text in ["{", "[]", "7", r#"{"id":1}"#, r#"{"id":null,"method":"m"}"#, r#"{"id":[],"method":"m"}"#] {
            let stream = framed(text) + &framed(r#"{"method":"exit"}"#);
            let mut stream = stream.as_bytes();
            assert!(matches!(read(&mut stream), Ok(Some(Incoming::Bad(..)))), "{text}");
            let exit = Incoming::Notification { method: "exit".into(), params: Value::Null };
            assert_eq!(read(&mut stream).ok().flatten(), Some(exit));
        }
        assert_eq!(told(&framed(r#"{"id":1,"result":null}"#)), "Some(Response)");
        assert_eq!(told(&framed("{\"id\":1,\"method\":\"\u{fffd}\"}")).matches("Request").count(), 1);
    }
}
