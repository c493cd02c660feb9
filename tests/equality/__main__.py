"""Every world with every option, on many files: ``python -m tests.equality [--most 40]``."""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from tests.equality.commands import findings
from tests.equality.worlds import worlds


def main() -> int:
    asked = argparse.ArgumentParser(prog="python -m tests.equality", description=__doc__)
    asked.add_argument("--most", type=int, default=40, help="files of data in a world")
    asked.add_argument("--world", help="only this one")
    given = asked.parse_args()
    with tempfile.TemporaryDirectory() as name:
        chosen = (w for w in worlds(given.most) if given.world in (None, w.name))
        told, compared = 0, 0
        for one in findings(chosen, Path(name)):
            compared += one.agreeing > 1
            told += bool(one.different)
            words = " ".join(one.words)
            print(
                f"{one.world} | {words} | {one.agreeing} agree | {', '.join(one.different)}",
                flush=True,
            )
    print(f"{compared} compared, {told} told files apart")
    return int(bool(told))


if __name__ == "__main__":
    raise SystemExit(main())
