"""Statistical tables: what they are, what must be hidden, and proof that it is.

Names are loaded when first used, so that ``import csp`` costs next to nothing.
"""

from csp.lazily import lazily

__getattr__, __dir__, __all__ = lazily(__name__)
