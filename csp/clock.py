"""One clock: the time limit that a public call sets and everything below it keeps.

A public call makes a `Clock` of its `time_limit`, and everything below receives it.
`tests/csp/test_clock.py` calls whatever can be long with small limits and allows half as much
again, and a second. HiGHS looks at its clock about once a second on large integer programs.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field, replace
from numbers import Real

from csp.errors import InputError, OutOfTime, phrase

_left_out = 0.0

_ENDLESS = 1e300
"""Seconds that are as good as no limit."""


def now() -> float:
    """Seconds of work of this process so far, from any beginning: what is left out apart."""
    return time.monotonic() - _left_out


def leave_out(seconds: float) -> None:
    """Have all clocks stand still for some seconds that have just passed.

    Compiling happens once per installation, may take longer than a limit, and cannot be stopped.
    """
    global _left_out
    _left_out += seconds


class Backstop(float):
    """A time limit that nobody asked for, so that a run ends that would take days by mistake.

    Whether it was met says how long the run took, as a clock beside it would.
    """


@dataclass(frozen=True, slots=True, order=True)
class Clock:
    """When work has to end; the earlier clock is the smaller one.

    Attributes
    ----------
    end : float
        By `now`; infinite for no limit. Shares of the time are shares of the time to this end.
    asked : bool
        Whether the user asked for the limit: false for a `Backstop` and what is left of it.
    limit : float
        When work has to stop although its time goes on to `end`, as in a round of a search that a
        time limit cuts short. What is done before does not depend on it.

    Examples
    --------
    >>> Clock.of(None).over
    False
    >>> Clock.of(60).within(1).left <= 1
    True
    """

    end: float = math.inf
    asked: bool = field(default=True, compare=False)
    limit: float = field(default=math.inf, compare=False)

    @classmethod
    def of(cls, time_limit: float | None) -> Clock:
        """Start a clock that runs for a number of wall seconds, or without end.

        Raises
        ------
        InputError
            If the limit is not a positive number.
        """
        if time_limit is None:
            return UNLIMITED
        number = isinstance(time_limit, Real) and not isinstance(time_limit, bool)
        if not (number and time_limit > 0):
            name = phrase("time_limit", "--time-limit")
            msg = f"{name} must be a positive number of seconds, got {time_limit!r}"
            raise InputError(msg)
        # Whole numbers may be beyond any float.
        seconds = float(time_limit) if time_limit <= _ENDLESS else math.inf
        return cls(now() + seconds, not isinstance(time_limit, Backstop))

    @property
    def stop(self) -> float:
        """The end, or the limit before it."""
        return min(self.end, self.limit)

    @property
    def left(self) -> float:
        """Seconds until work has to stop; negative after that."""
        return self.stop - now()

    @property
    def over(self) -> bool:
        """Whether the time has run out."""
        return now() >= self.stop

    @property
    def seconds(self) -> float | None:
        """Seconds to the end as a `time_limit`: None for no limit, never less than a hundredth."""
        if self.stop == math.inf:
            return None
        left = max(self.left, 0.01)
        return left if self.asked else Backstop(left)

    @property
    def limits(self) -> bool:
        """Whether there is a limit that was asked for."""
        return self.asked and self.stop < math.inf

    def within(self, seconds: float) -> Clock:
        """Return a clock that ends after `seconds`, and no later than this one."""
        return replace(self, end=min(self.end, now() + seconds))

    def part(self, share: float) -> Clock:
        """Return a clock that ends after a share of the time to the end."""
        return replace(self, end=now() + share * max(self.end - now(), 0.0))

    def round(self, seconds: float) -> Clock:
        """Return a clock of a round of `seconds`, which this one cuts short where it ends."""
        return replace(self, end=now() + seconds, limit=self.stop)

    def check(self, before: str = "there was an answer") -> None:
        """Stop work that has run out of time.

        Parameters
        ----------
        before : str
            What has not been reached, for the message.

        Raises
        ------
        OutOfTime
        """
        if self.over:
            msg = f"the time limit passed before {before}; allow more time"
            raise OutOfTime(msg)


UNLIMITED = Clock()
"""No time limit."""
