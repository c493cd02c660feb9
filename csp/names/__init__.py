"""Names that users write: wrong ones are answered, right ones load when they are first used.

`calls` turns wrong arguments into named errors, with what was meant from `guesses`; `lazily` makes
a package whose names cost nothing until they are used.
"""
