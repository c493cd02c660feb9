from attacks.bayes.rates import RateChoice as RateChoice
from attacks.bayes.rates import RatePoint as RatePoint
