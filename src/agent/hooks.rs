//! How an agent's hooks are declared: which file, in which form, for which events.

/// A file with hooks.
#[derive(Clone, Copy, Debug)]
pub struct HookFile {
    /// Its path below the top of a working tree.
    pub path: &'static str,
    /// How hooks are written in it.
    pub form: HookForm,
    /// The hooks that the agent should run.
    pub handlers: &'static [Handler],
    /// One sentence for the user about a step that is needed before the hooks run.
    pub remark: Option<&'static str>,
}

/// A hook that an agent should run.
#[derive(Clone, Copy, Debug)]
pub struct Handler {
    /// The agent's name for the event.
    pub event: &'static str,
    /// Which tools it is for, if the event has tools.
    pub matcher: Option<&'static str>,
    /// How long the agent waits for it.
    pub timeout_secs: u32,
}

/// How hooks are written in a file.
#[derive(Clone, Copy, Debug)]
pub enum HookForm {
    /// JSON in which each event has a list of hooks.
    Json(Layout),
    /// A file that is ours alone, made from the commands; `true` if it must be executable.
    Own(fn(&Commands<'_>) -> String, bool),
}

/// The place and the form of hooks in a JSON file.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    /// The member that holds the events; `None` if they are at the top.
    pub member: Option<&'static str>,
    /// Whether a hook stands by itself, not in a group of one matcher.
    pub is_flat: bool,
    /// Whether only hooks with a matcher stand in groups.
    pub groups_tools_only: bool,
    /// Whether timeouts are in milliseconds; `None` if hooks have none.
    pub is_millis: Option<bool>,
    /// Whether a hook has a name.
    pub is_named: bool,
    /// The version that the file must tell.
    pub version: Option<u32>,
}

impl Layout {
    /// `hooks.<event>[].{matcher,hooks[]}` as Claude Code has it.
    pub const GROUPS: Layout = Layout {
        member: Some("hooks"),
        is_flat: false,
        groups_tools_only: false,
        is_millis: Some(false),
        is_named: false,
        version: None,
    };
    /// `hooks.<event>[]` as Cursor has it.
    pub const FLAT: Layout = Layout { is_flat: true, ..Layout::GROUPS };
}

/// The command lines of our hook program for one agent.
pub struct Commands<'a> {
    /// The agent's name.
    pub agent: &'a str,
    /// The program: its path, or its bare name for a file that a team commits.
    pub program: &'a str,
    /// Returns the command line for an event, for a shell. It is silent where the program is not installed.
    pub shell: &'a dyn Fn(&str) -> String,
}
