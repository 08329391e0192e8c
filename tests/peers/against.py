#!/usr/bin/env python3
"""against.py RAW OUT NAME: compare this catena with another one.

RAW has rows of three sides that ran in every turn, in slices of time by turns:
catena (this build), again (the same a second time) and against (the other build,
NAME). A ratio is the other's time / this one's, the median over the slices of a
turn: below 1 this build is slower. It is given as its median over the turns with
a 95% interval (order statistics, so nothing is assumed of the distribution).

The noise of a row is how far the interval of again / catena reaches from 1. A
row is "SLOWER" if the whole interval of its ratio lies below a bound: 0.95 for
8 bytes on two bound ranks, else 0.97, less the noise. The barrier of two bound
ranks is judged by time instead: it is "SLOWER" if the whole interval of the
difference lies above 5 ns and the noise in ns. A row is "faster" by the same
rules with both builds exchanged; that fails nothing. A row whose bound is below
0.6 is "noisy": nothing can be said of it.

Prints a table, writes OUT/against-COLLECTIVE.csv, and exits with 1 if a row is
slower, or if results were wrong.
"""
import csv
import os
import sys
from statistics import median

from ratios import (figure, geometric_mean, interval, middle, pairs, read,
                    versions)

BOUND = 0.97
BOUND_SMALL = 0.95  # 8 bytes, two bound ranks
BARRIER_NS = 5.0    # barrier of two bound ranks
NOISY = 0.6         # a row with a lower bound is not judged


def by_turn(sides, name, size):
    """Times of one side by turn; a side has one setting here."""
    for side, sizes in sides.items():
        if side[0] == name and size in sizes:
            return sizes[size]
    return {}


def verdict(low, high, bound):
    """Of ratios; `bound` is below 1."""
    if bound < NOISY:
        return "noisy"
    if high < bound:
        return "SLOWER"
    return "faster" if low > 1 / bound else ""


def judge_time(row, own, other, again):
    """The barrier of two bound ranks: additional nanoseconds of this build."""
    def more(mine, theirs):
        return 1e3 * (mine - theirs)

    low, high = interval(pairs(own, other, more))
    noise = max(abs(x) for x in interval(pairs(own, again, more)))
    bound = BARRIER_NS + noise
    row["rule"] = f"{low:+.0f} to {high:+.0f} ns, bound {bound:.0f}"
    row["verdict"] = ("SLOWER" if low > bound else
                      "faster" if high < -bound else "")


def judge(collective, layout, size, own, other, again):
    def ratio(mine, theirs):
        return theirs / mine

    ratios = pairs(own, other, ratio)
    low, high = interval(ratios)
    noise = max(abs(x - 1) for x in interval(pairs(own, again, ratio)))
    small = layout == "bound2" and size == 8
    bound = (BOUND_SMALL if small else BOUND) - noise
    row = {"layout": layout, "bytes": size, "turns": len(ratios),
           "catena_us": middle(own),
           "against_us": middle(other),
           "ratio": median(ratios), "low": low, "high": high, "noise": noise,
           "rule": f"bound {bound:.3f}", "verdict": verdict(low, high, bound)}
    if collective == "barrier" and layout == "bound2":
        judge_time(row, own, other, again)
    return row


def table(collective, name, rows):
    lines = [f"# {collective}: this build and {name}", "", versions() + ".", "",
             "Microseconds, medians over the turns. Ratio: time of the other / "
             "time of this build, with its 95% interval; below 1 this build is "
             "slower. Noise: reach of the same ratio for this build run twice.",
             "", "| layout | bytes | turns | this | other | ratio | interval | "
             "noise | rule | |",
             "| --- " + "| --: " * 7 + "| --- | --- |"]
    for r in rows:
        lines.append(
            f"| {r['layout']} | {r['bytes']} | {r['turns']} | "
            f"{figure(r['catena_us'], 3)} | {figure(r['against_us'], 3)} | "
            f"{r['ratio']:.3f} | {r['low']:.3f} to {r['high']:.3f} | "
            f"{r['noise']:.3f} | {r['rule']} | {r['verdict']} |")
    slower = sum(r["verdict"] == "SLOWER" for r in rows)
    noisy = sum(r["verdict"] == "noisy" for r in rows)
    return lines + ["", f"Geometric mean of the ratios "
                    f"{geometric_mean([r['ratio'] for r in rows]):.3f}; "
                    f"{slower} of {len(rows)} rows slower, {noisy} too noisy.",
                    ""], slower


def compare(collective, layouts, out, name):
    """Write and print the table of one collective; the number of slower rows."""
    rows = []
    for layout, sides in layouts.items():
        sizes = next(s for side, s in sides.items() if side[0] == "catena")
        for size in sorted(sizes):
            own, other, again = (by_turn(sides, side, size)
                                 for side in ("catena", "against", "again"))
            rows.append(judge(collective, layout, size, own, other, again))
    path = os.path.join(out, f"against-{collective}.csv")
    with open(path, "w", newline="") as file:
        writer = csv.DictWriter(file, rows[0].keys(), lineterminator="\n")
        writer.writeheader()
        for row in rows:
            writer.writerow({k: round(v, 4) if isinstance(v, float) else v
                             for k, v in row.items()})
    lines, slower = table(collective, name, rows)
    print("\n".join(lines))
    return slower


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    times, errors = read(sys.argv[1])
    slower = [compare(collective, layouts, sys.argv[2], sys.argv[3])
              for collective, layouts in times.items()]
    if errors:
        sys.exit(f"against.py: {errors} wrong results")
    sys.exit(1 if any(slower) else 0)


if __name__ == "__main__":
    main()
