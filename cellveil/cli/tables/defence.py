"""The command ``cellveil key`` and the option --defence, and what a result says of its decoys."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cellveil.cli.options import argument
from cellveil.front import refuse
from cellveil.render.screen import say
from csp.clock import Clock
from csp.decoys.decoys import Decoys
from csp.decoys.key import Key
from csp.errors import InputError, OutOfTime
from csp.exact import exact

if TYPE_CHECKING:
    from csp.decoys.guarantee import Guarantee
    from csp.mechanism import Protected

_MOST_TABLES, _DRAWS, _KEYS, _MOST_CELLS = 500, 300, 8, 64
_OPTIONS = ("lean", "spread", "width", "share")


def key(path: Annotated[Path, argument("New file, readable by its owner only.", "FILE")]) -> None:
    """Make a secret key for --defence. Keep it secret and back it up.

    $ cellveil key decoys.key

    The same key gives the same table the same pattern again; two releases of a table with different
    keys disclose more than each of them.
    """
    Key.create(path)
    say(f"Wrote {path}. Anyone who has it can rerun the algorithm; keep it apart from releases.")


def read_defence(text: str | None, key_file: Path | None, table_id: str) -> Decoys | None:
    """Decoys from ``decoys:RATE`` with options behind commas, and the key of a file."""
    if text is None:
        for option, given in (("--key-file", key_file), ("--table-id", table_id)):
            if given:
                refuse(f"{option} is for a defence; add --defence decoys:0.1 or leave it out")
        return None
    options = _parsed(text)
    if key_file is None:
        refuse(
            "a defence needs a secret key; make one with 'cellveil key FILE', and add "
            "--key-file FILE"
        )
    return Decoys(key=Key.read(key_file), table=table_id, **options)


def needs_width(decoys: Decoys | None) -> None:
    """Refuse decoys with neither width nor share where no mechanism has a width."""
    if decoys is not None and decoys.width is None and decoys.share is None:
        refuse(
            "--defence: a JJ file does not state how wide the interval of a decoy must be; write "
            "decoys:0.1,width=10 or decoys:0.1,share=0.1"
        )


def _parsed(text: str) -> dict[str, Any]:
    kind, _, rest = text.partition(":")
    rate, *more = rest.split(",")
    if kind != "decoys" or not rate:
        refuse(
            "--defence takes decoys:RATE, such as decoys:0.1, with "
            f"{', '.join(_OPTIONS)} behind commas: decoys:0.1,width=20"
        )
    options: dict[str, Any] = {"rate": _number(rate)}
    for part in more:
        name, equals, number = part.partition("=")
        if name not in _OPTIONS or not equals or name in options:
            wanted = ", ".join(f"{o}=NUMBER" for o in _OPTIONS)
            refuse(f"--defence: a comma must be followed by one of {wanted}, each once")
        options[name] = _number(number)
    if "lean" in options:
        if options["lean"].denominator != 1:
            refuse("--defence: lean must be a whole number, such as lean=4")
        options["lean"] = int(options["lean"])
    return options


def _number(text: str) -> Any:

    try:
        return exact(text)
    except InputError:
        # Not quoted: it may be a key in the wrong place.
        msg = "--defence: rate and options are numbers, such as decoys:0.1,width=20"
        raise InputError(msg) from None


def defence_words(guarantee: Guarantee) -> Iterator[str]:
    """Guarantee and assumptions as sentences."""
    yield f"The algorithm may be known, its key may not. {guarantee.claim}"
    yield f"Assumed: {'; '.join(guarantee.assumptions)}."


def measured(result: Protected, clock: Clock) -> dict[str, Any]:
    """Compute what an adversary without prior knowledge makes of the release.

    The release and the public part of the mechanism are all it takes, so it tells nothing that
    others could not compute. Where it cannot be computed, the facts are the reason.
    """
    # A quarter of a second of imports, for defended tables only.
    from attacks.bayes.posterior import posterior
    from attacks.fibre.consistent_tables import Fibre

    table = result.table
    if not result.pattern.any():
        return {"not_computed": "nothing is suppressed"}
    if table.contributors is not None:
        return {"not_computed": "who contributes to hidden cells has no known distribution"}
    if int((result.problem.status != "z").sum()) > _MOST_CELLS:
        return {"not_computed": f"more than {_MOST_CELLS} cells may be suppressed"}
    if clock.over:
        return {"not_computed": "the time limit had passed"}
    try:
        size = Fibre(result.release).count(time_limit=clock.seconds)
        draws = None if size is not None and size <= _MOST_TABLES else _DRAWS
        found = posterior(
            result.release, result.mechanism, keys=_KEYS, draws=draws, time_limit=clock.seconds
        )
    except OutOfTime:
        return {"not_computed": "the time limit came first"}
    except KeyboardInterrupt:  # there is a safe pattern: it is kept
        return {"not_computed": "it was interrupted"}
    except InputError:
        return {"not_computed": "this takes two-way tables of counts and one width for all cells"}
    (low, high), (wide, far) = found.shortest(), found.shortest(naive=True)
    unit = 10**result.release.scale
    return {
        "prior": "uniform",
        "tables": size,
        "drawn": draws,
        "largest_primary_probability": round(float(found.sensitive.max()), 4),
        "narrowest_95_percent": int((high - low).min()) / unit,
        "narrowest_95_percent_without_algorithm": int((far - wide).min()) / unit,
    }


def posterior_words(facts: dict[str, Any]) -> str:
    """Say what the posterior is, or why it was not computed."""
    if "not_computed" in facts:
        return f"How probable the values are was not computed: {facts['not_computed']}."
    tables = "the" if facts["tables"] is None else f"all {facts['tables']}"
    drawn = f" (judged by {facts['drawn']} drawn ones)" if facts["drawn"] else ""
    return (
        f"To an attacker who knows the algorithm and takes {tables} consistent tables for equally "
        f"probable{drawn}, the cell most likely to be sensitive is so with probability "
        f"{facts['largest_primary_probability']:g}, and the narrowest interval with 95 % "
        f"probability is {facts['narrowest_95_percent']:g} wide (without the algorithm "
        f"{facts['narrowest_95_percent_without_algorithm']:g})."
    )
