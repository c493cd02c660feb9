"""Experiments of the papers on microdata, made again: rows, pages and figures."""
