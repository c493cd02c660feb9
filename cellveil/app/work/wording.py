"""How the page says what went wrong: as the command line does, without places of its own."""

from __future__ import annotations

import re
from pathlib import Path

from cellveil.app.work.tasks import JOB
from cellveil.front import message_of

_PLACE = re.compile(rf"^{re.escape(JOB)}(?:, table [^:]*)?: ")


_ELSEWHERE = {
    "say which one with --sheet": "keep one of them in the file, or name it on the command line "
    "(--sheet)",
    "(encoding='cp1252')": "(the command line takes --encoding cp1252)",
}
"""What to do where the page does not have the option that an error names."""


def words_of(error: Exception, folder: Path) -> str:
    """Sentence about an error, without options, the name of the job, and the private `folder`.

    A name at its beginning stays as it is: no letter is changed. Data lie in numbered folders of
    the private one.
    """
    found = message_of(error, set(), program="cellveil")
    text = str(error) if found is None else found[0]
    text = _PLACE.sub("", text).replace("; --reveal shows its best interval", "")
    for words, here in _ELSEWHERE.items():
        text = text.replace(words, here)
    for place in {str(folder), str(folder.resolve())}:
        # Quoted, as names are in errors, a backslash is written twice.
        for written in {place, repr(place)[1:-1]}:
            text = re.sub(rf"{re.escape(written)}(?:[\\/]+\d+)?[\\/]*", "", text)
    return f"Error: {text}."
