"""Patterns of sparse Jacobians: which elements depend on which, and colours of columns."""

from phintys._base.names import public_dir

__all__: list[str] = []

__dir__ = public_dir(__name__)
