//! `git shiftlog remap`.

fn main() -> std::process::ExitCode {
    shiftlog::command::remap::run()
}
