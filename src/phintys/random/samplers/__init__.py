"""Scalar functions from random bits and parameters to gamma numbers, counts and orders."""
