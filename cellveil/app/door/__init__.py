"""Who may come in, and what may be said.

`guard` takes one of the `tickets` for a cookie, `messages` lets through what the page itself sends,
and `terminal` opens the browser and gives further addresses.
"""
