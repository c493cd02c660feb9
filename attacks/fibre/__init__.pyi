from attacks.fibre.consistent_tables import Fibre as Fibre
from attacks.fibre.kernel_basis import kernel as kernel
from attacks.fibre.samples import Draws as Draws
from attacks.fibre.samples import draw as draw
