"""Sums of products in Einstein's notation: its parser, the order of products, their graphs."""

from phintys._base.names import public_dir

__all__: list[str] = []

__dir__ = public_dir(__name__)
