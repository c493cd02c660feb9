"""What is aimed at: goals that a run meets or misses, and contradictions that no run may show.

A goal is judged on our own row and on those of the peers in the same run; a contradiction (an
unsafe answer, a cheaper pattern than a proven optimum) means that one of them is wrong.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from benchmarks.peers import Run

DIFFER = "repeated runs differ"
"""Ends the outcome of a solver whose answers to one problem were not the same."""


@dataclass(frozen=True, slots=True)
class Goal:
    """What is aimed at, beside a pattern that passes the audit.

    Attributes
    ----------
    proven : bool
        The cheapest pattern, with proof.
    within : float or None
        CPU seconds; of a batch, for one table on average.
    gap : float or None
        Largest share of the value by which the bound may be below it.
    at_most : int or None
        Largest value.
    tighter : (int, int) or None
        The bound is to be above the first, and the value below the second.
    faster_than : str
        Solver that is to take no less CPU.
    below : str
        Solver whose value is to be undercut.
    agree : bool
        Every solver proves the same optimum.
    memory : float or None
        MB.
    """

    proven: bool = False
    within: float | None = None
    gap: float | None = None
    at_most: int | None = None
    tighter: tuple[int, int] | None = None
    faster_than: str = ""
    below: str = ""
    agree: bool = False
    memory: float | None = None

    def __str__(self) -> str:
        words = ["proven" if self.proven else "audited"]
        if self.within is not None:
            words.append(f"within {seconds_text(self.within)}")
        if self.gap is not None:
            words.append(f"gap at most {100 * self.gap:g} %")
        if self.at_most is not None:
            words.append(f"value at most {self.at_most}")
        if self.tighter is not None:
            words.append("better than known on both sides")
        if self.faster_than:
            words.append(f"not slower than {self.faster_than}")
        if self.below:
            words.append(f"cheaper than {self.below}")
        if self.agree:
            words.append("one optimum of all solvers")
        if self.memory is not None:
            words.append(f"memory at most {self.memory / 1024:g} GB")
        return ", ".join(words)


def missed(goal: Goal, ours: Run, peers: Mapping[str, Run]) -> list[str]:
    """Say what of a goal our run misses; nothing if it is met."""
    if ours.value is None and ours.suppressed is None:
        return ["no pattern"]
    words = []
    if ours.unsafe != 0:
        words.append("not audited" if ours.unsafe is None else f"unsafe: {ours.unsafe} cells")
    if goal.proven and not ours.proven:
        words.append("not proven")
    if goal.within is not None:
        words += _slow(ours, goal.within)
    if goal.gap is not None and (ours.gap is None or ours.gap > goal.gap):
        words.append("no bound" if ours.gap is None else f"gap {100 * ours.gap:.2f} %")
    if goal.at_most is not None and (ours.value or 0) > goal.at_most:
        words.append(f"value {_more(ours.value or 0, goal.at_most)} above")
    if goal.tighter is not None:
        words += _looser(ours, *goal.tighter)
    if goal.faster_than:
        words += _slower(ours, peers.get(goal.faster_than), goal.faster_than)
    if goal.below:
        words += _more_expensive(ours, peers.get(goal.below), goal.below)
    if goal.agree:
        others = {name: run for name, run in peers.items() if run.bound is not None or run.proven}
        words += [f"{name} has proved nothing" for name, run in others.items() if not run.proven]
        words += [
            f"{name} says {run.value}"
            for name, run in others.items()
            if run.proven and run.value != ours.value
        ]
    if goal.memory is not None and (ours.memory is None or ours.memory > goal.memory):
        words.append("memory unknown" if ours.memory is None else f"{ours.memory:.0f} MB")
    return words


def contradictions(
    ours: Run, peers: Mapping[str, Run], known: tuple[int, int] | None = None
) -> list[str]:
    """Say what shows that one of our results, or a proof of another program, is wrong.

    Values are exact sums and every pattern has passed, or failed, the same audit, so a safe
    pattern below a claimed bound refutes the claim. Claims of float solvers are taken to a
    millionth.

    Parameters
    ----------
    ours : Run
    peers : mapping of str to Run
        Other solvers on the same problem.
    known : (int, int) or None
        Least and largest that the optimum can be, from elsewhere.

    Returns
    -------
    list of str
        Each says who is wrong.
    """
    found = []
    if ours.outcome.startswith(("crashed", "failed")):
        found.append(f"{ours.solver} {ours.outcome}")
    elif ours.proven and ours.outcome.endswith(DIFFER):
        found.append(f"{ours.solver} is wrong: {DIFFER}, though it claims proof")
    if ours.unsafe:
        found.append(f"{ours.solver} is wrong: {ours.unsafe} primary cells are unsafe")
    safe = ours.unsafe == 0
    if known is not None:
        low, high = known
        if safe and ours.value is not None and _clearly_less(ours.value, low):
            found.append(
                f"{ours.solver} has a safe pattern of cost {ours.value}, "
                f"below the known bound {low}: the known bound is wrong, or the audit is"
            )
        if ours.bound is not None and _clearly_less(high, ours.bound):
            found.append(
                f"{ours.solver} is wrong: its bound {float(ours.bound):.15g} is above the known "
                f"cost {high}"
            )
    for name, run in peers.items():
        if run.unsafe != 0 or run.value is None:
            continue  # it solved another problem than the one posed
        if safe and run.proven and ours.value is not None and _clearly_less(ours.value, run.value):
            found.append(
                f"{name} is wrong: it calls {run.value} optimal, and {ours.solver} has a "
                f"safe pattern of cost {ours.value}"
            )
        if ours.bound is not None and _clearly_less(run.value, ours.bound):
            found.append(
                f"{ours.solver} is wrong: its bound {float(ours.bound):.15g} is above the safe "
                f"pattern of cost {run.value} of {name}"
            )
    return found


def seconds_text(seconds: float) -> str:
    """Seconds in the unit that reads best."""
    if seconds != seconds:
        return "unknown"
    if seconds < 0.001:
        return f"{1e6 * seconds:.3g} µs"
    if seconds < 0.0995:
        return f"{1e3 * seconds:.3g} ms"
    return f"{seconds:.3g} s" if seconds < 999.5 else f"{seconds:.0f} s"


# ---- inside --------------------------------------------------------------------------------------


def _clearly_less(a: int | Fraction, b: int | Fraction) -> bool:
    a, b = Fraction(a), Fraction(b)
    return a < b - abs(b) / 10**6


def _more(value: int, limit: int) -> str:
    return f"{100 * (value - limit) / limit:.2g} %" if limit > 0 else str(value - limit)


def _slow(ours: Run, limit: float) -> list[str]:
    taken = ours.cpu if ours.cpu is not None else ours.wall
    if taken is None:
        return ["time unknown"]
    return [] if taken <= limit else [f"{seconds_text(taken)} ({taken / limit:.2g} times)"]


def _looser(ours: Run, low: int, high: int) -> list[str]:
    words = []
    if ours.value is None or ours.value >= high:
        words.append(f"value not below {high}")
    if ours.bound is None or ours.bound <= low:
        words.append(f"bound not above {low}")
    return words


def _slower(ours: Run, peer: Run | None, name: str) -> list[str]:
    if peer is None:
        return [f"{name} was not run"]
    if not peer.proven or peer.cpu is None or ours.cpu is None:
        return []  # it has no proof to be compared with
    return [] if ours.cpu <= peer.cpu else [f"{ours.cpu / peer.cpu:.2g} times the CPU of {name}"]


def _more_expensive(ours: Run, peer: Run | None, name: str) -> list[str]:
    if peer is None or peer.value is None:
        return [f"{name} was not run" if peer is None else f"{name} has no pattern"]
    if (ours.value or 0) < peer.value:
        return []
    unsafe = f", unsafe for {peer.unsafe} cells" if peer.unsafe else ""
    return [f"{ours.value} against {peer.value} of {name}{unsafe}"]
