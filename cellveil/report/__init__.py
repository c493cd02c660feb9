"""A protected table as one HTML file for people, and the same facts as JSON for programs.

`facts` is what a report says, `page` the report of a table or release, `microdata` that of a
microaggregated file, `masked` that of a masked file of any tool, `published` the audit of a table
that somebody else published, `ways` one table published in several ways, `skeleton` what all pages
share.
"""
