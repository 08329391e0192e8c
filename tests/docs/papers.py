#!/usr/bin/env python3
"""Rules for docs/results/papers.md: prints a line for each violation.

usage: tests/docs/papers.py SOURCE [PAGE]

It has one row for each algorithm, figure, table and equation that a paper numbers, and
for what the others name. The figures of `reproduce`, the files, links and numbers of
algorithms in it exist, and so do the test cases that follow the file of a test.
"""
import re
import subprocess
import sys
from pathlib import Path

# How many of each the papers number.
NUMBERED = {
    "Peng": {"Algorithm": 6, "Figure": 11, "Table": 2, "Equation": 10},
    "Graham": {"Figure": 7},
    "Moody": {"Figure": 5},
    "Hoefler": {},
}
NAMED = {
    "Moody": ["AllgatherGroup", "AllgatherMPI", "GatherScatter", "ChengM", "Bitonic",
              "Radix", "Hash", "Hash64"],
    "Hoefler": ["Gather", "Alltoall", "Reduce", "Vector Variants", "Correctness",
                "Nonblocking variants", "A Halo Example", "2D mesh",
                "Optimization Potential", "Weighted Performance",
                "Weighted Performance Results", "Explicit Specification",
                "Virtual Topologies", "Derive Graph", "In place",
                "Persistent Collectives"],
}


def missing_rows(text):
    parts = dict(re.findall(r"^## \[(\w+)\].*?\n(.*?)(?=^## |\Z)", text, re.S | re.M))
    for paper, counts in NUMBERED.items():
        wanted = [f"{what} {n}" for what, count in counts.items()
                  for n in range(1, count + 1)] + NAMED.get(paper, [])
        rows = re.findall(r"^\| ([^|]+?) \|", parts.get(paper, ""), re.M)
        for name in wanted:
            if rows.count(name) != 1:
                yield f"[{paper}] {name}: {rows.count(name)} rows, expected 1"


def unknown_figures(source, text):
    done = subprocess.run([source / "docs/results/reproduce", "--list"], check=True,
                          capture_output=True, text=True)
    known = {line.split()[0] for line in done.stdout.splitlines()}
    for names in re.findall(r"`(?:reproduce|check) ([^`]+)`", text):
        for name in names.split():
            if name not in known | {"NAME"}:
                yield f"reproduce has no figure '{name}'"


def unknown_files(source, text):
    for path in re.findall(r"`((?:docs|lib|tests|tools|transports)/[\w./-]+)", text):
        if not (source / path).exists():
            yield f"there is no {path}"
    for link in re.findall(r"\]\(([^)#]+)", text):
        if not (source / "docs/results" / link).exists():
            yield f"there is no {link}"


def unknown_algorithms(source, text):
    table = (source / "docs/algorithms.md").read_text()
    known = set(re.findall(r"^\| ([A-Z0-9]+-\d+) \|", table, re.M))
    for number in re.findall(r"\b(?:A2A|BAR|CH|HIER|NBR|ORD|P2P|SHM|SPL)-\d+\b", text):
        if number not in known:
            yield f"docs/algorithms.md has no {number}"


def unknown_cases(source, text):
    for path, cases in re.findall(r"`(tests/unit/[\w/]+\.c)`: ([\w, ]+)", text):
        if (source / path).exists():
            code = (source / path).read_text()
            for case in cases.split(","):
                if f"START_TEST({case.strip()})" not in code:
                    yield f"{path} has no case {case.strip()}"


def main():
    source = Path(sys.argv[1])
    page = Path(sys.argv[2] if len(sys.argv) > 2 else source / "docs/results/papers.md")
    text = page.read_text()
    for line in [*missing_rows(text), *unknown_figures(source, text),
                 *unknown_files(source, text), *unknown_algorithms(source, text),
                 *unknown_cases(source, text)]:
        print(line)


main()
