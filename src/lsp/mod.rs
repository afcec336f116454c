//! `git shiftlog lsp`: the conversation behind a line, for editors, over the Language Server Protocol.
//!
//! Read-only. Requests are answered one after the other. A hover runs `git blame` for its line; nothing is kept between two
//! hovers but the texts of open files, which may differ from what is saved. `hover` answers, this file is the protocol.

mod hover;

use std::collections::HashMap;

use lsp_server::{Connection, ErrorCode, Message, Notification, ProtocolError, Request, Response};
use lsp_types::notification::{DidChangeTextDocument, DidCloseTextDocument, DidOpenTextDocument, Notification as _};
use lsp_types::request::{ExecuteCommand, HoverRequest, Request as _};
use lsp_types::{
    DidChangeTextDocumentParams, DidCloseTextDocumentParams, DidOpenTextDocumentParams, ExecuteCommandOptions,
    ExecuteCommandParams, HoverParams, HoverProviderCapability, InitializeParams, MarkupKind, Position,
    ServerCapabilities, TextDocumentIdentifier, TextDocumentSyncCapability, TextDocumentSyncKind, Uri,
};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::error::{Error, Result};

/// The command that tells how to show the conversation behind a line.
const COMMAND: &str = "shiftlog.conversation";

/// Serves standard input and output until the editor ends it.
///
/// # Errors
///
/// If what comes in is not the protocol.
pub fn serve() -> Result<()> {
    let (connection, threads) = Connection::stdio();
    converse(&connection)?;
    drop(connection);
    // The threads end with the streams; what they could not read or write has been told by the outcome.
    let _ = threads.join();
    Ok(())
}

fn converse(connection: &Connection) -> Result<()> {
    let (id, params) = match connection.initialize_start() {
        Ok(begun) => begun,
        // The editor went away before it said anything.
        Err(error) if error.channel_is_disconnected() => return Ok(()),
        Err(error) => return Err(broken(&error)),
    };
    let client: InitializeParams = serde_json::from_value(params).unwrap_or_default();
    let about = json!({
        "capabilities": capabilities(),
        "serverInfo": { "name": "git-shiftlog", "version": env!("CARGO_PKG_VERSION") },
    });
    connection.initialize_finish(id, about).map_err(|error| broken(&error))?;
    let mut editor = Editor { takes_markdown: takes_markdown(&client), texts: HashMap::new() };
    for message in &connection.receiver {
        match message {
            Message::Request(request) => {
                if connection.handle_shutdown(&request).map_err(|error| broken(&error))? {
                    return Ok(());
                }
                if connection.sender.send(editor.answer(request).into()).is_err() {
                    return Ok(());
                }
            }
            Message::Notification(notification) => editor.take(notification),
            // Nothing is asked of the editor.
            Message::Response(_) => {}
        }
    }
    Ok(())
}

fn broken(error: &ProtocolError) -> Error {
    Error::other("cannot speak with the editor").because(error.to_string())
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

fn takes_markdown(client: &InitializeParams) -> bool {
    let hover = client.capabilities.text_document.as_ref().and_then(|document| document.hover.as_ref());
    let formats = hover.and_then(|hover| hover.content_format.as_deref()).unwrap_or_default();
    formats.contains(&MarkupKind::Markdown)
}

/// The editor, as far as it has told.
struct Editor {
    takes_markdown: bool,
    /// The texts of the files that are open, by their addresses.
    texts: HashMap<Uri, String>,
}

impl Editor {
    fn take(&mut self, notification: Notification) {
        match notification.method.as_str() {
            DidOpenTextDocument::METHOD => {
                let Ok(opened) = read::<DidOpenTextDocumentParams>(notification.params) else { return };
                self.texts.insert(opened.text_document.uri, opened.text_document.text);
            }
            DidChangeTextDocument::METHOD => {
                let Ok(changed) = read::<DidChangeTextDocumentParams>(notification.params) else { return };
                if let Some(last) = changed.content_changes.into_iter().next_back() {
                    self.texts.insert(changed.text_document.uri, last.text);
                }
            }
            DidCloseTextDocument::METHOD => {
                let Ok(closed) = read::<DidCloseTextDocumentParams>(notification.params) else { return };
                self.texts.remove(&closed.text_document.uri);
            }
            _ => {}
        }
    }

    fn answer(&self, request: Request) -> Response {
        let outcome = match request.method.as_str() {
            HoverRequest::METHOD => read::<HoverParams>(request.params).map(|params| {
                let place = params.text_document_position_params;
                let hover = self.behind(&place.text_document, place.position);
                hover.map(|behind| behind.hover(self.takes_markdown)).map(|hover| json!(hover)).unwrap_or_default()
            }),
            ExecuteCommand::METHOD => read::<ExecuteCommandParams>(request.params).and_then(|params| {
                let place = place_of(&params).ok_or_else(|| format!("'{COMMAND}' takes an address and a position"))?;
                let behind = self.behind(&place.0, place.1).and_then(|behind| behind.command());
                Ok(behind.unwrap_or_default())
            }),
            method => {
                let message = format!("there is no method '{method}'");
                return Response::new_err(request.id, ErrorCode::MethodNotFound as i32, message);
            }
        };
        match outcome {
            Ok(result) => Response::new_ok(request.id, result),
            Err(message) => Response::new_err(request.id, ErrorCode::InvalidParams as i32, message),
        }
    }

    /// Returns what is behind a line; `None` if nothing is known, or the file is in no repository. A hover is no place for
    /// errors: an editor would show each of them.
    fn behind(&self, document: &TextDocumentIdentifier, position: Position) -> Option<hover::Behind> {
        let text = self.texts.get(&document.uri).map(String::as_str);
        hover::behind(document.uri.as_str(), text, position.line).ok().flatten()
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

fn read<T: DeserializeOwned>(params: Value) -> std::result::Result<T, String> {
    serde_json::from_value(params).map_err(|error| error.to_string())
}
