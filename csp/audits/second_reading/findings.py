"""What the second reading says of a release: where the two differ, and which cells are exposed."""

from __future__ import annotations

from dataclasses import dataclass

from csp.audits.second_reading.meaning import Label
from csp.audits.second_reading.rules import Need


@dataclass(frozen=True, slots=True)
class Difference:
    """A cell that the release and the records read differently.

    Attributes
    ----------
    label : tuple of str
    words, secret : str
        What differs; `secret` has the value of the records where `words` must not.
    """

    label: Label
    words: str
    secret: str


@dataclass(frozen=True, slots=True)
class Exposure:
    """A sensitive cell that is published, or known too well.

    Attributes
    ----------
    label : tuple of str
    attacker : str
        An outsider, or the only contributor of a cell.
    need : Need
    value : int
    down, up : float
        How far below and above its value the cell can be for this attacker, in units; both 0 where
        it is published, and no further than was needed.
    published : bool
    scale : int
        Decimal places of a unit.
    """

    label: Label
    attacker: str
    need: Need
    value: int
    down: float
    up: float
    published: bool
    scale: int

    def words(self, *, reveal: bool = False) -> str:
        """One sentence; numbers in it only with `reveal`."""
        how = (
            "is published"
            if self.published
            else f"keeps too narrow an interval for {self.attacker}"
        )
        text = f"cell ({', '.join(self.label)}) is sensitive by {self.need.rule} and {how}"
        if reveal:
            unit = 10**self.scale
            low, high = ((self.value + move) / unit for move in (-self.down, self.up))
            asked = f"{self.need.down / unit:.15g} down, {self.need.up / unit:.15g} up"
            text += f": value {self.value / unit:.15g} in [{low:.15g}, {high:.15g}], needed {asked}"
            text += f", width {self.need.width / unit:.15g}" if self.need.width else ""
        return text


@dataclass(frozen=True, slots=True)
class Rereading:
    """What the second reading of the records says of a release.

    Attributes
    ----------
    differences : tuple of Difference
    exposures : tuple of Exposure
    cells, attackers : int
        How many were compared and considered.
    notes : tuple of str
    """

    differences: tuple[Difference, ...]
    exposures: tuple[Exposure, ...]
    cells: int
    attackers: int
    notes: tuple[str, ...]

    @property
    def agree(self) -> bool:
        """Whether what is published is what the records give."""
        return not self.differences

    @property
    def safe(self) -> bool:
        """Whether every cell that is sensitive by this reading is protected."""
        return not self.exposures

    def lines(self, *, reveal: bool = False) -> list[str]:
        """Sentences about the result; values that must not be known only with `reveal`."""
        if self.agree and self.safe:
            return [f"Read twice, both agree: {self.cells} cells.", *self.notes]
        told = [d.secret if reveal else d.words for d in self.differences]
        told += [e.words(reveal=reveal) for e in self.exposures]
        return [
            f"The second reading differs: {told[0]}.",
            *(f"  {t}" for t in told[1:]),
            *self.notes,
        ]
