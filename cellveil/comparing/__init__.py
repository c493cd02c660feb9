"""Methods compared: their results audited, attacked, and set beside each other.

`side_by_side` publishes one table in several `ways` and judges them by one audit.

`own_methods` runs a study, `trials` one method on one table; `results` has its frames, `latex`
the tables of a paper, `modular` a method that protects subtables one after the other. Pictures are
in `cellveil.render.studies`.
"""
