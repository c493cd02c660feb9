"""Tables printed in any shape come back cell by cell; printer and reader share nothing."""

from __future__ import annotations

from itertools import product

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from csp import Release
from tests.support.shared import examples

WORDS = ["Total", "Insgesamt", "All", "TOTAL"]


@st.composite
def tables(draw):
    """Codes of each dimension (the total last), true values with totals, and what is withheld."""
    total = draw(st.sampled_from(WORDS))
    codes = []
    for d in range(draw(st.integers(1, 3))):
        k = draw(st.integers(2, 4))
        codes.append([*(f"{'RSQ'[d]}{i}" for i in range(k)), total])
    shape = [len(c) for c in codes]
    values = np.zeros(shape, dtype=int)
    inner = tuple(slice(0, k - 1) for k in shape)
    count = int(np.prod([k - 1 for k in shape]))
    numbers = draw(st.lists(st.integers(0, 99_999), min_size=count, max_size=count))
    values[inner] = np.array(numbers).reshape([k - 1 for k in shape])
    for d in range(len(shape)):
        at = [slice(None)] * len(shape)
        at[d] = -1
        parts = [slice(None)] * len(shape)
        parts[d] = slice(0, -1)
        values[tuple(at)] = values[tuple(parts)].sum(axis=d)
    flags = draw(st.lists(st.booleans(), min_size=values.size, max_size=values.size))
    hidden = np.array(flags).reshape(shape)
    hidden.flat[draw(st.integers(0, hidden.size - 1))] = True
    hidden.flat[draw(st.integers(0, hidden.size - 1))] = False
    return codes, values, hidden


@st.composite
def printed(draw, codes, values, hidden):
    """Rows as an office prints them, and how a reader has to be told to read them."""
    mark, options = draw(
        st.sampled_from(
            [("[c]", {}), ("x", {"marks": "statcan"}), (".", {"marks": "destatis"}),
             ("D", {"marks": "census"}), ("\u2026", {"marks": "ksh"}), ("*", {"marks": "uk"})]
        )
    )  # fmt: skip
    group = draw(st.sampled_from(["", " ", "\u00a0", "'"]))

    def entry(at):
        text = f"{values[at]:,}".replace(",", group)
        return mark if hidden[at] else text

    names = ["region", "branch", "year"][: len(codes)]
    if draw(st.booleans()) or len(codes) == 1:  # a list
        order = draw(st.permutations(range(len(codes))))
        rows = [[*(names[d] for d in order), "value"]]
        cells = draw(st.permutations([*np.ndindex(*values.shape)])) if values.size < 40 else [
            *np.ndindex(*values.shape)
        ]  # fmt: skip
        rows += [[*(codes[d][at[d]] for d in order), entry(at)] for at in cells]
        return rows, options
    across = 1 if len(codes) == 2 else draw(st.integers(1, 2))
    down = len(codes) - across
    heads = [*product(*(range(len(c)) for c in codes[down:]))]
    rows = []
    for level in range(across):
        row, last = [*(names[:down] if level == across - 1 else [""] * down)], None
        for key in heads:
            code = codes[down + level][key[level]]
            # A heading of several columns stands above the first of them.
            row.append("" if level < across - 1 and code == last else code)
            last = code
        rows.append(row)
    last_label = None
    for key in product(*(range(len(c)) for c in codes[:down])):
        label = [codes[d][k] for d, k in enumerate(key)]
        shown = list(label)
        if down == 2 and last_label == label[0] and draw(st.booleans()):
            shown[0] = ""
        last_label = label[0]
        rows.append([*shown, *(entry((*key, *head)) for head in heads)])
    title = draw(st.sampled_from([[], [["Table 7: a title"]], [["Table 7"], [], ["in euros"]]]))
    notes = draw(st.sampled_from([[], [[], ["Source: an office"]], [["x = a sign"]]]))
    return [*title, *rows, *notes], options


