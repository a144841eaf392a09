"""Lowering of a FunctionGraph to the steps of a Program: one file for each family of Ops."""

from phintys.backends.native.lower.whole import lower_program as lower_program
