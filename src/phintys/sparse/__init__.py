"""Sparse matrices, with derivatives.

Values are SciPy's sparse arrays and matrices, in the formats csr and csc. Inside of a graph a
sparse matrix is three dense arrays and its sizes: all that is done with it are operations on dense
tensors, so that derivatives, rewrites and native code are theirs.

The gradient with respect to a sparse matrix is that with respect to its stored elements, on the
same pattern. The gradient with respect to a dense operand is full.

From the ground up:

- ``type``: the Type of sparse matrices.
- ``parts``: between sparse matrices and their arrays.
- ``patterns``: the entries of sums and products.
- ``products``: products with dense vectors and matrices, along a pattern.
- ``operations``: what is computed with sparse matrices.
- ``factors``, ``solving``, ``determinants``: linear algebra, which ``linalg`` offers.
- ``variable``: variables with operators and methods.
"""

from phintys._base.public import public_dir
from phintys.sparse import linalg
from phintys.sparse.operations import (
    add,
    as_sparse_variable,
    cast,
    col_scale,
    csc_from_dense,
    csm_properties,
    csr_from_dense,
    dense_from_sparse,
    diag,
    dot,
    from_parts,
    is_sparse,
    mul,
    neg,
    row_scale,
    sampling_dot,
    sp_sum,
    square_diagonal,
    structured,
    sub,
    to_format,
    transpose,
)
from phintys.sparse.parts import FromParts, Parts
from phintys.sparse.type import SparseType
from phintys.sparse.variable import SparseVariable, csc_matrix, csr_matrix, matrix, shared

__all__ = [
    "FromParts",
    "Parts",
    "SparseType",
    "SparseVariable",
    "add",
    "as_sparse_variable",
    "cast",
    "col_scale",
    "csc_from_dense",
    "csc_matrix",
    "csm_properties",
    "csr_from_dense",
    "csr_matrix",
    "dense_from_sparse",
    "diag",
    "dot",
    "from_parts",
    "is_sparse",
    "linalg",
    "matrix",
    "mul",
    "neg",
    "row_scale",
    "sampling_dot",
    "shared",
    "sp_sum",
    "square_diagonal",
    "structured",
    "sub",
    "to_format",
    "transpose",
]

__dir__ = public_dir(__name__)
