"""Discrete Fourier transforms: their Ops, and the functions of :mod:`phintys.tensor.fft`."""

from phintys._base.names import public_dir

__all__: list[str] = []

__dir__ = public_dir(__name__)