@examples(250)
@given(tables(), st.data())
def test_what_is_printed_comes_back(drawn, data) -> None:
    codes, values, hidden = drawn
    rows, options = data.draw(printed(codes, values, hidden))
    release = Release.from_frame(rows, **options)
    found = {}
    for i, label in enumerate(release.labels):
        found[frozenset(label) if len(codes) > 1 else label[0]] = (
            None if release.pattern[i] else int(release.published[i])
        )
    # Codes of different dimensions differ, but for the word for a total.
    names = [sorted({*c}, key=c.index) for c in codes]
    assert len(release.labels) == values.size
    order = [
        next(d for d, c in enumerate(codes) if {*category} - {codes[0][-1]} <= {*c})
        for category in (
            {label[k] for label in release.labels} for k in range(len(codes))
        )
    ]  # fmt: skip
    assert sorted(order) == list(range(len(codes)))
    for i, label in enumerate(release.labels):
        at = [0] * len(codes)
        for k, code in enumerate(label):
            at[order[k]] = names[order[k]].index(code)
        place = tuple(at)
        assert bool(release.pattern[i]) is bool(hidden[place])
        if not hidden[place]:
            assert int(release.published[i]) == values[place]
    # Every line of a dimension adds up to its total, and nothing else does.
    sizes = [len(c) for c in codes]
    assert release.relations.shape[0] == sum(values.size // k for k in sizes)
    assert release.relations.nnz == sum(values.size for _ in sizes)


@st.composite
def decorated(draw, codes, values, hidden, missing):
    """A cross table of two dimensions with what offices print beside its cells."""
    words, heads = codes
    group = draw(st.sampled_from(["", " ", "\u00a0"]))
    note = draw(st.sampled_from(["", "r", " 1)", "\u00b9", "*"]))
    noted = draw(st.sampled_from([(0, 0), (1, 1)]))

    def entry(i, j):
        if missing[i, j]:
            return ".."
        if hidden[i, j]:
            return "x"
        return f"{values[i, j]:,}".replace(",", group) + (note if (i, j) == noted else "")

    rows = [[w, *(entry(i, j) for j in range(len(heads)))] for i, w in enumerate(words)]
    head = ["Region", *heads]
    if draw(st.booleans()):  # percentages, last or in the middle
        at = draw(st.integers(1, len(head)))
        head.insert(at, draw(st.sampled_from(["Share in %", "per cent", "Anteil"])))
        for row in rows:
            row.insert(at, draw(st.sampled_from(["12.5", "100.0", "7.1"])))
    if draw(st.booleans()):  # flags without a header
        at = draw(st.integers(2, len(head)))
        head.insert(at, "")
        for row in rows:
            row.insert(
                at, draw(st.sampled_from(["", "", "p"])) if row[at - 1][:1].isdigit() else ""
            )
    if draw(st.booleans()):  # codes of the names, the total without one
        at = draw(st.integers(0, 1))
        head.insert(at, "Code")
        for k, row in enumerate(rows):
            row.insert(at, "" if k == len(rows) - 1 else f"{101 + 7 * k}")
    numbered = draw(st.sampled_from([None, "{}", "({})"]))
    if numbered is not None:
        rows.insert(0, [numbered.format(k + 1) for k in range(len(head))])
    if draw(st.booleans()):
        rows.insert(draw(st.integers(2, len(rows) - 1)), list(head))  # the next page
    below = draw(st.sampled_from([[], [[], ["Source: office", "2022"]], [["Quelle: Amt"]]]))
    title = draw(st.sampled_from([[], [["Table 3", "", "2021"], []]]))
    return [*title, head, *rows, *below]


@examples(250)
@given(st.integers(0, 2**32 - 1), st.integers(3, 5), st.integers(2, 4), st.data())
def test_what_is_printed_beside_the_cells_changes_nothing(seed, height, width, data) -> None:
    rng = np.random.default_rng(seed)
    values = np.zeros((height + 1, width + 1), int)
    values[:-1, :-1] = rng.integers(1000, 10**6, (height, width))
    values[:-1, -1] = values[:-1, :-1].sum(axis=1)
    values[-1] = values[:-1].sum(axis=0)
    hidden = rng.random(values.shape) < 0.3
    hidden[[0, 1], [0, 1]] = False
    hidden[-1, -1] = False
    missing = ~hidden & (rng.random(values.shape) < 0.1)
    missing[[0, 1, -1], [0, 1, -1]] = False
    hidden[2, 0], missing[2, 0] = True, False
    codes = [*(f"place {i}" for i in range(height)), "Total"], [
        *(f"branch {j}" for j in range(width)), "Total",
    ]  # fmt: skip
    rows = data.draw(decorated(codes, values, hidden, missing))
    release = Release.from_frame(rows, marks="statcan")
    assert [*release.labels] == [*product(*codes)]
    assert (release.pattern == (hidden | missing).ravel()).all()
    gone = np.zeros(values.size, bool) if release.unavailable is None else release.unavailable
    assert (gone == missing.ravel()).all()
    assert (release.published == np.where(hidden | missing, 0, values).ravel()).all()
    assert release.relations.shape[0] == height + width + 2
    assert release.relations.nnz == 2 * values.size
    assert release.ranged is None
