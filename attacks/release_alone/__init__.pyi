from attacks.release_alone.cell_sums import Sum as Sum
from attacks.release_alone.cell_sums import Sums as Sums
from attacks.release_alone.cell_sums import with_sum as with_sum
from attacks.release_alone.coalitions import Coalition as Coalition
from attacks.release_alone.insider_knowledge import Insight as Insight
from attacks.release_alone.several_releases import Differencing as Differencing
