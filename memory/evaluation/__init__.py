"""How good search is: known-item queries, measures with intervals, perturbed queries."""
