#!/usr/bin/env python3
"""ratios.py RAW OUT [kept]: times and ratios of a comparison.
ratios.py OUT: make the pages from OUT/peers.csv again.

RAW has one row per layout, turn, side, setting, size and slice of time; those of
the setting by-turns are catena's persistent and blocking calls, measured in one
process. A time is the median over the turns of the medians over the slices. A
ratio is a library's time / that of catena with buffers of malloc, within a slice;
the median over the slices of a turn, then over the turns, with a 95% interval
(order statistics; with fewer than 6 turns their whole range). Above 1 catena is
faster. Best is the setting of a peer with the smallest geometric mean of its
times in the layout. "slower": the whole interval beside the best one lies below
1.

Adds to OUT/peers.csv, in place of its rows of the same collective, layout and
contents (new in every call, or kept), one row for each size, library and setting:
  collective,layout,contents,bytes,library,setting,turns,us,ratio,low,high,best,
  reason
best is "best" in the rows of that setting. A reason says why a cell is empty. Writes OUT/peers-COLLECTIVE.md from all rows of
the collective in that file, and prints it.
"""
import csv
import math
import os
import platform
import subprocess
import sys
from collections import defaultdict
from statistics import median

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
LAYOUTS = ("bound2", "one4", "one8", "one16", "hosts4x4", "hosts4x8")
BY_TURNS = "by-turns"
OWN = ("catena", "malloc")
FIELDS = ["collective", "layout", "contents", "bytes", "library", "setting",
          "turns", "us", "ratio", "low", "high", "best", "reason"]
CONFIDENCE = 0.95
TITLES = {"openmpi": "Open MPI", "mpich": "MPICH", "catena": "catena",
          "blocking": "blocking, by turns"}
CROWDED = "spins and never yields: more ranks than cores"


def geometric_mean(values):
    return math.exp(sum(math.log(v) for v in values) / len(values))


def read(path):
    """times[collective][layout][(side, setting)][bytes][turn][slice] = us"""
    times = defaultdict(lambda: defaultdict(lambda: defaultdict(lambda: defaultdict(
        lambda: defaultdict(dict)))))
    errors = 0
    with open(path, newline="") as file:
        for row in csv.DictReader(file):
            side, collective = (row["side"], row["setting"]), row["collective"]
            if row["setting"] == BY_TURNS:
                persistent = collective.endswith("_init")
                side = ("persistent" if persistent else "blocking", BY_TURNS)
                collective = collective.removesuffix("_init") + "_init"
            turns = times[collective][row["layout"]][side][int(row["bytes"])]
            turns[int(row["turn"])][int(row["slice"])] = float(row["avg_us"])
            errors += int(row["errors"])
    if not times:
        sys.exit("ratios.py: no rows in " + path)
    return times, errors


def middle(turns):
    """The median over the turns of the medians over the slices."""
    return median(median(slices.values()) for slices in turns.values())


def pairs(one, other, join):
    """For each turn of both: the median over the slices of join(one, other)."""
    return [median(join(one[t][s], other[t][s]) for s in one[t])
            for t in one if t in other]


