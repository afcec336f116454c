"""A model on loopback that answers by script, so that agents run without an account and always do the same.

A prompt ends with a mark, `[[name]]`, that names a script: a list of steps. The n-th request after the mark gets the n-th
step, and after the last step the model says that it is done. The step is counted from the conversation in the request, so
the model keeps no state, and answers several sessions and sub-agents at once. A step is a dictionary:

    say: words        sh: a shell command        write: [path, text]        task: the prompt of a sub-agent
    mcp: part of a tool's name        hang: true (never answers)

`$TOP` in a step is the working tree, `$HERE` the directory in it in which the agent was started. Which tool of the agent does a step is found in the tools that the request declares.
"""

import http.server
import json
import re
import threading
import time

import dialects

MARK = re.compile(r"\[\[([\w-]+)\]\]")

# Names of tools in small letters without punctuation, in the order to try them.
TOOLS = {
    "sh": "bash execcommand shellcommand runshellcommand runterminalcommand runcommands executecommand execute shell",
    "write": "write writefile createfile create createnewfile writetofile editor applypatch",
    "task": "agent task spawnagent invokeagent generalist",
}
# What an argument of a tool is, by its name in small letters without punctuation.
ARGUMENTS = {
    "sh": "command cmd commands",
    "path": "filepath path absolutepath",
    "text": "content contents filetext newtext",
    "patch": "patch patchtext input",
    "prompt": "prompt message request",
    "kind": "subagenttype agenttype agentname",
}


def plain(name):
    return re.sub(r"[^a-z0-9]", "", str(name).lower())


def filler(schema):
    """Returns some value that a schema allows, for arguments that say nothing."""
    kind = schema.get("type")
    kind = kind[0] if isinstance(kind, list) else kind
    if schema.get("enum"):
        return schema["enum"][0]
    return {"boolean": False, "integer": 30, "number": 30, "array": [], "object": {}}.get(kind, "a_small_task")


def arguments(schema, known):
    """Returns arguments for a tool: what is known, under the names that its schema has, and something for the rest."""
    properties = (schema or {}).get("properties") or {}
    given = {}
    for name, property in properties.items():
        what = next((what for what, names in ARGUMENTS.items() if plain(name) in names.split() and what in known), None)
        if what:
            is_list = property.get("type") == "array"
            given[name] = [known[what]] if is_list else known[what]
    for name in (schema or {}).get("required") or []:
        given.setdefault(name, filler(properties.get(name, {})))
    return given


def patch(path, text):
    lines = "".join(f"+{line}\n" for line in text.splitlines())
    return f"*** Begin Patch\n*** Add File: {path}\n{lines}*** End Patch\n"


