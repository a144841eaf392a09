"""The patterns of sparse Jacobians: which elements depend on which, and colours of their columns."""
