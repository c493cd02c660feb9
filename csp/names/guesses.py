"""What people call things elsewhere, and what they are here: answers to names guessed wrong."""

from __future__ import annotations

from abc import ABCMeta
from collections.abc import Collection, Iterable
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

_CELLS = "Table.from_frame, which takes a cross table, pivot table or groupby result as it is"
_RECORDS = "Table.from_microdata (one record per row) or Table.from_frame (one cell per row)"
_CROSSTAB = "cellveil.crosstab(index, columns, values, rules=...)"
_MASK = "microagg.mdav(records, k), or microagg.comply(records, k, rule)"
_SYNTHETIC = "instances.synthetic, with a function for each kind of table"

_NAMES = {
    **dict.fromkeys(("crosstab", "cross_table", "pivot_table", "tabulate"), _CROSSTAB),
    **dict.fromkeys(
        ("from_crosstab", "from_pivot", "from_pivot_table", "from_pivot_tables"), _CELLS
    ),
    **dict.fromkeys(("from_groupby", "from_series", "from_cells", "from_aggregate"), _CELLS),
    **dict.fromkeys(("from_dataframe", "from_pandas", "from_polars", "from_df"), _RECORDS),
    **dict.fromkeys(("from_records", "from_csv", "read_csv", "from_data"), _RECORDS),
    **dict.fromkeys(("anonymize", "anonymise", "k_anonymize", "k_anonymise"), _MASK),
    **dict.fromkeys(("microaggregate", "microaggregation"), _MASK),
    "k_anonymity": "microagg.checks.anonymity(data, quasi_identifiers)",
    "compare": "cellveil.study(tables, rules, methods)",
    "benchmark": "cellveil.study(tables, rules, methods)",
    "utility": "microagg.utility(original, masked)",
    **dict.fromkeys(("random", "generate", "random_table", "make"), _SYNTHETIC),
    "list": "instances.names()",
    "save": "write(path)",
    "to_csv": "to_frame(), whose frame writes itself, or write(path)",
    **dict.fromkeys(("to_xlsx", "to_workbook"), "to_excel(path)"),
    **dict.fromkeys(("to_crosstab", "to_cross_table", "pivot"), "crosstab()"),
    **dict.fromkeys(("to_html", "save_report"), "report(path)"),
    **dict.fromkeys(("to_pandas", "to_dataframe", "frame"), "to_frame()"),
}

_ARGUMENTS = {
    "attributes": (
        "quasi_identifiers",
        "columns",
        "key_variables",
        "key_vars",
        "keyVars",
        "variables",
        "qi",
    ),
    "quasi_identifiers": ("attributes", "key_variables", "key_vars", "keyVars", "qi"),
    "confidential": ("sensitive", "sensitive_attributes", "sensitive_variables"),
    "within": ("by", "strata", "strata_variables", "groups", "groupby"),
    "rules": ("threshold", "minimum", "min_count", "rule", "safe_threshold", "p_percent"),
    "rule": ("rules", "threshold"),
    "contributor": ("person", "persons", "id", "unit", "respondent", "entity", "firm", "holding"),
    "weight": ("weights", "sampling_weight"),
    "value": ("values", "response", "measure", "numVar", "aggregate"),
    "values": ("value", "response", "measure", "numVar", "aggregate"),
    "by": ("dimensions", "index", "explanatory", "dimVar", "groups", "groupby", "rows"),
    "index": ("rows", "by", "dimensions"),
    "columns": ("cols",),
    "hierarchies": ("hierarchy", "dimList"),
    "missing": ("dropna", "na", "fillna"),
    "missing_values": ("dropna", "na_values", "skipna"),
    "time_limit": ("timeout", "maxtime", "seconds"),
    "method": ("solver", "algorithm", "engine"),
    "where": ("subset", "filter", "condition", "query"),
}

_ANSWERS = {
    "margins": "totals are always part of the table",
    "margins_name": 'total= names the code of the total, as total="All"',
    "aggfunc": f"sums are made by naming a value, counts without; for means there is {_CROSSTAB}",
    "normalize": f"shares are made by {_CROSSTAB}",
}
"""Arguments of other libraries that no argument here stands for."""


