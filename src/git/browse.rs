//! Opening an address in a browser, as Git does.

use std::ffi::OsString;
use std::process::{Child, Command, Stdio};

/// The config value that names the browser, before `web.browser`.
const KEY: &str = "shiftlog.browser";

/// Opens an address in the browser that `tool` names, else that of the config, else one that Git finds, and does not
/// wait for it. Returns the process; `None` if nothing was started, as without a screen where no browser is named.
pub fn browse(address: &str, tool: Option<&str>, is_configured: bool) -> Option<Child> {
    let has_screen = cfg!(target_os = "macos")
        || ["DISPLAY", "WAYLAND_DISPLAY"]
            .iter()
            .any(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty()));
    if !has_screen && tool.is_none() && !is_configured {
        return None;
    }
    let mut args: Vec<OsString> = vec!["web--browse".into(), "-c".into(), KEY.into()];
    args.extend(tool.map(|tool| format!("--browser={tool}").into()));
    args.push(address.into());
    Command::new("git").args(args).stdin(Stdio::inherit()).stderr(Stdio::null()).spawn().ok()
}
