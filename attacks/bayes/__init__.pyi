from attacks.bayes.algorithm_safety import AlgorithmSafety as AlgorithmSafety
from attacks.bayes.rates import RateChoice as RateChoice
from attacks.bayes.rates import RatePoint as RatePoint
from attacks.bayes.unknown_mechanism import MechanismPosterior as MechanismPosterior
from attacks.bayes.unknown_mechanism import ParameterBounds as ParameterBounds
