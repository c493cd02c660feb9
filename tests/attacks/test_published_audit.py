"""Tables that somebody else published: what is known, by elimination and by brute force."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import attacks
from csp import InputError, Release
from tests.support.shared import examples


def tables_of(rows, most):
    """All tables of whole numbers that agree with a printed table of two dimensions, by listing.

    Entries are numbers, pairs (least, largest), or None for 0 to `most`; the last row and column
    are totals.
    """
    height, width = len(rows), len(rows[0])
    ends = [[(e, e) if isinstance(e, int) else e or (0, 10**9) for e in row] for row in rows]
    ranges = [range(a, min(b, most) + 1) for row in ends[:-1] for a, b in row[:-1]]
    inner = np.array([*product(*ranges)], int).reshape(-1, height - 1, width - 1)
    full = np.zeros((len(inner), height, width), int)
    full[:, :-1, :-1] = inner
    full[:, :-1, -1] = inner.sum(axis=2)
    full[:, -1] = full[:, :-1].sum(axis=1)
    low, high = np.array(ends).transpose(2, 0, 1)
    return full[((low <= full) & (full <= high)).all(axis=(1, 2))]


def printed(rows):
    """The same as a cross table: ranges in words, [c] for nothing."""
    height, width = len(rows), len(rows[0])
    # Without a name above the labels, a first row of ranges might be classes of the columns.
    heads = ["area", *(f"c{j}" for j in range(width - 1)), "Total"]
    labels = [*(f"r{i}" for i in range(height - 1)), "Total"]
    texts = [
        [f"{entry[0]}-{entry[1]}" if isinstance(entry, tuple) else "[c]" if entry is None else entry
         for entry in row]
        for row in rows
    ]  # fmt: skip
    return [heads, *([label, *row] for label, row in zip(labels, texts, strict=True))]


@st.composite
def published(draw):
    height, width = 3, 3
    true = np.zeros((height, width), int)
    for i, j in product(range(height - 1), range(width - 1)):
        true[i, j] = draw(st.integers(0, 2))
    true[:-1, -1] = true[:-1, :-1].sum(axis=1)
    true[-1] = true[:-1].sum(axis=0)
    rows = []
    for i in range(height):
        row = []
        for j in range(width):
            kind = draw(st.sampled_from(["value", "value", "withheld", "range"]))
            value = int(true[i, j])
            low = draw(st.integers(0, value))
            row.append(
                value if kind == "value" else None if kind == "withheld"
                else (low, value + draw(st.integers(0, 2)))
            )  # fmt: skip
        rows.append(row)
    return rows, int(true.max())


@examples(120)
@given(published())
def test_what_is_disclosed_is_what_all_tables_share(drawn) -> None:
    rows, most = drawn
    numbers = [isinstance(entry, int) for row in rows for entry in row]
    if all(numbers) or not any(numbers):  # without a number it is not known for a table
        return
    tables = tables_of(rows, 2 * most + 3)
    release = Release.from_frame(printed(rows))
    found = attacks.audit_published(release, mend=False)
    assert not found.contradictions
    known = set()
    for place, (i, j) in enumerate(product(range(len(rows)), range(len(rows[0])))):
        if not isinstance(rows[i][j], int) and tables[:, i, j].min() == tables[:, i, j].max():
            known.add(place)
    labels = {tuple(release.labels[c]) for c in found.disclosed}
    codes = [*(f"r{i}" for i in range(len(rows) - 1)), "Total"]
    heads = [*(f"c{j}" for j in range(len(rows[0]) - 1)), "Total"]
    want = {(codes[p // len(rows[0])], heads[p % len(rows[0])]) for p in known}
    assert labels == want
    assert found.safe is not bool(want)


@examples(80)
@given(published(), st.integers(0, 10**6))
def test_a_large_table_is_judged_like_a_small_one(drawn, seed) -> None:
    """By relations, bounds and windows, where the other way has a program for each cell."""
    rows, _ = drawn
    numbers = [isinstance(entry, int) for row in rows for entry in row]
    if all(numbers) or not any(numbers):
        return
    release = Release.from_frame(printed(rows))
    counts = np.random.default_rng(seed).integers(1, 3, len(release.pattern))
    release = replace(release, counts=counts)
    found = attacks.audit_published(release)
    large = attacks.audit_published.__wrapped__.__globals__
    before, large["_LARGE"] = large["_LARGE"], -1
    try:
        other = attacks.audit_published(release)
    finally:
        large["_LARGE"] = before
    assert found.disclosed == other.disclosed
    assert found.narrow.tolist() == other.narrow.tolist()
    assert found.recovered.tolist() == other.recovered.tolist()
    assert found.insiders == other.insiders
    assert (found.mend, found.beyond_mending) == (other.mend, other.beyond_mending)


def test_what_no_mend_reaches_is_said_and_the_rest_is_mended() -> None:
    """Of 100 to 101 ten percent are not left whatever is withheld; the other cell can be mended."""
    rows = [[(100, 101), 45, 145], [None, 8, 20], [112, 53, 165]]
    found = attacks.audit_published(Release.from_frame(printed(rows)))
    names = [found.release.labels[c] for c in found.disclosed]
    assert names == [("r0", "c0"), ("r1", "c0")]
    assert [found.release.labels[c] for c in found.beyond_mending] == [("r0", "c0")]
    assert found.mend
    assert "1 cell would stay known, or closer than 10 percent, whatever else is" in found.text()
    assert "would mend the rest" in found.text()


@examples(60)
@given(published(), st.data())
def test_a_figure_changed_is_named_or_does_no_harm(drawn, data) -> None:
    rows, most = drawn
    places = [(i, j) for i, row in enumerate(rows) for j, e in enumerate(row) if isinstance(e, int)]
    if not places or all(isinstance(entry, int) for row in rows for entry in row):
        return
    i, j = data.draw(st.sampled_from(places))
    changed = [list(row) for row in rows]
    changed[i][j] += data.draw(st.integers(1, 3))
    fits = bool(len(tables_of(changed, 2 * most + 6)))
    release = Release.from_frame(printed(changed))
    if any("as an average does" in note for note in release.notes):  # 1, 1 and 1 in all
        return
    found = attacks.contradictions(release)
    # A table of fractions may be left where no whole one is; never in a network of two dimensions.
    assert bool(found) is not fits
    for one in found:
        assert one.amount > 0
        low = np.where(release.pattern, release.lower, release.published)
        high = np.where(release.pattern, release.upper, release.published)
        total: dict[int, int] = {}
        for row, factor in zip(one.rows, one.multipliers, strict=True):
            for c, a in enumerate(release.relations[[row]].toarray()[0].tolist()):
                total[c] = total.get(c, 0) - factor * a
        least = sum(w * int(low[c] if w > 0 else high[c]) for c, w in total.items() if w)
        assert least > 0, "the combination is 0 in every table, and here it cannot be"


def test_the_mend_is_least_and_mends() -> None:
    """Each cell that was known gets a width of ten percent, and no fewer cells give that."""
    rows = [[None, 45, 165], [12, 8, 20], [None, 53, 185]]
    found = attacks.audit_published(Release.from_frame(printed(rows)))
    assert found.mend_is_least
    assert found.mend is not None
    needed = {("r0", "c0"): 12, ("Total", "c0"): 14}
    assert {tuple(found.release.labels[c]) for c in found.disclosed} == needed.keys()
    places = [(i, j) for i, row in enumerate(rows) for j, e in enumerate(row) if e is not None]
    for size in range(len(found.mend) + 1):
        enough = []
        for chosen in combinations(places, size):
            left = [list(row) for row in rows]
            for i, j in chosen:
                left[i][j] = None
            after = attacks.audit_published(Release.from_frame(printed(left)), mend=False)
            wide = after.disclosure.upper - after.disclosure.lower
            widths = {
                tuple(after.release.labels[c]): width
                for c, width in zip(after.disclosure.cells.tolist(), wide.tolist(), strict=True)
            }
            enough.append(all(widths[cell] >= width for cell, width in needed.items()))
        assert any(enough) is (size == len(found.mend))


def test_values_are_said_only_if_asked_for() -> None:
    rows = [[None, 45, 98765], [12, 8, 20], [None, 53, 98785]]
    found = attacks.audit_published(Release.from_frame(printed(rows)))
    for text in (
        str(found),
        repr(found),
        str(found.summary()),
        found._repr_html_(),
        str(found.columns()),
    ):
        assert "98720" not in text
    assert "98720" in found.text(reveal=True)
    assert "98720" in str(found.summary(reveal=True))


def test_who_is_alone_in_a_cell_learns_another() -> None:
    data = {
        "region": ["N", "N", "N", "S", "S", "S", "Total", "Total", "Total"],
        "sector": ["A", "B", "Total"] * 3,
        "n": [None, None, 30, None, None, 40, 25, 45, 70],
        "firms": [1, 5, 6, 4, 7, 11, 5, 12, 17],
    }
    release = Release.from_frame(data, ["region", "sector"], "n", count="firms")
    found = attacks.audit_published(release)
    assert found.disclosed == ()
    (alone,) = found.insiders
    assert release.labels[alone] == ("N", "A")
    assert len(found.insiders[alone]) == 3


def test_rounding_gives_slack_instead_of_contradictions() -> None:
    rows = [["", "a", "b", "Total"], ["N", 5, 10, 10], ["S", "[c]", 5, 20], ["Total", 15, 10, 30]]
    exact = Release.from_frame(rows)
    assert attacks.contradictions(exact)
    assert "contradiction" in str(attacks.audit_published(exact))
    rounded = Release.from_frame(rows, rounded=5)
    assert not attacks.contradictions(rounded)
    found = attacks.audit_published(rounded)
    at = found.disclosure.cells.tolist().index(release_place(rounded, ("S", "a")))
    # b of N is at least 6 and b of both at most 14, so b of S is at most 8, and S at least 16; a of
    # both is at most 19, and a of N at least 1.
    assert (found.disclosure.whole_lower[at], found.disclosure.whole_upper[at]) == (8, 18)
    healed = Release.from_frame(rows, tolerance="4")
    assert not attacks.contradictions(healed)


@pytest.mark.parametrize("seed", range(8))
def test_true_values_behind_noise_are_those_that_enumeration_leaves(seed) -> None:
    """Of all whole tables within 2 of what is published, those cells have one value only."""
    rng = np.random.default_rng(seed)
    true = rng.integers(0, 4, (2, 2))
    full = np.block([[true, true.sum(1)[:, None]], [true.sum(0)[None], true.sum()]])
    # Mostly the largest noise, and of one sign in parts and of the other in totals, so that it
    # shows in the sums.
    noise = np.where(rng.random((3, 3)) < 0.8, 2, 1)
    noise[2], noise[:, 2] = -noise[2], -noise[:, 2]
    shown = full + noise
    codes = [*product(("N", "S", "Total"), ("a", "b", "Total"))]
    data = {"r": [r for r, _ in codes], "c": [c for _, c in codes], "v": shown.ravel().tolist()}
    release = Release.from_frame(data, ["r", "c"], "v", tolerance=2, negative="allow",
                                 total="Total")  # fmt: skip
    ends = [range(v - 2, v + 3) for v in shown[:2, :2].ravel().tolist()]
    left = []
    for a, b, c, d in product(*ends):
        table = np.array([[a, b, a + b], [c, d, c + d], [a + c, b + d, a + b + c + d]])
        if (np.abs(table - shown) <= 2).all():
            left.append(table.ravel())
    low, high = np.min(left, axis=0), np.max(left, axis=0)
    found = attacks.audit_published(release)
    place = [release_place(release, label) for label in codes]
    at = [found.disclosure.cells.tolist().index(cell) for cell in place]
    assert (found.recovered[at] == (low == high)).all()
    assert len(found.summary()["recovered"]) == (low == high).sum()
    stated = (low > shown.ravel() - 2) | (high < shown.ravel() + 2)
    exact, near = int((low == high).sum()), int((stated & (low < high)).sum())
    words = f"the true values of {exact or 'no'} figure"
    assert words in str(found)
    assert f"and {near} more are known more closely" in str(found)
    if exact:
        cell = int(np.argmax(low == high))
        assert f"= {low[cell]}\n" in found.text(reveal=True) + "\n"
        assert " = " not in found.text()


def release_place(release, label) -> int:
    return [tuple(one) for one in release.labels].index(label)


def test_percent_says_what_is_narrow() -> None:
    rows = [[None, None, 1000], [None, None, 1000], [995, 1005, 2000]]
    rows[0][0] = (480, 500)
    found = attacks.audit_published(Release.from_frame(printed(rows)), percent=5)
    assert not found.disclosed
    low, high = found.disclosure.lower, found.disclosure.upper
    want = [
        bool(100 * (Fraction(float(b)) - Fraction(float(a))) <= 5 * Fraction(float(a)))
        for a, b in zip(low, high, strict=True)
    ]
    assert found.narrow.tolist() == want
    assert sum(want) == 4


def test_a_wrong_total_is_named_where_nothing_is_withheld() -> None:
    wrong = Release.from_frame(printed([[10, 20, 31], [5, 6, 11], [15, 26, 42]]))
    off = {(one.rows, one.amount) for one in attacks.audit_published(wrong).contradictions}
    # Of three columns and three rows, in this order, the first and the last row are off by one.
    assert off == {((3,), 1), ((5,), 1)}


def test_what_cannot_be_audited_is_named() -> None:
    with pytest.raises(InputError, match="every value is published"):
        attacks.audit_published(
            Release.from_frame([["", "a", "Total"], ["N", 1, 1], ["Total", 1, 1]])
        )
    with pytest.raises(InputError, match="nothing adds up"):
        attacks.audit_published(Release.from_frame([["", "a", "b"], ["N", 1, "[c]"], ["S", 2, 3]]))


NOTHING = "None of them can be worked out exactly."


@pytest.mark.parametrize(
    "rows",
    [
        [["Region", "Total", "of which: foreign"], ["N", 165, "[c]"], ["S", 20, "[c]"],
         ["Total", 185, "[c]"]],
        [["Region", "Total", "Men"], ["N", 165, "[c]"], ["S", 20, "[c]"], ["Total", 185, "[c]"]],
        [["", "2019", "2020"], ["Total", 165, 150], ["  darunter: Handel", "[c]", "[c]"],
         ["Men", 100, 90], ["Women", 65, 60]],
    ],
)  # fmt: skip
def test_a_part_is_not_all_parts(rows) -> None:
    found = attacks.audit_published(Release.from_frame(rows))
    assert NOTHING in found.sentences()


def test_a_range_in_place_of_a_value_is_withheld_and_may_be_worked_out() -> None:
    rows = [["", "A", "B", "Total"], ["N", "<5", 45, 48], ["S", 12, 8, 20], ["Total", 15, 53, 68]]
    found = attacks.audit_published(Release.from_frame(rows))
    assert [tuple(found.release.labels[c]) for c in found.disclosed] == [("N", "A")]
    frame = {"r": ["N", "S", "Total"], "n": [None, 20, 185], "lo": [100, None, None],
             "hi": [200, None, None]}  # fmt: skip
    named = attacks.audit_published(Release.from_frame(frame, ["r"], "n", lower="lo", upper="hi"))
    assert len(named.disclosed) == 1


def test_what_is_not_printed_is_not_withheld() -> None:
    rows = [
        ["", "Men", "", "Women", "", "Total"], ["", "young", "old", "young", "old", ""],
        ["N", "[c]", 4, 3, 2, 14], ["S", 1, 2, 3, 4, 10], ["Total", "[c]", 6, 6, 6, 24],
    ]  # fmt: skip
    found = attacks.audit_published(Release.from_frame(rows))
    assert found.summary()["suppressed"] == 2
    assert {found.release.labels[c][0] for c in found.disclosed} == {"N", "Total"}
    assert len(found.disclosed) == 2


def test_insiders_learn_only_what_needs_no_value() -> None:
    """By symmetry nobody can be singled out: a + b follows, and neither of them."""
    for firms in ([5, 5, 1, 11], [1, 5, 5, 11], [5, 1, 5, 11]):
        data = {"r": ["a", "b", "c", "Total"], "n": [None, None, None, 10], "firms": firms}
        release = Release.from_frame(data, ["r"], "n", count="firms")
        assert attacks.audit_published(release).insiders == {}


@pytest.mark.parametrize(
    ("office", "secret", "missing"),
    [("statcan", "x", ".."), ("statcan", "x", "F"), ("uk", "[c]", "[x]"), ("destatis", ".", "..."),
     ("destatis", ".", "/"), ("eurostat", ": c", ":"), ("census", "D", "S")],
)  # fmt: skip
@examples(12)
@given(st.data())
def test_what_is_not_available_is_told_apart_and_found_all_the_same(
    office, secret, missing, data
) -> None:
    rows = printed(data.draw(published())[0])
    rows = [[secret if text == "[c]" else text for text in row] for row in rows]
    places = [(i, j) for i, row in enumerate(rows) for j, text in enumerate(row) if text == secret]
    if len(places) < 2:
        return
    chosen = data.draw(st.sets(st.sampled_from(places), min_size=1, max_size=len(places) - 1))
    plain = attacks.audit_published(Release.from_frame(rows, marks=office), mend=False)
    for i, j in chosen:
        rows[i][j] = missing
    found = attacks.audit_published(Release.from_frame(rows, marks=office), mend=False)
    names = {(rows[i][0], rows[0][j]) for i, j in chosen}
    known = {plain.release.labels[cell] for cell in plain.disclosed}
    assert {found.release.labels[cell] for cell in found.disclosed} == known - names
    facts = found.summary()
    assert facts["unavailable"] == len(chosen)
    assert facts["suppressed"] == plain.summary()["suppressed"] - len(chosen)
    assert facts["unavailable_inferred"] == len(known & names)
    text = found.text()
    assert f"Not available: {len(chosen)}" in text
    assert ("not available, and not withheld, can be worked out" in text) is bool(known & names)


def test_what_cannot_exist_is_counted_apart() -> None:
    rows = [["", "a", "b", "Total"], ["N", "[c]", "2", "5"], ["S", "[z]", "3", "3"],
            ["Total", "[c]", "5", "8"]]  # fmt: skip
    found = attacks.audit_published(Release.from_frame(rows, marks="uk"), mend=False)
    assert found.summary()["not_applicable"] == 1
    assert "Not applicable, counted as 0: 1." in found.sentences()
    assert len(found.disclosed) == 2


LARGE = """\
Region,Branch,Men,,,Women,,,All,,
,,young,old,Total,young,old,Total,young,old,Total
North,farms,144490,51529,X,184961,179787,364748,329451,231316,560767
,trade,141549,X,X,X,X,X,222604,320571,543175
,mines,0,157272,X,107132,X,195313,107132,245453,352585
,Total,X,X,682428,X,400951,X,X,X,1456527
South,farms,97569,197142,294711,13185,0,13185,110754,197142,X
,trade,1353,X,63992,X,0,56058,57411,62639,120050
,mines,94296,16840,111136,50528,145634,196162,144824,162474,307298
,Total,193218,276621,469839,X,145634,265405,312989,422255,735244
West,farms,33944,80638,114582,X,X,108265,117537,105310,222847
,trade,X,X,239458,197466,X,197466,349076,87848,436924
,mines,X,165964,361169,X,19669,71650,X,185633,432819
,Total,380759,334450,X,333040,X,377381,X,378791,1092590
Total,farms,276003,329309,605312,X,204459,486198,557742,533768,X
,trade,294512,X,632587,334579,132983,X,629091,X,X
,mines,X,340076,629577,X,253484,X,499142,593560,X
,Total,X,1007460,1867476,825959,590926,1416885,X,1598386,X
"""


def test_an_audit_of_large_figures_in_four_dimensions_ends() -> None:
    """A solver that does not come back would keep the process, so it is one of its own."""
    code = (
        "import sys\nfrom attacks import audit_published\nfrom csp import Release\n"
        "rows = [line.split(',') for line in sys.stdin.read().split()]\n"
        "found = audit_published(Release.from_frame(rows, withheld=['X']), time_limit=8)\n"
        "print(found.known.any(), found.mend is not None)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], input=LARGE, capture_output=True, text=True, timeout=60,
        check=True,
    )  # fmt: skip
    assert done.stdout.split() == ["True", "True"]
