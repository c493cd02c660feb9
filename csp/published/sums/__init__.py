"""How the codes of a published table add up.

`dimensions` are ways in which codes add up, `of_which` parts that are named without the others;
`adding_up` checks them against the published numbers, and finds others among these. `structure`
chooses among them, `relations` makes sums of them.
"""
