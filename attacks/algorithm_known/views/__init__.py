"""A release seen through the algorithm that made it.

`public_view` is what a mechanism, or a function in its place, implies for the tables consistent
with a release; `value_answers` are what the mechanism says of the values of single cells; `checks`
refuse what no attack can start from.

Checked against mechanisms that are asked about one value of one cell at a time
(`tests/attacks/algorithm_known`).
"""
