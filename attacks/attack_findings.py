"""What attacks on a release found, attack by attack, in words and as data."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from attacks.descriptions import cell_name, number
from csp.release.release import Release

RAN, CUT_SHORT, NOT_RUN = "ran", "cut short", "not run"

Ends = tuple[Fraction | None, Fraction | None]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Finding:
    """What one attack found out.

    Attributes
    ----------
    attack : str
        Function of `attacks` behind it.
    status : {"ran", "cut short", "not run"}
        "cut short": the time limit or an interrupt came first; what is said holds all the same.
    verdict : str
        One sentence without values; empty if the attack has none.
    reason : str
        Why the attack was cut short or not run; empty otherwise.
    exposed : dict of int to (Fraction or None, Fraction or None)
        Suppressed cells that the attack exposes, and the least and largest value that it leaves
        them, in units; None where it says nothing about that end.
    result : object
        What the attack returned: for insiders and coalitions a tuple of results.
    """

    attack: str
    status: str
    verdict: str = ""
    reason: str = ""
    exposed: dict[int, Ends] | None = None
    result: Any = None

    def __repr__(self) -> str:
        return f"Finding({self.attack}: {self.status})"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class AttackReport:
    """Verdicts of all attacks on a release; printing it shows no suppressed value.

    Attributes
    ----------
    release : Release
    findings : tuple of Finding
        One for each attack, whether it ran or not.
    """

    release: Release
    findings: tuple[Finding, ...]

    def __repr__(self) -> str:
        ran = sum(finding.status != NOT_RUN for finding in self.findings)
        return (
            f"AttackReport({ran} of {len(self.findings)} attacks ran: {len(self.exposed)} of "
            f"{int(self.release.pattern.sum())} suppressed cells exposed)"
        )

    def _repr_html_(self) -> str:
        from csp.tables.cross.html import notebook_list

        rows = [
            (f.attack, f.status, " ".join(part for part in (f.verdict, f.reason) if part))
            for f in self.findings
        ]
        return notebook_list([repr(self)], ["attack", "status", "what it found"], rows)

    def __str__(self) -> str:
        return self.text()

    def __iter__(self) -> Iterator[Finding]:
        return iter(self.findings)

    def __getitem__(self, attack: str) -> Finding:
        """Return the finding of an attack by the name of its function."""
        for finding in self.findings:
            if finding.attack == attack:
                return finding
        known = ", ".join(finding.attack for finding in self.findings)
        msg = f"there is no attack {attack!r} in the report; there are {known}"
        raise KeyError(msg)

    @property
    def exposed(self) -> tuple[int, ...]:
        """Suppressed cells that some attack exposes."""
        return tuple(sorted({cell for finding in self.findings for cell in finding.exposed or ()}))

    @property
    def complete(self) -> bool:
        """Whether no attack was cut short."""
        return all(finding.status != CUT_SHORT for finding in self.findings)

    def text(self, *, reveal: bool = False) -> str:
        """Report in sentences, one attack after the other.

        Parameters
        ----------
        reveal : bool
            Whether to say what is known of the value of each exposed cell.

        Returns
        -------
        str
        """
        lines = []
        for finding in self.findings:
            said = " ".join(part for part in (finding.verdict, finding.reason) if part)
            status = "" if finding.status == RAN else f"{finding.status}. "
            lines.append(f"{finding.attack}: {status}{said}")
            for cell, ends in (finding.exposed or {}).items():
                shown = f" {self._between(ends)}" if reveal else ""
                lines.append(f"  {cell_name(self.release, cell)}{shown}")
        return "\n".join(lines)

    def summary(self, *, reveal: bool = False) -> dict[str, Any]:
        """Facts of the report as plain data, ready for JSON.

        Parameters
        ----------
        reveal : bool
            Whether to add what is known of the value of each exposed cell, as text.

        Returns
        -------
        dict
        """
        release = self.release

        def facts(finding: Finding) -> dict[str, Any]:
            cells: list[dict[str, Any]] = []
            for cell, ends in (finding.exposed or {}).items():
                cells.append({"cell": list(release.labels[cell])})
                if reveal:
                    cells[-1]["lower"], cells[-1]["upper"] = (
                        None if end is None else number(end, release.scale) for end in ends
                    )
            return {
                "attack": finding.attack, "status": finding.status, "verdict": finding.verdict,
                "reason": finding.reason, "exposed": cells,
            }  # fmt: skip

        return {
            "dimensions": list(release.names),
            "suppressed": int(release.pattern.sum()),
            "exposed": [list(release.labels[cell]) for cell in self.exposed],
            "complete": self.complete,
            "attacks": [facts(finding) for finding in self.findings],
        }

    def _between(self, ends: Ends) -> str:
        low, high = (None if end is None else number(end, self.release.scale) for end in ends)
        if low is None and high is None:
            return "(known only together with others)"
        if low == high:
            return f"= {low}"
        parts = [f"at least {low}"] if low is not None else []
        return ", ".join(parts + ([f"at most {high}"] if high is not None else []))
