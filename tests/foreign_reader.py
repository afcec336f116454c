"""Reads the conversations of a commit as gitshiftlog-format(5) says, without git-shiftlog.

Needs Python 3 (its standard library), git, and the zstd command. In a repository,

    python3 foreign_reader.py <commit> <directory>

writes three files for each record of the commit's note: <number>.record, the line; <number>.increment, what the record
added; and <number>.session, the whole session up to the record, as the agent had it. For each instruction file of a
record whose text is kept it writes <number>.rules.<entry>, and for each evidence whose text is stored
evidence.<number>. For each document of an earlier tool it writes earlier.<number>, the session of the document.
"""
import base64, gzip, hashlib, json, pathlib, re, sqlite3, subprocess, sys

# Notes, the archive, segments, increments.

def run(*command, stdin=b""):
    return subprocess.run(command, input=stdin, stdout=subprocess.PIPE, check=True).stdout

def chain(through, since=None):
    """Returns the segments from `through` back to the one after `since`, each as its header and its bytes."""
    links = []
    while through not in (None, since):
        file = run("git", "cat-file", "blob", through)
        length = int.from_bytes(file[4:8], "little")
        links.append((json.loads(file[8:8 + length]), run("zstd", "-dcq", stdin=file)))
        through = links[-1][0]["parent"]
    return links

def transcript(through):
    whole = b""
    for header, body in reversed(chain(through)):
        whole = whole[:header["keep"]] + body
    return whole

def start(record):
    if record["since"] is None:
        return 0
    keeps = [header["keep"] for header, _ in chain(record["through"], record["since"])]
    return min([len(transcript(record["since"]))] + keeps)

OURS = re.compile(rb'{"shiftlog":[0-9]+,("evidence":)?')

def read(object):
    """Returns the content of a blob; nothing if there is none."""
    return subprocess.run(["git", "cat-file", "blob", object], capture_output=True).stdout

def note(commit, ref="shiftlog"):
    return subprocess.run(["git", "notes", "--ref=" + ref, "show", commit], capture_output=True).stdout

def objects(commit, is_evidence):
    """Returns the lines of a note that are ours, and what they hold."""
    for line in note(commit).split(b"\n"):
        ours = OURS.match(line)
        if ours and bool(ours[1]) == is_evidence:
            try:
                yield line, json.loads(line)
            except ValueError:
                pass

def records(commit):
    for line, record in objects(commit, False):
        if "agent" in record and "session" in record:
            record = unpurged({"since": None, "through": None, **record})
            if record:
                yield line, record

def evidence(commit):
    for line, each in objects(commit, True):
        each = {"blob": None, "sha256": "", **each}
        mark = mark_of(each["blob"])
        if mark:
            each.update(blob=mark["became"], size=mark["bytes"], sha256=mark["sha256"])
        if "id" in each and not is_removed("evidence", each["sha256"]):
            yield each

def tell_version(what, version):
    if version > 1:
        print(f"{what} is of format {version}: what is not known of it is left out")

# Purge marks.

def mark_of(segment):
    """Returns the last mark of a segment that was removed or replaced, perhaps more than once."""
    mark = segment and read(f"refs/shiftlog/purged:segments/{segment[:2]}/{segment}")
    mark = json.loads(mark) if mark else None
    return mark and (mark_of(mark["became"]) or mark)

def is_removed(agent, session):
    coded = lambda word: re.sub(rb"^\.|[^A-Za-z0-9_.-]", lambda byte: b"%%%02X" % byte[0][0], word.encode()).decode()
    names = (f"{coded(agent)}~{coded(name)}" for name in (session, session.split(".")[0]))
    return any(read(f"refs/shiftlog/purged:sessions/{name}") for name in names)

def unpurged(record):
    """Returns what is left of a record; None if nothing is."""
    since, through = mark_of(record["since"]), mark_of(record["through"])
    if since:
        record["since"] = since["became"]
    if through:
        record.update(through=through["became"], bytes=through["bytes"], sha256=through["sha256"])
    for file in record.get("rules", []):
        text = mark_of(file.get("text"))
        if text:
            file.update(text=text["became"], bytes=text["bytes"], sha256=text["sha256"])
    is_empty = record["through"] == record["since"] if record["through"] else through is not None
    return None if is_empty or is_removed(record["agent"], record["session"]) else record

