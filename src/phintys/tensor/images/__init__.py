"""Convolutions and pooling of batches of images: the Ops of :mod:`phintys.tensor.signal`.

An image has any number of spatial dimensions: one for sequences, three for volumes.
"""

from phintys._base.names import public_dir

__all__: list[str] = []

__dir__ = public_dir(__name__)
