"""A page for people who do not type: choose, look, protect, save (extra ``app``).

`page` is what stands there and `server` what it does, `choices` the job that was chosen and `work`
that job while it runs. `serve` serves it to this machine alone, `guard` lets in the browser that
was given the address, and no other.
"""