# Documents of earlier tools.

def earlier(text):
    """Returns the sessions of the documents in a note."""
    text, at = text.decode(errors="replace"), 0
    while at < len(text):
        try:
            value, at = json.JSONDecoder().raw_decode(text, at)
            if isinstance(value, dict) and "checksum" in value:
                yield value["checksum"], gzip.decompress(base64.b64decode(value["transcript"]))
        except ValueError:
            pass
        at = text.find("\n", at) + 1 or len(text)

# Documents.

TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"|[\[\]{},:]|[^ \t\r\n"\[\]{},:]+', re.S)
OPENING, CLOSING = (b"[", b"{"), (b"]", b"}")

def spelled(tokens, indent):
    text, depth, last = [], 0, b""
    for token in tokens:
        depth -= token in CLOSING
        if indent and (last == b"," or (last in OPENING) != (token in CLOSING)):
            text.append(b"\n" + b" " * indent * depth)
        depth += token in OPENING
        text.append(b": " if indent and token == b":" else token)
        last = token
    return b"".join(text)

def member(tokens, name):
    """Returns where the value of an object's member begins and ends; of several with one name, the last."""
    found, depth, name = None, 0, json.dumps(name).encode()
    for at, token in enumerate(tokens):
        if depth == 1 and tokens[at - 1] in (b"{", b",") and tokens[at:at + 2] == [name, b":"]:
            found = [at + 2, None]
        elif depth == 1 and found and found[1] is None and token in (b",", b"}"):
            found[1] = at
        depth += (token in OPENING) - (token in CLOSING)
    return found

def document(lines, agent):
    head, body = lines.split(b"\n", 1)
    head = json.loads(head)
    if "list" not in head:
        return body[:-1]
    elements = [TOKEN.findall(line) for line in body.split(b"\n") if line.strip(b" \t\r\f")]
    before, after = [], []
    if head["list"]:
        before, after = [b"{", json.dumps(head["list"]).encode(), b":"], [b"}"]
        place = member(elements[-1], head["list"]) if elements else None
        if place and elements[-1][place[0]:place[1]] == [b"[", b"]"]:
            around = elements.pop()
            before, after = around[:place[0]], around[place[1]:]
    if agent in ("opencode", "kilo"):
        elements = whole(elements)
        after = later(elements, after)
    tokens = [token for element in elements for token in [b","] + element][1:]
    return spelled(before + [b"["] + tokens + [b"]"] + after, min(head["indent"], 16)) + head["end"].encode()

def listed(tokens):
    """Returns the elements of an array or an object, each as its tokens."""
    elements, depth = [], 0
    for token in tokens[1:-1]:
        if depth == 0 and (token == b"," or not elements):
            elements.append([])
        if depth or token != b",":
            elements[-1].append(token)
        depth += (token in OPENING) - (token in CLOSING)
    return elements

def members(tokens):
    """Returns the members of an object: their names, and the tokens of their values."""
    return {each[0]: each[2:] for each in listed(tokens)}

def whole(elements):
    """Joins the lines of each message of OpenCode."""
    messages = []
    for line in elements:
        more = members(line) if b'"continues"' in line else {}
        before = messages and members(messages[-1])
        if more.get(b'"shiftlog"') != [b'"continues"'] or not before or b'"info"' not in before:
            messages.append(line)
            continue
        info, added = members(before[b'"info"']), members(more[b'"info"'])
        if info.get(b'"id"') != added[b'"id"']:
            messages.append(line)
            continue
        before[b'"info"'] = collected(added if info.keys() <= added.keys() else {**info, **added})
        parts = listed(before[b'"parts"']) + listed(more[b'"parts"'])
        before[b'"parts"'] = [b"["] + [token for part in parts for token in [b","] + part][1:] + [b"]"]
        messages[-1] = collected(before)
    return messages

def collected(members):
    """Returns an object as tokens."""
    tokens = [token for name, value in members.items() for token in [b",", name, b":"] + value]
    return [b"{"] + tokens[1:] + [b"}"]

