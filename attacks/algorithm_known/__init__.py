"""The matching attack: the attacker knows the algorithm and rules out tables with its help.

`views` are the release seen through the mechanism. `match_tests` decide whether a table would have
been published with the same pattern, with the help of what was proved of other tables
(`carried_proofs`) and a search for a `preferred_pattern`; `network_search`, compiled in
`network_enumeration`, decides for many tables at once, in tables of more than 64 cells by way of
`large_network_search`; `matches` chooses among the tests, and lists the matches of any algorithm.
`attack_run` collects matches and verdicts, `matching_attack` answers with `matching_results`, and
`excluded_values` says of one cell which values are ruled out and why.

Checked by a run of the suppression for every completion, with rules written again by hand and the
published Algorithm 1; each carried proof has an oracle of its own
(`tests/attacks/algorithm_known`).
"""
