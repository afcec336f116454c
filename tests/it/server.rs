//! Servers on loopback that stock Git fetches from and pushes to.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};

use crate::support::{Scratch, skip};

/// A `git daemon` for the server, and a way to it that is cut after so many bytes have come back.
pub struct Daemon {
    child: Child,
    pub port: u16,
}

impl Daemon {
    pub fn start(scratch: &Scratch) -> Option<Self> {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let base = format!("--base-path={}", scratch.root().display());
        let mut command = scratch.command("git", &scratch.root());
        command.args(["daemon", "--export-all", "--enable=receive-pack", "--listen=127.0.0.1", "--reuseaddr", &base]);
        // A process group of its own: 'git daemon' starts others.
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        command.arg(format!("--port={port}")).stdout(Stdio::null()).stderr(Stdio::null());
        let mut daemon = Daemon { child: command.spawn().unwrap(), port };
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            if daemon.child.try_wait().unwrap().is_some() {
                skip("there is no git daemon here");
                return None;
            }
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        Some(daemon)
    }

    /// Opens a way to the daemon that is cut after `limit` bytes from either side, and returns its port.
    pub fn cut_after(&self, limit: usize) -> u16 {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (own, port) = (listener.local_addr().unwrap().port(), self.port);
        std::thread::spawn(move || {
            let forward = move |mut from: TcpStream, mut to: TcpStream| {
                let mut left = limit;
                let mut buffer = [0; 512];
                while let Ok(count) = from.read(&mut buffer) {
                    if count == 0 || count > left || to.write_all(&buffer[..count]).is_err() {
                        break;
                    }
                    left -= count;
                }
                let _ = from.shutdown(Shutdown::Both);
                let _ = to.shutdown(Shutdown::Both);
            };
            for client in listener.incoming().flatten() {
                let Ok(server) = TcpStream::connect(("127.0.0.1", port)) else { return };
                let (from, to) = (client.try_clone().unwrap(), server.try_clone().unwrap());
                std::thread::spawn(move || forward(from, to));
                std::thread::spawn(move || forward(server, client));
            }
        });
        own
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = Command::new("kill").args(["--", &format!("-{}", self.child.id())]).status();
        let _ = self.child.wait();
    }
}

/// What `git http-backend` serves, behind the least of a web server.
pub struct Http {
    port: u16,
    requests: Arc<Mutex<Vec<Vec<String>>>>,
}

impl Http {
    /// Serves the directory that the bare repository `server` is in, and lets everybody push to it whose requests have the
    /// line `demanded`; others are asked for a password. An empty line is no demand.
    pub fn start(scratch: &Scratch, server: &Path, demanded: &'static str) -> Option<Self> {
        let programs = PathBuf::from(scratch.git(["--exec-path"]).ok().trim());
        if !["git-http-backend", "git-remote-http"].iter().all(|name| programs.join(name).exists()) {
            skip("this Git was built without HTTP");
            return None;
        }
        scratch.git_in(server, ["config", "http.receivepack", "true"]).ok();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let (path, root) = (scratch.env["PATH"].clone(), server.parent().unwrap().to_owned());
        let http = Http { port, requests: Arc::default() };
        let requests = Arc::clone(&http.requests);
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let (path, root, requests) = (path.clone(), root.clone(), Arc::clone(&requests));
                std::thread::spawn(move || answer(client, &path, &root, demanded, &requests));
            }
        });
        Some(http)
    }

    /// Returns the requests that came since this was called last, each as the lines of its head.
    pub fn requests(&self) -> Vec<Vec<String>> {
        std::mem::take(&mut *self.requests.lock().unwrap())
    }

    /// Returns the URL of a repository.
    pub fn url(&self, name: &str) -> String {
        format!("http://127.0.0.1:{}/{name}", self.port)
    }
}

/// Hands one request to `git http-backend` as cgi(7) says.
fn answer(
    mut client: TcpStream,
    path: &str,
    root: &Path,
    demanded: &str,
    requests: &Mutex<Vec<Vec<String>>>,
) -> Option<()> {
    let mut input = BufReader::new(client.try_clone().ok()?);
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        input.read_line(&mut line).ok()?;
        match line.trim_end() {
            "" => break,
            line => lines.push(line.to_owned()),
        }
    }
    requests.lock().unwrap().push(lines.clone());
    let header = |wanted: &str| {
        let fields = lines.iter().skip(1).filter_map(|line| line.split_once(':'));
        fields.into_iter().find_map(|(name, value)| name.eq_ignore_ascii_case(wanted).then(|| value.trim().to_owned()))
    };
    let mut request = lines.first()?.split(' ');
    let (method, target) = (request.next()?, request.next()?);
    let (file, query) = target.split_once('?').unwrap_or((target, ""));
    let mut body = Vec::new();
    if header("Transfer-Encoding").is_some_and(|value| value == "chunked") {
        loop {
            let mut line = String::new();
            input.read_line(&mut line).ok()?;
            let length = u64::from_str_radix(line.trim(), 16).ok()?;
            input.by_ref().take(length).read_to_end(&mut body).ok()?;
            input.read_line(&mut line).ok()?;
            if length == 0 {
                break;
            }
        }
    } else {
        let length = header("Content-Length").map_or(Some(0), |value| value.parse().ok())?;
        input.by_ref().take(length).read_to_end(&mut body).ok()?;
    }
    if !demanded.is_empty() && !lines.iter().any(|line| line == demanded) {
        let head = "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"team\"\r\nContent-Length: 0\r\n";
        return write!(client, "{head}Connection: close\r\n\r\n").ok();
    }
    let mut command = Command::new("git");
    command.arg("http-backend").env_clear().env("PATH", path).env("GIT_CONFIG_GLOBAL", "/dev/null");
    command.env("GIT_PROJECT_ROOT", root).env("GIT_HTTP_EXPORT_ALL", "1").env("REMOTE_ADDR", "127.0.0.1");
    command.env("REQUEST_METHOD", method).env("PATH_INFO", file).env("QUERY_STRING", query);
    command.env("CONTENT_TYPE", header("Content-Type").unwrap_or_default());
    command.env("HTTP_CONTENT_ENCODING", header("Content-Encoding").unwrap_or_default());
    command.env("GIT_PROTOCOL", header("Git-Protocol").unwrap_or_default());
    command.env("CONTENT_LENGTH", body.len().to_string());
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().ok()?;
    let mut stdin = child.stdin.take()?;
    let writer = std::thread::spawn(move || stdin.write_all(&body));
    let mut output = Vec::new();
    child.stdout.take()?.read_to_end(&mut output).ok()?;
    let _ = (writer.join(), child.wait());
    let text = String::from_utf8_lossy(&output);
    let status = text.lines().find_map(|line| line.strip_prefix("Status: ")).unwrap_or("200 OK");
    write!(client, "HTTP/1.1 {status}\r\nConnection: close\r\n").ok()?;
    client.write_all(&output).ok()?;
    client.shutdown(Shutdown::Write).ok()
}
