//! `git shiftlog install-docs`.

fn main() -> std::process::ExitCode {
    shiftlog::command::install_docs::run()
}
