//! Who is let in: a browser that came through the link that was printed, and asks for pages of this server by its own
//! address.
//!
//! Any page on the web can make a browser send requests to this machine, and a name of its own lead here. So a request must
//! name this server, come from it or from nowhere, and have the cookie that only the link gives.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hyper::header::{COOKIE, HOST, HeaderMap, HeaderName, ORIGIN};
use hyper::{Method, StatusCode, Uri};

use crate::error::{Error, Result};

/// How many random bytes a secret has.
const SECRET_BYTES: usize = 16;
/// The header in which browsers tell where a request comes from.
const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// The decision about a request.
#[derive(Debug, Eq, PartialEq)]
pub enum Verdict {
    /// The request gets its page.
    Pass,
    /// The browser gets this cookie and goes to the first page.
    Enter(String),
    /// The request is refused, with one sentence that says why.
    Refuse(StatusCode, &'static str),
}

/// Decides who is let in.
pub struct Gate {
    port: u16,
    /// The token of the link that is good now.
    token: String,
    /// The value of the cookie.
    secret: String,
}

impl Gate {
    /// Returns the gate of a server at a port.
    ///
    /// # Errors
    ///
    /// If the system has no random numbers.
    pub fn new(port: u16) -> Result<Self> {
        Ok(Gate { port, token: secret()?, secret: secret()? })
    }

    /// Returns the link that is good now.
    pub fn link(&self) -> String {
        format!("http://127.0.0.1:{}/?t={}", self.port, self.token)
    }

    /// Decides about a request.
    ///
    /// # Errors
    ///
    /// If there is no token for the next link.
    pub fn judge(&mut self, method: &Method, uri: &Uri, headers: &HeaderMap) -> Result<Verdict> {
        if let Some(why) = self.is_foreign(uri, headers) {
            return Ok(Verdict::Refuse(StatusCode::FORBIDDEN, why));
        }
        if !matches!(*method, Method::GET | Method::HEAD) {
            return Ok(Verdict::Refuse(StatusCode::METHOD_NOT_ALLOWED, "pages are only read here"));
        }
        let token = uri.query().filter(|_| uri.path() == "/").and_then(|query| query.strip_prefix("t="));
        if let Some(token) = token.filter(|_| *method == Method::GET)
            && is_same(token, &self.token)
        {
            self.token = secret()?;
            let cookie = format!("{}={}; HttpOnly; SameSite=Strict; Path=/", self.cookie_name(), self.secret);
            return Ok(Verdict::Enter(cookie));
        }
        if !self.has_cookie(headers) {
            let why =
                "open the link that 'git shiftlog web' has printed; each is good once, and the last one is good now";
            return Ok(Verdict::Refuse(StatusCode::FORBIDDEN, why));
        }
        Ok(Verdict::Pass)
    }

    /// Says why a request is not for this server, or not from it.
    fn is_foreign(&self, uri: &Uri, headers: &HeaderMap) -> Option<&'static str> {
        let text = |name: HeaderName| {
            let mut values = headers.get_all(name).iter();
            let first = values.next().map(|value| value.to_str().unwrap_or_default());
            // Of two values, others may look at the other one.
            if values.next().is_some() { Some("") } else { first }
        };
        let is_ours = |host: &str| {
            let name = host.strip_suffix(&format!(":{}", self.port)).or((self.port == 80).then_some(host));
            name.is_some_and(|name| name == "127.0.0.1" || name.eq_ignore_ascii_case("localhost"))
        };
        if uri.authority().is_some() || !text(HOST).is_some_and(is_ours) {
            return Some("this server is known as 127.0.0.1 and localhost alone");
        }
        let is_own_origin = |origin: &str| origin.strip_prefix("http://").is_some_and(is_ours);
        let is_own_site = |site: &str| matches!(site, "same-origin" | "none");
        if text(ORIGIN).is_some_and(|origin| !is_own_origin(origin))
            || text(FETCH_SITE).is_some_and(|site| !is_own_site(site))
        {
            return Some("another site asks for this page; type or paste its address to open it");
        }
        None
    }

    /// The name has the port: browsers do not tell the servers of a machine apart by it.
    fn cookie_name(&self) -> String {
        format!("shiftlog_{}", self.port)
    }

    fn has_cookie(&self, headers: &HeaderMap) -> bool {
        let name = self.cookie_name();
        let cookies = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
        let mut cookies = cookies.flat_map(|value| value.split(';')).filter_map(|cookie| cookie.trim().split_once('='));
        cookies.any(|(own, value)| own == name && is_same(value, &self.secret))
    }
}

