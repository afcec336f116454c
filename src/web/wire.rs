//! Connections: one request each, with limits on how long and how much a client may say.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::convert::Infallible;
use std::net::Ipv4Addr;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use hyper::body::Incoming;
use hyper::header::{
    ALLOW, CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, HeaderValue,
    LOCATION, REFERRER_POLICY, SET_COOKIE, X_CONTENT_TYPE_OPTIONS,
};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::task::{AbortHandle, LocalSet, spawn_local};
use tokio::time::{Instant, sleep, timeout, timeout_at};

use super::Server;
use super::gate::{Gate, Verdict};
use super::sending::{Answer, Content, Form, Outgoing};
use super::site::Site;
use crate::error::{Error, Result};
use crate::pretty::html::{Outlet, policy};

/// How many clients get a page at once; the others wait.
const MAX_SERVED: usize = 32;
/// How many clients may be connected that have not said what they want; one more, and the oldest of them is sent away.
const MAX_SILENT: usize = 128;
/// How long a client may take to say what it wants.
const HEAD_TIME: Duration = Duration::from_secs(10);
/// How long a client may take in all.
const WHOLE_TIME: Duration = Duration::from_secs(120);
/// How long the head of a request may be; the least that hyper takes.
const HEAD_BYTES: usize = 8 << 10;
/// How many lines it may have.
const HEAD_LINES: usize = 64;
/// How long to wait after a connection could not be accepted, as when too many files are open.
const PAUSE: Duration = Duration::from_millis(100);

/// Called with the link whenever there is a new one.
pub type Announce = Box<dyn Fn(&str) -> Result<()>>;

/// Serves until no request has come for a while.
pub fn serve(server: Server, announce: Announce) -> Result<()> {
    let cannot = |error: std::io::Error| Error::other("cannot start the server").because(error);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build().map_err(cannot)?;
    LocalSet::new().block_on(&runtime, listen(server, announce))
}

async fn listen(server: Server, announce: Announce) -> Result<()> {
    let (port, idle) = (server.port, server.idle);
    let cannot = |error: std::io::Error| Error::other(format!("cannot listen on port {port}")).because(error);
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await.map_err(cannot)?;
    let gate = Gate::new(listener.local_addr().map_err(cannot)?.port())?;
    announce(&gate.link())?;
    let last_request = Cell::new(Instant::now());
    let places = Semaphore::new(MAX_SERVED);
    let site = Arc::new(Site::new(server));
    let desk = Rc::new(Desk { gate: RefCell::new(gate), places, site, announce, last_request });
    let mut silent: VecDeque<Silent> = VecDeque::new();
    loop {
        let deadline = desk.last_request.get() + idle;
        let Ok(accepted) = timeout_at(deadline, listener.accept()).await else {
            if desk.last_request.get() + idle <= Instant::now() {
                return Ok(());
            }
            continue;
        };
        let Ok((stream, _)) = accepted else {
            sleep(PAUSE).await;
            continue;
        };
        silent.retain(|client| !client.has_asked.get() && !client.task.is_finished());
        if silent.len() == MAX_SILENT
            && let Some(oldest) = silent.pop_front()
        {
            oldest.task.abort();
        }
        let (desk, has_asked) = (Rc::clone(&desk), Rc::new(Cell::new(false)));
        let asked = Rc::clone(&has_asked);
        let task = spawn_local(async move { desk.attend(stream, &asked).await }).abort_handle();
        silent.push_back(Silent { has_asked, task });
    }
}

/// A client that may not have said what it wants.
struct Silent {
    has_asked: Rc<Cell<bool>>,
    task: AbortHandle,
}

/// The state that all connections share.
struct Desk {
    places: Semaphore,
    gate: RefCell<Gate>,
    site: Arc<Site>,
    announce: Announce,
    last_request: Cell<Instant>,
}

