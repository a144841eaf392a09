"""Lowering of a FunctionGraph to the steps of a Program: one file for each family of Ops."""

from phintys.backends.native.lower.graph import lower_program as lower_program
