"""How much memory there is, and tables that need more of it refused before they take any."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

from csp.errors import InputError, subject

_MEMINFO = Path("/proc/meminfo")
_STATM = Path("/proc/self/statm")
_GROUP = Path("/sys/fs/cgroup")

_SIZE = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*([kKmMgGtT]i?[bB])")
_UNITS = {
    f"{letter}{kind}": base**power
    for power, letter in enumerate("KMGT", start=1)
    for kind, base in (("B", 1000), ("IB", 1024))
}


def available_memory() -> int | None:
    """Bytes that this process can still take; None where the system does not say.

    The least of what the machine has left, what the container or control group has left, and what
    a limit on the process (``ulimit -v``) leaves.
    """
    found = [n for n in (_of_machine(), _of_group(), _of_process()) if n is not None]
    return max(min(found), 0) if found else None


def check_memory(needed: int, what: str, mend: str) -> None:
    """Refuse what does not fit into memory.

    Parameters
    ----------
    needed : int
        Bytes.
    what : str
        What needs them, such as "the table would have 45000000 cells".
    mend : str
        What to do about it.

    Raises
    ------
    InputError
        With both sizes.
    """
    there = available_memory()
    if there is not None and needed > there:
        msg = (
            f"{what}, which needs about {size_text(needed)} of memory, but only "
            f"{size_text(there)} are free; {mend}"
        )
        raise InputError(msg)


def size_text(size: int) -> str:
    """Size in bytes as text, such as 2.5 GB."""
    if size < 10**9:
        return f"{size / 10**6:.0f} MB"
    return f"{size / 10**9:.1f} GB"


def memory_size(text: str | int) -> int:
    """Bytes of a text such as "2GB", "500 MB" or "1.5GiB".

    Raises
    ------
    InputError
        If it is not such a text or a positive number.
    """
    if isinstance(text, int) and not isinstance(text, bool):
        found = text
    else:
        match = _SIZE.fullmatch(str(text).strip())
        found = int(float(match[1]) * _UNITS[match[2].upper()]) if match else 0
    if found <= 0:
        msg = f"{subject('memory')} {text!r} is not a size such as '2GB' or '500MB'"
        raise InputError(msg)
    return found


def taken_memory() -> int:
    """Bytes of memory that this process holds; 0 where the system does not say."""
    try:
        pages = int(_STATM.read_text(encoding="ascii").split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError, AttributeError):
        return 0


def _of_machine() -> int | None:
    try:
        for line in _MEMINFO.read_text(encoding="ascii", errors="replace").splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except (OSError, ValueError, IndexError):
        pass
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return None


def _of_group() -> int | None:
    for most, used in (
        ("memory.max", "memory.current"),
        ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes"),
    ):
        try:
            limit = (_GROUP / most).read_text(encoding="ascii").strip()
            return int(limit) - int((_GROUP / used).read_text(encoding="ascii"))
        except (OSError, ValueError):  # no such group, or "max"
            continue
    return None


def _of_process() -> int | None:
    if sys.platform == "win32":
        return None
    import resource

    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit == resource.RLIM_INFINITY:
        return None
    try:
        taken = int(_STATM.read_text(encoding="ascii").split()[0]) * resource.getpagesize()
    except (OSError, ValueError, IndexError):
        taken = 0
    return limit - taken
