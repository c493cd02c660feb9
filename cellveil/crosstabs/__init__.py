"""Tables in one call, after `pandas.crosstab`: counts, sums, means and shares under one pattern.

`crossing` reads what is crossed, Series or names of columns; `responses` says what each cell shows
and how it follows from counts and sums, and `making` what is said of records for one table or for
several; `figures` are what may be published of a table, `workbook` and `page` write them, `result`
is what comes back from `tabulation`.
"""
