"""Options that name several things, separated by commas."""

from __future__ import annotations


def split(text: str) -> tuple[str, ...]:
    """Names between commas."""
    return tuple(name.strip() for name in text.split(",") if name.strip())


def numbers_of(text: str, option: str) -> tuple[int, ...]:
    """Whole numbers between commas.

    Raises
    ------
    InputError
        If something else stands there (option named).
    """
    from csp.errors import InputError
    from csp.exact import read_whole

    try:
        return tuple(read_whole(number) for number in split(text))
    except InputError as error:
        msg = f"{option} {text!r} must be whole numbers separated by commas"
        raise InputError(msg) from error
