"""What the public sees: the `release`, one `completion` of it, `ranges` in place of blanks.

`result_columns` lists the cells of a result.
"""
