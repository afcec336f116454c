"""The agents: which release is tried, how it is told where the model is, how it is started.

In commands, files and variables, `{url}` is the address of the model, `{home}` the home directory, `{top}` the working tree,
`{prompt}` the prompt, `{id}` the id of a session, `{latest}` that of the newest one in the agent's store, `{latest_path}` its
file.
"""

import dataclasses
import json


@dataclasses.dataclass(frozen=True)
class Agent:
    name: str
    package: str
    version: str
    program: str
    # Commands: a new session, the newest one continued, one with an id taken up.
    new: tuple
    again: tuple = ()
    resume: tuple = ()
    env: dict = dataclasses.field(default_factory=dict)
    # Files to write before the first start, by path below the home directory.
    files: dict = dataclasses.field(default_factory=dict)
    # Commands to run before the first start.
    before: tuple = ()
    # Patterns of transcripts below the home directory.
    store: tuple = ()
    # Whether a transcript is a file of lines, which is recorded as it stands.
    is_lines: bool = True
    # The kind of a sub-agent, `None` if the agent has none that a prompt can start.
    sub_agent: str | None = None
    # Commands that declare our MCP server, and the name of its tool (with a namespace before a slash) where the agent does not
    # declare that to the model.
    mcp: tuple = ()
    mcp_tool: str | None = None
    # Whether it writes a session after its answer, when the commit is there already.
    is_late: bool = False
    # A package that the agent installs at its first start, which wants the network, and where it looks for that.
    plugin: str | None = None
    plugin_places: tuple = ()
    # Files that it leaves in a repository itself.
    leaves: tuple = ()
    # A command that goes on with the newest session as another one.
    fork: tuple = ()
    # Whether it also runs hooks of the user's own settings, which `init --global` sets up.
    user_hooks: bool = False
    # Files to write instead where its folder is not trusted.
    untrusted: dict = dataclasses.field(default_factory=dict)
    # Whether `git shiftlog summarise` can ask it.
    ask: bool = False
    # What the README calls it, with its model where there are several.
    title: str | None = None
    # Why scenarios cannot be played, by the name of the scenario or of the field that it needs.
    cannot: dict = dataclasses.field(default_factory=dict)
    # Where its releases are: "npm" or "pypi".
    registry: str = "npm"
    # Whether it has no tools, but changes files and commits by what the model says; and how it tells of a commit.
    is_wordy: bool = False
    answer: str = " {short}]"
    # How it is used on a terminal: a command to "start", words by which it shows that it is "ready", keys to "begin" and to
    # "leave", commands to go on with a session ("again", "resume", "fork") where it does so only there, and by other names a
    # line to type or keys to press.
    typed: dict = dataclasses.field(default_factory=dict)
    # Whether `git shiftlog resume --as` can start it.
    hand_over: bool = False
    # Files below the home directory that declare our MCP server.
    mcp_files: dict = dataclasses.field(default_factory=dict)
    # How it is started where its folder or its hooks are not trusted, if that is by other words.
    new_untrusted: tuple = ()
    # How it is started to leave a commit to a person, if that is by other words.
    new_draft: tuple = ()

    def lacks(self, scenario):
        """Returns why a scenario cannot be played with the agent; `None` if it can."""
        if scenario.name in self.cannot:
            return self.cannot[scenario.name]
        missing = next((need for need in scenario.needs if not (getattr(self, need, None) or need in self.typed)), None)
        return missing and self.cannot[missing]
    # Where the program is in its package, if npm does not know; `{system}` and `{machine}` in the package's name are this one's.
    path: str | None = None


def as_json(value):
    return json.dumps(value).replace("{", "{{").replace("}", "}}").replace("@URL@", "{url}").replace("@TOP@", "{top}")


SERVER = ("git", "shiftlog", "mcp")

CODEX_CONFIG = """model = "{model}"
model_provider = "scripted"
check_for_update_on_startup = false
[model_providers.scripted]
name = "scripted"
base_url = "{{url}}/v1"
env_key = "SCRIPTED_KEY"
wire_api = "responses"
[analytics]
enabled = false
[projects."{{top}}"]
trust_level = "trusted"
"""