impl Desk {
    /// Answers the request of a client, and ends the connection. Sets `has_asked` once the client has said what it wants.
    async fn attend(&self, stream: TcpStream, has_asked: &Cell<bool>) {
        // A client has its place until all is sent. Who is refused needs none.
        let place = &Cell::new(None);
        let answer = service_fn(|request: Request<Incoming>| async move {
            has_asked.set(true);
            Ok::<_, Infallible>(self.answer(&request, place).await)
        });
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEAD_TIME)
            .keep_alive(false)
            .max_buf_size(HEAD_BYTES)
            .max_headers(HEAD_LINES)
            .serve_connection(TokioIo::new(stream), answer);
        // A client that has gone, or says what is no request, gets no answer.
        let _ = timeout(WHOLE_TIME, connection).await;
    }

    /// Has a page made in a thread of its own, so that nobody waits for the page of another.
    async fn page(&self, path: &str, query: &str) -> Answer {
        let (mut out, answered) = Outgoing::new();
        let (site, path, query) = (Arc::clone(&self.site), path.to_owned(), query.to_owned());
        let maker = std::thread::Builder::new().spawn(move || site.answer(&path, &query, &mut out));
        let sentence = match maker.map(|_| answered) {
            Ok(answered) => match answered.await {
                Ok(answer) => return answer,
                Err(_) => "it could not be made".to_owned(),
            },
            Err(error) => error.to_string(),
        };
        self.site.notice(StatusCode::INTERNAL_SERVER_ERROR, "This cannot be shown", &sentence)
    }

    async fn answer<'d>(
        &'d self,
        request: &Request<Incoming>,
        place: &Cell<Option<SemaphorePermit<'d>>>,
    ) -> Response<Content> {
        let (method, uri) = (request.method(), request.uri());
        let verdict = self.gate.borrow_mut().judge(method, uri, request.headers());
        // Who is refused does not keep the server running.
        if matches!(verdict, Ok(Verdict::Pass | Verdict::Enter(_))) {
            self.last_request.set(Instant::now());
        }
        let mut response = match verdict {
            Ok(Verdict::Pass) => {
                place.set(self.places.acquire().await.ok());
                respond(self.page(uri.path(), uri.query().unwrap_or_default()).await)
            }
            Ok(Verdict::Enter(cookie)) => {
                // Whoever started the server may have gone; the browser that came is served all the same.
                let _ = (self.announce)(&self.gate.borrow().link());
                let mut response = respond(self.site.notice(StatusCode::SEE_OTHER, "Welcome", "the pages begin at /"));
                let headers = response.headers_mut();
                headers.insert(LOCATION, HeaderValue::from_static("/"));
                headers.extend(HeaderValue::from_str(&cookie).map(|cookie| (SET_COOKIE, cookie)));
                response
            }
            Ok(Verdict::Refuse(status, why)) => {
                let mut response = respond(self.site.notice(status, "No entry", why));
                if status == StatusCode::METHOD_NOT_ALLOWED {
                    response.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
                }
                response
            }
            Err(error) => respond(self.site.notice(StatusCode::INTERNAL_SERVER_ERROR, "No link", &error.to_string())),
        };
        // What is not read here must not be taken for the next request.
        response.headers_mut().insert(hyper::header::CONNECTION, HeaderValue::from_static("close"));
        response
    }
}

/// Returns the response for an answer, with headers that let a browser show it and no more.
fn respond(answer: Answer) -> Response<Content> {
    let form = answer.form;
    let mut response = Response::new(answer.content);
    *response.status_mut() = answer.status;
    let headers = response.headers_mut();
    let policy = format!("{}; frame-ancestors 'none'", policy(Outlet::Server));
    headers.extend(HeaderValue::from_str(&policy).map(|policy| (CONTENT_SECURITY_POLICY, policy)));
    for (name, value) in [
        (CONTENT_TYPE, if form == Form::File { "text/plain; charset=utf-8" } else { "text/html; charset=utf-8" }),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (REFERRER_POLICY, "no-referrer"),
        (CACHE_CONTROL, "no-store"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    if form == Form::File {
        headers.insert(CONTENT_DISPOSITION, HeaderValue::from_static("attachment"));
    }
    response
}
