"""The front door: the command line over csp."""

from importlib.metadata import PackageNotFoundError, version

__all__ = ["__version__"]

try:
    __version__ = version("cellveil")
except PackageNotFoundError:  # a checkout that is not installed; `cellveil doctor` says so
    __version__ = "unknown"