CONTINUE_CONFIG = """name: scripted
version: 0.0.1
schema: v1
models:
  - name: scripted
    provider: openai
    model: scripted-1
    apiBase: {url}/v1
    apiKey: dummy
    capabilities: [tool_use]
    roles: [chat, edit, apply]
"""

CONTINUE_SERVER = """mcpServers:
  - name: shiftlog
    command: git
    args: [shiftlog, mcp]
"""

LIMITS = {"context": 200000, "output": 8000}
OPENCODE = {
    "autoupdate": False, "share": "disabled", "permission": "allow",
    "model": "fake/scripted-1", "small_model": "fake/scripted-1",
    "provider": {"fake": {"npm": "@ai-sdk/openai-compatible", "name": "Scripted",
                          "options": {"baseURL": "@URL@/v1", "apiKey": "dummy"},
                          "models": {"scripted-1": {"name": "Scripted", "limit": LIMITS}}}},
}
PI_MODELS = {"providers": {"fake": {
    "baseUrl": "@URL@/v1", "api": "openai-completions", "apiKey": "dummy",
    "models": [{"id": "scripted-1", "name": "Scripted", "contextWindow": 200000, "maxTokens": 8000}]}}}
DROID = {
    "customModels": [{"model": "scripted-1", "displayName": "Scripted", "baseUrl": "@URL@/v1", "apiKey": "dummy",
                      "provider": "generic-chat-completion-api", "maxOutputTokens": 8000}],
    "enableDroidShield": False, "telemetry": False,
}
GEMINI = {
    "security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": False}},
    "privacy": {"usageStatisticsEnabled": False},
    "general": {"disableAutoUpdate": True, "enableAutoUpdate": False},
}
QWEN = {
    "security": {"auth": {"selectedType": "openai"}}, "privacy": {"usageStatisticsEnabled": False},
    "general": {"disableAutoUpdate": True, "enableAutoUpdate": False}, "telemetry": {"enabled": False},
}

CLAUDE_STATE = {
    "hasCompletedOnboarding": True, "theme": "dark", "bypassPermissionsModeAccepted": True,
    "customApiKeyResponses": {"approved": ["dummy"], "rejected": []},
    "projects": {"@TOP@": {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}},
}
KILO_SETTINGS = {**OPENCODE, "snapshot": False}

# Why a scenario cannot be played.
NO_FORK = "it has no sessions that go on as others"
NO_USER_HOOKS = "it has no hooks in the user's own settings, or 'init' does not offer them"
NO_TRUST = "headless, it asks for no trust in a folder"
NO_ASK = "'git shiftlog summarise' does not ask it"
NO_SUB_AGENT = "no prompt starts a sub-agent"
NO_HAND_OVER = "nothing starts it on a terminal with a prompt"

CLAUDE = ("claude", "-p", "--dangerously-skip-permissions")
CODEX = ("codex", "exec", "--dangerously-bypass-approvals-and-sandbox", "--dangerously-bypass-hook-trust")
CODEX_TYPED = ("codex", "--dangerously-bypass-approvals-and-sandbox", "--dangerously-bypass-hook-trust")
CODEX_ENV = {"SCRIPTED_KEY": "dummy"}
COPILOT = ("copilot", "--allow-all")
DROID_EXEC = ("droid", "exec", "--auto", "high", "-m", "custom:scripted-1")
CONTINUE = ("cn", "--config", "{home}/.continue/config.yaml", "--auto")
AIDER = ("aider", "--yes-always", "--no-check-update", "--no-show-model-warnings", "--no-show-release-notes", "--no-gitignore",
         "--no-pretty", "--model", "openai/scripted-1", "--edit-format", "whole", "--map-tokens", "0")
CLINE = ("cline", "--auto-approve", "true")