def interval(values):
    """The narrowest interval of order statistics that contains the median with
    CONFIDENCE; for few values the full range."""
    n = len(values)
    ordered = sorted(values)
    tail, skip = 0.0, 0
    for k in range(n // 2):
        tail += math.comb(n, k) / 2 ** n  # P(less than k + 1 lie below)
        if 1 - 2 * tail < CONFIDENCE:
            break
        skip = k
    return ordered[skip], ordered[n - 1 - skip]


def figure(value, digits=2):
    if value == "" or value is None:
        return ""
    value = float(value)
    return f"{value:.{digits}f}" if value < 100 else f"{value:.0f}"


def versions():
    def first_line(*command):
        try:
            return subprocess.run(command, capture_output=True, text=True,
                                  check=False).stdout.strip().splitlines()[0]
        except (OSError, IndexError):
            return ""

    def debian(package):
        return first_line("dpkg-query", "-W", "-f", "${Version}\n", package)

    model = ""
    with open("/proc/cpuinfo") as info:
        for line in info:
            if line.startswith("model name"):
                model = line.split(":", 1)[1].strip()
                break
    packages = (("Open MPI", "openmpi-bin"), ("MPICH", "mpich"),
                ("UCX", "libucx0"))
    there = [f"{name} {debian(package)}" for name, package in packages
             if debian(package)]
    return (f"{os.cpu_count()} cores ({model}), Linux {platform.release()}; "
            + ", ".join(there))


def commit():
    """Changes of results, which a measurement makes, are none of the source."""
    def git(*command):
        return subprocess.run(["git", "-C", ROOT, *command], capture_output=True,
                              text=True, check=False)

    name = git("describe", "--always").stdout.strip()
    changed = git("diff", "--quiet", "HEAD", "--", ".", ":!docs/results")
    return name + "-dirty" * changed.returncode if name else "a tree without git"


# ---- rows ----

def own_side(sides, name):
    """What a side's ratio is taken against."""
    if name == "blocking":
        return sides[("persistent", BY_TURNS)]
    return sides[OWN] if OWN in sides else sides[("catena", "heap")]


def rows_of(collective, times, contents):
    """One row for each layout, size, library and setting."""
    for layout, sides in times.items():
        sizes = sorted(own_side(sides, "catena"))
        settings = sorted(sides, key=lambda s: (s[0] != "catena", s[1] != "malloc",
                                                s[0] == "mpich"))
        if ("mpich", "default") not in sides:
            settings.append(("mpich", "default"))
        for size in sizes:
            for name, setting in settings:
                if name == "persistent":
                    continue
                row = {"collective": collective, "layout": layout,
                       "contents": contents, "bytes": size, "library": name,
                       "setting": setting}
                turns = sides.get((name, setting), {}).get(size)
                if turns:
                    own = own_side(sides, name)[size]
                    ratios = pairs(turns, own, lambda one, other: one / other)
                    low, high = interval(ratios)
                    row |= {"turns": len(turns), "us": round(middle(turns), 3),
                            "ratio": round(median(ratios), 3),
                            "low": round(low, 3), "high": round(high, 3)}
                else:
                    row["reason"] = "has no such call" \
                        if layout == "bound2" or name != "mpich" else CROWDED
                yield row


def part_of(row):
    return row["collective"], row["layout"], row["contents"]


def read_table(path):
    if not os.path.exists(path):
        return []
    with open(path, newline="") as file:
        return list(csv.DictReader(line for line in file
                                   if not line.startswith("#")))


def mark_best(rows):
    parts = defaultdict(list)
    for row in rows:
        parts[part_of(row)].append(row)
    for part in parts.values():
        best = best_setting(part)
        for row in part:
            row["best"] = "best" if (row["library"], row["setting"]) == best else ""


def read_origins(path):
    """Of each layout: commit, and machine with versions. Lines "# LAYOUT: COMMIT:
    MACHINE"; a file without them has one commit and one machine for all."""
    if not os.path.exists(path):
        return {}
    with open(path) as file:
        lines = [line[2:].strip() for line in file if line.startswith("# ")]
    if lines[0].startswith("tests/peers/compare at "):
        layouts = dict.fromkeys(row["layout"] for row in read_table(path))
        return {layout: (lines[0].split()[-1], lines[1]) for layout in layouts}
    return {parts[0]: (parts[1], parts[2]) for parts in
            (line.split(": ", 2) for line in lines[1:])}


def update(path, rows):
    """Put the rows into the file, and return all of it."""
    new = {part_of(row) for row in rows}
    origins = read_origins(path)
    origins |= dict.fromkeys((row["layout"] for row in rows),
                             (commit(), versions()))
    rows = [row for row in read_table(path) if part_of(row) not in new] + rows
    rows.sort(key=lambda row: (LAYOUTS.index(row["layout"]), row["contents"] != "new"))
    mark_best(rows)
    with open(path, "w", newline="") as file:
        file.write("# tests/peers/compare\n")
        for layout, origin in sorted(origins.items(), key=lambda o: LAYOUTS.index(o[0])):
            file.write(f"# {layout}: {': '.join(origin)}\n")
        writer = csv.DictWriter(file, FIELDS, lineterminator="\n", restval="")
        writer.writeheader()
        writer.writerows(rows)
    return rows


# ---- tables ----

def best_setting(rows):
    """The peer's setting with the smallest mean over the sizes; or None."""
    times = defaultdict(list)
    for row in rows:
        if row["library"] in ("openmpi", "mpich") and row.get("us"):
            times[row["library"], row["setting"]].append(float(row["us"]))
    most = max(map(len, times.values()), default=0)
    whole = {s: geometric_mean(t) for s, t in times.items() if len(t) == most}
    return min(whole, key=whole.get) if whole else None


def ratio_cell(row):
    if not row or not row.get("ratio"):
        return ""
    return (f"{figure(row['ratio'])} ({figure(row['low'])} to "
            f"{figure(row['high'])})")


def name_of(side):
    return TITLES[side[0]] + " " + side[1]


def layout_table(rows):
    """The rows of one layout: lines of the table, and the ratios to the best."""
    best = best_setting(rows)
    sides = list(dict.fromkeys((r["library"], r["setting"]) for r in rows))
    cells = {(r["library"], r["setting"], int(r["bytes"])): r for r in rows}
    there = [s for s in sides if any(cells[s + (b,)].get("us") for b in
                                     {int(r["bytes"]) for r in rows})]
    heads = ["bytes"] + [name_of(s) for s in there]
    if best:
        heads += [f"ratio to {name_of(best)}"]
        if best != ("openmpi", "default"):
            heads += ["ratio to Open MPI default"]
    heads += [""]
    lines = ["| " + " | ".join(heads) + " |", "| --: " * len(heads) + "|"]
    ratios = []
    for size in sorted({int(r["bytes"]) for r in rows}):
        line = [str(size)]
        line += [figure(cells[s + (size,)].get("us")) for s in there]
        beside = cells.get((best or ("", "")) + (size,))
        if best:
            line.append(ratio_cell(beside))
            if best != ("openmpi", "default"):
                line.append(ratio_cell(cells.get(("openmpi", "default", size))))
        slower = beside and beside.get("high") and float(beside["high"]) < 1
        line.append("slower" if slower else "")
        if beside and beside.get("ratio"):
            ratios.append(float(beside["ratio"]))
        lines.append("| " + " | ".join(line) + " |")
    reasons = {(s, cells[s + (b,)]["reason"]) for s in sides
               for b in {int(r["bytes"]) for r in rows}
               if cells[s + (b,)].get("reason")}
    lines += [""] + [f"{name_of(s)}: {why}." for s, why in sorted(reasons)]
    return lines + ([""] if reasons else []), ratios


def markdown(collective, rows, origins):
    lines = [f"# {collective} beside Open MPI and MPICH", "",
             "Average latency in microseconds, as the OSU benchmarks have it: "
             "medians over the turns. Ratios: that library's time / catena's "
             "with buffers of malloc, with a 95% interval; above 1 catena is "
             "faster. \"slower\": the whole interval is below 1.", ""]
    for layout in dict.fromkeys(r["layout"] for r in rows):
        for contents, title in (("new", "new contents in every call, read"),
                                ("kept", "contents kept, not read")):
            part = [r for r in rows if r["layout"] == layout and
                    r["contents"] == contents]
            if not part:
                continue
            turns = max(int(r.get("turns") or 0) for r in part)
            table, ratios = layout_table(part)
            at, machine = origins[layout]
            lines += [f"## {layout}, {title}, {turns} turns", "",
                      f"catena {at}; {machine}.", ""] + table
            if ratios:
                lines += [f"Geometric mean {geometric_mean(ratios):.2f}, least "
                          f"{min(ratios):.2f}.", ""]
    return "\n".join(lines)


def write_page(out, collective, rows):
    text = markdown(collective,
                    [r for r in rows if r["collective"] == collective],
                    read_origins(os.path.join(out, "peers.csv")))
    with open(os.path.join(out, f"peers-{collective}.md"), "w") as file:
        file.write(text)
    return text


def main():
    if len(sys.argv) == 2 and os.path.isdir(sys.argv[1]):
        rows = read_table(os.path.join(sys.argv[1], "peers.csv"))
        for collective in dict.fromkeys(row["collective"] for row in rows):
            write_page(sys.argv[1], collective, rows)
        return
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    times, errors = read(sys.argv[1])
    contents = sys.argv[3] if len(sys.argv) == 4 else "new"
    rows = [row for collective, layouts in times.items()
            for row in rows_of(collective, layouts, contents)]
    rows = update(os.path.join(sys.argv[2], "peers.csv"), rows)
    for collective in times:
        print(write_page(sys.argv[2], collective, rows))
    if errors:
        sys.exit(f"ratios.py: {errors} wrong results")


if __name__ == "__main__":
    main()
