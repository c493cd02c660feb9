"""Ways to make clusters: a file here is a method, and its name is what the command calls it.

`mdav`, `vmdav` and `mondrian` have functions of their own in `microagg`. Any other file needs a
function ``labels_of(points, k)``, the cluster of each record from its scaled attributes: that makes
it a method of `microagg.clusters` and of ``--clusters``, and no list names it.
"""

from pkgutil import iter_modules

__all__ = ["cluster_methods"]


def cluster_methods() -> tuple[str, ...]:
    """Names of all methods, in the order of the alphabet."""
    return tuple(sorted(module.name for module in iter_modules(__path__)))
