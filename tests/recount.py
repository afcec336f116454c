"""Counts what transcripts of Claude Code have cost, from their raw records and a table of prices, without git-shiftlog.

    python3 recount.py <prices.tsv> <transcript>...

prints the dollars of each transcript. Each answer counts once, by its id; the last row of a model in the table holds.
"""
import decimal, json, re, sys

def table(path):
    rows = {}
    for line in open(path):
        if not line.startswith("#"):
            cells = line.rstrip("\n").split("\t")
            rows[cells[0]] = [decimal.Decimal(cell) if cell != "-" else None for cell in cells[2:]]
    return rows

def answers(path):
    found = {}
    for number, line in enumerate(open(path, errors="replace")):
        try:
            message = json.loads(line)["message"]
            usage, model = message["usage"], message["model"]
        except (ValueError, KeyError, TypeError):
            continue
        if model == "<synthetic>":
            continue
        kept = usage.get("cache_creation") or {}
        tokens = [usage.get(key) or 0 for key in ("input_tokens", "output_tokens", "cache_read_input_tokens",
                                                 "cache_creation_input_tokens")] + [kept.get("ephemeral_1h_input_tokens") or 0]
        known = found.setdefault(message.get("id") or number, [model, tokens])
        known[1] = [max(pair) for pair in zip(known[1], tokens)]
    return found.values()

def cost(row, tokens):
    given = tokens[0] + tokens[2] + tokens[3]
    if len(row) > 5 and given > row[5]:
        row = row[6:]
    counts = tokens[:3] + [tokens[3] - tokens[4], tokens[4]]
    return sum(count * price for count, price in zip(counts, row) if count) / 1_000_000

rows = table(sys.argv[1])
for path in sys.argv[2:]:
    names = lambda model: re.sub(r"-20\d{6}$", "", model)
    print(sum((cost(rows[names(model)], tokens) for model, tokens in answers(path)), decimal.Decimal(0)).normalize())
