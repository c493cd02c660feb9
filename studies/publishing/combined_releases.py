"""Publishing more than once: what the same coins protect, and what independent ones disclose.

Releases are combined in three ways: one table published again, a table that changes from one period
to the next, and two tables that share margins. Coins follow key, identity and label, so the
schedule is a choice of identities: the same for all releases, or another one for each.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from attacks.release_alone.several_releases import differencing
from csp.audits.intervals import intervals
from csp.decoys.decoys import Decoys
from csp.decoys.key import Key
from csp.errors import InputError, Unprotectable
from csp.mechanism import Mechanism, Protected
from csp.release.release import Release
from csp.rules import MinFrequency
from csp.tables.link import link
from csp.tables.table import Table
from studies.matching.scenarios import DEVIATION, MEAN, THRESHOLD, WIDTH

SCHEDULES = {
    "none": "no decoys",
    "fresh": "decoys, another identity for each release",
    "same": "decoys, one identity for all",
    "kept": "decoys, one identity, and what was suppressed stays suppressed",
    "joint": "decoys, one linked table",
}
"""Schedules by name."""

SERIES_RATE = "0.05"
"""Of the decoys."""

_SIDE = 5


@dataclass(frozen=True, slots=True)
class JointRisk:
    """What releases disclose together, over many tables.

    Attributes
    ----------
    kind : {"again", "over time", "overlapping"}
    schedule : str
        Name in `SCHEDULES`.
    releases : int
        Releases of each table.
    tables : int
    suppressed : float
        Cells suppressed in a release, on average.
    primary : int
        Primary cells; over time, of all periods.
    unsafe : int
        Of these, cells whose interval from all releases together is narrower than promised.
    known : int
        Of these, cells that are known exactly.
    """

    kind: str
    schedule: str
    releases: int
    tables: int
    suppressed: float
    primary: int
    unsafe: int
    known: int


def joint_risks(
    tables: int = 20, *, releases: Sequence[int] = (2, 4), seed: int = 0, drift: int = 1
) -> list[JointRisk]:
    """Measure the three ways under every schedule.

    Parameters
    ----------
    tables : int
        For each way.
    releases : sequence of int
        Numbers of releases of one table, again and over time.
    seed : int
    drift : int
        By how much a cell changes at most from one period to the next.
    """
    found = []
    for count in releases:
        found += [_joint_risk(again, s, tables, seed, count) for s in ("none", "fresh", "same")]
    for count in releases:
        found += [
            _joint_risk(over_time, s, tables, seed, count, drift)
            for s in ("none", "fresh", "same", "kept")
        ]
    found += [_joint_risk(overlapping, s, tables, seed) for s in ("none", "fresh", "same", "joint")]
    return found


@dataclass(frozen=True, slots=True)
class _One:
    """What the releases of one table, or pair of tables, disclose."""

    suppressed: tuple[int, ...]
    primary: int
    unsafe: int
    known: int


def _joint_risk(
    way: Callable[..., _One], schedule: str, tables: int, seed: int, *options: int
) -> JointRisk:
    found: list[_One] = []
    for index in range(tables):
        try:
            found.append(way(schedule, index, seed, *options))
        except Unprotectable:
            continue
    if not found:
        msg = "no table that was drawn can be protected; draw more of them"
        raise InputError(msg)
    counts = [count for one in found for count in one.suppressed]
    return JointRisk(
        way.__name__.replace("_", " "), schedule, len(found[0].suppressed), len(found),
        float(np.mean(counts)), sum(one.primary for one in found),
        sum(one.unsafe for one in found), sum(one.known for one in found),
    )  # fmt: skip


def again(schedule: str, index: int, seed: int, releases: int) -> _One:
    """One table, published several times.

    Parameters
    ----------
    schedule : {"none", "fresh", "same"}
    index, seed : int
        The same numbers give the same table and key.
    releases : int

    Raises
    ------
    Unprotectable
        If the table cannot be protected.
    """
    rng = np.random.default_rng([seed, index, 1])
    table, key = _drawn(rng), Key(rng.bytes(32))
    out = [_mechanism(schedule, key, r).protect(table) for r in range(releases)]
    return _together(out)


def over_time(schedule: str, index: int, seed: int, releases: int, drift: int) -> _One:
    """One table in several periods; every attacker knows how much a cell changes at most.

    A cell that is published in one period bounds it in the others.

    Parameters
    ----------
    schedule, index, seed, releases
        See `again`.
    drift : int

    Raises
    ------
    Unprotectable
        If a table cannot be protected.
    """
    rng = np.random.default_rng([seed, index, 2])
    table, key = _drawn(rng), Key(rng.bytes(32))
    out: list[Protected] = []
    for r in range(releases):
        keep = out[-1].release if schedule == "kept" and out else None
        out.append(_mechanism(schedule, key, r).protect(table, keep=keep))
        change = rng.integers(-drift, drift + 1, (_SIDE, _SIDE))
        inner = table.values.reshape(_SIDE + 1, _SIDE + 1)[:-1, :-1]
        table = Table.from_array(np.maximum(inner + change, 0))
    primary = unsafe = known = 0
    for period, one in enumerate(out):
        low, high = _bounded([p.release for p in out], period, drift)
        secret = one.problem.primary
        width = _width(one.table, one.pattern, low, high)[secret]
        primary += len(width)
        unsafe += int((width < WIDTH).sum())
        known += int((width == 0).sum())
    return _One(tuple(int(p.pattern.sum()) for p in out), primary, unsafe, known)


def overlapping(schedule: str, index: int, seed: int) -> _One:
    """Two tables of the same people, region by sex and region by age, that share the regions.

    Margins may be suppressed, so that what one table hides of a region the other may publish.

    Parameters
    ----------
    schedule : str
        Name in `SCHEDULES`.
    index, seed
        See `again`.

    Raises
    ------
    Unprotectable
        If a table cannot be protected.
    """
    rng = np.random.default_rng([seed, index, 3])
    people = np.abs(np.rint(rng.normal(6, 5, (4, 3, 3)))).astype(np.int64)
    key = Key(rng.bytes(32))
    pair = [
        Table.from_array(people.sum(axis=axis), names=["region", name])
        for axis, name in ((2, "sex"), (1, "age"))
    ]
    if schedule == "joint":
        one = _mechanism(schedule, key, 0, margins="suppress").protect(link(*pair))
        return _together([one])
    out = [_mechanism(schedule, key, r, margins="suppress").protect(t) for r, t in enumerate(pair)]
    return _together(out)


def _drawn(rng: np.random.Generator) -> Table:
    cells = np.abs(np.rint(rng.normal(MEAN, DEVIATION, (_SIDE, _SIDE)))).astype(np.int64)
    return Table.from_array(cells)


def _mechanism(schedule: str, key: Key, release: int, margins: str = "publish") -> Mechanism:
    rules = MinFrequency(THRESHOLD, zero_sensitive=True)
    plain = Mechanism(rules, width=WIDTH, margins=margins)
    if schedule == "none":
        return plain
    identity = f"release {release}" if schedule == "fresh" else "all"
    return replace(plain, defence=Decoys(SERIES_RATE, key, table=identity))


def _together(out: Sequence[Protected]) -> _One:
    """Attack releases of tables that agree by `attacks.differencing`."""
    counts = tuple(int(one.pattern.sum()) for one in out)
    if not any(counts):
        return _One(counts, 0, 0, 0)
    found = differencing([one.release for one in out], integer=True)
    ends = np.zeros((2, len(found.release.pattern)))
    ends[:, found.cells] = found.lower, found.upper
    secret = np.zeros(len(found.release.pattern), dtype=bool)
    for one, place in zip(out, found.places, strict=True):
        secret[place[one.problem.primary]] = True
    width = (ends[1] - ends[0])[secret]
    return _One(counts, len(width), int((width < WIDTH).sum()), int((width == 0).sum()))


def _bounded(
    releases: Sequence[Release], period: int, drift: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Bounds of the cells of one period, by what other periods publish of them."""
    low, high = releases[period].lower.copy(), releases[period].upper.copy()
    for other, release in enumerate(releases):
        # A total changes with each of its parts.
        parts = np.where(_inner(release), 1, _SIDE**2)
        far = abs(other - period) * drift * parts
        shown = ~release.pattern
        low[shown] = np.maximum(low, release.published - far)[shown]
        high[shown] = np.minimum(high, release.published + far)[shown]
    return low, high


def _inner(release: Release) -> NDArray[np.bool_]:
    return np.array([not set(label) & set(release.roots) for label in release.labels])


def _width(
    table: Table, pattern: NDArray[np.bool_], low: NDArray[np.int64], high: NDArray[np.int64]
) -> NDArray[np.float64]:
    ends = intervals(table.replace(lower=low, upper=high), pattern, integer=True)
    return np.asarray(ends[1] - ends[0])
