"""Ops that decompose matrices into values and vectors, which may be chosen in several ways."""

from __future__ import annotations


class Decomposing:
    """A mixin for Ops of which some outputs are vectors, chosen among many if values are equal.

    Products of the vectors may rebuild a function of the matrix, which does not depend on the
    choice and has a derivative where the vectors have none. Gradients look for such products in the
    neighbourhood of these Ops, which they know only by this class.
    """
