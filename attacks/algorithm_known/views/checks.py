"""What an attack is given: a release that shows what was suppressed, and an algorithm."""

from __future__ import annotations

from csp.errors import InputError, argument
from csp.mechanism import Mechanism
from csp.release.release import Release


def check_exact(release: Release) -> None:
    """Refuse a table whose numbers are rounded: it does not tell which cells were suppressed.

    Raises
    ------
    InputError
    """
    blank = release.pattern if release.structural is None else release.pattern | release.structural
    if release.ranged is not None and release.ranged.any() and blank.all():
        msg = (
            "no cell is published exactly, but rounded or as a range, so nobody knows which cells "
            "the algorithm suppressed; attacks.audit_published needs no algorithm"
        )
        raise InputError(msg)


def check_told(release: Release, why: str) -> None:
    """Refuse a release that leaves open whether its cells are numbers of contributors.

    Raises
    ------
    InputError
        With `why` that decides.
    """
    if release.of_counts is None:
        msg = (
            f"the release does not tell whether its cells are numbers of contributors, and {why}; "
            f"read the table with {argument('cells', 'counts')} or "
            f"{argument('cells', 'values')}, or give a release that this version wrote"
        )
        raise InputError(msg)


def check_callable(algorithm: object) -> None:
    """Refuse what is neither a mechanism nor a function.

    Raises
    ------
    InputError
    """
    if not callable(algorithm):
        msg = (
            "the algorithm must be a Mechanism, or a function that takes a table and returns its "
            f"pattern, not {type(algorithm).__name__}"
        )
        raise InputError(msg)


def check_mechanism(mechanism: object, attack: str, instead: str) -> None:
    """Refuse a function, and anything else, where an attack looks into the mechanism.

    Parameters
    ----------
    mechanism
    attack : str
        Function of `attacks` that was called.
    instead : str
        What takes a function, in words.

    Raises
    ------
    InputError
    """
    if isinstance(mechanism, Mechanism):
        return
    if callable(mechanism):
        msg = (
            f"attacks.{attack} needs a Mechanism, whose rules and costs it reads; a function is "
            f"taken by {instead}"
        )
    else:
        msg = f"mechanism must be a Mechanism, not {type(mechanism).__name__}"
    raise InputError(msg)
