"""Backends, which turn a FunctionGraph into a callable program."""
