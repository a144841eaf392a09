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
- ``elementwise``, ``comparisons``, ``indexing``, ``stacking``: the same by family.
- ``jacobians``: Jacobians and Hessians as sparse matrices.
- ``variable``: variables with operators and methods.
"""

from phintys._base.names import public_dir
from phintys.sparse import linalg
from phintys.sparse.comparisons import (
    clean,
    ensure_sorted_indices,
    eq,
    ge,
    gt,
    le,
    lt,
    neq,
    remove0,
)
from phintys.sparse.elementwise import (
    abs,
    arcsin,
    arcsinh,
    arctan,
    arctanh,
    ceil,
    conj,
    deg2rad,
    expm1,
    floor,
    log1p,
    rad2deg,
    rint,
    sign,
    sin,
    sinh,
    sp_ones_like,
    sp_zeros_like,
    sqr,
    sqrt,
    structured_add,
    structured_add_s_v,
    structured_exp,
    structured_log,
    structured_maximum,
    structured_minimum,
    structured_pow,
    structured_sigmoid,
    tan,
    tanh,
    trunc,
)
from phintys.sparse.indexing import (
    get_item,
    get_item_2d,
    get_item_2lists,
    get_item_list,
    get_item_scalar,
)
from phintys.sparse.jacobians import (
    sparse_hessian,
    sparse_jacobian,
)
from phintys.sparse.operations import (
    CSC,
    CSR,
    add,
    add_s_s_data,
    as_sparse_variable,
    cast,
    col_scale,
    csc_from_dense,
    csm_data,
    csm_indices,
    csm_indptr,
    csm_properties,
    csm_shape,
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
    usmm,
)
from phintys.sparse.parts import (
    FromParts,
    Parts,
)
from phintys.sparse.stacking import (
    block_diag,
    construct_sparse_from_list,
    hstack,
    vstack,
)
from phintys.sparse.type import (
    SparseType,
)
from phintys.sparse.variable import (
    SparseVariable,
    csc_matrix,
    csr_matrix,
    matrix,
    shared,
)

__all__ = [
    "CSC",
    "CSR",
    "FromParts",
    "Parts",
    "SparseType",
    "SparseVariable",
    "abs",
    "add",
    "add_s_s_data",
    "arcsin",
    "arcsinh",
    "arctan",
    "arctanh",
    "as_sparse_variable",
    "block_diag",
    "cast",
    "ceil",
    "clean",
    "col_scale",
    "conj",
    "construct_sparse_from_list",
    "csc_from_dense",
    "csc_matrix",
    "csm_data",
    "csm_indices",
    "csm_indptr",
    "csm_properties",
    "csm_shape",
    "csr_from_dense",
    "csr_matrix",
    "deg2rad",
    "dense_from_sparse",
    "diag",
    "dot",
    "ensure_sorted_indices",
    "eq",
    "expm1",
    "floor",
    "from_parts",
    "ge",
    "get_item",
    "get_item_2d",
    "get_item_2lists",
    "get_item_list",
    "get_item_scalar",
    "gt",
    "hstack",
    "is_sparse",
    "le",
    "linalg",
    "log1p",
    "lt",
    "matrix",
    "mul",
    "neg",
    "neq",
    "rad2deg",
    "remove0",
    "rint",
    "row_scale",
    "sampling_dot",
    "shared",
    "sign",
    "sin",
    "sinh",
    "sp_ones_like",
    "sp_sum",
    "sp_zeros_like",
    "sparse_hessian",
    "sparse_jacobian",
    "sqr",
    "sqrt",
    "square_diagonal",
    "structured",
    "structured_add",
    "structured_add_s_v",
    "structured_exp",
    "structured_log",
    "structured_maximum",
    "structured_minimum",
    "structured_pow",
    "structured_sigmoid",
    "sub",
    "tan",
    "tanh",
    "to_format",
    "transpose",
    "trunc",
    "usmm",
    "vstack",
]

__dir__ = public_dir(__name__)
