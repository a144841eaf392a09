"""Scalar functions from random bits and parameters to gamma numbers, counts and orders."""

__all__: list[str] = []
