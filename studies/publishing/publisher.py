"""What every mechanism of the comparison does: publish one table, and state its probabilities.

An attacker who knows the mechanism (but not its coins) asks how probable the published pattern is
for each table consistent with the release. That is all there is to know about a mechanism
(minimality attack: Wong, Fu, Wang and Pei, VLDB 2007; for cell suppression: Minami and Abe 2019).
"""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from attacks.bayes.risk import HasLikelihood


@runtime_checkable
class Publisher(HasLikelihood, Protocol):
    """A mechanism for tables of one structure.

    A publisher is built for one structure: relations, bounds and labels. The values of the table
    it is built from play no part in what it does.

    Attributes
    ----------
    name : str
        A short name.
    words : str
        One sentence that says what it is, and how exact likelihoods are.
    """

    name: str
    words: str

    def publish(
        self, values: NDArray[np.int64], rng: np.random.Generator
    ) -> NDArray[np.bool_] | None:
        """Draw the pattern of one table.

        Parameters
        ----------
        values : (n,) int64
            All cells, margins included, in units.
        rng : numpy.random.Generator
            The coins; a deterministic mechanism does not touch it.

        Returns
        -------
        (n,) bool or None
            Suppressed cells; None if nothing can be published for this table.
        """
        ...
