"""Patterns of sparse Jacobians: which elements depend on which, and colours of columns."""
