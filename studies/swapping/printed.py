"""Tables VI to XI of the paper, digit for digit as they are printed.

J. Soria-Comas and J. Domingo-Ferrer (2012), Probabilistic k-anonymity through microaggregation and
data swapping, IEEE International Conference on Fuzzy Systems.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

CORRELATIONS = {
    "VI": """
        .0038 -.027 -.024 .031 .032 .039 .036
        .98 .14 .2 .73 .71 .72 .7
        .44 -.12 -.058 .56 .55 .56 .55
        .98 .2 .28 .73 .69 .71 .69
        .78 .27 .27 .9 .85 .88 .86
        .79 .13 .22 .59 .57 .57 .56
        1 .17 .23 .72 .7 .71 .69
        1 .45 -.17 -.19 -.17 -.17
        1 .072 .061 .70 .075
        1 .96 .98 .96
        1 .91 .89
        1 .97
        1
    """,
    "VII": """
        -.0035 -.035 -.055 .034 .035 .042 .04
        1 .18 .39 .8 .81 .8 .78
        .79 -.17 .084 .89 .9 .89 .89
        .99 .23 .45 .82 .8 .81 .8
        .86 .18 .4 .94 .92 .94 .93
        .95 .2 .43 .77 .76 .76 .75
        1 .2 .41 .8 .8 .79 .78
        1 .68 -.15 -.18 -.15 -.16
        1 .18 .14 .17 .16
        1 .98 1 .99
        1 .97 .97
        1 1
        1
    """,
    "VIII": """
        -.0011 -.028 -.034 .032 .033 .036 .032
        .81 .089 .17 .69 .67 .69 .67
        .42 -.020 .091 .48 .47 .48 .43
        .77 .093 .18 .68 .65 .68 .67
        .72 .086 .16 .80 .76 .79 .77
        .64 .086 .14 .54 .52 .54 .52
        1 .12 .17 .69 .67 .66 .65
        1 .19 -.013 -.022 -.042 -.011
        1 .11 .10 .10 .13
        1 .76 .81 .87
        1 .72 .70
        1 .77
        1
    """,
    "IX": """
        .0041 -.017 -.018 .031 .038 .039 .038
        .98 .13 .20 .73 .71 .72 .70
        .44 -.12 -.041 .56 .55 .56 .55
        .98 .19 .27 .73 .68 .71 .69
        .78 .26 .26 .90 .85 .88 .86
        .79 -.12 .21 .59 .57 .57 .56
        1 .16 .23 .72 .69 .71 .69
        1 .42 -.17 -.19 -.17 -.17
        1 .077 .063 .075 .080
        1 .95 .98 .96
        1 .91 .89
        1 .97
        1
    """,
}
"""Correlations of A1 to A13 of Census with A7 to A13: originals, then masked with k = 12 by
MDAV-ID, MDAV-SWAP and IR-SWAP. Below the diagonal nothing is printed."""

MISPRINTS = {("VI", 9, 12): ".070", ("VIII", 10, 13): ".77", ("IX", 6, 8): ".12"}
"""Entries (table, row, column) that no run comes near, and what seems to be meant in their place:
a factor of ten, a digit, and a sign are wrong."""

LOSSES = {
    "X": """
        5 .055 .064 .037 .045 .0021 .0041
        7 .062 .071 .048 .056 .0022 .0039
        9 .069 .078 .055 .064 .0028 .0049
        11 .078 .085 .061 .070 .0038 .0068
        25 .11 .11 .091 .093 .0061 .012
        50 .14 .13 .13 .12 .010 .020
        100 .17 .15 .19 .17 .020 .030
        200 .29 .27 .31 .28 .044 .047
        300 .38 .39 .37 .34 .087 .071
    """,
    "XI": """
        5 .018 .017 .017 .035 .00064 .00075
        7 .02 .017 .024 .05 .0012 .0018
        9 .034 .031 .028 .053 .0015 .0018
        11 .039 .036 .029 .052 .0019 .0023
        25 .085 .078 .043 .081 .0063 .0072
        50 .13 .12 .053 .089 .011 .011
        100 .15 .14 .058 .092 .029 .037
        200 .19 .18 .09 .11 .093 .074
        300 .2 .18 .12 .13 .14 .091
    """,
}
"""Mean and standard deviation of absolute differences of correlations: k, then both for MDAV-ID,
MDAV-SWAP and IR-SWAP. X is of Census, XI of EIA."""

_WAYS = ("MDAV-ID", "MDAV-SWAP", "IR-SWAP")


def entries(table: str) -> Iterator[tuple[int, int, str]]:
    """Row, column (as in A1, A2, ...) and text of every entry of Tables VI to IX."""
    for i, line in enumerate(CORRELATIONS[table].split("\n")[1:-1]):
        texts = line.split()
        for j, text in enumerate(texts):
            yield i + 1, 14 - len(texts) + j, text


def loss(table: str) -> dict[tuple[str, int], tuple[str, str]]:
    """Mean and standard deviation, as text, by method and k, of Table X or XI."""
    found = {}
    for line in LOSSES[table].split("\n")[1:-1]:
        k, *texts = line.split()
        for place, way in enumerate(_WAYS):
            found[way, int(k)] = (texts[2 * place], texts[2 * place + 1])
    return found


def half_unit(text: str) -> Fraction:
    """Half a unit in the last printed place: how far rounding may have moved a number."""
    return Fraction(1, 2 * 10 ** len(text.partition(".")[2]))