def later(messages, after):
    """Puts the summaries that stand at the end of a session of OpenCode back into its messages."""
    place = member([b"{"] + after[1:], "shiftlog")
    own = after[slice(*place)] if place else []
    if not member(own, "summaries"):
        return after
    summaries = own[slice(*member(own, "summaries"))]
    for message in messages:
        first, end = member(message, "info")
        name = json.loads(spelled(message[slice(*[first + at for at in member(message[first:end], "id")])], 0))
        summary = member(summaries, name)
        if summary:
            message[end - 1:end - 1] = [b",", b'"summary"', b":"] + summaries[slice(*summary)]
    return after[:place[0] - 3] + after[place[1]:]

# Stores.

def joined(pieces, ids, in_hex=False):
    data = b""
    for piece in pieces:
        if isinstance(piece, dict):
            data += b"".join(b"\x0a\x20" + id for first, end in piece["named"] for id in ids[first:end])
        elif isinstance(piece, int):
            data += ids[piece].hex().encode() if in_hex else ids[piece]
        else:
            data += base64.b64decode(piece[0]) if isinstance(piece, list) else piece.encode()
    return data

def store(lines, path):
    *messages, last, _ = lines.split(b"\n")
    last, blobs, ids = json.loads(last), [], []

    def add(blob):
        blobs.append(blob)
        ids.append(hashlib.sha256(blob).digest())

    for line in messages:
        value = json.loads(line)
        add(joined(value["data"], ids) if "shiftlog" in value else line)
    for pieces in last["blobs"]:
        add(joined(pieces, ids))
    database = sqlite3.connect(path)
    database.execute("CREATE TABLE blobs(id text primary key,data blob)")
    database.execute("CREATE TABLE meta(key text primary key,value text)")
    rows = [(row["key"], joined(row["hex"], ids, True).hex() if "hex" in row else row["value"]) for row in last["meta"]]
    database.executemany("INSERT OR IGNORE INTO blobs VALUES(?, ?)", [(id.hex(), blob) for id, blob in zip(ids, blobs)])
    database.executemany("INSERT OR IGNORE INTO meta VALUES(?, ?)", rows)
    database.commit()

# All of it together.

def main(commit, directory):
    directory = pathlib.Path(directory)
    for number, (line, record) in enumerate(records(commit)):
        (directory / f"{number}.record").write_bytes(line)
        tell_version(f"record {number}", record["shiftlog"])
        if not record["through"]:
            continue
        whole = transcript(record["through"])
        for key, value in {"bytes": len(whole), "sha256": hashlib.sha256(whole).hexdigest()}.items():
            assert record.get(key, value) == value, f"record {number} tells of another transcript"
        (directory / f"{number}.increment").write_bytes(whole[start(record):])
        for entry, file in enumerate(record.get("rules", [])):
            if file.get("text"):
                text = transcript(file["text"])
                assert (file["bytes"], file["sha256"]) == (len(text), hashlib.sha256(text).hexdigest()), file["path"]
                (directory / f"{number}.rules.{entry}").write_bytes(text)
        session = directory / f"{number}.session"
        last = whole.rstrip(b"\n").rpartition(b"\n")[2]
        if whole.startswith(b'{"shiftlog":"document"'):
            session.write_bytes(document(whole, record["agent"]))
        elif last.startswith(b'{"shiftlog":"store",'):
            store(whole, session)
        else:
            session.write_bytes(whole)

    for number, each in enumerate(evidence(commit)):
        tell_version(f"evidence {number}", each["shiftlog"])
        if each["blob"]:
            text = transcript(each["blob"])
            assert (each["size"], each["sha256"]) == (len(text), hashlib.sha256(text).hexdigest()), each["id"]
            (directory / f"evidence.{number}").write_bytes(text)

    migrated = {checksum for _, record in records(commit) for checksum in record.get("earlier", [])}
    documents = [each for ref in ("shiftlog", "claude-conversations") for each in earlier(note(commit, ref))]
    for number, (checksum, text) in enumerate(each for each in documents if each[0] not in migrated):
        assert checksum == "sha256:" + hashlib.sha256(text).hexdigest(), f"document {number}"
        (directory / f"earlier.{number}").write_bytes(text)

main(*sys.argv[1:])
