//! `git shiftlog fsck`.

fn main() -> std::process::ExitCode {
    shiftlog::command::fsck::run()
}
