import attacks as attacks
import instances as instances
import microagg as microagg
from csp import *  # noqa: F403

__version__: str