class Model:
    """The server. `asked` has the text of each request so far."""

    def __init__(self, scripts, top, delay, agent):
        self.scripts, self.top, self.delay = scripts, str(top), delay
        self.sub_agent, self.mcp_tool = agent.sub_agent, agent.mcp_tool
        self.here = None
        # A file that another agent is to read.
        self.document = ""
        # An agent without tools changes files by what the model says, and asks for the words of its commits.
        self.has_tools = not agent.is_wordy
        # The scripts whose last step was given.
        self.ended = set()
        # What it says to everything, if it is set: a conversation that is to be summarised has the marks of its scripts.
        self.summary = None
        self.asked = []
        self.unknown = []
        self.hangs = threading.Event()
        self.is_over = threading.Event()
        handler = type("Handler", (Handler,), {"model": self})
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.is_over.set()
        self.server.shutdown()
        self.server.server_close()

    def step(self, turns):
        """Returns the step that follows a conversation, a list of (role, text); `None` if no prompt names a script."""
        for index in range(len(turns) - 1, -1, -1):
            role, text = turns[index]
            marks = MARK.findall(text) if role == "user" else []
            if marks:
                answered = sum(role == "model" for role, _ in turns[index + 1 :])
                steps = self.scripts.get(marks[-1], ["", [{"say": "There is no such script."}]])[1]
                step = steps[answered] if answered < len(steps) else {"say": "All is done."}
                if answered >= len(steps) - 1:
                    self.ended.add(marks[-1])
                places = {"$TOP": self.top, "$HERE": self.here or self.top, "$DOCUMENT": self.document}
                text = json.dumps(step)
                for name, place in places.items():
                    text = text.replace(name, place)
                return json.loads(text)
        return None

    def answer(self, request):
        """Returns (words, call) for a request; a call is (tool, arguments)."""
        time.sleep(self.delay)
        if self.summary:
            return self.summary, None
        step = self.step(request.turns)
        if not self.has_tools:
            self.ended.update(mark for role, text in request.turns[-1:] if role == "user" for mark in MARK.findall(text))
            return self.wordy(step, request), None
        if not request.tools or step is None:
            # Agents ask for titles and the like beside the conversation.
            return "A scripted title", None
        if step.get("hang"):
            self.hangs.set()
            self.is_over.wait(120)
        return step.get("say"), self.call(step, request)

    def wordy(self, step, request):
        """Returns a whole script as words: files as they are to become, or the subject of its commit."""
        marks = [mark for role, text in request.turns if role == "user" for mark in MARK.findall(text)]
        steps = self.scripts[marks[-1]][1] if marks else []
        subjects = [found.group(1) for step in steps for found in re.finditer("git commit.* -m '([^']*)'", step.get("sh", ""))]
        if "commit message" in request.body["messages"][0]["content"]:
            return subjects[-1] if subjects else "nothing: said of it"
        if step and step.get("hang"):
            self.hangs.set()
            self.is_over.wait(120)
        files = [step["write"] for step in steps if "write" in step]
        said = [step["say"] for step in steps if "say" in step][:1]
        blocks = [f"{path.split('/')[-1]}\n```\n{text}```\n" for path, text in files]
        return "\n\n".join([*said, *blocks])

    def call(self, step, request):
        by_name = {plain(tool.name): tool for tool in reversed(request.tools)}
        if "mcp" in step:
            # Some agents declare such a tool only when the model looks for it.
            tool = next((tool for tool in request.tools if step["mcp"] in tool.name), None)
            if tool is None and self.mcp_tool:
                namespace, _, name = self.mcp_tool.rpartition("/")
                tool = dialects.Tool(name, {}, namespace=namespace or None)
            known = {}
        else:
            act = next((act for act in TOOLS if act in step), None)
            if act is None:
                return None
            tool = next((by_name[name] for name in TOOLS[act].split() if name in by_name), None)
            known = {"sh": {"sh": step.get("sh")}, "task": {"prompt": step.get("task"), "kind": self.sub_agent}}.get(act)
            if act == "write":
                path, text = step["write"]
                known = {"path": path, "text": text, "patch": patch(path, text)}
        if "exec" in by_name and by_name["exec"].is_free and (tool is None or "task" not in step):
            return by_name["exec"], code(step, known)
        if tool is None and len(request.tools) < 2:
            return None  # a question beside the conversation
        if tool is None:
            self.unknown.append(f"no tool for {json.dumps(step)} in {sorted(by_name)}")
            return None
        return tool, known["patch"] if tool.is_free else arguments(tool.schema, known)


def code(step, known):
    """Returns a step as JavaScript, for the agent whose only tool runs that."""
    if "mcp" in step:
        call = "tools.mcp__shiftlog__shiftlog_" + step["mcp"] + "({})"
    elif "sh" in step:
        call = f"tools.exec_command({json.dumps({'cmd': step['sh']})})"
    else:
        call = f"tools.apply_patch({json.dumps(known['patch'])})"
    return f"const r = await {call}; text(r.output ?? JSON.stringify(r));"


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    model = None

    def log_message(self, *_):
        pass

    def body(self):
        if "chunked" not in (self.headers.get("Transfer-Encoding") or ""):
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        chunks = []
        while size := int(self.rfile.readline().split(b";")[0] or b"0", 16):
            chunks.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(chunks)

    def send(self, value, kind="application/json", status=200):
        data = value if isinstance(value, bytes) else json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self):
        models = [{"id": "scripted-1", "object": "model", "context_length": 200000}]
        self.send({"object": "list", "data": models, "models": []} if "models" in self.path else {})

    def do_POST(self):
        raw = self.body()
        try:
            body = json.loads(raw or b"{}")
        except ValueError:
            body = {}
        path = self.path.split("?")[0]
        dialect = dialects.of(path)
        if dialect is None:
            return self.send({"input_tokens": 1000, "totalTokens": 1000} if "ount" in path else {})
        request = dialect.read(body, path)
        self.model.asked.append(json.dumps(body, ensure_ascii=False))
        words, call = self.model.answer(request)
        try:
            is_stream, answer = dialect.write(request, words, call)
            if is_stream:
                self.send(b"".join(answer), "text/event-stream")
            else:
                self.send(answer)
        except (BrokenPipeError, ConnectionResetError):
            pass  # the agent was ended
        return None
