"""``sparse``: names of the old packages' sparse matrices, and results that are SciPy's matrices.

Classes of Ops are functions here: ``CSM("csr")``, ``SpSum(axis=0)`` and ``StructuredDot()`` return
the function that makes the expression. Block matrices (bsr) are csr ones, to which their values are
converted. Gradients with respect to sparse matrices are on their pattern, for ``true_dot`` as well.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial, update_wrapper, wraps
from typing import TYPE_CHECKING, Any

import phintys.tensor as pt
from phintys import sparse
from phintys._base.config import config
from phintys._base.late import LateModule
from phintys.compat import adapters
from phintys.compile import Out
from phintys.graph.apply import Apply
from phintys.graph.op import Op
from phintys.graph.variable import Variable
from phintys.sparse.products import ProductOfRows
from phintys.sparse.variable import SparseConstant, SparseSharedVariable

if TYPE_CHECKING:
    import scipy.sparse as sp
else:
    sp = LateModule("scipy.sparse")

__all__ = [
    "CSM",
    "AddSD",
    "AddSS",
    "AddSSData",
    "CSMProperties",
    "Cast",
    "ColScaleCSC",
    "ConstructSparseFromList",
    "DenseFromSparse",
    "Diag",
    "Dot",
    "EnsureSortedIndices",
    "EqualSD",
    "EqualSS",
    "GetItem2Lists",
    "GetItem2d",
    "GetItemList",
    "GetItemScalar",
    "GreaterEqualSD",
    "GreaterEqualSS",
    "GreaterThanSD",
    "GreaterThanSS",
    "HStack",
    "LessEqualSD",
    "LessEqualSS",
    "LessThanSD",
    "LessThanSS",
    "MulSD",
    "MulSS",
    "MulSV",
    "Neg",
    "NotEqualSD",
    "NotEqualSS",
    "Remove0",
    "RowScaleCSC",
    "SamplingDot",
    "SpSum",
    "SparseBlockDiagonal",
    "SparseConstant",
    "SparseFromDense",
    "SparseTensorSharedVariable",
    "SparseTensorType",
    "SquareDiagonal",
    "StructuredAddSV",
    "StructuredDot",
    "StructuredDotGradCSC",
    "StructuredDotGradCSR",
    "Transpose",
    "TrueDot",
    "Usmm",
    "VStack",
    "add_s_d",
    "add_s_s",
    "all_dtypes",
    "as_sparse",
    "as_sparse_or_tensor_variable",
    "as_symbolic_sparse",
    "bcast",
    "block_diag",
    "bsr_dmatrix",
    "bsr_fmatrix",
    "bsr_matrix",
    "ccast",
    "complex_dtypes",
    "conjugate",
    "constant",
    "continuous_dtypes",
    "csc_dmatrix",
    "csc_fmatrix",
    "csc_matrix",
    "csr_dmatrix",
    "csr_fmatrix",
    "csr_matrix",
    "dcast",
    "discrete_dtypes",
    "equal_s_d",
    "equal_s_s",
    "fcast",
    "float_dtypes",
    "greater_equal_s_d",
    "greater_equal_s_s",
    "greater_than_s_d",
    "greater_than_s_s",
    "hstack",
    "icast",
    "integer_dtypes",
    "lcast",
    "less_equal_s_d",
    "less_equal_s_s",
    "less_than_s_d",
    "less_than_s_s",
    "matrix",
    "mul_s_d",
    "mul_s_s",
    "mul_s_v",
    "multiply",
    "not_equal_s_d",
    "not_equal_s_s",
    "sdg_csc",
    "sdg_csr",
    "sgn",
    "sp_sum",
    "sparse_constructor",
    "sparse_formats",
    "square",
    "structured_conjugate",
    "structured_dot",
    "structured_dot_grad",
    "structured_elemwise",
    "structured_monoid",
    "subtract",
    "true_dot",
    "vstack",
    "wcast",
    "zcast",
]


class AsMatrix(Op):
    """A value of class ``csr_matrix`` or ``csc_matrix`` with the arrays of a sparse value."""

    __props__ = ()
    view_map = {0: [0]}

    def make_node(self, x: Any) -> Apply:
        """Build a node for a sparse variable."""
        return Apply(self, [x], [x.type(x.name)])

    def perform(self, node: Apply, inputs: Any, output_storage: Any) -> None:
        """Convert an array of SciPy; a matrix is itself."""
        (x,) = inputs
        if not isinstance(x, sp.spmatrix):
            made: Any = sp.csr_matrix if x.format == "csr" else sp.csc_matrix
            x = made((x.data, x.indices, x.indptr), shape=x.shape)
        output_storage[0][0] = x

    def L_op(self, inputs: Any, outputs: Any, output_grads: Any) -> list[Any]:
        """Return the gradient itself."""
        return list(output_grads)

    def R_op(self, inputs: Any, eval_points: Any) -> list[Any]:
        """Return the direction itself."""
        return list(eval_points)


def as_matrices(given: Any) -> Any:
    """Return the results of a function, or its updates, with sparse ones as matrices of SciPy."""
    if isinstance(given, Mapping):
        kind: Any = type(given)
        return kind((key, as_matrices(value)) for key, value in given.items())
    if isinstance(given, list):
        return [as_matrices(one) for one in given]
    if type(given) is tuple:
        return tuple(as_matrices(one) for one in given)
    if isinstance(given, Out):
        return Out(as_matrices(given.variable), borrow=given.borrow)
    # Leaves are returned as users have given them.
    if not hasattr(getattr(given, "type", None), "format") or given.owner is None:
        return given
    # Kept with the variable, so that eval() compiles it once.
    known = getattr(given.tag, "as_matrix", None)
    if known is None or known.owner.inputs[0] is not given:
        known = given.tag.as_matrix = AsMatrix()(given)
    return known


_eval = Variable.eval  # which is replaced while an old package is installed


@wraps(_eval)
def evaluated(self: Any, *arguments: Any, **options: Any) -> Any:
    """Return the value of a variable; that of a sparse one is a matrix of SciPy."""
    return _eval(as_matrices(self), *arguments, **options)


_CAST = {
    "bcast": "int8",
    "ccast": "complex64",
    "dcast": "float64",
    "fcast": "float32",
    "icast": "int32",
    "lcast": "int64",
    "wcast": "int16",
    "zcast": "complex128",
}
bcast, ccast, dcast, fcast, icast, lcast, wcast, zcast = (
    partial(sparse.cast, dtype=dtype) for dtype in _CAST.values()
)

all_dtypes, complex_dtypes, continuous_dtypes, discrete_dtypes, float_dtypes, integer_dtypes = (
    # SciPy has no matrices of half precision, and the older packages none of bools.
    [dtype for dtype in dtypes if dtype not in {"bool", "float16"}]
    for dtypes in (
        *(adapters.all_dtypes, adapters.complex_dtypes, adapters.continuous_dtypes),
        *(adapters.discrete_dtypes, adapters.float_dtypes, adapters.integer_dtypes),
    )
)

SparseTensorType = sparse.SparseType
SparseTensorSharedVariable = SparseSharedVariable
sparse_constructor = sparse.shared

sparse_formats = ["csc", "csr"]

add_s_d = add_s_s = sparse.add
mul_s_d = mul_s_s = multiply = sparse.mul
mul_s_v = sparse.col_scale
subtract = sparse.sub
sgn = sparse.sign
square = sparse.sqr
conjugate = structured_conjugate = sparse.conj
equal_s_s = equal_s_d = sparse.eq
not_equal_s_s = not_equal_s_d = sparse.neq
less_than_s_s = less_than_s_d = sparse.lt
greater_than_s_s = greater_than_s_d = sparse.gt
less_equal_s_s = less_equal_s_d = sparse.le
greater_equal_s_s = greater_equal_s_d = sparse.ge
as_sparse = as_symbolic_sparse = sparse.as_sparse_variable


def as_sparse_or_tensor_variable(x: Any, name: str | None = None) -> Any:
    """Return a sparse or a dense variable."""
    if sparse.is_sparse(x):
        return sparse.as_sparse_variable(x, name)
    return pt.as_tensor_variable(x, name)


def constant(x: Any, name: str | None = None) -> Any:
    """Return a sparse constant."""
    return sparse.as_sparse_variable(x, name)


def matrix(format: str, name: str | None = None, dtype: Any = None, shape: Any = None) -> Any:
    """Return a sparse variable; block matrices are csr ones."""
    format = "csr" if format == "bsr" else format
    return sparse.matrix(format, name, dtype or config.floatX, shape or (None, None))


def csr_matrix(name: str | None = None, dtype: Any = None, shape: Any = None) -> Any:
    """Return a sparse variable of the format csr."""
    return matrix("csr", name, dtype, shape)


def csc_matrix(name: str | None = None, dtype: Any = None, shape: Any = None) -> Any:
    """Return a sparse variable of the format csc."""
    return matrix("csc", name, dtype, shape)


bsr_matrix = csr_matrix
csr_dmatrix = bsr_dmatrix = partial(csr_matrix, dtype="float64")
csr_fmatrix = bsr_fmatrix = partial(csr_matrix, dtype="float32")
csc_dmatrix = partial(csc_matrix, dtype="float64")
csc_fmatrix = partial(csc_matrix, dtype="float32")


def sp_sum(x: Any, axis: int | None = None, sparse_grad: bool = False) -> Any:
    """Return a sum; its gradient is on the pattern in any case."""
    return sparse.sp_sum(x, axis)


def structured_dot(x: Any, y: Any) -> Any:
    """Return a product, whose gradient is on the pattern."""
    return sparse.dot(x, y)


def true_dot(x: Any, y: Any, grad_preserves_dense: bool = True) -> Any:
    """Return a product; the gradient with respect to a sparse operand is on its pattern."""
    return sparse.dot(x, y)


def hstack(blocks: Any, format: str | None = None, dtype: Any = None) -> Any:
    """Return matrices side by side, by default in the format csc."""
    return sparse.hstack(blocks, format or "csc", dtype)


def vstack(blocks: Any, format: str | None = None, dtype: Any = None) -> Any:
    """Return matrices on top of each other, by default in the format csc."""
    return sparse.vstack(blocks, format or "csc", dtype)


def block_diag(*matrices: Any, format: str = "csc") -> Any:
    """Return the matrix with matrices along the diagonal, which may all be dense."""
    blocks = [m if sparse.is_sparse(m) else sparse.csr_from_dense(m) for m in matrices]
    return sparse.block_diag(*blocks, format=format)


def structured_monoid(tensor_op: Any) -> Any:
    """Return a decorator: its function is that of the stored elements."""

    def decorate(function: Any) -> Any:
        def apply(x: Any, *others: Any) -> Any:
            return sparse.structured(x, lambda data: tensor_op(data, *others))

        apply.__name__, apply.__doc__ = function.__name__, function.__doc__
        return apply

    return decorate


def structured_elemwise(tensor_op: Any) -> Any:
    """Return a decorator, as :func:`structured_monoid` does."""
    return structured_monoid(tensor_op)


def sdg_csr(indices: Any, indptr: Any, y: Any, gradient: Any) -> Any:
    """Return the gradient of the elements of a csr matrix, of its product with y."""
    return ProductOfRows()(gradient, y, indices, indptr)


def sdg_csc(indices: Any, indptr: Any, y: Any, gradient: Any) -> Any:
    """Return the gradient of the elements of a csc matrix, of its product with y."""
    return ProductOfRows()(y, gradient, indices, indptr)


def structured_dot_grad(x: Any, y: Any, gradient: Any) -> Any:
    """Return the gradient of the elements of a sparse matrix, of its product with y."""
    _, indices, indptr, _ = sparse.csm_properties(x)
    by_format = sdg_csr if sparse.as_sparse_variable(x).type.format == "csr" else sdg_csc
    return by_format(indices, indptr, y, gradient)


class _OpClass:
    """Stands for the class of an Op: calls of it return the function that the Op was.

    Parameters
    ----------
    make
        The function that returns it, given the arguments of the class.
    """

    def __init__(self, make: Any) -> None:
        update_wrapper(self, make)

    # An attribute of a class is not bound to its instances, as a function would be.
    def __call__(self, *arguments: Any, **options: Any) -> Any:
        make: Any = self.__wrapped__  # pyright: ignore[reportAttributeAccessIssue]
        return make(*arguments, **options)


@_OpClass
def CSM(format: str, kmap: Any = None) -> Any:
    """Return the function that makes a matrix of a format."""
    return partial(sparse.from_parts, format=format)


@_OpClass
def CSMProperties(kmap: Any = None) -> Any:
    """Return the function that returns elements, indices, ``indptr`` and shape."""
    return sparse.csm_properties


@_OpClass
def Cast(out_type: Any) -> Any:
    """Return the function that casts elements."""
    return partial(sparse.cast, dtype=out_type)


@_OpClass
def SparseFromDense(format: str) -> Any:
    """Return the function that makes a dense matrix sparse."""
    return sparse.csr_from_dense if format == "csr" else sparse.csc_from_dense


@_OpClass
def SpSum(axis: int | None = None, sparse_grad: bool = True) -> Any:
    """Return the function that sums along an axis."""
    return partial(sparse.sp_sum, axis=axis)


@_OpClass
def HStack(format: str | None = None, dtype: Any = None) -> Any:
    """Return the function that puts matrices side by side."""
    return lambda *blocks: hstack(blocks, format, dtype)


@_OpClass
def VStack(format: str | None = None, dtype: Any = None) -> Any:
    """Return the function that puts matrices on top of each other."""
    return lambda *blocks: vstack(blocks, format, dtype)


@_OpClass
def SparseBlockDiagonal(n_inputs: int | None = None, format: str = "csc") -> Any:
    """Return the function that puts matrices along the diagonal."""
    return partial(block_diag, format=format)


def _function(function: Any) -> Any:
    """Return a stand-in for the class of an Op: calls of it return the function."""
    return _OpClass(lambda *_, **__: function)


AddSD, AddSS, AddSSData = map(_function, (add_s_d, add_s_s, sparse.add_s_s_data))
MulSD, MulSS, MulSV = map(_function, (mul_s_d, mul_s_s, mul_s_v))
StructuredAddSV = _function(sparse.structured_add_s_v)
ColScaleCSC, RowScaleCSC = map(_function, (sparse.col_scale, sparse.row_scale))
ConstructSparseFromList = _function(sparse.construct_sparse_from_list)
DenseFromSparse = _function(sparse.dense_from_sparse)
Diag, SquareDiagonal = map(_function, (sparse.diag, sparse.square_diagonal))
Dot, StructuredDot, TrueDot = map(_function, (sparse.dot, structured_dot, true_dot))
EnsureSortedIndices, Remove0 = map(_function, (sparse.ensure_sorted_indices, sparse.remove0))
GetItem2d, GetItemScalar = map(_function, (sparse.get_item_2d, sparse.get_item_scalar))
GetItemList, GetItem2Lists = map(_function, (sparse.get_item_list, sparse.get_item_2lists))
Neg, Transpose = map(_function, (sparse.neg, sparse.transpose))
SamplingDot, Usmm = map(_function, (sparse.sampling_dot, sparse.usmm))
StructuredDotGradCSC, StructuredDotGradCSR = map(_function, (sdg_csc, sdg_csr))
EqualSS = EqualSD = _function(sparse.eq)
NotEqualSS = NotEqualSD = _function(sparse.neq)
LessThanSS = LessThanSD = _function(sparse.lt)
GreaterThanSS = GreaterThanSD = _function(sparse.gt)
LessEqualSS = LessEqualSD = _function(sparse.le)
GreaterEqualSS = GreaterEqualSD = _function(sparse.ge)
