//! Reading from servers over HTTPS, with the certificates and the proxy that the system has.
//!
//! Read [`Client::get`]. The only file that knows the HTTP client; without the Cargo feature `http` every request fails.

use std::fmt;
use std::io::{self, Write};
use std::time::{Duration, Instant};

/// How long connecting may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a request may take, with its redirects and its body.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(60);
/// The longest reason that is reported, in characters.
#[cfg(feature = "http")]
const MAX_REASON_CHARS: usize = 500;
/// How many redirects are followed.
#[cfg(feature = "http")]
const MAX_REDIRECTS: u32 = 4;

/// Why a request failed.
#[derive(Debug)]
#[cfg_attr(not(feature = "http"), expect(dead_code, reason = "there are no answers"))]
pub enum Failure {
    /// The server answered with a status that is no success.
    Status {
        /// The number, such as 404.
        code: u16,
        /// Its name, such as `Not Found`.
        name: String,
    },
    /// There was no whole answer.
    Request(String),
    /// The answer could not be written down.
    Write(io::Error),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Status { code, name } => write!(f, "request failed: {}", format!("{code} {name}").trim_end()),
            Failure::Request(reason) => write!(f, "request failed: {reason}"),
            Failure::Write(error) => write!(f, "{error}"),
        }
    }
}

/// A client that keeps its connections.
pub struct Client {
    #[cfg(feature = "http")]
    agent: ureq::Agent,
    request_timeout: Duration,
}

impl Client {
    /// Makes a client. Reads the certificates of the system.
    pub fn new() -> Self {
        Self::within(CONNECT_TIMEOUT, REQUEST_TIMEOUT)
    }

    #[cfg(feature = "http")]
    fn within(connect_timeout: Duration, request_timeout: Duration) -> Self {
        use ureq::tls::{Certificate, RootCerts, TlsConfig};
        // A certificate that cannot be read is left out, as other programs do.
        let certificates = rustls_native_certs::load_native_certs().certs;
        let roots = certificates.iter().map(|each| Certificate::from_der(each.as_ref()).to_owned());
        let provider = std::sync::Arc::new(rustls::crypto::ring::default_provider());
        let tls = TlsConfig::builder()
            .root_certs(RootCerts::from(roots))
            .unversioned_rustls_crypto_provider(provider)
            .build();
        let agent = ureq::Agent::config_builder()
            .tls_config(tls)
            .http_status_as_error(false)
            // `get` follows redirects itself: the client has no rule for the token that fits.
            .max_redirects(0)
            .max_redirects_will_error(false)
            .timeout_connect(Some(connect_timeout))
            .user_agent(concat!("git-shiftlog/", env!("CARGO_PKG_VERSION")))
            .build()
            .new_agent();
        Client { agent, request_timeout }
    }

    #[cfg(not(feature = "http"))]
    fn within(_: Duration, request_timeout: Duration) -> Self {
        Client { request_timeout }
    }

    /// Writes the body at an address to `out`, and returns its length in bytes. Compressed bodies are unpacked.
    ///
    /// The token is sent to the host of `url` alone: a redirect to another host, or to another port, is a failure. Plain
    /// HTTP is allowed only to this machine.
    ///
    /// # Errors
    ///
    /// [`Failure`]; also if the body is longer than `max_bytes`. No message has the token in it.
    pub fn get(&self, url: &str, token: &str, max_bytes: u64, out: &mut dyn Write) -> Result<u64, Failure> {
        if !is_safe(url) {
            return Err(Failure::Request("the address of the server is not https".into()));
        }
        self.get_until(url, token, max_bytes, out, Instant::now() + self.timeout())
    }

    fn timeout(&self) -> Duration {
        self.request_timeout
    }

    #[cfg(feature = "http")]
    fn get_until(
        &self,
        url: &str,
        token: &str,
        max_bytes: u64,
        out: &mut dyn Write,
        deadline: Instant,
    ) -> Result<u64, Failure> {
        let mut url = url.to_owned();
        for _ in 0..=MAX_REDIRECTS {
            let left = deadline.saturating_duration_since(Instant::now()).max(Duration::from_millis(1));
            let request = self.agent.get(&url).header("Authorization", format!("Bearer {token}"));
            let config = request.config().timeout_global(Some(left));
            // A proxy would read what goes to this machine itself without encryption.
            let config = if url.starts_with("http://") { config.proxy(None) } else { config };
            let called = config.build().call();
            let response = called.map_err(|error| self.failed(&error))?;
            let status = response.status();
            if matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308) {
                let location = response.headers().get("location").and_then(|location| location.to_str().ok());
                url = redirected(&url, location.unwrap_or_default())
                    .ok_or_else(|| Failure::Request("redirected to another server".into()))?;
                continue;
            }
            if !status.is_success() {
                let name = status.canonical_reason().unwrap_or_default().to_owned();
                return Err(Failure::Status { code: status.as_u16(), name });
            }
            return self.copy(response.into_body().into_reader(), max_bytes, out);
        }
        Err(Failure::Request("redirected too often".into()))
    }

    #[cfg(feature = "http")]
    fn copy(&self, mut body: impl io::Read, max_bytes: u64, out: &mut dyn Write) -> Result<u64, Failure> {
        let mut piece = vec![0; 64 << 10];
        let mut length = 0;
        loop {
            let count = match body.read(&mut piece) {
                Ok(0) => return Ok(length),
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => {
                    let reason = error.get_ref().and_then(|inner| inner.downcast_ref());
                    return Err(reason.map_or_else(|| Failure::Request(error.to_string()), |inner| self.failed(inner)));
                }
            };
            length += count as u64;
            if length > max_bytes {
                return Err(Failure::Request(format!("the answer is longer than {max_bytes} bytes")));
            }
            out.write_all(&piece[..count]).map_err(Failure::Write)?;
        }
    }

    #[cfg(feature = "http")]
    fn failed(&self, error: &ureq::Error) -> Failure {
        Failure::Request(match error {
            ureq::Error::Timeout(ureq::Timeout::Connect) => {
                format!("no connection within {} seconds", CONNECT_TIMEOUT.as_secs())
            }
            ureq::Error::Timeout(_) => format!("no whole answer within {} seconds", self.timeout().as_secs_f32()),
            ureq::Error::Io(error) => error.to_string(),
            // It can repeat what the server said.
            error => error.to_string().chars().take(MAX_REASON_CHARS).collect(),
        })
    }

    #[cfg(not(feature = "http"))]
    fn get_until(&self, _: &str, _: &str, _: u64, _: &mut dyn Write, _: Instant) -> Result<u64, Failure> {
        Err(Failure::Request("this program was built without HTTP".into()))
    }
}

