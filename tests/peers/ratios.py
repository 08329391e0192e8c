#!/usr/bin/env python3
"""ratios.py RAW OUT: medians and ratios of a comparison.

RAW has one row per layout, turn, side, setting, size and slice of time; those of
the setting by-turns are catena's persistent and blocking calls, measured in one
process. For each layout, Open MPI's best fixed setting is the one with the
smallest geometric mean of its medians. A ratio is the median over the turns of
the median over the slices of peer time / catena time within a slice: above 1
catena is faster. A collective of 0 bytes
has no sizes: one table and one bar for each layout. Writes
OUT/peers-COLLECTIVE.csv, .md and .svg, and prints the table.
"""
import csv
import math
import os
import platform
import subprocess
import sys
from collections import defaultdict
from statistics import median


PEERS = ("openmpi", "mpich", "blocking")
BY_TURNS = "by-turns"


def geometric_mean(values):
    return math.exp(sum(math.log(v) for v in values) / len(values))


def read(path):
    """times[layout][(side, setting)][bytes][turn][slice] = microseconds"""
    times = defaultdict(lambda: defaultdict(lambda: defaultdict(
        lambda: defaultdict(dict))))
    errors, collective = 0, None
    with open(path, newline="") as file:
        for row in csv.DictReader(file):
            side = (row["side"], row["setting"])
            if row["setting"] != BY_TURNS:
                collective = row["collective"]
            else:
                persistent = row["collective"] == collective
                side = ("persistent" if persistent else "blocking", BY_TURNS)
            turns = times[row["layout"]][side][int(row["bytes"])]
            turns[int(row["turn"])][int(row["slice"])] = float(row["avg_us"])
            errors += int(row["errors"])
    if not times:
        sys.exit("ratios.py: no rows in " + path)
    return collective, times, errors


def middle(turns):
    """The median over the turns of the medians over the slices."""
    return median(median(slices.values()) for slices in turns.values())


def pairs(one, other, join):
    """For each turn of both: the median over the slices of join(one, other)."""
    return [median(join(one[t][s], other[t][s]) for s in one[t])
            for t in one if t in other]


def best_setting(sides, name):
    """The fixed setting of a side that is best over all sizes; or None."""
    means = {side: geometric_mean([middle(turns) for turns in sizes.values()])
             for side, sizes in sides.items() if side[0] == name}
    return min(means, key=means.get) if means else None


def ratio(peer, own):
    """Median over the common turns."""
    both = pairs(peer, own, lambda theirs, mine: theirs / mine)
    return median(both) if both else None


def compare(times):
    """Rows of results; one per layout and size."""
    rows = []
    for layout, sides in times.items():
        own = best_setting(sides, "catena")
        peers = {p: best_setting(sides, p) for p in PEERS}
        for size in sorted(sides[own]):
            row = {"layout": layout, "bytes": size,
                   "turns": len(sides[own][size]),
                   "catena_us": middle(sides[own][size])}
            for name, side in peers.items():
                there = side is not None and size in sides[side]
                row[name] = side[1] if there else ""
                row[name + "_us"] = \
                    middle(sides[side][size]) if there else ""
                beside = ("persistent", BY_TURNS) if name == "blocking" else own
                row[name + "_ratio"] = \
                    ratio(sides[side][size], sides[beside][size]) \
                    if there else ""
            rows.append(row)
    return rows


def sizeless(rows):
    return all(row["bytes"] == 0 for row in rows)


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


def figure(value, digits=2):
    if value == "" or value is None:
        return ""
    return f"{value:.{digits}f}" if value < 100 else f"{value:.0f}"


def table(first, key, part, setting):
    """One line per row; its first column is row[key]."""
    titles = {"openmpi": "Open MPI" + setting, "mpich": "MPICH",
              "blocking": "blocking, by turns"}
    peers = [p for p in PEERS
             if p != "blocking" or any(r["blocking_us"] for r in part)]
    heads = [first, "catena"]
    for peer in peers:
        heads += [titles[peer], "ratio"]
    lines = ["| " + " | ".join(heads) + " |", "| --: " * len(heads) + "|"]
    for r in part:
        cells = [str(r[key]), figure(r["catena_us"])]
        for peer in peers:
            cells += [figure(r[peer + "_us"]),
                      figure(r[peer + "_ratio"],
                             3 if peer == "blocking" else 2)]
        lines.append("| " + " | ".join(cells) + " |")
    return lines + [""]


