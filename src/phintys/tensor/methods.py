"""Methods of arrays that are functions of ``phintys.tensor`` by the same name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from phintys._base.errors import ArgumentError
from phintys.tensor._operators import operators
from phintys.tensor.devices import DEVICE, check_device

if TYPE_CHECKING:
    from collections.abc import Callable

_VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12", "2025.12")


def _method(name: str) -> Callable[..., Any]:
    """Return the method that calls a function of ``phintys.tensor`` with the array first."""

    def method(self: Any, *args: Any, **options: Any) -> Any:
        return getattr(operators.namespace, name)(self, *args, **options)

    method.__name__ = name
    method.__qualname__ = f"FunctionMethods.{name}"
    method.__doc__ = f"Return ``pt.{name}`` of the array; see :func:`phintys.tensor.{name}`."
    return method


class FunctionMethods:
    """The methods that PyTensor's arrays, or NumPy's, have by the name of a function.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.constant([1.0, 4.0]).sqrt().eval(), pt.constant([1, 5, 3]).ptp().eval()
    (array([1., 2.]), array(4))
    """

    argpartition = _method("argpartition")
    arccos = _method("arccos")
    arccosh = _method("arccosh")
    arcsin = _method("arcsin")
    arcsinh = _method("arcsinh")
    arctan = _method("arctan")
    arctanh = _method("arctanh")
    ceil = _method("ceil")
    choose = _method("choose")
    cos = _method("cos")
    cosh = _method("cosh")
    deg2rad = _method("deg2rad")
    exp = _method("exp")
    exp2 = _method("exp2")
    expm1 = _method("expm1")
    floor = _method("floor")
    log = _method("log")
    log10 = _method("log10")
    log1p = _method("log1p")
    log2 = _method("log2")
    nonzero_values = _method("nonzero_values")
    partition = _method("partition")
    ptp = _method("ptp")
    rad2deg = _method("rad2deg")
    sin = _method("sin")
    sinh = _method("sinh")
    sqrt = _method("sqrt")
    tan = _method("tan")
    tanh = _method("tanh")
    trunc = _method("trunc")

    def compress(self, condition: Any, axis: int | None = None) -> Any:
        """Return the slices along ``axis`` for which ``condition`` is true."""
        return operators.namespace.compress(condition, self, axis)

    def get_underlying_scalar_constant(self) -> Any:
        """Return the number that all elements are known to be; raise if it is not known."""
        return operators.namespace.get_underlying_scalar_constant_value(self)

    @property
    def itemsize(self) -> int:
        """The number of bytes of an element."""
        array: Any = self
        return array.type.numpy_dtype.itemsize

    @property
    def nbytes(self) -> Any:
        """The number of bytes of all elements, symbolic."""
        array: Any = self
        return array.size * self.itemsize

    def __array_namespace__(self, *, api_version: str | None = None) -> Any:
        """Return ``phintys.tensor``, whose functions are those of the array API."""
        if api_version is not None and api_version not in _VERSIONS:
            msg = f"Versions of the array API are {', '.join(_VERSIONS)}, got {api_version!r}."
            raise ArgumentError(msg)
        return operators.namespace

    @property
    def device(self) -> str:
        """The name of the device that the array is on."""
        return DEVICE

    def to_device(self, device: Any, /, *, stream: Any = None) -> Any:
        """Return the array itself, which is on the only device."""
        check_device(device)
        return self
