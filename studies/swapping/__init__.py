"""The tables of Soria-Comas and Domingo-Ferrer (2012) on probabilistic k-anonymity."""
