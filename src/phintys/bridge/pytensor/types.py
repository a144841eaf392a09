"""PyTensor's Types as Types of Phintys."""
# PyTensor need not be installed.
# pyright: reportMissingImports=false

from __future__ import annotations

from functools import singledispatch
from typing import Any

from pytensor.graph.type import Type as TheirType
from pytensor.scalar.basic import ScalarType
from pytensor.tensor.random.type import RandomGeneratorType
from pytensor.tensor.random.type import random_generator_type as their_generator_type
from pytensor.tensor.type import DenseTensorType
from pytensor.tensor.type import TensorType as TheirTensorType
from pytensor.tensor.type_other import NoneTypeT, SliceType

from phintys._base.errors import TypeContractError
from phintys.graph.type import Type, generic
from phintys.random import random_generator_type
from phintys.tensor.type import TensorType


class OpaqueType(Type):
    """The values of a Type of PyTensor that only PyTensor's Ops compute with: sparse matrices.

    Parameters
    ----------
    theirs
        The Type of PyTensor.

    Examples
    --------
    >>> import pytensor.sparse
    >>> from phintys.bridge.pytensor import convert_type
    >>> convert_type(pytensor.sparse.csr_matrix("w").type)
    OpaqueType(SparseTensorType{dtype='float64', format='csr', shape=(None, None)})
    """

    __props__ = ("theirs",)

    def __init__(self, theirs: TheirType) -> None:
        self.theirs = theirs

    def filter(self, value: Any, strict: bool = False, allow_downcast: bool | None = None) -> Any:
        """Return a value that PyTensor's Type has."""
        return self.theirs.filter(value, strict=strict, allow_downcast=allow_downcast)

    def values_eq(self, a: Any, b: Any) -> bool:
        """Return whether values are equal, as PyTensor's Type says."""
        return bool(self.theirs.values_eq(a, b))

    def values_eq_approx(self, a: Any, b: Any) -> bool:
        """Return whether values are nearly equal, as PyTensor's Type says."""
        return bool(self.theirs.values_eq_approx(a, b))

    def __repr__(self) -> str:
        return f"OpaqueType({self.theirs})"


@singledispatch
def convert_type(type_: TheirType) -> Type:
    """Return the Type of Phintys with the values of a Type of PyTensor.

    Register a function for a Type of your own with ``@convert_type.register(TheType)``.

    Parameters
    ----------
    type_
        A Type of PyTensor.

    Raises
    ------
    TypeContractError
        There is none.

    Examples
    --------
    >>> import pytensor.tensor as pt
    >>> from phintys.bridge.pytensor import convert_type
    >>> convert_type(pt.tensor("x", shape=(2, None), dtype="float32").type)
    Matrix(float32, shape=(2, ?))
    """
    msg = (
        f"Phintys has no Type for PyTensor's {type_!r}, of class {type(type_).__name__}. Tensors, "
        "scalars, sparse matrices, generators, None and slices are converted. Register a "
        "function for another Type with "
        f"@phintys.bridge.pytensor.convert_type.register({type(type_).__name__})."
    )
    raise TypeContractError(msg)


@convert_type.register(TheirTensorType)
def _tensor(type_: Any) -> Type:
    if not isinstance(type_, DenseTensorType):  # a sparse matrix, which is of a derived class
        return OpaqueType(type_)
    return TensorType(type_.dtype, type_.shape)


@convert_type.register(ScalarType)
def _scalar(type_: Any) -> Type:
    return TensorType(type_.dtype, ())


@convert_type.register(RandomGeneratorType)
def _generator(type_: Any) -> Type:
    return random_generator_type


@convert_type.register(NoneTypeT)
@convert_type.register(SliceType)
def _any(type_: Any) -> Type:
    return generic


def value_for(type_: TheirType, value: Any) -> Any:
    """Return a value of Phintys as PyTensor has it: its scalars are not arrays."""
    return value[()] if isinstance(type_, ScalarType) else value


def their_type(type_: Type) -> TheirType:
    """Return the Type of PyTensor with the values of a Type of Phintys.

    Parameters
    ----------
    type_
        The Type of a tensor or a generator.

    Raises
    ------
    TypeContractError
        It is another one.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> from phintys.bridge.pytensor.types import their_type
    >>> their_type(pt.tensor("x", shape=(2, None), dtype="float32").type)
    TensorType(float32, shape=(2, None))
    """
    if isinstance(type_, TensorType):
        return TheirTensorType(type_.dtype, type_.shape)
    if type_ == random_generator_type:
        return their_generator_type
    msg = (
        f"PyTensor has no Type for the values of {type_!r}: only tensors and generators can be "
        "inputs and outputs of the functions that to_pytensor takes."
    )
    raise TypeContractError(msg)
