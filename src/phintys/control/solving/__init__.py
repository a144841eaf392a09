"""Roots and minima that SciPy finds, as Ops with derivatives."""
