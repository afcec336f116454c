//! The pages by their addresses.

use std::path::Path;

use hyper::StatusCode;

use super::asked::{Values, components};
use super::pages::Visit;
use super::sending::{Answer, Form, Outgoing};
use super::{Server, pages};
use crate::error::{Error, Kind, Result};
use crate::git::Repository;
use crate::pretty::html::{Outlet, PageOptions, Span, Theme, notice_page};
use crate::record::redaction::{self, clean};

/// Makes pages. The repository is opened for each, so that they show it as it is.
pub struct Site {
    server: Server,
    name: String,
}

impl Site {
    /// Makes the site of a server.
    pub fn new(server: Server) -> Self {
        let top = Repository::open(&server.directory).ok().and_then(|repo| {
            let top = repo.worktree().unwrap_or(repo.git_dir());
            Some(top.file_name()?.to_string_lossy().into_owned())
        });
        let name = top.filter(|name| name != ".git").unwrap_or_else(|| "Conversations".to_owned());
        Site { server, name }
    }

    /// Writes the page at an address, or a page with the error.
    pub fn answer(&self, path: &str, query: &str, out: &mut Outgoing) {
        let written = match components(path) {
            Some(parts) => self.page(&parts, &Values::read(query), out),
            None => Err(missing()),
        };
        match written {
            Ok(Some(answer)) => out.send(answer),
            Ok(None) => out.end(),
            Err(error) => {
                let (status, title) = match error.kind() {
                    Kind::Missing => (StatusCode::NOT_FOUND, "Nothing here"),
                    Kind::Usage => (StatusCode::BAD_REQUEST, "This cannot be looked for"),
                    _ => (StatusCode::INTERNAL_SERVER_ERROR, "This cannot be shown"),
                };
                out.send(self.notice(status, title, &self.without_secrets(&error.to_string())));
            }
        }
    }

    /// Returns the text of an error as a page may show it.
    fn without_secrets(&self, text: &str) -> String {
        let redactor = Repository::open(&self.server.directory).and_then(|repo| redaction::redactor(&repo));
        redactor.map_or_else(|_| text.to_owned(), |redactor| clean(&redactor, text))
    }

    /// Returns a page with one sentence.
    pub fn notice(&self, status: StatusCode, title: &str, sentence: &str) -> Answer {
        Answer { status, ..Answer::page(notice_page(title, &[sentence], &shape(None)).into_bytes()) }
    }

    /// Returns a page that is made as a whole; `None` for one that was written to `out`.
    fn page(&self, parts: &[String], values: &Values, out: &mut Outgoing) -> Result<Option<Answer>> {
        let repo = Repository::open(&self.server.directory)?;
        crate::capture::agents::define(&repo);
        let visit = Visit::new(&self.server, &repo, shape(repo.worktree()))?;
        let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
        let page = match parts.as_slice() {
            ["raw", agent, id] => {
                let file = Answer::page(pages::raw(&visit, agent, id)?);
                return Ok(Some(Answer { form: Form::File, ..file }));
            }
            ["c", revision] => return pages::commit(&visit, revision, None, out).map(|()| None),
            // The name of a branch can have slashes in it.
            ["c", name @ ..] if visit.named(&name.join("/")).is_some() => {
                return pages::commit(&visit, &name.join("/"), None, out).map(|()| None);
            }
            ["c", revision, agent, id] => {
                return pages::commit(&visit, revision, Some((agent, id)), out).map(|()| None);
            }
            ["s", agent, id] => return pages::session(&visit, agent, id, out).map(|()| None),
            [] => pages::overview(&visit, &self.name),
            ["commits"] => pages::commits(&visit, values),
            ["why", revision, path @ ..] if !path.is_empty() => pages::file(&visit, revision, &path.join("/")),
            ["search"] => pages::search(&visit, values.get("q")),
            ["branches"] => pages::branches(&visit),
            ["stats"] => pages::stats(&visit, values),
            ["about"] => pages::about(&visit),
            _ => Err(missing()),
        };
        page.map(|page| Some(Answer::page(page)))
    }
}

fn missing() -> Error {
    Error::new(Kind::Missing, "there is no page at this address")
}

fn shape(top: Option<&Path>) -> PageOptions {
    PageOptions {
        span: Span::Normal,
        has_thinking: true,
        has_tools: true,
        has_pictures: false,
        theme: Theme::Auto,
        top: top.map(|top| top.to_string_lossy().into_owned()),
        commit_address: None,
        outlet: Outlet::Server,
        is_packed: false,
    }
}
