"""What people see on a terminal: `tables`, sentences, `progress`; and pictures.

`screen` makes text safe to show. `plots` has the pictures, `curves` those of costs and beliefs,
`studies` those of methods compared, `ways` those of one table; `figures` is how they are drawn
without a display.
"""
