"""Kernels: how statements are grouped into loop nests, planned, and written as functions."""
