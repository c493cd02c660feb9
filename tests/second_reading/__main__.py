"""Many random files, protected and read a second time; seeds of findings are printed."""

from __future__ import annotations

import argparse
from collections import Counter
from random import Random

from tests.second_reading.cases import draw
from tests.second_reading.compare import compare


def main() -> int:
    asked = argparse.ArgumentParser(prog="python -m tests.second_reading", description=__doc__)
    asked.add_argument("--count", type=int, default=1000)
    asked.add_argument("--start", type=int, default=0, help="first seed")
    asked.add_argument("--kind", choices=["records", "cells"])
    asked.add_argument("--gap", type=float, default=0.0, help="share of the optimum; faster")
    given = asked.parse_args()
    ends: Counter[str] = Counter()
    forms: Counter[str] = Counter()
    told = 0
    for seed in range(given.start, given.start + given.count):
        case = draw(Random(seed), given.kind)
        outcome = compare(case, gap=given.gap)
        ends[outcome.what.split(":")[0]] += 1
        forms[case.source] += 1
        if outcome.findings:
            told += 1
            print(f"seed {seed}: {outcome.what}: {outcome.findings[0]}", flush=True)
        if outcome.what.startswith("bad input:"):
            print(f"seed {seed}: {outcome.what}", flush=True)
        if (seed - given.start) % 500 == 499:
            print(f"{seed - given.start + 1} files: {told} with findings", flush=True)
    print("; ".join(f"{form} {count}" for form, count in forms.most_common()))
    for what, count in ends.most_common():
        print(f"{count:6} {what}")
    print(f"{given.count} files, {told} with findings")
    return int(bool(told))


if __name__ == "__main__":
    raise SystemExit(main())
