"""The pages of the studies, reproduced by the commands that they name, and compared line by line.

Times differ from run to run and are left aside: they stand in columns that are headed "CPU
s", in tables that are introduced as CPU milliseconds, and in brackets, with "s" or where the text
says so. What a search finds within a time limit may differ too, and is shown.
"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import unified_diff
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

from csp.errors import InputError

_MADE_BY = re.compile(r"Made by `python -m studies (?P<words>[^`]+)`")
_VERSIONS = re.compile(r"Made by `[^`]+`\. Python .*?, (?:Linux|Darwin|Windows) \w+\.")
_BRACKETS = re.compile(r" \([\d.]+\)")
_SECONDS = re.compile(r" \([\d.]+ s\)")


@dataclass(frozen=True, slots=True)
class StudyPage:
    """A page, and the command behind it.

    Attributes
    ----------
    path : Path
    words : tuple of str
        After ``python -m studies``: the name of the study and its options.
    """

    path: Path
    words: tuple[str, ...]

    @property
    def tables(self) -> tuple[str, ...]:
        """Names of the tables that its command reads, beside those of the word FOLDER."""
        return tuple(b for a, b in pairwise(self.words) if a == "--table")

    def lacks(self, data: Path | None) -> str:
        """Say what its command needs and `data` does not hold; empty if that is nothing."""
        if data is None:
            return "--data FOLDER" if "FOLDER" in self.words or self.tables else ""
        return ", ".join(name for name in self.tables if not (data / name).exists())


def study_pages(folder: Path) -> list[StudyPage]:
    """Find the pages that say which study makes them."""
    found = []
    for path in sorted(folder.glob("*.md")):
        match = _MADE_BY.search(path.read_text(encoding="utf-8"))
        words = () if match is None else tuple(shlex.split(match["words"]))
        if words and words[0] != "check":
            found.append(StudyPage(path, words))
    return found


def made_again(page: StudyPage, data: Path | None) -> str:
    """Run the command of a page, and return the new page.

    Parameters
    ----------
    page : StudyPage
    data : Path, optional
        Folder of the data files.

    Raises
    ------
    InputError
        If the command fails, with what it said, or writes no page.
    """
    words = [str(data) if word == "FOLDER" else word for word in page.words]
    words = [str((data or Path()) / word) if word in page.tables else word for word in words]
    with TemporaryDirectory() as made:
        out = Path(made, "page.md" if page.words[0] == "parameters" else "")
        run = subprocess.run(
            [sys.executable, "-m", "studies", *words, "-o", str(out)],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        pages = sorted(Path(made).glob("*.md"))
        if run.returncode or len(pages) != 1:
            said = (run.stderr or run.stdout).strip()[-500:]
            msg = f"`python -m studies {shlex.join(words)}` made no page: {said}"
            raise InputError(msg)
        return pages[0].read_text(encoding="utf-8")


def differences(old: str, new: str) -> list[str]:
    """Lines of two pages that differ, times and versions aside: "-" the old ones, "+" the new."""
    lines = unified_diff(list(_without_times(old)), list(_without_times(new)), n=0, lineterm="")
    return [line for line in lines if not line.startswith(("---", "+++", "@@"))]


def _without_times(text: str) -> Iterator[str]:
    told, timed = "", False
    columns: set[int] = set()
    for line in text.splitlines():
        line = _SECONDS.sub("", line)
        if not line.startswith("|"):
            columns, timed = set(), False
            if line.strip():
                told = line
            yield _VERSIONS.sub("", line)
            continue
        cells = line.split("|")
        if not columns and not timed:
            columns = {i for i, cell in enumerate(cells) if cell.strip() == "CPU s"}
            timed = "CPU milliseconds" in told
        if timed:
            cells = cells[:3]
        elif "CPU seconds in brackets" in told:
            cells = [_BRACKETS.sub("", cell) for cell in cells]
        yield "|".join(cell for i, cell in enumerate(cells) if i not in columns)