_RESULTS = (
    "results are made by csp.protect and csp.suppress (a method of your own: method=function), and "
    "csp.audit(problem, pattern) judges a pattern"
)
ADVICE = {
    ("Suppression", ""): _RESULTS,
    ("Protected", ""): _RESULTS,
    ("Audit", ""): _RESULTS,
    ("Problem", ""): "Problem.of(table, primary, spl=...) fills in what is not given, and "
    "Mechanism(rules).problem(table) poses the problem of a table",
    ("Release", ""): "Release.of(table, pattern) makes one of a table",
    (
        "Mechanism",
        "method",
    ): "give it where it runs: mechanism.protect(table, method=...)",
}
"""What is said of arguments that are missing (""), or are not there, in place of all there are."""

_MAKE = (
    "make the table first, with csp.Table.from_microdata(records, by, value), or all in one with "
    "cellveil.crosstab"
)
ADVICE |= {("protect", name): _MAKE for name in ("by", "value", "values", "contributor", "data")}
_WEIGHTED = "microagg.aggregated(records, partition, weight=) makes weighted means of clusters"
ADVICE |= {
    ("Session.crosstab", name): f"{name}= is for a table of its own: cellveil.crosstab"
    for name in ("inner", "keep", "hierarchies", "contributor", "weight")
}
ADVICE |= {(name, "weight"): _WEIGHTED for name in ("mdav", "vmdav", "mondrian", "clusters")}

_ASKED = ("width", "strict", "cost", "margins", "singletons", "unions", "integer", "defence")
ADVICE |= {
    ("protect_many", name): f"it belongs to the mechanism: protect_many(tables, Mechanism(rules, "
    f"{name}=...))"
    for name in _ASKED
}


OF_VALUES = {
    ("Partition", "report"): "microagg.report(original, masked), a page of its checks and attacks",
    ("Partition", "summary"): "microagg.disclosure(records, partition, rule) and "
    "partition.information_loss",
    ("Release", "report"): "attacks.report(release)",
    ("Release", "write"): "csp.release_file.write_release(release, path)",
    ("Release", "save"): "csp.release_file.write_release(release, path)",
    **{
        ("Session", name): "write(), which writes workbook, page, results and releases"
        for name in ("finalize", "release", "export", "to_excel", "report", "save")
    },
    **{
        ("Session", name): "comment=, where a table is asked for, and decide(name, verdict)"
        for name in ("add_comment", "add_comments", "add_exception")
    },
}
"""Names guessed of values of one class."""


def argument_for(guess: str, known: Collection[str]) -> str:
    """Answer to an argument that a function does not have: a near name, a synonym, or all names.

    Parameters
    ----------
    guess : str
    known : collection of str
        Arguments of the function.
    """
    same = next((name for name in known if guess in _ARGUMENTS.get(name, ())), None)
    near = [same] if same else get_close_matches(guess, known, 1, 0.5)
    if guess in _ANSWERS and not (near and near[0] in (guess, f"{guess}s")):
        return _ANSWERS[guess]
    if not near:
        return f"it takes {', '.join(known)}" if known else "it takes none"
    return f"did you mean {near[0]!r}?"


def unknown_name(where: str, guess: str, known: Iterable[str], owner: str = "") -> AttributeError:
    """Error for a name that a module or class does not have.

    Parameters
    ----------
    where : str
        Such as "module 'csp'".
    guess : str
    known : iterable of str
        Names that there are.
    owner : str
        Name of the class, of a value.
    """
    there = [name for name in known if not name.startswith("_")]
    near = get_close_matches(guess, there, 1, 0.75)
    hint = ""
    if (owner, guess) in OF_VALUES:
        hint = f"; there is {OF_VALUES[owner, guess]}"
    elif guess in _NAMES and _NAMES[guess].partition("(")[0] != guess:
        hint = f"; there is {_NAMES[guess]}"
    elif near:
        hint = f"; did you mean {near[0]!r}?"
    return AttributeError(f"{where} has no attribute {guess!r}{hint}")


class Guided(ABCMeta):
    """Type of a class that answers names guessed wrong, of itself and of its values."""

    def __new__(
        cls, name: str, bases: tuple[type, ...], members: dict[str, Any], **options: Any
    ) -> Guided:
        """Make the class, with an answer for its values."""

        def answer(value: Any, guess: str) -> Any:
            owner = type(value)
            name = owner.__name__
            raise unknown_name(repr(name) + " object", guess, dir(owner), name)

        return super().__new__(cls, name, bases, {"__getattr__": answer} | members, **options)

    if not TYPE_CHECKING:  # else every name would seem to be there

        def __getattr__(cls, guess: str) -> Any:
            raise unknown_name("type object " + repr(cls.__name__), guess, dir(cls))