def by_size(rows):
    """A table per layout."""
    lines = []
    for layout in dict.fromkeys(r["layout"] for r in rows):
        part = [r for r in rows if r["layout"] == layout]
        lines += [f"## {layout}, {part[0]['turns']} turns", ""]
        lines += table("bytes", "bytes", part, " " + part[0]["openmpi"])
        ratios = [r["openmpi_ratio"] for r in part if r["openmpi_ratio"]]
        if ratios:
            small = [r["openmpi_ratio"] for r in part
                     if r["openmpi_ratio"] and r["bytes"] <= 4096]
            lines += [f"Open MPI / catena: geometric mean "
                      f"{geometric_mean(ratios):.2f}, up to 4 KiB "
                      f"{geometric_mean(small or ratios):.2f}, least "
                      f"{min(ratios):.2f}.", ""]
    return lines


def by_layout(rows):
    settings = ", ".join(f"{r['openmpi']} ({r['layout']})"
                         for r in rows if r["openmpi"])
    return (table("layout", "layout", rows, "") +
            [f"Turns: {rows[0]['turns']}. Open MPI: {settings}.", ""])


def markdown(collective, rows, errors):
    lines = [f"# {collective} beside Open MPI and MPICH", "", versions() + ".",
             "",
             "Average latency in microseconds, as the OSU benchmarks have it; "
             "medians over the turns. Ratios: peer / catena, medians of the "
             "ratios within a turn; above 1 catena is faster. Open MPI is in "
             "its best fixed setting for the layout.", ""]
    lines += by_layout(rows) if sizeless(rows) else by_size(rows)
    one = [r["openmpi_ratio"] for r in rows
           if r["openmpi_ratio"] and not r["layout"].startswith("hosts")]
    if one:
        lines += [f"All layouts of one host together: geometric mean "
                  f"{geometric_mean(one):.2f}, least {min(one):.2f}.", ""]
    lines += [f"Wrong results: {errors}.", ""]
    return "\n".join(lines)


PLOT = """
set terminal svg size 760,460 font "sans,12" background "white"
set output "{out}.svg"
set datafile separator ","
set logscale y 2
set grid ytics lc rgb "#dddddd"
set ylabel "Open MPI time / catena time"
set title "{collective}: above 1 catena is faster"
{body}
"""

BY_SIZE = """
set logscale x 2
set key outside right
set xlabel "bytes per block"
plot 1 notitle lc rgb "#999999", {curves}
"""

# Bars stand on 1/4: a logarithmic axis has no zero.
BY_LAYOUT = """
set style fill solid 0.5
set boxwidth 0.6
set yrange [0.25:*]
plot "{out}.csv" using 7:xticlabel(1) skip 1 with boxes notitle, \\
    1 notitle lc rgb "#999999"
"""


def plot(collective, rows, out):
    curves = ", ".join(
        f"\"< awk -F, '$1==\\\"{layout}\\\" && $7' {out}.csv\" "
        f"using 2:7 with linespoints title \"{layout}\""
        for layout in dict.fromkeys(r["layout"] for r in rows))
    body = (BY_LAYOUT if sizeless(rows) else BY_SIZE).format(out=out,
                                                             curves=curves)
    script = PLOT.format(out=out, collective=collective, body=body)
    subprocess.run(["gnuplot"], input=script, text=True, check=False)


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    collective, times, errors = read(sys.argv[1])
    rows = compare(times)
    out = os.path.join(sys.argv[2], "peers-" + collective)
    fields = ["layout", "bytes", "turns", "catena_us", "openmpi", "openmpi_us",
              "openmpi_ratio", "mpich", "mpich_us", "mpich_ratio"]
    if any(row["blocking_us"] for row in rows):
        fields += ["blocking_us", "blocking_ratio"]
    with open(out + ".csv", "w", newline="") as file:
        writer = csv.DictWriter(file, fields, lineterminator="\n",
                                extrasaction="ignore")
        writer.writeheader()
        for row in rows:
            writer.writerow({k: round(v, 3) if isinstance(v, float) else v
                             for k, v in row.items()})
    text = markdown(collective, rows, errors)
    with open(out + ".md", "w") as file:
        file.write(text)
    print(text)
    plot(collective, rows, out)
    if errors:
        sys.exit(f"ratios.py: {errors} wrong results")


if __name__ == "__main__":
    main()
