"""What stands on the page: five steps from the data to the table that may be published."""

from __future__ import annotations

from importlib import resources
from typing import Any

from shiny import ui

from cellveil.app.further import further, inputs_of, kinds
from cellveil.app.publishing import placed, published_kinds
from csp.formats.kinds import PROGRAMS

RECORDS, PUBLISHED = "records", "published"
WHAT = {
    RECORDS: "records or a table, to be protected",
    PUBLISHED: "a table that somebody published",
}
"""What a file can hold: whether it is protected, or audited."""

NONE = ""
"""The choice of not naming a column."""

COLUMNS = {
    "value": (
        "Add up", "Column to add up; without one the records are counted.",
        "nothing: count records",
    ),
    "contributor": (
        "Who reports", "Column that says which records are of one firm or person. Without one "
        "every record counts for itself.", "every record for itself",
    ),
    "weight": ("Sampling weights", "Column of weights of a sample.", "none"),
}  # fmt: skip
"""Choices of a column: what each is for, in a word and in a sentence, and what none means."""

_KINDS = {
    "file": ("data", "hrc", "published_hrc"),
    "texts": ("by", "nested_use"),
    "text": ("kind", *COLUMNS, "hrc_of", "words", "cost", "margins", "negative", "missing", "ways"),
    "flag": ("few", "percent", "dominance", "singletons", "attacks", "whole", "reveal"),
    "number": (
        "narrow",
        "audit_time",
        "few_n",
        "percent_p",
        "dominance_n",
        "dominance_k",
        "time_limit",
    ),
    "click": (
        "protect",
        "stop",
        "stop_reading",
        "stop_looking",
        "compare",
        "stop_comparing",
        "audit",
        "stop_audit",
    ),
}

INPUTS = {name: kind for kind, names in _KINDS.items() for name in names}
INPUTS |= kinds() | published_kinds()
"""All that can be chosen on the page, and what kind of value it has."""


def page() -> Any:
    """Page as Shiny takes it."""
    style = "".join(
        resources.files(package).joinpath("style.css").read_text(encoding="utf-8")
        for package in ("cellveil.report", "cellveil.app")
    )
    return ui.page_fluid(
        ui.head_content(
            ui.tags.style(style),
            ui.tags.meta(name="viewport", content="width=device-width, initial-scale=1"),
            ui.tags.link(rel="icon", href="data:,"),  # none, and no request for one
        ),
        ui.h1("Cellveil"),
        ui.p(
            "Protect a table before it is published: find the cells that would disclose a "
            "contributor, suppress them and as few others as can be, and prove what remains "
            "hidden. Or see what a table that somebody published does not hide.",
            class_="lead",
        ),
        _data(),
        ui.panel_conditional(
            f"input.kind !== '{PUBLISHED}'",
            _table(),
            _sensitive(),
            _protect(),
            _step(5, "Result", ui.output_ui("result")),
        ),
        ui.panel_conditional(f"input.kind === '{PUBLISHED}'", _reading(), _audit()),
        title="Cellveil",
        lang="en",
    )  # fmt: skip


def _data() -> Any:
    return _step(
        1,
        "Data",
        ui.input_file(
            "data",
            "A file of records, one row for each person or firm; or of a table, to be protected or "
            "published already",
            accept=[".csv", ".gz", ".parquet", ".xlsx", ".ods", ".tsv", ".txt", ".sbs", *PROGRAMS],
            width="100%",
        ),
        ui.input_radio_buttons("kind", "It holds", WHAT, inline=True),
        ui.output_ui("columns"),
        ui.output_ui("reading"),
        ui.output_ui("stop_reading_place"),
    )


def _table() -> Any:
    return _step(
        2,
        "Table",
        ui.layout_columns(
            ui.input_selectize(
                "by",
                _with_tip(
                    "Dimensions",
                    "Columns whose codes make rows, columns and panels: region, sector, size.",
                ),
                [],
                multiple=True,
                width="100%",
            ),
            *(
                ui.input_select(name, _with_tip(label, tip), {NONE: nothing}, width="100%")
                for name, (label, tip, nothing) in COLUMNS.items()
            ),
            col_widths={"sm": 12, "md": 6, "xl": 3},
        ),
        ui.output_ui("nested"),
        ui.tags.details(
            ui.tags.summary("Hierarchy from a file (.hrc)"),
            ui.layout_columns(
                ui.input_select("hrc_of", "Of the dimension", [], width="100%"),
                ui.input_file("hrc", "File", accept=[".hrc", ".txt"], width="100%"),
                col_widths={"sm": 12, "md": 6},
            ),
        ),
        ui.output_ui("trees"),
    )