/// Returns random bytes as text for an address.
fn secret() -> Result<String> {
    let mut bytes = [0; SECRET_BYTES];
    getrandom::fill(&mut bytes).map_err(|error| Error::other("cannot make a link").because(error.to_string()))?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

/// Compares without telling by the time how much is the same.
fn is_same(one: &str, other: &str) -> bool {
    let differing = one.bytes().zip(other.bytes()).fold(0, |differing, (a, b)| differing | (a ^ b));
    one.len() == other.len() && differing == 0
}

#[cfg(test)]
mod tests {
    use hyper::header::HeaderValue;

    use super::*;

    fn headers(of: &[(&'static str, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in of {
            headers.append(*name, HeaderValue::from_str(value).expect("a value"));
        }
        headers
    }

    fn judged(gate: &mut Gate, method: &str, target: &str, of: &[(&'static str, &str)]) -> Verdict {
        let uri: Uri = target.parse().expect("a target");
        let method = Method::from_bytes(method.as_bytes()).expect("a method");
        gate.judge(&method, &uri, &headers(of)).expect("random numbers")
    }

    fn is_refused(verdict: &Verdict, status: u16) -> bool {
        matches!(verdict, Verdict::Refuse(code, _) if code.as_u16() == status)
    }

    #[test]
    fn a_link_is_good_once_and_its_cookie_for_the_rest() {
        let mut gate = Gate::new(4123).expect("random numbers");
        let host = ("host", "127.0.0.1:4123");
        let target = gate.link().strip_prefix("http://127.0.0.1:4123").map(str::to_owned).expect("a link");
        assert!(target.len() > 4 + 20, "the token has 128 bits: {target}");
        assert!(is_refused(&judged(&mut gate, "GET", "/", &[host]), 403));
        assert!(is_refused(&judged(&mut gate, "HEAD", &target, &[host]), 403), "looking does not use it up");
        let Verdict::Enter(cookie) = judged(&mut gate, "GET", &target, &[host]) else { panic!("the link lets in") };
        assert!(cookie.starts_with("shiftlog_4123=") && cookie.ends_with("; HttpOnly; SameSite=Strict; Path=/"));
        assert!(is_refused(&judged(&mut gate, "GET", &target, &[host]), 403), "a second time it does not");
        let own = cookie.split(';').next().expect("a cookie").to_owned();
        let both = format!("other=1; {own}");
        for cookies in [own.as_str(), &both] {
            assert_eq!(judged(&mut gate, "GET", "/c/abc", &[host, ("cookie", cookies)]), Verdict::Pass);
            assert_eq!(judged(&mut gate, "HEAD", "/", &[host, ("cookie", cookies)]), Verdict::Pass);
        }
        let other_port = own.replace("4123", "4124");
        for wrong in [&own[..own.len() - 1], &format!("{own}x"), "shiftlog_4123=", &other_port] {
            assert!(is_refused(&judged(&mut gate, "GET", "/", &[host, ("cookie", wrong)]), 403), "{wrong}");
        }
        assert!(is_refused(&judged(&mut gate, "POST", "/", &[host, ("cookie", &own)]), 405));
    }

    #[test]
    fn a_request_names_this_server_and_comes_from_it_or_from_nowhere() {
        let mut gate = Gate::new(4123).expect("random numbers");
        let cookie = format!("shiftlog_4123={}", gate.secret);
        let mut asked = |target: &str, of: &[(&'static str, &str)]| {
            judged(&mut gate, "GET", target, &[&[("cookie", cookie.as_str())][..], of].concat())
        };
        let host = ("host", "localhost:4123");
        assert_eq!(asked("/", &[("host", "LOCALHOST:4123")]), Verdict::Pass);
        for wrong in [
            "evil.example",
            "evil.example:4123",
            "127.0.0.1",
            "127.0.0.1:4124",
            "127.0.0.1:41234",
            "",
            "[::1]:4123",
            "localhost.evil.example:4123",
            "127.0.0.1:4123@evil.example",
        ] {
            assert!(is_refused(&asked("/", &[("host", wrong)]), 403), "{wrong}");
        }
        assert!(is_refused(&asked("/", &[]), 403), "a request without Host");
        assert!(is_refused(&asked("/", &[host, ("host", "evil.example")]), 403), "a request with two");
        assert!(is_refused(&asked("http://evil.example/", &[host]), 403), "a request to a proxy");
        for (name, good, bad) in [
            ("origin", "http://localhost:4123", "https://evil.example"),
            ("origin", "http://127.0.0.1:4123", "null"),
            ("sec-fetch-site", "same-origin", "cross-site"),
            ("sec-fetch-site", "none", "same-site"),
        ] {
            assert_eq!(asked("/", &[host, (name, good)]), Verdict::Pass, "{name}: {good}");
            assert!(is_refused(&asked("/", &[host, (name, bad)]), 403), "{name}: {bad}");
        }
    }
}
