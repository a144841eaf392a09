"""Rules of the JAX backend by Op, one file for each family; see ``tracing.converts``."""
