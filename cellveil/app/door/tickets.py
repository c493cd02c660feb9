"""Secrets that open the page once each: the address that was used is worth nothing to others."""

from __future__ import annotations

import hashlib
import math
import secrets
import threading
from enum import StrEnum
from time import monotonic


class Verdict(StrEnum):
    """What a ticket is worth."""

    GOOD = "good"
    SPENT = "spent"
    UNKNOWN = "unknown"


class Tickets:
    """Tickets that were given out, by their hashes; any thread may ask."""

    def __init__(self) -> None:
        self._ends: dict[bytes, float] = {}
        self._spent: set[bytes] = set()
        self._lock = threading.Lock()

    def issue(self, seconds: float = math.inf) -> str:
        """Return a new ticket, void after its first use and after some seconds."""
        ticket = secrets.token_urlsafe(32)
        with self._lock:
            self._ends[_hash(ticket)] = monotonic() + seconds
        return ticket

    def spend(self, ticket: str) -> Verdict:
        """Use a ticket; it is good this time only."""
        key = _hash(ticket)
        with self._lock:
            if key in self._spent:
                return Verdict.SPENT
            if key not in self._ends:
                return Verdict.UNKNOWN
            self._spent.add(key)
            return Verdict.GOOD if monotonic() < self._ends.pop(key) else Verdict.SPENT


def _hash(ticket: str) -> bytes:
    """Hash by which a ticket is looked up: how long that takes tells nothing of those there are."""
    return hashlib.sha256(ticket.encode(errors="replace")).digest()
