"""What numba keeps on disk is used again only while every file it was made of is the same."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from csp.clock import Clock, now
from csp.compiled import Kernels, at_once, made
from tests.support.shared import ROOT, uncompiled

CALLEE = """
def leaf(x):
    return x + {amount}
"""
INTRINSIC = """
def built():
    from numba.core import types
    from numba.extending import intrinsic

    def shifted(_context, x):
        def generate(_context, builder, _signature, arguments):
            return builder.add(arguments[0], arguments[0].type({amount}))
        return types.int64(types.int64), generate

    return intrinsic(shifted)
"""
CALLER = """
import callee, inner
from csp.compiled import compile_together

def leaf(x): ...
def shifted(x): ...

def top(x):
    return 10 * leaf(x) + 1000 * shifted(x)

given = compile_together((callee,), ("leaf",)) | {"shifted": inner.built()}
names = ("top",)
import sys
print(compile_together((sys.modules["caller"],), names, given)["top"](1))
"""


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder of the test's own for modules and for what numba keeps of them.

    numba reads its setting again at the next compilation after the variable changed, so a test that
    left either behind would move the folder of a later test between two compilations.
    """
    folder = str(tmp_path / "cache")
    monkeypatch.setattr("numba.config.CACHE_DIR", folder)
    monkeypatch.setenv("NUMBA_CACHE_DIR", folder)
    monkeypatch.syspath_prepend(str(tmp_path))


@pytest.mark.parametrize("changed", ["callee", "inner"])
def test_a_change_in_another_file_is_seen(changed: str, tmp_path: Path) -> None:
    def run(**amounts: int) -> int:
        (tmp_path / "callee.py").write_text(CALLEE.format(amount=amounts["callee"]))
        (tmp_path / "inner.py").write_text(INTRINSIC.format(amount=amounts["inner"]))
        environment = {
            **os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache"),
            "PYTHONPATH": os.pathsep.join([str(tmp_path), str(ROOT)]),
            "PYTHONDONTWRITEBYTECODE": "1",
        }  # fmt: skip
        done = subprocess.run(
            [sys.executable, "-c", "import caller"], capture_output=True, text=True, check=True,
            env=environment, cwd=tmp_path,
        )  # fmt: skip
        return int(done.stdout)

    (tmp_path / "caller.py").write_text(CALLER)
    amounts = {"callee": 1, "inner": 1}
    assert run(**amounts) == 2020
    assert run(**amounts) == 2020
    amounts[changed] = 4
    assert run(**amounts) == (2050 if changed == "callee" else 5020)


def test_what_was_compiled_before_a_module_moved_is_left_alone(tmp_path: Path) -> None:
    """An upgrade may move the type of an argument; numba cannot read what it kept of it then."""

    def run(home: str) -> int:
        (tmp_path / f"{home}.py").write_text(
            "from typing import NamedTuple\nclass Pair(NamedTuple):\n    a: int\n    b: int\n"
        )
        code = (
            f"import sys, caller\nfrom {home} import Pair\n"
            "from csp.compiled import compile_together\n"
            f"import {home}\n"
            f"found = compile_together((caller, {home}), ('total',))\n"
            "print(found['total'](Pair(1, 2)))\n"
        )
        environment = {
            **os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache"),
            "PYTHONPATH": os.pathsep.join([str(tmp_path), str(ROOT)]),
            "PYTHONDONTWRITEBYTECODE": "1",
        }  # fmt: skip
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=False,
            env=environment, cwd=tmp_path,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return int(done.stdout)

    (tmp_path / "caller.py").write_text("def total(pair):\n    return pair.a + pair.b\n")
    assert run("before") == 3
    (tmp_path / "before.py").unlink()
    assert run("after") == 3


@pytest.mark.usefixtures("kept")
def test_small_work_is_compiled_once_that_pays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "spun.py").write_text("def spin(n):\n    return n + 1\n")
    kernels = Kernels("spun", "spin")
    made.remove(kernels)
    assert kernels.choose(small=True) is kernels.plain
    assert kernels.run("spin", 1, small=True) == 2
    assert kernels.choose(small=True) is kernels.plain
    with monkeypatch.context() as patch:
        patch.setattr(Kernels, "IMPORTING", 0.0)
        patch.setattr(Kernels, "LOADING", 0.0)
        with uncompiled(kernels):
            assert kernels.choose(small=True) is kernels.plain
            assert kernels.run("spin", 1, small=False) == 2
        assert kernels.choose(small=True) is kernels.plain
        patch.setattr(Kernels, "COMPILING", 0.0)
        assert kernels.choose(small=True) is kernels.compiled
    # What is compiled once is used from then on.
    assert kernels.choose(small=True) is kernels.compiled
    assert kernels.run("spin", 1, small=True) == 2
    assert kernels.compiled["spin"].signatures
    large, asked = Kernels("spun", "spin"), Kernels("spun", "spin")
    assert large.choose(small=False) is large.compiled
    with at_once():
        assert asked.choose(small=True) is asked.compiled
    del made[-2:]


def test_numba_is_compiled_through_one_door() -> None:
    for package in ("csp", "attacks", "microagg"):
        for path in (ROOT / package).rglob("*.py"):
            text = path.read_text()
            assert "njit(" not in text or path.name == "compiled.py", path


