"""Counts what was found, compares it with what is expected, and prints both."""

import os
import re
import time

from verdict import COLUMNS, TITLES


BEGIN, END = "<!-- written by tests/live/run --table -->", "<!-- end of what it wrote -->"


class Report:
    def __init__(self, expected):
        self.reasons = {}
        for line in expected.read_text().splitlines():
            if line.strip() and not line.startswith("#"):
                agent, scenario, column, reason = line.split(None, 3)
                self.reasons[agent, scenario, column] = reason
        self.releases = {}
        self.titles = {}
        self.cells = {}
        self.played = {}
        self.left_out = {}
        self.warnings = []
        self.is_bad = False

    def say(self, line):
        print(line, flush=True)

    def warn(self, line):
        self.warnings.append(f"warning: {line}")
        self.say(self.warnings[-1])
        if os.environ.get("GITHUB_ACTIONS"):
            self.say(f"::warning::{line}")

    def agent(self, agent, release):
        if release.reason:
            self.warn(f"{agent.name} {release.version} WAS NOT TRIED: {release.reason}")
        else:
            self.releases[agent.name] = release.version
            self.titles[agent.name] = agent.title or agent.name

    def cannot(self, agent, scenario, reason):
        self.left_out.setdefault(agent.name, []).append((scenario, reason))
        self.say(f"  -  {agent.name} {scenario.name}: {reason}")

    def out_of_time(self, agent, scenario):
        self.warn(f"{agent.name} {scenario.name} WAS NOT TRIED: there is no time left")

    def reason(self, agent, scenario, column):
        names = [(agent, scenario, column), (agent, scenario, "*"), (agent, "*", column), (agent, "*", "*")]
        return next((self.reasons[name] for name in names if name in self.reasons), None)

    def add(self, agent, scenario, found, secs):
        marks = []
        wrong = []
        self.played[scenario.name] = scenario
        for column in COLUMNS:
            if column not in found:
                continue
            is_good = not found[column]
            self.cells[agent.name, scenario.name, column] = is_good
            marks.append(f"{column} {'ok' if is_good else 'NO'}")
            reason = self.reason(agent.name, scenario.name, column)
            for what in found[column]:
                known = f" (expected: {reason})" if reason else ""
                wrong.append(f"       {column}: {what}{known}")
            self.is_bad |= not is_good and reason is None
            if is_good and (agent.name, scenario.name, column) in self.reasons:
                wrong.append(f"       {column}: is good now; take its line out of 'expected'")
        self.say("\n".join([f"{secs:5.1f}s {agent.name} {scenario.name}: {', '.join(marks)}", *wrong]))

    def counts(self, agent, column):
        """Returns how many cells of an agent are good, and how many there are."""
        cells = [is_good for (name, _, which), is_good in self.cells.items() if name == agent and which == column]
        return sum(cells), len(cells)

    def text(self):
        rows = [["agent", "release", *(TITLES[column] for column in COLUMNS)]]
        rows += [[name, version, *(self.cell(name, column) for column in COLUMNS)] for name, version in self.releases.items()]
        widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
        lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows]
        return "\n".join(["", *lines, *self.warnings])

    def cell(self, agent, column):
        good, all_ = self.counts(agent, column)
        return f"{good}/{all_}" if all_ else "-"

    def markdown(self):
        """Returns the table with the reasons of what is not good in it, and what was not played."""
        day = time.strftime("%Y-%m-%d", time.gmtime())
        heads = [f"agent and release, {day}", "scenarios", *(TITLES[column] for column in COLUMNS)]
        lines = ["| " + " | ".join(heads) + " |", "| --- " * len(heads) + "|"]
        notes = {}
        for name, version in self.releases.items():
            played = {scenario for agent, scenario, _ in self.cells if agent == name}
            cells = [f"{len(played)}", *(self.marked(name, column, notes) for column in COLUMNS)]
            lines.append(f"| {self.title(name, version)} | " + " | ".join(cells) + " |")
        lines += ["", "✔ is good in each scenario that shows it; a number is that of the reason for the others:", ""]
        for number, (reason, scenarios) in enumerate(notes.items(), 1):
            where = "; ".join(scenarios) if len(scenarios) < 5 else f"{len(scenarios)} scenarios"
            lines.append(f"{number}. {reason} ({where})")
        return "\n".join(lines + [""])

    def marked(self, agent, column, notes):
        """Returns a cell of the table, and adds to `notes` the reasons that it names."""
        good, all_ = self.counts(agent, column)
        if good == all_:
            return "✔" if all_ else "-"
        numbers = set()
        for (name, scenario, which), is_good in self.cells.items():
            if name == agent and which == column and not is_good:
                reason = self.reason(agent, scenario, column) or "a defect that nobody has named yet"
                titles = notes.setdefault(reason, [])
                if self.played[scenario].title not in titles:
                    titles.append(self.played[scenario].title)
                numbers.add(list(notes).index(reason) + 1)
        return f"{good}/{all_}, {', '.join(map(str, sorted(numbers)))}"

    def title(self, name, version):
        title, _, model = self.titles[name].partition(", ")
        return f"{title} {version}" + (f", {model}" if model else "")

    def write_table(self, path):
        """Replaces the table between the markers in a file, and the releases in the table of agents before them."""
        text = path.read_text()
        before, rest = text.split(BEGIN, 1)
        for name, version in self.releases.items():
            row = re.compile(rf"^(\| {re.escape(self.titles[name].partition(', ')[0])} \|.* tried with )[\w.]*\w", re.MULTILINE)
            before = row.sub(rf"\g<1>{version}", before)
        _, after = rest.split(END, 1)
        path.write_text(f"{before}{BEGIN}\n{self.markdown()}{END}{after}")

    def code(self):
        return 1 if self.is_bad else 0
