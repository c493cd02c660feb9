"""The front door: the command line over csp.

`cli` has the verbs, `app` the page for people who do not type; both make and run `jobs`. `io` reads
and writes files, `render` shows results, `report` is a page to read. `front` turns what goes wrong
into one message and an exit code, `signals` makes Ctrl-C keep the best result.
"""

from importlib.metadata import PackageNotFoundError, version

__all__ = ["__version__"]

try:
    __version__ = version("cellveil")
except PackageNotFoundError:  # a checkout that is not installed; `cellveil doctor` says so
    __version__ = "unknown"