def _sensitive() -> Any:
    return _step(
        3,
        "What is sensitive",
        ui.layout_columns(
            _rule(
                "few",
                "Few contributors",
                "A cell with fewer contributors than this.",
                ui.input_numeric("few_n", "at least", 3, min=2, max=1000),
                on=True,
            ),
            _rule(
                "percent",
                "p% rule",
                "A cell whose largest contribution the second largest "
                "contributor can estimate this closely.",
                ui.input_numeric("percent_p", "to within p percent", 10, min=1, max=1000),
            ),
            _rule(
                "dominance",
                "Dominance",
                "A cell in which the largest contributions make up more than this share.",
                ui.input_numeric("dominance_n", "the largest", 1, min=1, max=10),
                ui.input_numeric("dominance_k", "more than percent", 75, min=1, max=100),
            ),
            col_widths={"sm": 12, "md": 4},
        ),
        ui.tags.details(
            ui.tags.summary("Rules in the words of tau-ARGUS"),
            ui.input_text(
                "words",
                "Take the place of those above",
                "",
                placeholder="P(10,1)|NK(1,75)|FREQ(3,10)",
                width="100%",
            ),
        ),
        ui.output_ui("sensitive"),
        ui.output_ui("stop_looking_place"),
    )


def _protect() -> Any:
    return _step(
        4,
        "Protect",
        ui.layout_columns(
            ui.input_select(
                "cost",
                "Suppress",
                {"unit": "as few cells as possible", "value": "as little value as possible"},
                width="100%",
            ),
            ui.input_select(
                "margins",
                "Totals",
                {"suppress": "may be suppressed", "publish": "must be published"},
                width="100%",
            ),
            ui.input_numeric("time_limit", "Seconds at most", 60, min=1, max=86_400, width="100%"),
            col_widths={"sm": 12, "md": 4},
        ),
        ui.tags.details(
            ui.tags.summary("More"),
            ui.input_checkbox(
                "singletons",
                "Guard against contributors who are alone in a cell, and subtract themselves",
                value=True,
            ),
            ui.input_select(
                "negative",
                "Negative contributions",
                {
                    "error": "are an error",
                    "abs": "count by their size",
                    "shift": "are shifted to zero",
                    "split": "are judged apart",
                },
            ),
            ui.input_text(
                "missing",
                "Code for records that lack one",
                "",
                placeholder="none: they are an error",
            ),
            ui.input_checkbox(
                "attacks", "Attack what would be published, for the report", value=False
            ),
        ),
        ui.tags.details(ui.tags.summary("All other options"), further()),
        _ways(),
        ui.div(
            ui.input_action_button("protect", "Protect", class_="btn-primary"),
            ui.input_action_button("stop", "Stop and keep the best answer", disabled=True),
            class_="buttons",
        ),
        ui.output_ui("progress"),
    )


def _ways() -> Any:
    return ui.tags.details(
        ui.tags.summary("Other ways to publish, side by side"),
        ui.input_text(
            "ways",
            _with_tip(
                "Ways, by commas",
                "suppress leaves cells blank, intervals:10 says between what tens they lie, "
                "round:5 takes the closest additive table of multiples of 5, and random:5 one by "
                "a new key. What it shows is for the office.",
            ),
            "suppress,intervals,round:5,round:10",
            width="100%",
        ),
        ui.div(ui.input_action_button("compare", "Compare"), class_="buttons"),
        ui.output_ui("stop_comparing_place"),
        ui.output_ui("compared"),
    )


def _reading() -> Any:
    return _step(
        2,
        "How the table is read",
        ui.output_ui("recognised"),
        ui.output_ui("stop_audit_place"),
        ui.tags.details(
            ui.tags.summary("Read it otherwise"),
            inputs_of(placed()),
            ui.input_file(
                "published_hrc",
                _with_tip("Hierarchies (.hrc)", "Name them above, such as region=region.hrc."),
                accept=[".hrc", ".txt"],
                width="100%",
            ),
        ),
    )


def _audit() -> Any:
    return _step(
        3,
        "What can be worked out",
        ui.layout_columns(
            ui.input_numeric(
                "narrow",
                "Cells that are known to within percent",
                10,
                min=0,
                max=1000,
                width="100%",
            ),
            ui.input_numeric("audit_time", "Seconds at most", 60, min=1, max=86_400, width="100%"),
            ui.input_checkbox("whole", "Cells are whole numbers", value=True),
            col_widths={"sm": 12, "md": 4},
        ),
        ui.div(ui.input_action_button("audit", "Audit", class_="btn-primary"), class_="buttons"),
        ui.output_ui("auditing"),
        ui.input_checkbox(
            "reveal", "Show the values that can be worked out, here and in what is saved",
            value=False, width="100%",
        ),
        ui.output_ui("audited"),
    )  # fmt: skip


def _step(number: int, name: str, *parts: Any) -> Any:
    head = f"step-{number}-{name.split()[0].lower()}"
    return ui.tags.section(
        ui.h2(f"{number}. {name}", id=head), *parts, class_="step", aria_labelledby=head
    )


def _rule(name: str, title: str, words: str, *numbers: Any, on: bool = False) -> Any:
    return ui.div(
        ui.input_checkbox(name, title, value=on), ui.p(words, class_="lead"), *numbers,
        class_="rule",
    )  # fmt: skip


def _with_tip(label: str, words: str) -> Any:
    """Return a label with its explanation: read aloud, and shown below it."""
    return ui.span(label, ui.tags.small(words, class_="tip"))
