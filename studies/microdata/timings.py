"""How long microaggregation takes, file by file."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from studies.microdata.files import available, load
from studies.pages import grid, machine, number

if TYPE_CHECKING:
    from microagg.records import Records

ASKED = {("adult", 3): "1", ("adult", 10): "0.5", ("gauss", 10): "30", ("lognormal", 10): "30"}
"""CPU seconds asked for, by file and k."""

PEER = {("adult", 3): 11.1, ("adult", 10): 3.7}
"""CPU seconds of sdcMicro 5.8.1 (C++) on the same kind of machine, measured once by itself."""

MANY = 1_000_000


def timings(
    folder: Path, *, repeat: int = 3, say: Callable[[str], None] | None = None
) -> Iterator[dict[str, Any]]:
    """CPU seconds of MDAV, V-MDAV and Mondrian after compilation: the least of some runs."""
    files: dict[str, Callable[[], Records]] = {}
    for name in ("census", "EIA", "abalone", "adult"):
        if name in available(folder):
            files[name] = partial(load, name, folder)
    for name in ("gauss", "lognormal"):
        files[name] = partial(_drawn, name)
    from microagg.partitions.methods.mdav import mdav_labels
    from microagg.partitions.methods.mondrian import mondrian_labels
    from microagg.partitions.methods.vmdav import vmdav_labels
    from microagg.scaling import scaled

    ways: dict[str, Callable[[Any, int], Any]] = {
        "MDAV": mdav_labels,
        "V-MDAV (0.2)": lambda points, k: vmdav_labels(points, k, 0.2),
        "Mondrian (nearest)": lambda points, k: mondrian_labels(points, k, cut="nearest"),
    }
    few = np.random.default_rng(0).normal(size=(400, 3))
    for run in ways.values():
        run(few, 3)
    for name, read in files.items():
        points = scaled(read(), "standardise", constant="keep")
        for method, run in ways.items():
            for k in (3, 10):
                if len(points) == MANY and (k == 3 or method != "MDAV"):
                    continue
                if say is not None:
                    say(f"{name}, {method}, k = {k}")
                spent = []
                for _ in range(1 if len(points) == MANY else repeat):
                    start = time.process_time()
                    run(points, k)
                    spent.append(time.process_time() - start)
                yield {
                    "data": name, "records": len(points), "attributes": points.shape[1],
                    "method": method, "k": k, "seconds": min(spent),
                }  # fmt: skip


def _drawn(name: str) -> Records:
    """Draw a million records of six independent attributes."""
    from microagg.records import read_records

    normal = np.random.default_rng(6).normal(size=(MANY, 6))
    return read_records(normal if name == "gauss" else np.exp(normal))


def lines(rows: Sequence[dict[str, Any]], *, command: str) -> Iterator[str]:
    """Lines of the page."""
    yield "# How long microaggregation takes"
    yield ""
    yield (
        f"CPU seconds after compilation, attributes standardised. Made by `{command}`. "
        f"{machine()}. *gauss* and *lognormal* are a million records of six independent "
        "attributes, by a fixed seed. sdcMicro's figures are of its C++ MDAV, on the same kind of "
        "machine, but not of the same run."
    )
    yield ""
    yield from grid(
        ["file", "records x attributes", "method", "k", "CPU s", "asked", "sdcMicro"],
        (
            [
                row["data"],
                f"{row['records']:,} x {row['attributes']}",
                row["method"],
                row["k"],
                number(row["seconds"], 2),
                ASKED.get((row["data"], row["k"]), "") if row["method"] == "MDAV" else "",
                PEER.get((row["data"], row["k"]), "") if row["method"] == "MDAV" else "",
            ]
            for row in rows
        ),
    )
