//! A server that is ended by a signal.

use super::*;

/// Runs a program that does not ignore SIGINT, as a shell has its background jobs do, and so this test in one.
const HEEDING: &str =
    "import os, signal, sys; signal.signal(signal.SIGINT, signal.SIG_DFL); os.execv(sys.argv[1], sys.argv[1:])";

#[test]
fn a_signal_ends_the_server() {
    let scratch = recorded();
    let program = bin_dir().join("git-shiftlog");
    for signal in ["-TERM", "-INT"] {
        let mut command = scratch.command("python3", &scratch.top);
        let mut served = Served::run_by(command.args(["-c", HEEDING, program.to_str().unwrap(), "web"]));
        scratch.run_in(&scratch.top, "kill", [signal, &served.child.id().to_string()]).ok();
        assert!(!served.child.wait().unwrap().success());
        assert!(TcpStream::connect(("127.0.0.1", served.port)).is_err());
    }
}
