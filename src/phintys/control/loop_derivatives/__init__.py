"""Derivatives of loops, in reverse and in forward mode, which are loops themselves."""
