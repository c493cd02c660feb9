"""Several tables of one data set, as a researcher makes them in a secure lab.

`asking` keeps what was asked for each table, `session` protects each beside those before it as
`checks` demand,
`folder` writes all of them for an output checker and reads them back, `acro` in the form that
viewers of ACRO's results open.
"""
