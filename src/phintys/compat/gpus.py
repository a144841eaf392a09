"""The modules of Theano for GPUs: they import, and say that there is no GPU.

Programs ask whether they may use one (``cuda_available``, ``dnn_available()``), and import Ops and
types to look for them in graphs. No variable here is of such a type, and no node has such an Op.
"""

from __future__ import annotations

from typing import Any, NoReturn

from phintys._base.errors import ArgumentError

__all__ = ["ABSENT", "cuda_available", "cuda_enabled", "dnn_available", "dnn_present", "use"]
__all__ += ["pygpu_activated", "unuse"]

cuda_available = False
cuda_enabled = False
pygpu_activated = False


def dnn_available(context_name: Any = None) -> bool:
    """Return ``False``: there is no cuDNN; ``msg`` says why."""
    return False


dnn_available.avail = False  # pyright: ignore[reportFunctionMemberAccess] - as programs ask
dnn_available.msg = "Phintys has no code for GPUs."  # pyright: ignore[reportFunctionMemberAccess]

dnn_present = dnn_available


def use(device: Any, *arguments: Any, **options: Any) -> None:
    """Accept the CPU as the device.

    Raises
    ------
    ArgumentError
        It is another one.
    """
    if str(device).startswith("cpu"):
        return
    msg = f"use({device!r}): Phintys offers no GPUs under old names; leave out the call."
    raise ArgumentError(msg)


def unuse() -> None:
    """Leave everything on the CPU."""


class _OfGpus(type):
    """A class without instances, for what only exists on GPUs."""

    def __instancecheck__(cls, instance: object) -> bool:
        return False

    def __call__(cls, *arguments: Any, **options: Any) -> NoReturn:
        msg = (
            f"{cls.__name__} is for GPUs, which Phintys does not offer under old names: leave it "
            "out, and the expression is compiled for the CPU."
        )
        raise NotImplementedError(msg)


_NAMES = (
    "CudaNdarray CudaNdarrayConstant CudaNdarraySharedVariable CudaNdarrayType "
    "CudaNdarrayVariable GpuArrayConstant GpuArraySharedVariable GpuArrayType GpuArrayVariable "
    "GpuConv GpuCorrMM GpuDnnConv GpuDnnConvDesc GpuDnnConvGradI GpuDnnConvGradW GpuDnnPool "
    "GpuDnnSoftmax GpuElemwise GpuFromHost GpuContiguous GpuOp GpuSoftmax HostFromGpu "
    "as_cuda_array as_cuda_ndarray_variable as_gpuarray_variable dnn_batch_normalization_test "
    "dnn_batch_normalization_train dnn_conv dnn_conv3d dnn_gradinput dnn_gradweight dnn_pool "
    "float32_shared_constructor get_context gpu_alloc gpu_alloc_empty gpu_contiguous "
    "gpu_from_host gpuarray_shared_constructor host_from_gpu reg_context shared_constructor"
)
ABSENT = frozenset(_NAMES.split())
"""What can be imported, so that programs can ask for it, but not be used."""


def __getattr__(name: str) -> Any:
    if name not in ABSENT:
        msg = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(msg)
    found = _OfGpus(name, (), {"__module__": __name__})
    globals()[name] = found
    return found
