import attacks as attacks
import instances as instances
import microagg as microagg
from cellveil.comparing.own_methods import study as study
from cellveil.comparing.side_by_side import Comparison as Comparison
from cellveil.comparing.side_by_side import compare as compare
from cellveil.comparing.ways import Noise as Noise
from cellveil.crosstabs.result import Crosstab as Crosstab
from cellveil.crosstabs.tabulation import crosstab as crosstab
from cellveil.sessions.session import Session as Session
from csp import *  # noqa: F403

__version__: str
