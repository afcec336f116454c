"""Makes src/stats/prices.tsv, the table of list prices, from the list that the package litellm ships.

    pip download --no-deps litellm
    unzip litellm-*.whl litellm/model_prices_and_context_window_backup.json
    python3 .ci/prices.py litellm/model_prices_and_context_window_backup.json 2026-11-23

reads the list, compares it with the table, and writes the table again. The date is that of the list. A model whose price
has changed gets another row from that date on; the old row stays. A price that changed by more than a factor of five is
refused, and nothing is written: it is more often a slip in the list than a new price. `--check` reads the table alone.
"""
import decimal, json, pathlib, re, sys

TABLE = pathlib.Path(__file__).parent.parent / "src/stats/prices.tsv"
# What the first name of a model is taken from: its maker, before those who resell it.
MAKERS = ["anthropic", "openai", "gemini", "vertex_ai-language-models", "xai", "deepseek", "mistral", "moonshot", "zai",
          "dashscope", "minimax", "vertex_ai-anthropic_models", "vertex_ai", "bedrock_converse"]
OTHER_KINDS = re.compile(r"audio|realtime|tts|image|search|transcribe|embed|ft:|vision|robotics|live|computer-use|deep-research|"
                         r"moderation|ocr|learnlm|guard|exp|imagen|gemma|instruct|omni")
DATED = re.compile(r"-(\d{8}|\d{4}-\d\d-\d\d|latest)$")
CLASSES = ["input", "output", "cacheRead", "cacheWrite", "cacheWriteLong"]
KEYS = ["input_cost_per_token", "output_cost_per_token", "cache_read_input_token_cost",
        "cache_creation_input_token_cost", "cache_creation_input_token_cost_above_1hr"]
LARGEST_STEP = 5

def price(value, factor=1):
    """Returns dollars for a million tokens, or '-'."""
    if value is None:
        return "-"
    dollars = decimal.Decimal(value) * 1_000_000 * factor
    assert dollars >= 0, "a price is negative"
    return f"{dollars.quantize(decimal.Decimal('0.000001')).normalize():f}"

def prices(entry, factor=1):
    """Returns the columns after the date: five prices, and from how many tokens on which other five hold."""
    row = [price(entry.get(key), factor) for key in KEYS]
    bound = re.compile(re.escape(KEYS[0]) + r"_above_(\d+)k_tokens$")
    above = sorted(int(found[1]) for found in map(bound.match, entry) if found)
    if above:
        row.append(str(above[0] * 1000))
        row += [price(entry.get(f"{key}_above_{above[0]}k_tokens"), factor) for key in KEYS]
    return row

def listed(entries):
    """Returns the prices of the models of `MAKERS`, by name."""
    exact = {}
    for maker in MAKERS:
        for name, entry in entries.items():
            if entry.get("litellm_provider") != maker or entry.get("mode") not in ("chat", "responses"):
                continue
            if maker == "bedrock_converse" and not name.startswith("anthropic.claude-"):
                continue
            name = name.rsplit("/", 1)[-1].lower().removeprefix("anthropic.")
            name = re.sub(r"(@default|-v\d+(:\d+)?)$", "", name).replace("@", "-")
            if maker == "vertex_ai" and not name.startswith("gemini-"):
                continue
            # Their makers list no price any more, and those who resell them differ.
            if name.startswith("claude-3") or OTHER_KINDS.search(name) or not re.search(r"\d", name) or "input_cost_per_token" not in entry or name in exact:
                continue
            exact[name] = prices(entry)
            fast = (entry.get("provider_specific_entry") or {}).get("fast")
            if fast:
                exact[f"fast/{name}"] = prices(entry, decimal.Decimal(str(fast)))
    found = {}
    for name in sorted(exact, reverse=True):
        # The newest of those with a date stands for the name without.
        found.setdefault(DATED.sub("", name), exact.get(DATED.sub("", name), exact[name]))
    for name, row in exact.items():
        if row != found[DATED.sub("", name)] and not name.endswith("-latest"):
            found[name] = row
    return {name: row for name, row in found.items() if any(cell not in ("-", "0") for cell in row[:2])}

def read(text):
    """Returns the rows of a table: name and date, then prices."""
    rows = [line.split("\t") for line in text.splitlines() if line and not line.startswith("#")]
    return {(row[0], row[1]): row[2:] for row in rows}

def steps(name, old, new):
    """Returns what is too large a step between two rows."""
    for kind, before, after in zip(CLASSES, old, new):
        if "-" in (before, after) or before == after:
            continue
        low, high = sorted([decimal.Decimal(before), decimal.Decimal(after)])
        if low == 0 or high / low > LARGEST_STEP:
            yield f"{name}: {kind} goes from {before} to {after}"

def check(rows):
    """Returns what is wrong with a table."""
    for (name, date), row in rows.items():
        if not re.fullmatch(r"-|\d{4}-\d\d-\d\d", date):
            yield f"{name}: '{date}' is no date"
        if len(row) not in (5, 11) or row[0] == "-" or row[1] == "-":
            yield f"{name}: a price is missing"
        for at in (0, 6):
            if len(row) > at + 2 and "-" not in (row[at], row[at + 2]) and decimal.Decimal(row[at + 2]) > decimal.Decimal(row[at]):
                yield f"{name}: reading from the cache costs more than reading"

def joined(rows, found, date):
    """Adds the rows of a list to those of the table."""
    faults = []
    for name, row in sorted(found.items()):
        known = sorted(day for other, day in rows if other == name)
        if not known:
            rows[name, "-"] = row
        elif rows[name, known[-1]] != row:
            faults += steps(name, rows[name, known[-1]], row)
            rows[name, date] = row
    return faults

def main(arguments):
    rows = read(TABLE.read_text()) if TABLE.exists() else {}
    faults, date = [], None
    if arguments != ["--check"]:
        path, date = arguments
        entries = json.loads(pathlib.Path(path).read_text(), parse_float=decimal.Decimal)
        faults = joined(rows, listed({name: entry for name, entry in entries.items() if name != "sample_spec"}), date)
    faults += check(rows)
    if faults:
        sys.exit("\n".join(faults))
    if date:
        head = f"# prices of {date} in US dollars for a million tokens\n# " + "\t".join(["model", "from", *CLASSES, "above", *CLASSES])
        lines = ["\t".join([*key, *row]).rstrip("\t") for key, row in sorted(rows.items())]
        TABLE.write_text("\n".join([head, *lines]) + "\n")

if __name__ == "__main__":
    main(sys.argv[1:])
