"""Five tables compared, for docs/methods.md: `python -m tests.docs.methods` writes them there."""

from __future__ import annotations

from pathlib import Path

import instances
from cellveil import Comparison, compare
from cellveil.render.figures import save
from csp import Key, Table
from tests.support.shared import ROOT

PAGE = ROOT / "docs" / "methods.md"
BEGIN, END = "<!-- made by tests/docs/methods.py -->", "<!-- end -->"

RULES = "FREQ(9)"
METHODS = ("suppress", "intervals:5", "round:5", "random:5", "round:10", "round:3:small")
KEY = Key(bytes(range(32)))
TITLES = {
    "smokers": "Smokers, by sex and illness (Doll and Hill 1950)",
    "hair_and_eyes": "Hair by eyes (Snee 1974)",
    "titanic": "The Titanic, by class, person and fate (Dawson 1995)",
    "berkeley": "Applicants, by department, sex and decision (Bickel and others 1975)",
    "occupations": "Fathers by sons (Goodman 1979)",
}
SLOW = ("titanic",)
"""Tables whose matching attack takes more than a second."""

HEAD = (
    "| method | withheld | changed | mean error | largest | proved best | below level | known "
    "| closest call | method known: below, known |"
)


def compared(name: str) -> Comparison:
    table = instances.load(name)
    assert isinstance(table, Table)
    return compare(table, RULES, METHODS, key=KEY, attack=name not in SLOW)


def table_of(found: Comparison) -> list[str]:
    lines = [HEAD, "|" + "---|" * 10]
    for method, one in found.summary().items():
        known = one["method_short"], one["method_known"]
        told = "not tried" if known[0] is None else f"{known[0]}, {known[1]}"
        if method.startswith("random"):
            told = "as before"
        lines.append(
            f"| `{method}` | {one['withheld']} | {one['changed']} | {one['mean_error']:.2f} "
            f"| {one['largest_error']:.0f} | {'yes' if one['proven'] else 'no'} "
            f"| {one['short']} of {one['sensitive']} | {one['known']} "
            f"| {one['narrowest']:.0f} for {one['wanted']:.0f} | {told} |"
        )
    return lines


def part_of(name: str, found: Comparison) -> str:
    table = found.table
    lines = [
        f"### {TITLES[name]}",
        f"{table.n_cells} cells, {found.summary()['suppress']['sensitive']} of them sensitive.",
        "\n".join(table_of(found)),
        f"![{TITLES[name]}](figures/methods-{name}.svg)",
    ]
    return "\n\n".join(lines)


def text() -> str:
    return "\n\n".join(part_of(name, compared(name)) for name in TITLES)


def main() -> None:
    parts = []
    for name in TITLES:
        found = compared(name)
        parts.append(part_of(name, found))
        save(found.plot(), Path(ROOT / "docs" / "figures" / f"methods-{name}.svg"))
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    made = "\n\n".join(parts)
    PAGE.write_text(f"{before}{BEGIN}\n\n{made}\n\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
