"""Scalars: types, the table of scalar ops, and Composite.

Every op here applies to scalar variables, and elementwise to tensors.
"""

from phintys._base.names import public_dir
from phintys.scalar import table
from phintys.scalar.casting import (
    CASTS,
    Cast,
    cast,
)
from phintys.scalar.comparison import Comparison
from phintys.scalar.composite import (
    Composite,
)
from phintys.scalar.constants import (
    as_scalar,
    constant,
    register_as_scalar,
)
from phintys.scalar.expression_function import (
    from_expression,
)
from phintys.scalar.op import (
    BinaryScalarOp,
    ScalarOp,
    UnaryScalarOp,
    operator_printer,
    register_lift,
)
from phintys.scalar.preferences import (
    Preference,
    complex_out,
    float_out,
    int_out,
    same_out,
    specific_out,
    transfer_type,
    upcast_out,
    upcast_out_min8,
    upcast_out_nobool,
    upgrade_to_float,
    upgrade_to_float64,
)
from phintys.scalar.row import Row, zeros_like
from phintys.scalar.row_kinds import FloatRow, UfuncRow, VariadicRow
from phintys.scalar.table import *  # noqa: F403 - all rows; its __all__ lists them
from phintys.scalar.type import (
    ScalarType,
    all_types,
    bool_,
    complex64,
    complex128,
    complex_types,
    continuous_types,
    discrete_types,
    float16,
    float32,
    float64,
    float_types,
    get_scalar_type,
    int8,
    int16,
    int32,
    int64,
    int_types,
    real_dtype,
    uint8,
    uint16,
    uint32,
    uint64,
    uint_types,
    upcast,
)
from phintys.scalar.variable import (
    ScalarConstant,
    ScalarVariable,
)

__all__ = [
    "CASTS",
    "BinaryScalarOp",
    "Cast",
    "Comparison",
    "Composite",
    "FloatRow",
    "Preference",
    "Row",
    "ScalarConstant",
    "ScalarOp",
    "ScalarType",
    "ScalarVariable",
    "UfuncRow",
    "UnaryScalarOp",
    "VariadicRow",
    "all_types",
    "as_scalar",
    "bool_",
    "cast",
    "complex64",
    "complex128",
    "complex_out",
    "complex_types",
    "constant",
    "continuous_types",
    "discrete_types",
    "float16",
    "float32",
    "float64",
    "float_out",
    "float_types",
    "from_expression",
    "get_scalar_type",
    "int8",
    "int16",
    "int32",
    "int64",
    "int_out",
    "int_types",
    "operator_printer",
    "real_dtype",
    "register_as_scalar",
    "register_lift",
    "same_out",
    "specific_out",
    "transfer_type",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "uint_types",
    "upcast",
    "upcast_out",
    "upcast_out_min8",
    "upcast_out_nobool",
    "upgrade_to_float",
    "upgrade_to_float64",
    "zeros_like",
]
__all__ += table.__all__

__dir__ = public_dir(__name__)