def codex(name, model, sub_agent=None):
    return Agent(
        name=name, title=f"Codex, {model}", ask=True, package="@openai/codex", version="0.171.0", program="codex",
        new=(*CODEX, "{prompt}"), again=(*CODEX, "resume", "--last", "{prompt}"), resume=(*CODEX, "resume", "{id}", "{prompt}"),
        env=CODEX_ENV, files={".codex/config.toml": CODEX_CONFIG.format(model=model)},
        store=(".codex/sessions/**/*.jsonl",), sub_agent=sub_agent,
        mcp=(("codex", "mcp", "add", "shiftlog", "--", *SERVER),), mcp_tool="mcp__shiftlog/shiftlog_list_conversations",
        # It offers a newer model first.
        typed={"start": CODEX_TYPED, "ready": "existing model" if model == "gpt-5.5" else "",
               "begin": ("\x1b[B", "\r") if model == "gpt-5.5" else (), "clear": "/clear", "compact": "/compact",
               "rewind": ("\x1b", "\x1b", "\r", "\x15"), "fork": ("codex", "fork", *CODEX_TYPED[1:], "{latest}")}, hand_over=True,
        untrusted={".codex/config.toml": CODEX_CONFIG.format(model=model)}, new_untrusted=(*CODEX[:-1], "{prompt}"),
        cannot={"user_hooks": NO_USER_HOOKS, "sub_agent": NO_SUB_AGENT},
    )


