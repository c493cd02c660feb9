"""Tables of frames that hold one row per cell, with or without margins.

`from_frame` is the door, and `options` says what may be asked of it. `given_margins` tells a frame
with margins from one without, and adds these up; `people` reads who contributes to each cell.
"""
