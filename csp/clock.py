"""One clock: the time limit that a public call sets and everything below it keeps."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from numbers import Real

from csp.errors import InputError, OutOfTime

__all__ = ["UNLIMITED", "Clock"]


@dataclass(frozen=True, slots=True, order=True)
class Clock:
    """When work has to end; the earlier clock is the smaller one.

    Attributes
    ----------
    end : float
        `time.monotonic` value; infinite for no limit.

    Examples
    --------
    >>> Clock.of(None).over
    False
    >>> Clock.of(60).within(1).left <= 1
    True
    """

    end: float = math.inf

    @classmethod
    def of(cls, time_limit: float | None) -> Clock:
        """Start a clock that runs for so many wall seconds, or for ever.

        Raises
        ------
        InputError
            If the limit is not a positive number.
        """
        if time_limit is None:
            return UNLIMITED
        number = isinstance(time_limit, Real) and not isinstance(time_limit, bool)
        if not (number and time_limit > 0):
            msg = f"time_limit {time_limit!r} is not a positive number of seconds"
            raise InputError(msg)
        return cls(time.monotonic() + float(time_limit))

    @property
    def left(self) -> float:
        """Seconds to the end; negative after it."""
        return self.end - time.monotonic()

    @property
    def over(self) -> bool:
        """Whether the time has run out."""
        return time.monotonic() >= self.end

    @property
    def seconds(self) -> float | None:
        """Seconds to the end as a `time_limit`: None for no limit, never less than a hundredth."""
        return None if self.end == math.inf else max(self.left, 0.01)

    def within(self, seconds: float) -> Clock:
        """Return a clock that ends after so many seconds, and no later than this one."""
        return Clock(min(self.end, time.monotonic() + seconds))

    def part(self, share: float) -> Clock:
        """Return a clock that ends after a share of the time that is left."""
        return Clock(time.monotonic() + share * max(self.left, 0.0))

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
