"""Cross tables as people print them, read as lists of cells.

`kinds` says what a text is. `margins` leaves out empty columns, `layout` finds where the parts of
the table are, `heads` whether a row of numbers is a header, `labels` what the rows are called, also
in `blocks` that end in a sum. `asides` leaves out what is not a cell, of which `measures` knows
percentages and averages; `grid` puts all of it together. `eurostat` reads the text files of that
office.
"""
