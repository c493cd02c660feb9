"""Sheets of workbooks, of Excel and OpenDocument: records and tables as they stand in them.

`pages` opens a workbook, by openpyxl or as `open_document`; `reading` makes records or a grid of a
page, and says what of it is hidden.
"""
