"""Checks of any masked file: k-anonymity, p-sensitivity, l-diversity, t-closeness."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from csp.errors import InputError
from csp.exact import Ints
from csp.names.calls import check_choice, check_known, whole_number
from microagg.checks.closeness import equal_distances, ordered_distances
from microagg.checks.diversity import counts_of, effective, entropy_diverse, largest_l
from microagg.checks.reading import Attribute, Published, fraction_of, read_published
from microagg.checks.result import Anonymity, Diversity
from microagg.records import count_different

MISSING = {
    "value": "a missing value equals a missing value and nothing else",
    "any": "a missing value may be any value, and the target's may be one that no record shows",
}
"""How missing quasi-identifiers form classes or candidates."""

DISTANCES = {
    "ordered": "neighbouring values of the file are equally far apart",
    "equal": "any two values are equally far apart",
}
"""Ground distances of t-closeness."""

DIVERSITIES = ("distinct", "entropy", "recursive")
"""Kinds of l-diversity."""


def anonymity(
    data: Any,
    quasi_identifiers: Sequence[str] | None = None,
    confidential: Sequence[str] | str = (),
    *,
    missing: str = "value",
    c: Any = 3,
    distances: Mapping[str, str] | None = None,
    contributor: str | Sequence[Any] | None = None,
) -> Anonymity:
    """Measure the anonymity of a masked file.

    Parameters
    ----------
    data : (n, d) array, data frame, mapping of columns, or path
        The file as it is published. An array names its attributes a1, a2, ...
    quasi_identifiers : sequence of str, optional
        What an intruder may know of a person; all that is not confidential, by default.
    confidential : sequence of str
    missing : {"value", "any"}
        See Notes.
    c : number
        Of recursive (c, l)-diversity.
    distances : mapping of str to {"ordered", "equal"}, optional
        Ground distance of t-closeness by attribute: ordered for numbers and equal for others, by
        default.
    contributor : str or sequence, optional
        Who each record belongs to, where one person or firm may have several: a column, which is
        then neither a quasi-identifier nor confidential, or n identifiers. See Notes.

    Returns
    -------
    Anonymity

    Raises
    ------
    InputError
        If an attribute is unknown or in two roles, a number is infinite, a distance does not fit,
        or values of quasi-identifiers are missing under ``missing="any"`` while confidential
        attributes are to be judged.

    Notes
    -----
    Quasi-identifiers are equal if they are published alike: numbers by their value, text by its
    characters without surrounding spaces. Confidential text that writes numbers is read as
    numbers. Both err towards less anonymity.

    With ``missing="value"``, classes are formed by equal published values and missing ones are
    equal to each other. An intruder who knows more of a person than is published must take all
    records of its class into account, and perhaps others, so k is a lower bound.

    With ``missing="any"``, an intruder also takes a record into account whose missing values may
    be the person's. For a person with a missing value the worst is assumed, a value that no other
    record shows: then only records with the same value missing are left. Candidates of two
    persons overlap, so there are no classes whose diversity could be judged: that is refused.
    Counting every record that agrees with the published values instead, as is often done, can
    promise more than holds.

    With `contributor`, k is the least number of different contributors among the candidates: three
    records of one firm are one candidate. Entropy and recursive l-diversity count contributors too:
    those who have a value in the class, each once. Distinct values are what they are, and the
    distances of t-closeness are between shares of records.

    References
    ----------
    P. Samarati and L. Sweeney (1998) for k-anonymity; T. M. Truta and B. Vinay (2006) for
    p-sensitivity; A. Machanavajjhala et al. (2006) for l-diversity; N. Li et al. (2007) for
    t-closeness.

    Examples
    --------
    >>> from microagg.checks import anonymity
    >>> data = {"age": [30, 30, 40, 40], "illness": ["flu", "flu", "flu", "cold"]}
    >>> anonymity(data, ["age"], "illness")
    Anonymity(4 records, 2 classes, k=2, Diversity(illness: p=1, entropy l=1, recursive (3, 1), \
t=0.25))
    """
    file = read_published(data, quasi_identifiers, confidential, contributor, noted=True)
    return _measured(file, missing=missing, c=c, distances=distances)


def _measured(
    file: Published, *, missing: str = "value", c: Any = 3,
    distances: Mapping[str, str] | None = None,
) -> Anonymity:  # fmt: skip
    """Measure the anonymity of a file that has been read."""
    check_choice("missing", missing, MISSING)
    ratio = fraction_of(c, "c")
    if ratio <= 0:
        msg = f"c must be above 0, not {c!r}"
        raise InputError(msg)
    keys, hidden, people, classes = file.keys, file.confidential, file.people, file.classes
    names = [attribute.name for attribute in hidden]
    check_known("distances", distances or {}, names, "confidential attributes")
    sizes = np.bincount(classes).astype(np.int64)
    gaps = np.any([key.codes < 0 for key in keys], axis=0)
    if missing == "any" and hidden and gaps.any():
        msg = (
            f"{int(gaps.sum())} records lack a quasi-identifier (the first in row "
            f"{int(np.argmax(gaps)) + 1}); with missing='any' their candidates overlap, and "
            "diversity is one of classes: leave the confidential attributes out, or take "
            "missing='value'"
        )
        raise InputError(msg)
    if missing == "value":
        counts = sizes if people is None else count_different(classes, people)
    else:
        counts = _open_candidates(keys, classes, sizes, people)
    few = int(np.argmin(counts))
    found = tuple(
        _diversity(attribute, classes, ratio, (distances or {}).get(attribute.name), people)
        for attribute in hidden
    )
    return Anonymity(
        tuple(key.name for key in keys), missing, classes, sizes, counts[classes],
        int(counts[few]), np.flatnonzero(classes == few), int(gaps.sum()), found,
        people is not None, (file.note,) if file.note else (),
    )  # fmt: skip


def is_k_anonymous(
    data: Any,
    k: int,
    quasi_identifiers: Sequence[str] | None = None,
    *,
    missing: str = "value",
    contributor: str | Sequence[Any] | None = None,
) -> bool:
    """Tell whether every record has at least k candidates; see `anonymity`.

    Raises
    ------
    InputError
        As for `anonymity`, or if k is not a whole number from 1 on.

    Examples
    --------
    >>> from microagg.checks import is_k_anonymous
    >>> is_k_anonymous({"age": [30, 30, 40, 40]}, 2)
    True
    >>> is_k_anonymous({"age": [30, 30, 40, 40]}, 2, contributor=["a", "a", "b", "c"])
    False
    """
    least = whole_number("k", k)
    file = read_published(data, quasi_identifiers, (), contributor)
    return _measured(file, missing=missing).k >= least


def is_p_sensitive(
    data: Any,
    p: int,
    quasi_identifiers: Sequence[str] | None,
    confidential: Sequence[str] | str,
    *,
    contributor: str | Sequence[Any] | None = None,
) -> bool:
    """Tell whether every class has at least p values of every confidential attribute.

    Raises
    ------
    InputError
        As for `anonymity`, or if p is not a whole number from 1 on, or nothing is confidential.

    Examples
    --------
    >>> from microagg.checks import is_p_sensitive
    >>> data = {"age": [30, 30, 40, 40], "illness": ["flu", "flu", "flu", "cold"]}
    >>> is_p_sensitive(data, 1, ["age"], "illness")
    True
    """
    least = whole_number("p", p)
    hidden = _some(confidential)
    found = anonymity(data, quasi_identifiers, hidden, contributor=contributor).p
    return found is not None and found >= least


def is_l_diverse(
    data: Any,
    l: Any,  # noqa: E741
    quasi_identifiers: Sequence[str] | None,
    confidential: Sequence[str] | str,
    *,
    kind: str = "distinct",
    c: Any = 3,
    contributor: str | Sequence[Any] | None = None,
) -> bool:
    """Tell whether every class is l-diverse in every confidential attribute.

    Parameters
    ----------
    data, quasi_identifiers, confidential, contributor
        As for `anonymity`.
    l : number
        Whole unless the kind is "entropy".
    kind : {"distinct", "entropy", "recursive"}
        At least l values; entropy of at least log(l); or the most frequent value occurs less
        than c times as often as the l-th and all rarer ones together (for l = 1 it always holds).
    c : number
        For "recursive".

    Raises
    ------
    InputError
        As for `anonymity`, or if l or the kind is wrong.

    Examples
    --------
    >>> from microagg.checks import is_l_diverse
    >>> data = {"age": [30, 30, 40, 40], "illness": ["flu", "flu", "flu", "cold"]}
    >>> is_l_diverse(data, 2, ["age"], "illness")
    False
    """
    check_choice("kind", kind, DIVERSITIES)
    least = fraction_of(l, "l")
    if least < 1 or (kind != "entropy" and least.denominator != 1):
        msg = f"l must be a {'' if kind == 'entropy' else 'whole '}number of at least 1, not {l!r}"
        raise InputError(msg)
    file = read_published(data, quasi_identifiers, _some(confidential), contributor)
    if kind == "entropy":
        shown = (_persons(file.classes, a.codes, file.people) for a in file.confidential)
        seen = {counts for each in shown for counts in counts_of(*each)}
        return all(entropy_diverse(counts, least) for counts in seen)
    found = _measured(file, c=c).confidential
    return all((part.p if kind == "distinct" else part.recursive) >= least for part in found)


def is_t_close(
    data: Any,
    t: Any,
    quasi_identifiers: Sequence[str] | None,
    confidential: Sequence[str] | str,
    *,
    distances: Mapping[str, str] | None = None,
    contributor: str | Sequence[Any] | None = None,
) -> bool:
    """Tell whether every class is within t of the file in every confidential attribute.

    Raises
    ------
    InputError
        As for `anonymity`, or if t is not from 0 to 1, or confidential values are missing.

    Examples
    --------
    >>> from microagg.checks import is_t_close
    >>> data = {"age": [30, 30, 40, 40], "illness": ["flu", "flu", "flu", "cold"]}
    >>> is_t_close(data, "0.25", ["age"], "illness")
    True
    """
    most = fraction_of(t, "t")
    if not 0 <= most <= 1:
        msg = f"t must be from 0 to 1, not {t!r}"
        raise InputError(msg)
    file = read_published(data, quasi_identifiers, _some(confidential), contributor)
    found = _measured(file, distances=distances)
    for part in found.confidential:
        if part.t is None:
            msg = (
                f"{part.missing} values of {part.name!r} are missing, so that its distribution is "
                "not known; t-closeness is one of complete attributes"
            )
            raise InputError(msg)
    return found.t is not None and found.t <= most


def _persons(classes: Ints, codes: Ints, people: Ints | None) -> tuple[Ints, Ints]:
    """Class and code of each record; of each person once for a value, where persons are known."""
    if people is None:
        return classes, codes
    rows = np.unique(np.column_stack([classes, people, codes]), axis=0)
    return rows[:, 0], rows[:, 2]


def _diversity(
    attribute: Attribute,
    classes: Ints,
    c: Fraction,
    distance: str | None,
    people: Ints | None,
) -> Diversity:
    kind = distance or ("ordered" if attribute.numeric else "equal")
    check_choice("distance", kind, DISTANCES)
    if kind == "ordered" and not attribute.numeric:
        msg = f"{attribute.name!r} holds text, which has no order; take the equal distance"
        raise InputError(msg)
    known = counts_of(*_persons(classes, attribute.codes, people))
    distinct, entropy = list(map(len, known)), list(map(effective, known))
    recursive = [largest_l(counts, c) for counts in known]
    t, far = None, np.empty(0, np.int64)
    if not attribute.gaps:
        measure = ordered_distances if kind == "ordered" else equal_distances
        distances = measure(classes, attribute.codes)
        t = max(distances)
        far = np.flatnonzero(classes == distances.index(t))
    few, flat, skew = (
        np.flatnonzero(classes == int(np.argmin(found))) for found in (distinct, entropy, recursive)
    )
    return Diversity(
        attribute.name, min(distinct), min(entropy), min(recursive), c, t,
        kind, attribute.gaps, few, flat, skew, far,
    )  # fmt: skip


def _open_candidates(
    keys: Sequence[Attribute], classes: Ints, sizes: Ints, people: Ints | None
) -> Ints:
    """Fewest candidates of a person of each class, where a missing value may be any value.

    A record is one if it shows the person's value or none wherever the person's is published,
    and none wherever it is not: then it stays one whatever the person's value is.
    """
    first = np.unique(classes, return_index=True)[1]
    codes = np.column_stack([key.codes[first] for key in keys])
    found = sizes.copy()
    owners: list[set[int]] = [set() for _ in sizes]
    if people is not None:
        for label, person in zip(classes.tolist(), people.tolist(), strict=True):
            owners[label].add(person)
    everyone = [set(own) for own in owners]
    for other in np.flatnonzero((codes < 0).any(axis=1)).tolist():
        fits = ((codes[other] < 0) | (codes == codes[other])).all(axis=1)
        fits[other] = False
        found[fits] += sizes[other]
        for place in np.flatnonzero(fits).tolist() if people is not None else ():
            everyone[place] |= owners[other]
    return found if people is None else np.array(list(map(len, everyone)), np.int64)


def _some(confidential: Sequence[str] | str) -> Sequence[str] | str:
    if not confidential:
        msg = "there is no confidential attribute; name at least one"
        raise InputError(msg)
    return confidential