@pytest.mark.usefixtures("kept")
def test_compiling_is_left_out_of_time_limits(tmp_path: Path) -> None:
    (tmp_path / "fresh.py").write_text(
        "def first(n):\n    return n\n\ndef second(n):\n    return n + 1\n"
    )
    kernels = Kernels("fresh", "first", "second")
    made.remove(kernels)
    # numba makes itself ready at the first call of all.
    assert kernels.compiled["first"](1) == 1
    clock, began, seen = Clock.of(60), time.monotonic(), now()
    assert kernels.compiled["second"](1) == 2
    whole, counted = time.monotonic() - began, now() - seen
    assert counted < 0.5 * whole
    assert clock.left == pytest.approx(60 - counted, abs=0.01)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no pseudo-terminals")
def test_a_terminal_is_told_once_that_numba_compiles(tmp_path: Path) -> None:
    import pty

    (tmp_path / "fresh.py").write_text("def up(n):\n    return n + 1\n")
    code = (
        "from csp.compiled import Kernels\n"
        "up = Kernels('fresh', 'up').compiled['up']\nprint(up(1), up(1.5))\n"
    )
    environment = {
        **os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache"),
        "PYTHONPATH": os.pathsep.join([str(tmp_path), str(ROOT)]),
    }  # fmt: skip
    ours, theirs = pty.openpty()
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=theirs, env=environment)
    os.close(theirs)
    assert done.stdout.split() == [b"2", b"2.5"]
    assert os.read(ours, 1000).split() == b"compiling, once per installation".split()
    os.close(ours)
    environment["NUMBA_CACHE_DIR"] = str(tmp_path / "other")
    piped = subprocess.run(command, capture_output=True, check=True, env=environment)
    assert piped.stderr == b""


@pytest.mark.usefixtures("kept")
def test_what_plain_work_would_take_counts_beforehand(tmp_path: Path) -> None:
    (tmp_path / "counted.py").write_text("def spin(n):\n    return n + 1\n")
    new, patient = Kernels("counted", "spin"), Kernels("counted", "spin", compiling=9.0)
    # With nothing kept on disk it is compiling that must pay, which takes some longer than others.
    assert new.choose(small=True, seconds=0.9) is new.plain
    assert patient.choose(small=True, seconds=8.0) is patient.plain
    assert new.choose(small=True, seconds=1.1) is new.compiled
    assert patient.choose(small=True, seconds=9.1) is patient.compiled
    assert new.compiled["spin"](1) == 2
    later = Kernels("counted", "spin", compiling=9.0)
    assert later.choose(small=True, seconds=0.001) is later.plain
    assert later.choose(small=True, seconds=0.2) is later.compiled
    del made[-3:]


@pytest.mark.usefixtures("kept")
@pytest.mark.skipif(sys.platform == "win32", reason="Windows delivers no signal to itself")
def test_interrupts_are_heard_after_plain_work_as_after_compiled(tmp_path: Path) -> None:
    (tmp_path / "halved.py").write_text(
        "import os, signal\n"
        "def move(pair):\n"
        "    pair[0] -= 1\n"
        "    os.kill(os.getpid(), signal.SIGINT)\n"
        "    pair[1] += 1\n"
    )
    kernels = Kernels("halved", "move")
    made.remove(kernels)
    pair, handler = [1, 0], signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        kernels.run("move", pair, small=True)
    assert pair == [0, 1]
    assert signal.getsignal(signal.SIGINT) is handler


@pytest.mark.usefixtures("kept")
@pytest.mark.skipif(sys.platform == "win32", reason="Windows delivers no signal to itself")
def test_an_interrupt_while_what_is_kept_is_loaded_is_heard_after_the_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From C, numba calls Python to load a function, and an interrupt there is a SystemError."""
    from numba.core.caching import IndexDataCacheFile

    (tmp_path / "moved.py").write_text("def move(pair):\n    pair[0] -= 1\n    pair[1] += 1\n")
    first, later = (Kernels("moved", "move") for _ in range(2))
    del made[-2:]
    pair = np.array([5, 0])
    first.run("move", pair, small=False)
    load = IndexDataCacheFile.load

    def interrupted(self: Any, key: Any) -> Any:
        os.kill(os.getpid(), signal.SIGINT)
        return load(self, key)

    monkeypatch.setattr(IndexDataCacheFile, "load", interrupted)
    with pytest.raises(KeyboardInterrupt):
        later.run("move", pair, small=False)
    assert pair.tolist() == [3, 2]
    later.run("move", pair, small=False)
    assert pair.tolist() == [2, 3]


@pytest.mark.usefixtures("kept")
def test_an_interrupt_while_numba_compiles_is_an_interrupt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "stopped.py").write_text("def move(pair):\n    pair[0] -= 1\n")
    kernels = Kernels("stopped", "move")
    made.remove(kernels)
    monkeypatch.setattr(kernels, "_is_kept", lambda _: False)

    for cause, seen in ((KeyboardInterrupt(), KeyboardInterrupt), (ValueError(), SystemError)):

        def stop(_: Any, cause: BaseException = cause) -> None:
            raise SystemError("returned a result with an exception set") from cause

        monkeypatch.setattr(kernels, "compiled", {"move": stop})
        with pytest.raises(seen):
            kernels.run("move", [1], small=False)


@pytest.mark.usefixtures("kept")
def test_nowhere_to_keep_what_is_compiled_is_no_reason_to_stop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from numba.core import caching

    (tmp_path / "homeless.py").write_text("def spin(n):\n    return n + 1\n")
    # So numba finds no folder, not even as root.
    monkeypatch.setattr(caching.CacheImpl, "_locator_classes", [])
    kernels = Kernels("homeless", "spin")
    made.remove(kernels)
    assert kernels.choose(small=True, seconds=0.5) is kernels.plain
    assert kernels.run("spin", 1, small=False) == 2
    assert kernels.compiled["spin"].signatures
