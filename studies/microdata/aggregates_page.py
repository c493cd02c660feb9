"""Anonymity against aggregate knowledge: Gkountouna et al., Figures 2 and 3."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from studies.figures import Panel, draw
from studies.microdata.files import load
from studies.pages import grid, machine, number

if TYPE_CHECKING:
    from studies.microdata.aggregates import Measurement

KS = (2, 5, 10, 25, 50)
"""Values of k in the paper's range."""

DS = ("0", "0.05", "0.1")
"""How precisely the attacker knows the aggregate."""

OTHERS = ("IPUMS", "census", "EIA", "adult")
"""Files on which every (k, d) is tried."""


@dataclass(frozen=True, slots=True)
class Against:
    """The best masking of one file for one k and d, beside the best Mondrian."""

    data: str
    k: int
    d: str
    best: float
    chosen: str
    aggranon: float
    mondrian: float
    fewest: int
    touched: int
    sums: int | None
    values: int | None
    seconds: float

    def row(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self)


def against(
    folder: Path, *, names: Sequence[str], say: Callable[[str], None] | None = None
) -> Iterator[Against]:
    """Mask every file for every k and d; each result has passed the verifier."""
    from microagg.aggregates import aggregate_anonymise
    from studies.microdata.aggregates import measurements

    for name in names:
        records = load(name, folder)
        for k in KS:
            mondrians = measurements(
                records, ks=(k,), sizes=(), ds=(), k=k,
                series=("mondrian median", "mondrian nearest", "mondrian relaxed"),
            )  # fmt: skip
            reached = min(m.ncp for m in mondrians if m.varies == "k")
            for d in DS:
                if say is not None:
                    say(f"{name}, k = {k}, d = {d}")
                plain = aggregate_anonymise(records, k, "sum", d, method="aggranon")
                start = time.process_time()
                found = aggregate_anonymise(records, k, "sum", d)
                spent = time.process_time() - start
                left = found.residual
                yield Against(
                    name, k, d, float(found.ncp), found.chosen, float(plain.ncp), reached,
                    int(found.fewest), left.touched if left else 0, left.sums if left else None,
                    left.values if left else None, spent,
                )  # fmt: skip


def lines(
    found: Sequence[Measurement],
    beside: Sequence[Against],
    *,
    command: str,
    figures: Sequence[str],
) -> Iterator[str]:
    """Lines of the page."""
    yield "# Anonymity against aggregate knowledge: Gkountouna et al. reproduced"
    yield ""
    yield (
        "Gkountouna, Lepenioti and Terrovitis, *Privacy against aggregate knowledge attacks*: an "
        "attacker who knows the sum of a record's attributes must meet at least k records. The "
        "paper shows curves and no numbers. Its data is in all likelihood the IPUMS file here: "
        "233,584 records exactly, with the codes for not applicable (999999) as incomes."
    )
    yield ""
    yield f"Made by `{command}`. {machine()}."
    yield ""
    yield "## Loss and time against k (Figures 2 and 3)"
    yield ""
    yield (
        "NCP over the common domain (CPU seconds in brackets), d = 0. The median cut stalls on "
        "values that many records share, and is likely what the paper compared with; a Mondrian "
        "that takes the nearest cut it may take loses less than aggrAnon, while it promises more. "
        "*hybrid* leaves records alone whose sum occurs k times already; *best* is the least loss "
        "of all that pass the verifier."
    )
    yield ""
    names = list(dict.fromkeys(m.series for m in found))
    for varies, title in (("k", "k"), ("records", "records"), ("d", "d")):
        some = [m for m in found if m.varies == varies]
        points = list(dict.fromkeys(getattr(m, varies) for m in some))
        rows = []
        for point in points:
            row = [f"{point:,}" if varies == "records" else point]
            for name in names:
                here = [m for m in some if m.series == name and getattr(m, varies) == point]
                row.append(f"{here[0].ncp:.2e} ({number(here[0].seconds, 2)})" if here else "-")
            rows.append(row)
        yield from grid([title, *names], rows)
        yield ""
    yield "## Never above Mondrian"
    yield ""
    worse = [a for a in beside if a.best > a.mondrian * (1 + 1e-12)]
    yield (
        f"For each file, k and d: the best masking, aggrAnon, and the best of the three Mondrians "
        f"(which has no d). Best above Mondrian: {len(worse)} of {len(beside)}. *fewest*: the "
        "fewest records that any attacker meets, by brute force on the output. *known*: records "
        "whose generalised attributes' sum, and whose single generalised value, the attacker "
        "still learns, since the attributes left exact can be subtracted from the sum it knows, "
        "among the touched records."
    )
    yield ""
    yield from grid(
        ["file", "k", "d", "best", "by", "aggrAnon", "Mondrian", "fewest", "known", "touched",
         "CPU s"],
        (
            [
                a.data, a.k, a.d, f"{a.best:.2e}", a.chosen, f"{a.aggranon:.2e}",
                f"{a.mondrian:.2e}", a.fewest, f"{a.sums}; {a.values}", a.touched,
                number(a.seconds, 2),
            ]
            for a in beside
        ),
    )  # fmt: skip
    if figures:
        yield ""
        yield "## Figures 2 and 3"
        for name in figures:
            yield ""
            yield f"![{name}]({name})"


def draw_figures(found: Sequence[Measurement], folder: Path) -> tuple[str, ...]:
    """Draw Figures 2 and 3; return their names relative to the folder of the page."""
    names = []
    for figure, measure, words in ((2, "ncp", "NCP"), (3, "seconds", "CPU seconds")):
        panels = []
        for varies in ("k", "records", "d"):
            some = [m for m in found if m.varies == varies]
            series = {
                name: (
                    [float(getattr(m, varies)) for m in some if m.series == name],
                    [float(getattr(m, measure)) for m in some if m.series == name],
                )
                for name in dict.fromkeys(m.series for m in some)
            }
            panels.append(Panel("", varies, words, series, log_y=measure == "ncp"))
        name = f"figures/aggregates-{figure}.png"
        draw(folder / name, panels, columns=3)
        names.append(name)
    return tuple(names)
