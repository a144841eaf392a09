"""Bridges to other libraries, each of which is optional: nothing else in Phintys imports them."""

from phintys._base.names import public_dir

__all__: list[str] = []

__dir__ = public_dir(__name__)
