"""The experiments of the papers on microdata: counts, compliance, aggregate knowledge, timings."""
