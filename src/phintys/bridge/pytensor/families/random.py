"""Draws of random numbers. PyTensor's generators are NumPy's, and each draw equals PyTensor's."""

from __future__ import annotations

__all__: list[str] = []
