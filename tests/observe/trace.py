"""Check a trace: trace.py FILE RANKS [NAME=COUNT...]. It has to be JSON in Chrome's format, with
events of RANKS ranks. What a rank's thread does is nested; what begins in a track ends there, in
the reverse order; NAME=COUNT: so many calls or pieces of work of this name, NAME=COUNT+: at
least; long: puts of 16 KiB or more. With `--cut` the ranks were killed, so that the end may be missing."""

import json
import sys
from collections import Counter, defaultdict

cut = "--cut" in sys.argv
path, ranks, *wanted = [word for word in sys.argv[1:] if word != "--cut"]
with open(path, encoding="utf-8") as file:
    events = json.load(file)
wrong = []
threads = defaultdict(list)
tracks = defaultdict(list)
for event in events:
    kind = event["ph"]
    if kind == "X":
        threads[event["pid"]].append(event)
    elif kind in "be":
        tracks[event["pid"], event["id2"]["local"]].append(event)
    elif kind != "M":
        wrong.append(f"kind {kind}")

TICK = 0.0015  # times are rounded to nanoseconds
for rank, slices in threads.items():
    open_until = []
    for event in sorted(slices, key=lambda e: (e["ts"], -e["dur"])):
        end = event["ts"] + event["dur"]
        while open_until and open_until[-1] <= event["ts"] + TICK:
            open_until.pop()
        if open_until and end > open_until[-1] + TICK:
            wrong.append(f"rank {rank}: {event['name']} is not nested")
        open_until.append(end)
for (rank, track), each in tracks.items():
    names = []
    for before, event in zip([each[0], *each], each):
        if event["ts"] < before["ts"] - TICK:
            wrong.append(f"rank {rank}, {track}: goes back in time")
        if event["ph"] == "b":
            names.append(event["name"])
        elif not names or names.pop() != event["name"]:
            wrong.append(f"rank {rank}, {track}: {event['name']} ends, but has not begun")
    # Finalize leaves teardowns that other ranks do not join any more.
    if names and not cut and names[0] != "teardown":
        wrong.append(f"rank {rank}, {track}: {names} have no end")

if threads and max(e["ts"] for each in threads.values() for e in each) <= 0:
    wrong.append("all times are 0")
for (rank, track), each in tracks.items():
    if each[0]["name"] == "put" and each[0]["args"]["to"] == rank:
        wrong.append(f"rank {rank} puts to itself")

named = {e["args"]["name"].split()[1] for e in events if e["name"] == "process_name"}
everyone = {str(rank) for rank in range(int(ranks))}
if not (named <= everyone if cut else named == everyone):
    wrong.append(f"expected ranks 0 to {int(ranks) - 1}, found {sorted(named)}")
counts = Counter(e["name"] for each in threads.values() for e in each)
counts["long"] = sum(e["name"] == "put" and e.get("args", {}).get("bytes", 0) >= 16384
                     for each in tracks.values() for e in each)
counts["put"] = sum(e["name"] == "put" for each in tracks.values() for e in each) // 2
for want in wanted:
    name, count = want.split("=")
    least = count.endswith("+")
    number = int(count.rstrip("+"))
    if counts[name] != number and not (least and counts[name] > number):
        wrong.append(f"expected {count} x {name}, found {counts[name]}")
print(*wrong[:10], sep="\n")
sys.exit(bool(wrong))
