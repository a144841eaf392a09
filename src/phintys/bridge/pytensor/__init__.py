"""PyTensor's graphs as graphs of Phintys; needs PyTensor, which ``phintys[pytensor]`` installs.

Examples
--------
>>> import pytensor.tensor as pt
>>> import phintys
>>> from phintys.bridge.pytensor import from_pytensor
>>> x = pt.dvector("x")
>>> ours = from_pytensor([x, pt.exp(x).sum()])
>>> f = phintys.function(ours[:1], phintys.grad(ours[1], ours[0]))
>>> f([0.0, 1.0])
array([1.        , 2.71828183])
"""

from phintys._base.names import public_dir
from phintys.bridge import requirement

requirement.check("pytensor")

# What follows imports PyTensor.
from phintys.bridge.pytensor import families  # noqa: E402, F401 - registers functions
from phintys.bridge.pytensor.callback import PyTensorOp, callbacks  # noqa: E402 - as above
from phintys.bridge.pytensor.conversion import convert_op, from_pytensor  # noqa: E402 - as above
from phintys.bridge.pytensor.linker import PHINTYS, PhintysLinker  # noqa: E402 - as above
from phintys.bridge.pytensor.phintys_op import PhintysOp, to_pytensor  # noqa: E402 - as above
from phintys.bridge.pytensor.types import convert_type  # noqa: E402 - as above

__all__ = [
    "PHINTYS",
    "PhintysLinker",
    "PhintysOp",
    "PyTensorOp",
    "callbacks",
    "convert_op",
    "convert_type",
    "from_pytensor",
    "to_pytensor",
]

__dir__ = public_dir(__name__)
