//! Faults that tests ask for, to prove that a crash or a failure at any point loses nothing.

/// Ends the process, as if it had been killed, when the environment asks for it at this point.
///
/// Only in builds with debug assertions; a release build does nothing here. Tests use it to prove that a crash
/// between any two steps of a write loses nothing.
pub fn fault_point(name: &str) {
    if has_fault(name) {
        std::process::abort();
    }
}

/// Says whether the environment asks for something to go wrong at this point; never in a release build.
pub fn has_fault(name: &str) -> bool {
    cfg!(debug_assertions) && std::env::var_os("SHIFTLOG_FAULT").is_some_and(|wanted| wanted == name)
}
