#!/usr/bin/env python3
"""Compile every C file of a build with clang, too, for its warnings.

usage: tests/lint/clang.py BUILD_DIR
Prints what clang says; nothing if it has no warning.
"""
import json
import os
import shlex
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

KEPT = ("-I", "-D", "-W", "-std", "-isystem")


def compile_(entry):
    words = shlex.split(entry["command"])
    options = [w for w in words if w.startswith(KEPT) and w != "-Winvalid-pch"]
    done = subprocess.run(["clang", "-fsyntax-only", *options, "-pthread",
                           "-Wno-unknown-warning-option", entry["file"]],
                          cwd=entry["directory"], capture_output=True, text=True)
    return done.stderr.strip()


def main():
    entries = json.loads((Path(sys.argv[1]) / "compile_commands.json").read_text())
    of_file = {e["file"]: e for e in entries if e["file"].endswith(".c")}
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        print("\n".join(filter(None, pool.map(compile_, of_file.values()))))


main()
