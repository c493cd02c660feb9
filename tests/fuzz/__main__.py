"""Damage valid files for as long as asked: ``python -m tests.fuzz --seconds 3600 [--reader NAME]``.

Prints the seed; an input that fails is saved with the number by which it can be drawn again.
"""

from __future__ import annotations

import argparse
import random
import resource
import signal
import sys
import tempfile
import time
import traceback
from pathlib import Path

from csp.errors import CellveilError
from tests.fuzz.readers import Reader, readers

SECONDS = 5
ROOM = 2**30


class TooLong(Exception):
    pass


def main() -> int:
    asked = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    asked.add_argument("--seconds", type=float, default=3600)
    asked.add_argument("--count", type=int, help="inputs for each reader, in place of --seconds")
    asked.add_argument("--reader", metavar="NAMES", help="only these, by commas")
    asked.add_argument("--seed", type=int, default=time.time_ns() % 10**9)
    asked.add_argument("--failures", type=Path, default=Path("fuzz-failures"))
    given = asked.parse_args()
    print(f"seed {given.seed}", flush=True)
    for number in (signal.SIGALRM, signal.SIGPROF):
        signal.signal(number, _too_long)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        known = readers(folder)
        chosen = [r for r in known if given.reader is None or r.name in given.reader.split(",")]
        if not chosen:
            print(f"no reader {given.reader}; there are {', '.join(r.name for r in known)}")
            return 2
        for reader in chosen:
            reader.read(reader.valid, folder)  # valid, and whatever is loaded late is loaded
        _limit_memory()
        return _run(chosen, folder, given)


def _run(chosen: list[Reader], folder: Path, given: argparse.Namespace) -> int:
    end = time.monotonic() + given.seconds
    failed = number = 0
    slowest = (0.0, "")
    while number < given.count if given.count is not None else time.monotonic() < end:
        for reader in chosen:
            draw = random.Random(f"{given.seed} {reader.name} {number}")
            data = reader.damage(reader.valid, draw)
            began = time.process_time()
            words = _failure(reader, data, folder)
            slowest = max(slowest, (time.process_time() - began, f"{reader.name} {number}"))
            if words:
                failed += 1
                given.failures.mkdir(exist_ok=True)
                saved = given.failures / f"{reader.name}-{given.seed}-{number}.bin"
                saved.write_bytes(data)
                print(f"FAILED {saved}: {words}", flush=True)
        number += 1
    print(f"{number * len(chosen)} inputs, {failed} failures, slowest {slowest[0]:.2f} s "
          f"({slowest[1]})")  # fmt: skip
    return 1 if failed else 0


def _failure(reader: Reader, data: bytes, folder: Path) -> str:
    found = _outcome(reader, data, folder)
    if found is None:
        return ""
    if isinstance(found, CellveilError):
        return "" if str(found) else "an error without a message"
    where = traceback.extract_tb(found.__traceback__)[-1]
    return f"{type(found).__name__} at {where.filename}:{where.lineno}: {str(found)[:100]}"


def _outcome(reader: Reader, data: bytes, folder: Path) -> BaseException | None:
    """Error that a reader raises, within its time."""
    # Time of the processor, so that a busy machine is not taken for a slow reader; time of the
    # clock as well, for readers that wait.
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    signal.setitimer(signal.ITIMER_REAL, 20 * SECONDS)
    try:
        reader.read(data, folder)
    except BaseException as error:  # noqa: BLE001, RUF100 (whatever it is, it is what is looked for)
        return error
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)
    return None


def _too_long(number: int, frame: object) -> None:
    raise TooLong


def _limit_memory() -> None:
    if sys.platform != "linux":
        return
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * resource.getpagesize() + ROOM
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


if __name__ == "__main__":
    sys.exit(main())
