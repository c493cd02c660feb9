"""Messages that a field of the data could make longer than a screen."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from csp.errors import InputError, argument, phrase, subject
from tests.support.shared import examples

MOST = 3200


@examples(100)
@given(st.integers(0, 10**6), st.sampled_from(["x", "ab ", "\u00e9", "a,b;"]), st.integers(1, 3))
def test_no_message_is_longer_than_a_screen(length, sign, times):
    field = (sign * (length // len(sign) + 1))[:length]
    where, mend = "line 7 of 'a.rda': code ", " is not in the hierarchy; correct it or give "
    error = InputError(where + repr(field) * times + mend + argument("width"))
    for text in (str(error), error.in_options({"--width"}), error.in_options(())):
        assert len(text) <= MOST
        assert text.startswith(where)
        assert text.endswith(("give width=", "give --width"))
        assert not set(text) & set(phrase("", ""))
    if length <= 150 and times == 1:
        assert repr(field) in str(error)


@pytest.mark.parametrize(
    ("name", "python", "command"),
    [
        ("time_limit", "time_limit", "--time-limit"), ("-k", "-k", "-k"),
        (phrase("t", "--close"), "t", "--close"), (argument("by"), "by=", "--by"),
    ],
)  # fmt: skip
def test_an_argument_is_spoken_of_as_an_option_of_commands_that_have_it(name, python, command):
    error = InputError(f"{subject(name)} is wrong")
    assert str(error) == f"{python} is wrong"
    assert error.in_options({command}) == f"{command} is wrong"
    assert error.in_options({"--other"}) == f"{python} is wrong"


@pytest.mark.parametrize("name", ["a.rda", "a.hrc", "a.toml", "a.arb"])
def test_long_fields_are_cut_in_messages_of_readers(tmp_path, name):
    from cellveil.jobs.job import read_job
    from csp import Hierarchy
    from csp.tables import argus

    path = tmp_path / name
    path.write_text("x" * 10**6)
    read = {"a.rda": argus.read_metadata, "a.hrc": Hierarchy.from_hrc}.get(name, read_job)
    said = ""
    try:
        read(path)
    except InputError as error:
        said = str(error)
    assert len(said) <= MOST
