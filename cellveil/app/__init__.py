"""A page for people who do not type: choose, look, protect, save (extra ``app``)."""
