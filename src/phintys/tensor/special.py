"""``phintys.tensor.special``: special functions, with SciPy's names and defaults.

Most are elementwise: those whose rows say ``special``. ``softmax``, ``log_softmax`` and
``logsumexp`` work along axes. For type checkers, ``make stubs`` writes the names into
``special.pyi``.
"""

from phintys._base.names import public_dir
from phintys.scalar.row import Row
from phintys.tensor.functions import ELEMENTWISE
from phintys.tensor.math import logaddexp
from phintys.tensor.softmaxes import (
    LogSoftmax,
    LogSumExp,
    Softmax,
    log_softmax,
    logsumexp,
    softmax,
)

_NAMED = {
    name: op
    for name, op in ELEMENTWISE.items()
    if isinstance(op.scalar_op, Row) and op.scalar_op.special
} | {
    "expit": ELEMENTWISE["sigmoid"],
    "log_expit": ELEMENTWISE["log_sigmoid"],
    "logaddexp": logaddexp,
    "psi": ELEMENTWISE["digamma"],
}
globals().update(_NAMED)

__all__ = ["LogSoftmax", "LogSumExp", "Softmax", "log_softmax", "logsumexp", "softmax"]
__all__ += list(_NAMED)  # pyright: ignore[reportUnsupportedDunderAll] - see special.pyi

__dir__ = public_dir(__name__)
