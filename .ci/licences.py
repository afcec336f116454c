"""Reads `cargo metadata` and fails for a crate whose licence or source is not one of ours to use."""

import json
import re
import sys

ALLOWED = {
    "MIT", "Apache-2.0", "Apache-2.0 WITH LLVM-exception", "BSD-2-Clause", "BSD-3-Clause", "ISC", "Zlib", "Unlicense",
    "0BSD", "CC0-1.0", "Unicode-3.0", "BSL-1.0", "MIT-0",
}
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
