"""One import reaches everything, and costs nothing until a name is used."""

from __future__ import annotations

import importlib
import subprocess
import sys

import pytest

import attacks
import cellveil
import csp
import instances
import microagg


def test_one_import_reaches_all_packages():
    for name in csp.__all__:
        assert getattr(cellveil, name) is getattr(csp, name)
        assert name in cellveil.__all__
    assert cellveil.attacks is attacks
    assert cellveil.microagg is microagg
    assert cellveil.instances is instances
    assert cellveil.errors is csp.errors
    assert set(cellveil.__all__) <= set(dir(cellveil))


@pytest.mark.parametrize("name", cellveil.__all__)
def test_every_name_resolves(name):
    assert getattr(cellveil, name) is not None


def test_no_module_hides_a_name():
    for name in cellveil.__all__:
        with pytest.raises(ModuleNotFoundError):
            importlib.import_module(f"cellveil.{name}")


def test_the_name_alone_imports_no_other_package():
    code = "import sys, cellveil; print(*{'csp', 'attacks', 'numpy', 'typer'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not done.stdout.split()


def test_all_names_can_be_taken_at_once():
    found: dict[str, object] = {}
    exec("from cellveil import *", found)
    assert found["protect"] is csp.protect
