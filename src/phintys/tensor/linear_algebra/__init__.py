"""Decompositions and solvers, one file a family.

Each Op is a :class:`~phintys.tensor.linear_algebra.matrix_op.MatrixOp`: it has a core signature,
such as ``(n,n),(n,k)->(n,k)``, and is applied to stacks of matrices by itself. The façade is
:mod:`phintys.tensor.linalg`.
"""

from phintys._base.names import public_dir

__all__: list[str] = []

__dir__ = public_dir(__name__)
