"""Reads `cargo metadata` and fails for a crate whose licence or source is not one that `deny.toml` allows: what
`cargo deny` does more thoroughly, where that is not installed."""

import json
import pathlib
import re
import sys
import tomllib

RULES = tomllib.loads(pathlib.Path(__file__).with_name("deny.toml").read_text())
ALLOWED = set(RULES["licenses"]["allow"])
bad = []
for package in json.load(sys.stdin)["packages"]:
    name = f"{package['name']} {package['version']}"
    source = package["source"]
    if source is not None and not source.startswith("registry+"):
        bad.append(f"{name}: from {source.split('+')[0]}")
    # Any of those joined by OR will do; of those joined by AND, each must.
    licence = (package["license"] or "").replace("/", " OR ")
    ands = re.sub(r"[()]", "", licence).split(" AND ")
    if not all(any(each.strip() in ALLOWED for each in part.split(" OR ")) for part in ands):
        bad.append(f"{name}: {licence or 'no licence'}")
print("\n".join(bad) or "all licences and sources are fine")
sys.exit(bool(bad))
