"""What may be asked for: each option stated once, for commands, jobs, the page and their docs.

`source` says where a table comes from, `publication` how a published one is read, `requirements`
what must hold and `earlier` what stays suppressed, `search` how a pattern is looked for, `masking`
how microdata are masked and `outputs` what is written; an `option` says of itself what it means.
"""
