"""`cellveil doctor --compile`: nothing is left to compile."""

from __future__ import annotations

import importlib
import pkgutil

from cellveil.cli.installation.warm import compile_everything
from csp.compiled import Kernels, made


def test_everything_is_compiled() -> None:
    for package in ("csp", "attacks", "microagg"):
        home = importlib.import_module(package)
        for module in pkgutil.walk_packages(home.__path__, f"{package}."):
            importlib.import_module(module.name)
    said: list[str] = []
    compile_everything(said.append)
    assert said[0] == "two-way tables"

    # The last function of each is one that others call; what they call is compiled with it. What
    # compiled functions of other modules alone call is kept, but not loaded where these are kept.
    def compiled(kernels: Kernels) -> bool:
        last = [*kernels.plain][-1]
        return bool(kernels.compiled[last].signatures) or kernels._is_kept(last)

    assert [repr(k) for k in made if "studies" not in repr(k) and not compiled(k)] == []
