//! Whom the token is told over TLS.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};

use serde_json::json;

use super::{Reply, Request, answer_as_org, row, text_of};
use crate::support::Scratch;

const ID: &str = "07L5g00000AbCdEFGH";

/// An org behind TLS, played by `openssl s_server`: what a client says comes from its output, and what is written to its
/// input is the answer.
struct Org {
    url: String,
    heard: Arc<Mutex<Vec<String>>>,
    server: Child,
}

impl Org {
    fn start(directory: &Path) -> Self {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let mut server = Command::new("openssl")
            .args(["s_server", "-quiet", "-cert", "cert.pem", "-key", "key.pem", "-accept"])
            .arg(format!("127.0.0.1:{port}"))
            .current_dir(directory)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(server.try_wait().unwrap().is_none(), "it listens");
        }
        let (mut answers, said) = (server.stdin.take().unwrap(), server.stdout.take().unwrap());
        let heard = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&heard);
        std::thread::spawn(move || {
            let mut path = String::new();
            for line in BufReader::new(said).lines().map_while(Result::ok) {
                if let Some(asked) = line.strip_prefix("GET ") {
                    path = asked.split(' ').next().unwrap_or_default().to_owned();
                } else if line.is_empty() {
                    let request = Request { path: path.clone(), headers: Default::default() };
                    let Reply { status, body, .. } = answer_as_org(&[row(ID, "Ada")], &request);
                    let head = format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\n\r\n", body.len());
                    answers.write_all(&[head.as_bytes(), &body].concat()).and_then(|()| answers.flush()).unwrap();
                }
                log.lock().unwrap().push(line);
            }
        });
        Org { url: format!("https://127.0.0.1:{port}"), heard, server }
    }
}

impl Drop for Org {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

#[test]
fn the_token_is_told_only_to_a_server_whose_certificate_the_system_trusts() {
    let mut scratch = Scratch::new();
    scratch.project();
    let directory = scratch.home();
    let certificate = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=org \
                       -addext subjectAltName=IP:127.0.0.1 -addext basicConstraints=critical,CA:FALSE \
                       -keyout key.pem -out cert.pem";
    let words = certificate.split(' ').filter(|word| !word.is_empty());
    let made = Command::new("openssl").args(words).current_dir(&directory).output().unwrap();
    assert!(made.status.success(), "{made:?}");
    let org = Org::start(&directory);
    scratch.logged_in(&org.url);
    // Nobody vouches for it: what it is told would be anybody's.
    let (code, answer) = scratch.synced(&[]);
    let details = answer["details"].as_str().unwrap();
    assert!(code == 1 && details.contains("certificate"), "{answer}");
    assert_eq!(*org.heard.lock().unwrap(), [""; 0]);
    // The system's administrator does, as OpenSSL and others read it.
    scratch.env.insert("SSL_CERT_FILE".into(), directory.join("cert.pem").display().to_string());
    let (code, answer) = scratch.synced(&[]);
    assert_eq!((code, &answer["ok"]), (0, &json!(true)), "{answer}");
    let saved = answer["saved"][0]["file"].as_str().unwrap();
    assert_eq!(fs::read_to_string(scratch.top.join(saved)).unwrap(), text_of(ID));
    assert!(org.heard.lock().unwrap().iter().any(|line| line.to_lowercase().starts_with("authorization: bearer ")));
}
