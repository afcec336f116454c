//! `git shiftlog deinit`.

fn main() -> std::process::ExitCode {
    shiftlog::command::deinit::run()
}
