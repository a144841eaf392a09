"""The array API's other names, and questions about the kind of elements."""

import numpy as np

import phintys.tensor as pt
from phintys.testing import Argument, OpRecord
from phintys.testing.strategies import same

NUMBERS = (Argument(dtypes=("int64", "float64", "complex128"), interval=(-3.0, 3.0)),)
MATRIX = same(min_dims=2, max_dims=2)


def _record(name, build, reference, **facts):
    return OpRecord(name=name, build=build, reference=reference, **{"arguments": NUMBERS} | facts)


RECORDS = [
    _record("asarray", lambda x: pt.asarray(x, "complex128"), lambda x: x.astype("complex128")),
    _record("ascontiguousarray", pt.ascontiguousarray, np.ascontiguousarray),
    _record("astype", lambda x: pt.astype(x, "complex64"), lambda x: x.astype("complex64")),
    _record(
        "concat",
        lambda x: pt.concat([x, x], axis=1),
        lambda x: np.concatenate([x, x], 1),
        shapes=MATRIX,
    ),
    _record("copy", lambda x: pt.copy(pt.array(x)), np.copy),
    _record("permute_dims", lambda x: pt.permute_dims(x, (1, 0)), np.transpose, shapes=MATRIX),
    _record("iscomplex", pt.iscomplex, lambda x: np.asarray(np.iscomplex(x))),
    _record("isreal", pt.isreal, lambda x: np.asarray(np.isreal(x))),
]
