"""The front door: the command line over csp.

`requests` state what may be asked for. `cli` has the verbs, `app` the page for people who do not
type; both make and run `jobs`. `io` reads and writes files, `render` shows results, `report` is a
page to read. `front` turns what goes wrong into one message and an exit code, `signals` makes
Ctrl-C keep the best result.
"""

__all__ = ["__version__"]


def __getattr__(name: str) -> str:
    # Looked up when it is asked for: signals are taken before anything else is imported.
    if name != "__version__":
        msg = f"module 'cellveil' has no attribute {name!r}"
        raise AttributeError(msg)
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("cellveil")
    except PackageNotFoundError:  # a checkout that is not installed; `cellveil doctor` says so
        return "unknown"
