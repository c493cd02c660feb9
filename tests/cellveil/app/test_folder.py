"""The private folder: nobody else's, gone at the end, and what killed runs left with it."""

from __future__ import annotations

import os
import signal
import stat
import tempfile
from pathlib import Path

import pytest

from cellveil.app import folder as folders
from cellveil.app.folder import LOCK, PREFIX, private_folder

pytestmark = pytest.mark.skipif(os.name != "posix", reason="locks and modes of POSIX")


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def left(place: Path, name: str = "dead") -> Path:
    """Folder of a run that was killed."""
    found = place / f"{PREFIX}{name}"
    found.mkdir(mode=0o700)
    (found / LOCK).touch(0o600)
    (found / "page").mkdir()
    (found / "page" / "survey.csv").write_text("a\nsecret\n")
    return found


def test_files_are_their_owners_alone_and_go(place: Path) -> None:
    before = os.umask(0o022)
    try:
        with private_folder() as found:
            (found / "inner").mkdir()
            (found / "inner" / "file").touch()
            with tempfile.NamedTemporaryFile(delete=False) as upload:
                assert Path(upload.name).parent == found
            modes = {stat.S_IMODE(one.stat().st_mode) for one in (found, *found.rglob("*"))}
            assert modes <= {0o700, 0o600}
        assert list(place.iterdir()) == []
        assert tempfile.tempdir == str(place)
        assert os.umask(0o022) == 0o022
    finally:
        os.umask(before)


def test_a_signal_does_not_keep_it_from_going(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    remove = folders.shutil.rmtree

    def disturbed(*given: object, **more: object) -> None:
        signal.raise_signal(signal.SIGINT)
        remove(*given, **more)

    with private_folder():
        monkeypatch.setattr(folders.shutil, "rmtree", disturbed)
    assert list(place.iterdir()) == []


def test_what_a_killed_run_left_goes_at_the_next_start(place: Path) -> None:
    found = left(place)
    with private_folder():
        assert not found.exists()


def test_what_a_living_run_has_stays(place: Path) -> None:
    with private_folder() as one, private_folder() as two:
        assert one.exists()
        assert two.exists()


def test_what_is_not_ours_stays(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (place / "cellveil-other").mkdir()
    no_lock = place / f"{PREFIX}young"  # a run that has just begun
    no_lock.mkdir(mode=0o700)
    open_to_all = left(place, "open")
    open_to_all.chmod(0o755)
    far = place / "far"
    far.mkdir(mode=0o700)
    (far / LOCK).touch(0o600)
    (place / f"{PREFIX}link").symlink_to(far)
    linked = left(place, "linked-lock")
    (linked / LOCK).unlink()
    (linked / LOCK).symlink_to(far / LOCK)
    before = set(place.rglob("*"))
    with private_folder():
        pass
    monkeypatch.setattr(os, "getuid", lambda: os.geteuid() + 1)
    left(place)  # of another user
    before |= set(place.rglob("*"))
    with private_folder():
        pass
    assert set(place.rglob("*")) == before


def test_links_in_it_lead_to_nothing_that_is_removed(place: Path) -> None:
    (place / "survey.csv").write_text("mine")
    found = left(place)
    (found / "page" / "data.csv").symlink_to(place / "survey.csv")
    (found / "page" / "folder").symlink_to(place)
    with private_folder():
        pass
    assert (place / "survey.csv").read_text() == "mine"
