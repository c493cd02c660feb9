"""The bundled table, protected, audited and explained."""

from __future__ import annotations

from rich.console import Console
from rich.rule import Rule as Line
from rich.text import Text

import instances
from cellveil.cli.answers import terminal
from cellveil.render import tables
from csp.mechanism import Mechanism
from csp.tables.table import Table

RULES = "P(10,1)|FREQ(3,10)"

RULES_IN_WORDS = (
    "P(10,1): no contributor of a cell may be able to estimate the largest contribution to within "
    "10 %. FREQ(3,10): a cell needs three contributors; one with fewer must stay uncertain "
    "by 10 % either way."
)

OWN_DATA = (
    "cellveil protect survey.csv --by region,sector --value turnover --contributor enterprise \\\n"
    "    --hierarchy region=region.hrc --rules 'P(10,1)|FREQ(3,10)' -o published.csv"
)


def demo() -> None:
    """Protect and audit a bundled table, and show what that means.

    $ cellveil demo
    """
    console = terminal()
    table = instances.load("demo")
    assert isinstance(table, Table)
    protected = Mechanism(RULES).protect(table)
    cross = tables.cross_for(console)
    console.print(Text("Turnover by region and sector of a made-up business survey", "bold"))
    console.print(f"Rules: {RULES}", style="dim")
    console.print(RULES_IN_WORDS)
    console.print()
    console.print(tables.published_grid(protected, console))
    console.print(f"{cross} suppressed    - no contributor")
    console.print(tables.sizes(protected.problem, protected.pattern))
    console.print()
    _heading(console, "What an outsider can infer about the suppressed cells")
    console.print(tables.intervals_grid(protected))
    _heading(console, "What is proved")
    for line in tables.promises(protected):
        console.print(line)
    console.print(tables.quality(protected.suppression, tables.cost_words("unit")))
    console.print()
    _heading(console, "The same on your own data (one row per record)")
    console.print(OWN_DATA, soft_wrap=True)


def _heading(console: Console, words: str) -> None:
    console.print(Line(Text(words, "bold"), align="left"))