/// Returns the scheme, the host and the port of an address, as they are written, and what follows them.
fn split(url: &str) -> Option<(&str, &str)> {
    let scheme = url.find("://")? + 3;
    let end = url[scheme..].find(['/', '?', '#', '\\']).map_or(url.len(), |at| scheme + at);
    let is_host = end > scheme && !url[scheme..end].contains(['@', ' ']);
    is_host.then(|| url.split_at(end))
}

/// Says whether a token may be sent to an address: over HTTPS, or within this machine.
pub fn is_safe(url: &str) -> bool {
    // Programs differ about what a backslash is.
    if url.contains(|c: char| c == '\\' || c.is_whitespace() || c.is_control()) {
        return false;
    }
    let Some((origin, _)) = split(url) else { return false };
    if origin.starts_with("https://") {
        return true;
    }
    let Some(authority) = origin.strip_prefix("http://") else { return false };
    let host = match authority.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
        _ => authority,
    };
    matches!(host, "127.0.0.1" | "localhost" | "[::1]")
}

/// Returns where a redirect from `url` leads, if that is the same server.
#[cfg(any(feature = "http", test))]
fn redirected(url: &str, location: &str) -> Option<String> {
    let (origin, _) = split(url)?;
    if location.starts_with('/') && !location.starts_with("//") && !location.starts_with("/\\") {
        return Some(format!("{origin}{location}"));
    }
    let (other, rest) = split(location)?;
    other.eq_ignore_ascii_case(origin).then(|| format!("{origin}{rest}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_goes_over_https_or_stays_on_this_machine() {
        for url in ["https://x.my.salesforce.com/a", "http://127.0.0.1:8080/a", "http://localhost", "http://[::1]:1/"] {
            assert!(is_safe(url), "{url}");
        }
        for url in [
            "http://x.my.salesforce.com/",
            "http://127.0.0.1.example.com/",
            "http://127.0.0.1@example.com/",
            "https://user@example.com/",
            "http://localhost\\@example.com:1/",
            "ftp://127.0.0.1/",
            "https://",
            "x",
        ] {
            assert!(!is_safe(url), "{url}");
        }
    }

    #[test]
    fn a_redirect_is_followed_on_the_same_server_alone() {
        let from = "https://a.example.com:444/x?y";
        assert_eq!(redirected(from, "/z?q=1").as_deref(), Some("https://a.example.com:444/z?q=1"));
        assert_eq!(redirected(from, "https://A.example.com:444/z").as_deref(), Some("https://a.example.com:444/z"));
        for other in [
            "//b.example.com/z",
            "/\\b.example.com/z",
            "https://b.example.com/z",
            "https://a.example.com/z",
            "http://a.example.com:444/z",
            "https://a.example.com:444@b.example.com/",
            "z",
            "",
        ] {
            assert_eq!(redirected(from, other), None, "{other}");
        }
    }

    #[cfg(feature = "http")]
    #[test]
    fn a_body_that_does_not_end_is_given_up() {
        use std::io::Read as _;
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("http://{}/", listener.local_addr().expect("its address"));
        let server = std::thread::spawn(move || {
            let (mut connection, _) = listener.accept().expect("a client");
            let mut request = [0; 4096];
            let _ = connection.read(&mut request);
            let _ = connection.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf");
            // Until the client goes.
            let _ = connection.read_to_end(&mut Vec::new());
        });
        let client = Client::within(CONNECT_TIMEOUT, Duration::from_millis(200));
        let mut body = Vec::new();
        let failure = client.get(&url, "t", 100, &mut body).expect_err("it does not end");
        assert_eq!(failure.to_string(), "request failed: no whole answer within 0.2 seconds");
        drop(client);
        server.join().expect("it ends");
    }
}
