"""What a page has done in a process of its own: reading, counting, protecting.

`worker` gives out `tasks` and follows them, `process` does them there and keeps the `records`,
`publications` are tasks with tables that somebody else published, `comparisons` publish one in
several ways, and `wording` says what went wrong.
"""
