"""Everything that commands write and print, for files of data that agree with what is published."""

from __future__ import annotations

import pytest

from tests.equality.commands import (
    FOR_THE_OFFICE,
    NOT_TRIED,
    TRIES,
    WITHOUT_DATA,
    compare,
    leaves,
    options_tried,
)
from tests.equality.worlds import worlds

QUICK = {world.name: world for world in worlds(2)}

WHOLE = {
    "counts", "records", "microdata microaggregate", "a masked file compared",
    "a masked file on a page",
}  # fmt: skip
"""Worlds whose options are all tried in the suite; `python -m tests.equality` tries all in all."""


def test_every_command_is_tried_or_named() -> None:
    tried = {world.command for world in QUICK.values()}
    exempt = FOR_THE_OFFICE.keys() | WITHOUT_DATA.keys()
    assert tried | exempt == dict(leaves()).keys()
    assert not tried & exempt
    for path, command in leaves():
        assert path in exempt or options_tried(command), path
        if path in FOR_THE_OFFICE:
            assert "not for publication" in " ".join((command.help or "").split()), path


def test_no_option_is_named_that_is_not_there() -> None:
    known = {
        one
        for _, command in leaves()
        for o in command.params
        for one in (*o.opts, *o.secondary_opts)
    }
    known |= {"--output", "--debug", "--help"}
    assert TRIES.keys() | NOT_TRIED.keys() <= known


@pytest.mark.parametrize("name", QUICK)
def test_outputs_are_the_same_for_all_data_that_agree(name: str, tmp_path) -> None:
    world = QUICK[name]
    tries = options_tried(dict(leaves())[world.command]) if name in WHOLE else [()]
    compared = 0
    for words in tries:
        found = compare(world, words, tmp_path)
        assert not found.different, (words, found.different)
        compared += found.agreeing > 1
    assert compared >= len(tries) // 3 + 1
