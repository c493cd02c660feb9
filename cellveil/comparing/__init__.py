"""Methods compared over many tables: their patterns audited, attacked, and set beside each other.

`own_methods` runs a study, `trials` one method on one table; `results` has its frames, `latex`
the tables of a paper, `modular` a method that protects subtables one after the other. Pictures are
in `cellveil.render.studies`.
"""