ALL = [
    Agent(
        name="claude", title="Claude Code", ask=True, fork=(*CLAUDE, "--resume", "{latest}", "--fork-session", "{prompt}"),
        package="@anthropic-ai/claude-code", version="2.1.332", program="claude",
        new=(*CLAUDE, "{prompt}"), again=(*CLAUDE, "-c", "{prompt}"), resume=(*CLAUDE, "--resume", "{id}", "{prompt}"),
        env={"ANTHROPIC_BASE_URL": "{url}", "ANTHROPIC_API_KEY": "dummy", "IS_SANDBOX": "1", "DISABLE_AUTOUPDATER": "1",
             "DISABLE_TELEMETRY": "1", "DISABLE_ERROR_REPORTING": "1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"},
        store=(".claude/projects/**/*.jsonl",), sub_agent="general-purpose",
        mcp=(("claude", "mcp", "add", "shiftlog", "--", *SERVER),), mcp_tool="mcp__shiftlog__shiftlog_list_conversations",
        files={".claude.json": as_json(CLAUDE_STATE)}, hand_over=True,
        typed={"start": ("claude", "--dangerously-skip-permissions"), "clear": "/clear", "compact": "/compact",
               "rewind": ("/rewind", "\r", "\x1b[A", "\r", "\r", "\x15")},
        cannot={"user_hooks": "its hooks in the user's own settings are not set up by 'init'", "untrusted": NO_TRUST},
    ),
    codex("codex", "gpt-5.5"),
    # Newer models of Codex have one tool, which runs JavaScript.
    codex("codex-code", "gpt-6.1-sol", "default"),
    Agent(
        name="gemini", title="Gemini CLI", ask=True, user_hooks=True, package="@google/gemini-cli", version="0.61.0", program="gemini",
        new=("gemini", "-y", "-p", "{prompt}"), again=("gemini", "-y", "--resume", "latest", "-p", "{prompt}"),
        resume=("gemini", "-y", "--resume", "{id}", "-p", "{prompt}"),
        env={"GOOGLE_GEMINI_BASE_URL": "{url}", "GEMINI_API_KEY": "dummy", "GEMINI_CLI_NO_RELAUNCH": "true"},
        files={".gemini/settings.json": as_json(GEMINI)},
        store=(".gemini/tmp/**/chats/**/*.json*",), sub_agent="generalist",
        mcp=(("gemini", "mcp", "add", "-s", "user", "shiftlog", *SERVER),),
        typed={"start": ("gemini", "-y"), "clear": "/clear", "compact": "/compress", "rewind": ("/rewind", "\r", "\x1b[A", "\x1b[A", "\x1b[A", "\r", "\r", "\x15")}, hand_over=True,
        cannot={"fork": NO_FORK, "untrusted": "headless, it does not start in a folder that it does not trust"},
    ),
    Agent(
        name="opencode", title="OpenCode", ask=True, fork=("opencode", "run", "-c", "--fork", "{prompt}"), package="opencode-ai", version="1.18.33", program="opencode",
        new=("opencode", "run", "{prompt}"), again=("opencode", "run", "-c", "{prompt}"),
        resume=("opencode", "run", "-s", "{id}", "{prompt}"),
        env={"OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_LSP_DOWNLOAD": "1", "OPENCODE_DISABLE_MODELS_FETCH": "1"},
        files={".config/opencode/opencode.json": as_json(OPENCODE)},
        store=(".local/share/opencode/*.db",), is_lines=False, sub_agent="general",
        leaves=(".git/opencode",), plugin="@opencode-ai/plugin", plugin_places=("{home}/.config/opencode", "{top}/.opencode"),
        typed={"start": ("opencode",), "ready": "commands", "clear": "/new", "compact": "/compact", "rewind": ("/undo", "\r", "\x15")}, hand_over=True,
        mcp=(("git", "shiftlog", "init", "-q", "--agent=opencode", "--mcp=opencode"),),
        cannot={"user_hooks": NO_USER_HOOKS, "untrusted": NO_TRUST},
    ),
    Agent(
        name="pi", title="Pi", package="@mariozechner/pi-coding-agent", version="0.73.1", program="pi",
        new=("pi", "-p", "{prompt}"), again=("pi", "-c", "-p", "{prompt}"),
        resume=("pi", "--session", "{id}", "-p", "{prompt}"), fork=("pi", "--fork", "{latest_path}", "-p", "{prompt}"),
        env={"PI_OFFLINE": "1", "PI_SKIP_VERSION_CHECK": "1", "PI_TELEMETRY": "0"},
        files={".pi/agent/models.json": as_json(PI_MODELS),
               ".pi/agent/settings.json": as_json({"defaultProvider": "fake", "defaultModel": "scripted-1",
                                                   "enableInstallTelemetry": False})},
        store=(".pi/agent/sessions/**/*.jsonl",),
        typed={"start": ("pi",), "clear": "/new", "compact": "/compact", "rewind": ("/tree", "\r", "\x1b[A", "\x1b[A", "\x1b[A", "\x1b[A", "\r", "\r", "\x15")},
        cannot={"user_hooks": NO_USER_HOOKS, "untrusted": "this release asks for no trust in a folder",
                "sub_agent": "it has no sub-agents", "mcp": "it has no client for MCP", "ask": NO_ASK, "hand_over": NO_HAND_OVER},
    ),
    Agent(
        name="copilot", title="Copilot CLI", ask=True, untrusted={".copilot/config.json": "{{}}\n"}, package="@github/copilot", version="1.0.102", program="copilot",
        new=(*COPILOT, "-p", "{prompt}"), again=(*COPILOT, "--continue", "-p", "{prompt}"),
        resume=(*COPILOT, "--resume={id}", "-p", "{prompt}"),
        env={"COPILOT_OFFLINE": "true", "COPILOT_PROVIDER_BASE_URL": "{url}/v1", "COPILOT_PROVIDER_API_KEY": "dummy",
             "COPILOT_MODEL": "scripted-1", "COPILOT_AUTO_UPDATE": "false", "COPILOT_PROVIDER_MAX_PROMPT_TOKENS": "100000",
             "COPILOT_PROVIDER_MAX_OUTPUT_TOKENS": "8000"},
        files={".copilot/config.json": '{{"trusted_folders": ["{top}"]}}\n'},
        store=(".copilot/session-state/*/events.jsonl",), sub_agent="general-purpose",
        typed={"start": COPILOT, "clear": "/clear", "compact": "/compact", "rewind": ("/rewind", "\r", "\r", "\r", "\x15")}, hand_over=True,
        mcp=(("git", "shiftlog", "init", "-q", "--agent=copilot", "--mcp=copilot"),),
        cannot={"fork": NO_FORK, "user_hooks": NO_USER_HOOKS},
    ),
    Agent(
        name="droid", title="Factory Droid", package="@factory/cli-{system}-{machine}", version="0.225.2", program="droid", path="bin/droid",
        # It takes up a session only on a terminal, or with an account.
        new=(*DROID_EXEC, "{prompt}"),
        env={"FACTORY_DISABLE_AUTO_UPDATE": "1", "DROID_DISABLE_AUTO_UPDATE": "1", "FACTORY_DROID_AUTO_UPDATE_ENABLED": "false"},
        files={".factory/settings.json": as_json(DROID)}, leaves=(".git/.factory-scm-trigger",),
        store=(".factory/sessions/**/*.jsonl",),
        mcp=(("droid", "mcp", "add", "shiftlog", "git shiftlog mcp"),), mcp_tool="shiftlog___shiftlog_list_conversations",
        cannot={"again": "without an account it goes on with a session only on a terminal", "fork": "without an account only on a terminal",
                "resume": "without an account it goes on with a session only on a terminal", "user_hooks": NO_USER_HOOKS,
                "untrusted": NO_TRUST, "sub_agent": NO_SUB_AGENT, "ask": NO_ASK, "typed": "its terminal wants an account"},
        hand_over=True,
    ),
    Agent(
        name="continue", title="Continue, headless", fork=(*CONTINUE, "--fork", "{latest}", "-p", "{prompt}"), package="@continuedev/cli", version="1.5.47", program="cn",
        new=(*CONTINUE, "-p", "{prompt}"), again=(*CONTINUE, "--resume", "-p", "{prompt}"),
        resume=(*CONTINUE, "--fork", "{id}", "-p", "{prompt}"),
        env={"CONTINUE_TELEMETRY_ENABLED": "0", "CONTINUE_CLI_ENABLE_TELEMETRY": "0", "CONTINUE_METRICS_ENABLED": "0"},
        files={".continue/config.yaml": CONTINUE_CONFIG},
        store=(".continue/sessions/*-*.json",), is_lines=False, is_late=True,
        typed={"start": CONTINUE, "clear": "/clear", "compact": "/compact"},
        cannot={"user_hooks": "it has no hooks", "untrusted": NO_TRUST, "sub_agent": NO_SUB_AGENT, "ask": NO_ASK,
                "hand_over": NO_HAND_OVER, "rewind": "it has no command for that"},
        mcp_files={".continue/config.yaml": CONTINUE_CONFIG + CONTINUE_SERVER}, mcp=(("true",),),
    ),
    Agent(
        name="cline", title="Cline", package="cline", version="3.0.65", program="cline",
        new=(*CLINE, "{prompt}"),
        env={"CLINE_TELEMETRY_DISABLED": "1", "TELEMETRY_ENABLED": "false"},
        before=(("cline", "auth", "-p", "openai-compatible", "-k", "dummy", "-m", "scripted-1", "-b", "{url}/v1"),),
        store=(".cline/data/sessions/*/*.messages.json",), is_lines=False,
        # It offers a subscription first.
        typed={"start": CLINE, "begin": ("\x1b",), "clear": "/clear", "compact": "/compact", "again": (*CLINE, "--id", "{latest}"),
               "resume": (*CLINE, "--id", "{id}"),
               "rewind": ("/undo", "\r", "\r", "\r", "\x15")},
        cannot={"fork": "only by '/fork' on its terminal, which was not tried", "user_hooks": NO_USER_HOOKS, "untrusted": NO_TRUST,
                "sub_agent": NO_SUB_AGENT, "ask": NO_ASK, "hand_over": NO_HAND_OVER},
        mcp_files={".cline/data/settings/cline_mcp_settings.json": as_json({"mcpServers": {
            "shiftlog": {"type": "stdio", "command": "git", "args": ["shiftlog", "mcp"], "disabled": False}}})}, mcp=(("true",),),
    ),
    Agent(
        name="qwen", title="Qwen Code", user_hooks=True, package="@qwen-code/qwen-code", version="0.15.10", program="qwen",
        new=("qwen", "--yolo", "-p", "{prompt}"), again=("qwen", "--yolo", "-c", "-p", "{prompt}"),
        resume=("qwen", "--yolo", "--resume", "{id}", "-p", "{prompt}"),
        env={"OPENAI_API_KEY": "dummy", "OPENAI_BASE_URL": "{url}/v1", "OPENAI_MODEL": "scripted-1", "QWEN_CODE_NO_RELAUNCH": "1"},
        files={".qwen/settings.json": as_json(QWEN)},
        store=(".qwen/projects/*/chats/*.jsonl", ".qwen/projects/*/subagents/*/agent-*.jsonl"), sub_agent="general-purpose",
        mcp=(("qwen", "mcp", "add", "-s", "user", "shiftlog", *SERVER),), mcp_tool="mcp__shiftlog__shiftlog_list_conversations",
        typed={"start": ("qwen", "--yolo"), "clear": "/clear", "compact": "/compress", "rewind": ("/rewind", "\r", "\r", "\r", "\x15")}, hand_over=True,
        untrusted={".qwen/settings.json": as_json({**QWEN, "security": {**QWEN["security"], "folderTrust": {"enabled": True}}})},
        cannot={"fork": NO_FORK, "ask": NO_ASK},
    ),
    Agent(
        name="kilo", title="Kilo", package="@kilocode/cli", version="7.7.2", program="kilo",
        new=("kilo", "run", "--auto", "{prompt}"), again=("kilo", "run", "--auto", "-c", "{prompt}"),
        resume=("kilo", "run", "--auto", "-s", "{id}", "{prompt}"), fork=("kilo", "run", "--auto", "-c", "--fork", "{prompt}"),
        env={"KILO_DISABLE_AUTOUPDATE": "1", "KILO_DISABLE_LSP_DOWNLOAD": "1", "KILO_DISABLE_MODELS_FETCH": "1",
             "KILO_DISABLE_SESSION_INGEST": "1", "KILO_API_URL": "{url}", "KILO_TELEMETRY_LEVEL": "off", "KILO_DISABLE_DEFAULT_PLUGINS": "1",
             "KILO_EXPERIMENTAL_DISABLE_FILEWATCHER": "1"},
        # Its plugin's package has no release of this number; without a network its npm tries again for longer than a minute.
        files={".config/kilo/kilo.json": as_json(KILO_SETTINGS), ".npmrc": "registry={url}/\nfetch-retries=0\n"},
        store=(".local/share/kilo/*.db",), is_lines=False, sub_agent="general",
        leaves=(".git/kilo", ".kilo/.gitignore"),
        typed={"start": ("kilo",), "ready": "commands", "clear": "/new", "compact": "/compact", "rewind": ("/undo", "\r", "\x15")}, hand_over=True,
        mcp_files={".config/kilo/kilo.json": as_json({**KILO_SETTINGS, "mcp": {"shiftlog": {"type": "local", "command": list(SERVER)}}})},
        mcp=(("true",),), cannot={"user_hooks": NO_USER_HOOKS, "untrusted": NO_TRUST, "ask": NO_ASK},
    ),
    Agent(
        name="aider", title="aider", registry="pypi", package="aider-chat", version="0.86.2", program="aider",
        new=(*AIDER, "--message", "{prompt}"), again=(*AIDER, "--restore-chat-history", "--message", "{prompt}"),
        new_draft=(*AIDER, "--no-auto-commits", "--message", "{prompt}"),
        env={"OPENAI_API_BASE": "{url}/v1", "OPENAI_API_KEY": "dummy", "AIDER_ANALYTICS": "false"},
        # It makes these files in the repository, and offers to hide them.
        files={".config/git/ignore": ".aider*\n"}, leaves=(".aider.chat.history.md", ".aider.input.history"),
        is_lines=False, is_wordy=True, answer="Commit {short} ",
        typed={"start": AIDER, "clear": "/clear"},
        cannot={
            **dict.fromkeys(("pair", "twins", "amended", "fails", "together", "apart"), "it runs no commands of the model, and makes a commit for each answer"),
            "killed": "it writes nothing before the model has said all", "fork": NO_FORK, "user_hooks": "it has no hooks",
            "untrusted": NO_TRUST, "sub_agent": "it has no sub-agents", "ask": NO_ASK, "mcp": "it has no client for MCP",
            "hand_over": NO_HAND_OVER, "resume": "it takes up no session from outside",
            "compact": "it compacts by itself alone", "rewind": "'/undo' takes back a commit, and nothing that was said",
        },
    ),
]
