//! The pages by their addresses.

use std::path::Path;

use hyper::StatusCode;

use super::asked::{Values, components};
use super::pages::Visit;
use super::{Server, pages};
use crate::error::{Error, Kind, Result};
use crate::git::Repository;
use crate::pretty::html::{Outlet, Shape, Span, Theme, notice_page};

/// A page to be sent.
pub struct Answer {
    /// Whether it is what was asked for.
    pub status: StatusCode,
    /// What it is.
    pub form: Form,
    /// The page.
    pub page: Vec<u8>,
}

/// What is sent.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Form {
    /// A page that is shown.
    Page,
    /// Bytes that the browser saves.
    File,
}

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

    /// Returns the page at an address.
    pub fn answer(&self, path: &str, query: &str) -> Answer {
        let page = match components(path) {
            Some(parts) => self.page(&parts, &Values::read(query)),
            None => Err(missing()),
        };
        match page {
            Ok((form, page)) => Answer { status: StatusCode::OK, form, page },
            Err(error) => {
                let (status, title) = match error.kind() {
                    Kind::Missing => (StatusCode::NOT_FOUND, "Nothing here"),
                    Kind::Usage => (StatusCode::BAD_REQUEST, "This cannot be looked for"),
                    _ => (StatusCode::INTERNAL_SERVER_ERROR, "This cannot be shown"),
                };
                self.notice(status, title, &error.to_string())
            }
        }
    }

    /// Returns a page that says something.
    pub fn notice(&self, status: StatusCode, title: &str, sentence: &str) -> Answer {
        Answer { status, form: Form::Page, page: notice_page(title, &[sentence], &shape(None)).into_bytes() }
    }

    fn page(&self, parts: &[String], values: &Values) -> Result<(Form, Vec<u8>)> {
        let repo = Repository::open(&self.server.directory)?;
        crate::capture::agents::define(&repo);
        let visit = Visit::new(&self.server, &repo, shape(repo.worktree()))?;
        let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
        let page = match parts.as_slice() {
            ["raw", agent, id] => return Ok((Form::File, pages::raw(&visit, agent, id)?)),
            [] => pages::overview(&visit, &self.name),
            ["commits"] => pages::commits(&visit, values),
            ["c", revision] => pages::commit(&visit, revision, None),
            // The name of a branch can have slashes in it.
            ["c", name @ ..] if visit.named(&name.join("/")).is_some() => pages::commit(&visit, &name.join("/"), None),
            ["c", revision, agent, id] => pages::commit(&visit, revision, Some((agent, id))),
            ["s", agent, id] => pages::session(&visit, agent, id),
            ["why", revision, path @ ..] if !path.is_empty() => pages::file(&visit, revision, &path.join("/")),
            ["search"] => pages::search(&visit, values.get("q")),
            ["branches"] => pages::branches(&visit),
            ["stats"] => pages::stats(&visit, values),
            ["about"] => pages::about(&visit),
            _ => Err(missing()),
        };
        Ok((Form::Page, page?))
    }
}

fn missing() -> Error {
    Error::new(Kind::Missing, "there is no page at this address")
}

fn shape(top: Option<&Path>) -> Shape {
    Shape {
        span: Span::Normal,
        has_thinking: true,
        has_tools: true,
        theme: Theme::Auto,
        top: top.map(|top| top.to_string_lossy().into_owned()),
        outlet: Outlet::Server,
    }
}
