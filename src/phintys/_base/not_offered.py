"""Names known from other libraries that are not available yet, and their alternatives."""

from __future__ import annotations

__all__ = ["NOT_OFFERED"]

_RANDOM = "Streams are phintys.random.RandomStream"
_SOLVERS = "Call NumPy's or SciPy's function through phintys.wrap_py, with its gradient as grad="
_CONVOLUTIONS = "Convolutions are in phintys.tensor.signal: conv, conv_transpose, convolve2d"
_DECOMPOSITIONS = ("funm", "hessenberg", "polar")
_LOOPS = "It is in phintys.control, with scan and the functional forms of loops"

NOT_OFFERED = {
    **dict.fromkeys(("foldl", "foldr", "map", "reduce"), _LOOPS),
    **dict.fromkeys(("RandomStream", "RandomStreams", "shared_randomstreams"), _RANDOM),
    "as_tensor": "It is phintys.tensor.asarray, or as_tensor_variable",
    "sparse": "Use dense arrays, or gather with x[indices] and scatter with pt.inc_subtensor",
    **dict.fromkeys(("conv", "conv1d", "conv2d", "conv3d", "convolve2d"), _CONVOLUTIONS),
    "nnet": f"{_CONVOLUTIONS}, and activations and softmaxes are in phintys.tensor",
    **dict.fromkeys(("max_pool", "pool_2d"), "It is phintys.tensor.signal.max_pool"),
    **dict.fromkeys(("rfft", "irfft"), "It is in phintys.tensor.fft"),
    **dict.fromkeys(_DECOMPOSITIONS, _SOLVERS),
}
"""Name -> what to use instead, as a sentence without a full stop."""
