"""The verb that compares two releases: what changed, and what an attacker gains from both."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from attacks import differencing
from attacks.published_findings import unavailable_cells
from attacks.release_alone.several_releases import Differencing, releases_alike
from cellveil.cli import options
from cellveil.cli.answers import finish
from cellveil.cli.options import argument
from cellveil.cli.taking import taking
from cellveil.front import refuse
from cellveil.io.files import check_outputs
from cellveil.io.published import read_public
from cellveil.jobs.together import differ, places_of
from cellveil.render.screen import say, tell
from cellveil.requests.outputs import Facts
from cellveil.requests.publication import Publication
from cellveil.requests.search import Limit
from csp.exact import Bools
from csp.release.release import Release
from csp.tables.codes import Labels

SHOWN = 20
"""Cells that are named on screen for each change; the file of --summary names all."""


@taking
def diff(
    old: Annotated[Path, argument("Earlier release (.json), or published table.", "OLD")],
    new: Annotated[Path, argument("Later release or table.", "NEW")],
    *,
    publication: Publication,
    limit: Limit,
    summary: options.Summary = None,
) -> None:
    """Compare two releases of the same table: what changed, and what both disclose together.

    $ cellveil diff may.json june.json

    Releases are files that --release wrote, or tables that anybody published. The exit code is 1 if
    they together disclose a cell that one of them suppresses.
    """
    check_outputs({"--summary": summary}, [old, new])
    releases = releases_alike([read_public(path, publication)[0] for path in (old, new)])
    facts = _changes(*releases)
    revised = facts["revised"]
    names = (("only_old", f"only in {old.name}"), ("only_new", f"only in {new.name}"),
             ("newly_suppressed", "suppressed now and published before"),
             ("newly_published", "published now and suppressed before"),
             ("now_available", "published now and not available before"),
             ("now_unavailable", "not available now and published before"),
             ("suppressed_then_unavailable", "not available now and suppressed before"),
             ("unavailable_then_suppressed", "suppressed now and not available before"),
             ("revised", "published in both with different values"))  # fmt: skip
    for key, words in names:
        _list(facts[key], words)
    if not any(facts[key] for key, _ in names):
        tell("Both publish and suppress the same cells, with the same values.")
    if revised:
        say(
            "Values were revised: the two are of different data, and nothing is inferred from both."
        )
        facts["together"] = None
    elif any(release.pattern.any() for release in releases):
        found = differencing(releases, time_limit=limit.started().seconds)
        facts["together"] = _together(found, _secret(found.release, releases))
    else:
        facts["together"] = {"disclosed": [], "narrowed": 0}
    safe = not (facts["together"] and facts["together"]["disclosed"])
    finish(facts, safe=safe, to=Facts(summary))


def _changes(old: Release, new: Release) -> dict[str, Any]:
    """Cells by what became of them, each as a mapping of dimensions to codes."""
    if sorted(old.names) != sorted(new.names):
        refuse(
            f"one release is by {', '.join(old.names)}, the other by {', '.join(new.names)}; give "
            "two of the same dimensions"
        )
    place, back = places_of(new, old), places_of(old, new)
    assert place is not None
    assert back is not None
    both = place >= 0
    at = np.where(both, place, 0)
    (kept, no), (keeps, none) = _states(old), (state[at] for state in _states(new))
    shown, shows = ~(kept | no), ~(keeps | none)
    return {
        "only_old": _named(old, ~both),
        "only_new": _named(new, back < 0),
        "newly_suppressed": _named(old, both & shown & keeps),
        "newly_published": _named(old, both & kept & shows),
        "now_available": _named(old, both & no & shows),
        "now_unavailable": _named(old, both & shown & none),
        "suppressed_then_unavailable": _named(old, both & kept & none),
        "unavailable_then_suppressed": _named(old, both & no & keeps),
        "revised": _named(old, differ(new, old, place)),
    }


def _states(release: Release) -> tuple[Bools, Bools]:
    """Cells that are withheld, and those that are not available; the others are published."""
    return release.withheld, unavailable_cells(release)


def _secret(joint: Release, releases: Sequence[Release]) -> Bools:
    """Cells of all releases together that one of them withholds, or rounds."""
    found = np.zeros(len(joint.pattern), bool)
    for release in releases:
        turned = Labels.of(release.labels).turned([release.names.index(n) for n in joint.names])
        place = turned.places(Labels.of(joint.labels))
        secret = release.pattern & ~unavailable_cells(release)
        found |= (place >= 0) & secret[np.where(place >= 0, place, 0)]
    return found


def _named(release: Release, cells: Any) -> list[dict[str, str]]:
    """Cells, by their places or by flags, as mappings of dimensions to codes."""
    places = np.arange(len(release.pattern))[cells].tolist()
    return [dict(zip(release.names, release.labels[i], strict=True)) for i in places]


def _list(cells: list[dict[str, str]], words: str) -> None:
    if not cells:
        return
    tell(f"{'1 cell' if len(cells) == 1 else f'{len(cells):,} cells'} {words}:")
    for cell in cells[:SHOWN]:
        tell("  " + ", ".join(f"{name} {code}" for name, code in cell.items()))
    if len(cells) > SHOWN:
        tell(f"  ... {len(cells) - SHOWN:,} more")


def _together(found: Differencing, secret: Bools) -> dict[str, Any]:
    """Say what both disclose of cells that are `secret`, without what they disclose."""
    release = found.release
    known = (found.lower == found.upper) | np.array([bool(p) for p in found.publishers], bool)
    known &= secret[found.cells]
    cells = _named(release, found.cells[known])
    narrowed = int((found.narrowed & ~known & secret[found.cells]).sum())
    if cells:
        are = "is" if len(cells) == 1 else "are"
        _list(cells, f"that one release suppresses {are} disclosed by both together")
    else:
        tell("Together they disclose no cell that one of them suppresses.")
    if narrowed:
        tell(f"{narrowed:,} more are known more closely from both than from either.")
    return {"disclosed": cells, "narrowed": narrowed}
