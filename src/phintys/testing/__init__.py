"""Tools for testing user-defined Types and Ops.

``check_op`` checks the contract of an Op on given examples; :mod:`phintys.testing.strategies`
generates examples, and whole graphs, with Hypothesis.
"""

from phintys._base.names import public_dir
from phintys.gradient.verify import verify_grad, verify_rop
from phintys.testing.checks import CHECKS, check_op
from phintys.testing.records import (
    EXACT,
    ROUNDED,
    SUMMED,
    Argument,
    Example,
    OpRecord,
    Tolerance,
)

__all__ = [
    "CHECKS",
    "EXACT",
    "ROUNDED",
    "SUMMED",
    "Argument",
    "Example",
    "OpRecord",
    "Tolerance",
    "check_op",
    "verify_grad",
    "verify_rop",
]

__dir__ = public_dir(__name__)
