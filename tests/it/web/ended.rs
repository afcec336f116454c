//! A server that is ended by a signal.

use std::fs;

use super::*;

#[test]
fn a_signal_ends_the_server() {
    let scratch = recorded();
    for signal in ["-TERM", "-INT"] {
        let mut served = Served::start(&scratch, &[]);
        // A shell's background jobs ignore SIGINT, and so does the server of a test that runs in one.
        let status = fs::read_to_string(format!("/proc/{}/status", served.child.id())).unwrap_or_default();
        let ignored =
            status.lines().find_map(|line| u64::from_str_radix(line.strip_prefix("SigIgn:")?.trim(), 16).ok());
        if signal == "-INT" && ignored.is_some_and(|ignored| ignored & 2 != 0) {
            served.child.kill().unwrap();
            continue;
        }
        scratch.run_in(&scratch.top, "kill", [signal, &served.child.id().to_string()]).ok();
        assert!(!served.child.wait().unwrap().success());
        assert!(TcpStream::connect(("127.0.0.1", served.port)).is_err());
    }
}
