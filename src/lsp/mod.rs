//! `git shiftlog lsp`: the conversation behind a line, for editors, over the Language Server Protocol.
//!
//! Read-only. Requests are answered one after the other. A hover runs `git blame` for its line; nothing is kept between two
//! hovers but the texts of open files, which may differ from what is saved. `hover` answers, this file is the protocol.

mod hover;
mod wire;

use std::collections::HashMap;
use std::io;

use lsp_types::notification::{
    DidChangeTextDocument, DidCloseTextDocument, DidOpenTextDocument, Exit, Notification as _,
};
use lsp_types::request::{ExecuteCommand, HoverRequest, Initialize, Request as _, Shutdown};
use lsp_types::{
    DidChangeTextDocumentParams, DidCloseTextDocumentParams, DidOpenTextDocumentParams, ExecuteCommandOptions,
    ExecuteCommandParams, HoverParams, HoverProviderCapability, MarkupKind, Position, ServerCapabilities,
    TextDocumentIdentifier, TextDocumentSyncCapability, TextDocumentSyncKind, Uri,
};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use self::wire::{Code, Incoming};
use crate::error::Result;

/// The command that tells how to show the conversation behind a line.
const COMMAND: &str = "shiftlog.conversation";

/// Serves standard input and output until the editor ends it. Returns whether the editor said `shutdown` before it went
/// away, as the protocol wants it to.
///
/// # Errors
///
/// If what comes in is not the protocol.
pub fn serve() -> Result<bool> {
    let (mut input, mut out) = (io::stdin().lock(), io::stdout().lock());
    let mut editor = Editor::default();
    while let Some(message) = wire::read(&mut input)? {
        let written = match message {
            Incoming::Request { id, method, params } => wire::write(&mut out, &id, editor.answer(&method, params)),
            Incoming::Bad(code, reason) => wire::write(&mut out, &Value::Null, Err((code, reason))),
            Incoming::Notification { method, .. } if method == Exit::METHOD => break,
            Incoming::Notification { method, params } => {
                editor.take(&method, params);
                Ok(())
            }
            Incoming::Response => Ok(()),
        };
        // The editor has closed the connection.
        if written.is_err() {
            break;
        }
    }
    Ok(editor.stage == Stage::Over)
}

fn capabilities() -> ServerCapabilities {
    ServerCapabilities {
        // Whole texts: an edited buffer has other line numbers than the file.
        text_document_sync: Some(TextDocumentSyncCapability::Kind(TextDocumentSyncKind::FULL)),
        hover_provider: Some(HoverProviderCapability::Simple(true)),
        execute_command_provider: Some(ExecuteCommandOptions {
            commands: vec![COMMAND.to_owned()],
            ..ExecuteCommandOptions::default()
        }),
        ..ServerCapabilities::default()
    }
}

/// Says whether an editor shows Markdown, as its `initialize` tells. Its other capabilities do not matter.
fn takes_markdown(params: &Value) -> bool {
    let formats = params.pointer("/capabilities/textDocument/hover/contentFormat").and_then(Value::as_array);
    formats.is_some_and(|formats| formats.contains(&json!(MarkupKind::Markdown)))
}

/// Where the conversation with an editor is.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
enum Stage {
    /// Before `initialize`.
    #[default]
    New,
    /// Between `initialize` and `shutdown`.
    Open,
    /// After `shutdown`.
    Over,
}

/// The state of the conversation with one editor, and the texts of its open files.
#[derive(Default)]
struct Editor {
    stage: Stage,
    takes_markdown: bool,
    /// The texts of the files that are open, by their addresses.
    texts: HashMap<Uri, String>,
}

impl Editor {
    fn take(&mut self, method: &str, params: Value) {
        // What is sent too early or too late is dropped, as the protocol says.
        if self.stage != Stage::Open {
            return;
        }
        match method {
            DidOpenTextDocument::METHOD => {
                let Ok(opened) = read::<DidOpenTextDocumentParams>(params) else { return };
                self.texts.insert(opened.text_document.uri, opened.text_document.text);
            }
            DidChangeTextDocument::METHOD => {
                let Ok(changed) = read::<DidChangeTextDocumentParams>(params) else { return };
                if let Some(last) = changed.content_changes.into_iter().next_back() {
                    self.texts.insert(changed.text_document.uri, last.text);
                }
            }
            DidCloseTextDocument::METHOD => {
                let Ok(closed) = read::<DidCloseTextDocumentParams>(params) else { return };
                self.texts.remove(&closed.text_document.uri);
            }
            _ => {}
        }
    }

    /// Answers a request.
    fn answer(&mut self, method: &str, params: Value) -> std::result::Result<Value, (Code, String)> {
        match (self.stage, method) {
            (Stage::New, Initialize::METHOD) => {
                self.stage = Stage::Open;
                self.takes_markdown = takes_markdown(&params);
                let about = json!({ "name": "git-shiftlog", "version": env!("CARGO_PKG_VERSION") });
                Ok(json!({ "capabilities": capabilities(), "serverInfo": about }))
            }
            (Stage::New, _) => Err((Code::NotInitialized, "the first request is 'initialize'".to_owned())),
            (Stage::Over, _) => Err((Code::InvalidRequest, "the server is shut down".to_owned())),
            (Stage::Open, Initialize::METHOD) => {
                Err((Code::InvalidRequest, "the server is initialized already".to_owned()))
            }
            (Stage::Open, Shutdown::METHOD) => {
                self.stage = Stage::Over;
                Ok(Value::Null)
            }
            (Stage::Open, HoverRequest::METHOD) => {
                let params = read::<HoverParams>(params)?.text_document_position_params;
                let behind = self.explain(&params.text_document, params.position);
                Ok(behind.map(|behind| json!(behind.hover(self.takes_markdown))).unwrap_or_default())
            }
            (Stage::Open, ExecuteCommand::METHOD) => {
                let params = read::<ExecuteCommandParams>(params)?;
                let wrong = || (Code::InvalidParams, format!("'{COMMAND}' takes an address and a position"));
                let (document, position) = place_of(&params).ok_or_else(wrong)?;
                Ok(self.explain(&document, position).and_then(|behind| behind.command()).unwrap_or_default())
            }
            (Stage::Open, method) => Err((Code::MethodNotFound, format!("there is no method '{method}'"))),
        }
    }

    /// Returns the explanation of a line; `None` if nothing is known, or the file is in no repository. A hover is no
    /// place for errors: an editor would show each of them.
    fn explain(&self, document: &TextDocumentIdentifier, position: Position) -> Option<hover::Explained> {
        let text = self.texts.get(&document.uri).map(String::as_str);
        hover::explain(document.uri.as_str(), text, position.line).ok().flatten()
    }
}

/// Returns the file and the position that a command is about: its two arguments, or the members of its only one.
fn place_of(params: &ExecuteCommandParams) -> Option<(TextDocumentIdentifier, Position)> {
    let (document, position) = match params.arguments.as_slice() {
        [both] => (both.get("textDocument")?, both.get("position")?),
        [document, position] => (document, position),
        _ => return None,
    };
    (params.command == COMMAND).then_some(())?;
    Some((serde_json::from_value(document.clone()).ok()?, serde_json::from_value(position.clone()).ok()?))
}

fn read<T: DeserializeOwned>(params: Value) -> std::result::Result<T, (Code, String)> {
    serde_json::from_value(params).map_err(|error| (Code::InvalidParams, error.to_string()))
}
