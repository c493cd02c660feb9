"""Tables of microdata: records added up in memory, in files, or by the workers that hold them."""
