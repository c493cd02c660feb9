"""A page for people who do not type: choose, look, protect, save (extra ``app``).

`page` is what stands there, with `further` options, and `desk` what it does, one for each page that
the `server` has open; `choices` is the job that was chosen, `following` how far its work is, and
`handing` what can be saved; `ways` shows ways to publish side by side. A table that somebody else
published is read as `publishing` says, and `published` has it audited. `work` is done in a process
of its own, which can be ended. `serve` serves the page to this machine alone, `door` lets in the
browser that was given the address, and no other, and `folder` keeps everything private.
"""
