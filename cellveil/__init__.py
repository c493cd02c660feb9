"""The front door: everything by one name in Python, and the command line.

``import cellveil`` offers all of `csp`, and `attacks`, `microagg` and `instances` below it.
`crosstabs` make tables in one call, `sessions` remember them, `outputs` write what is protected.

`requests` state what may be asked for. `cli` has the verbs, `app` the page for people who do not
type; both make and run `jobs`. `io` reads and writes files, `render` shows results, `report` is a
page to read. `front` turns what goes wrong into one message and an exit code, `signals` makes
Ctrl-C keep the best result.
"""


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("cellveil")
    except PackageNotFoundError:  # a checkout that is not installed; `cellveil doctor` says so
        return "unknown"


# Looked up when it is asked for: signals are taken before anything else is imported, and the
# command starts, and says so, where another library is called csp.
def __getattr__(name: str) -> object:
    if name == "__version__":
        return _version()
    if name.startswith("__") and name != "__all__":
        msg = f"module 'cellveil' has no attribute {name!r}"
        raise AttributeError(msg)
    from csp.names.lazily import lazily

    get, _, offered = lazily("cellveil")
    return ["__version__", *offered] if name == "__all__" else get(name)


def __dir__() -> list[str]:
    from csp.names.lazily import lazily

    return ["__version__", *lazily("cellveil")[1]()]
