"""PyTensor's Types as Types of Phintys."""
# PyTensor need not be installed.
# pyright: reportMissingImports=false

from __future__ import annotations

from functools import singledispatch
from typing import Any

from pytensor.graph.type import Type as TheirType
from pytensor.link.c.type import Generic
from pytensor.scalar.basic import ScalarType
from pytensor.sparse.type import SparseTensorType
from pytensor.tensor.random.type import RandomGeneratorType
from pytensor.tensor.random.type import random_generator_type as their_generator_type
from pytensor.tensor.type import TensorType as TheirTensorType
from pytensor.tensor.type_other import NoneTypeT, SliceType

from phintys._base.errors import TypeContractError
from phintys.graph.type import Type, generic
from phintys.random import random_generator_type
from phintys.sparse.type import SparseType
from phintys.tensor.type import TensorType


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
    return TensorType(type_.dtype, type_.shape)


@convert_type.register(SparseTensorType)
def _sparse(type_: Any) -> Type:
    format = "csr" if type_.format == "bsr" else type_.format
    return SparseType(format, type_.dtype, type_.shape)


@convert_type.register(ScalarType)
def _scalar(type_: Any) -> Type:
    return TensorType(type_.dtype, ())


@convert_type.register(RandomGeneratorType)
def _generator(type_: Any) -> Type:
    return random_generator_type


@convert_type.register(Generic)
@convert_type.register(NoneTypeT)
@convert_type.register(SliceType)
def _any(type_: Any) -> Type:
    return generic


def value_for(type_: TheirType, value: Any) -> Any:
    """Return a value of Phintys as PyTensor has it.

    Its scalars are not arrays, and its sparse values are matrices of SciPy, whose ``*`` is the
    matrix product.
    """
    if isinstance(type_, SparseTensorType):
        cls = type_.format_cls[type_.format]
        return value if isinstance(value, cls) else cls(value)
    return value[()] if isinstance(type_, ScalarType) else value


def their_type(type_: Type) -> TheirType:
    """Return the Type of PyTensor with the values of a Type of Phintys.

    Parameters
    ----------
    type_
        The Type of a tensor, a sparse matrix or a generator.

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
    if isinstance(type_, SparseType):
        return SparseTensorType(type_.format, type_.dtype, type_.shape)
    if type_ == random_generator_type:
        return their_generator_type
    msg = (
        f"PyTensor has no Type for the values of {type_!r}: only tensors, sparse matrices and "
        "generators can be inputs and outputs of the functions that to_pytensor takes."
    )
    raise TypeContractError(msg)
