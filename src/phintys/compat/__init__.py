"""Run programs written for Theano, Aesara or PyTensor.

Examples
--------
>>> import phintys.compat
>>> phintys.compat.install("theano")
>>> import theano
>>> import theano.tensor as T
>>> x = T.dscalar("x")
>>> float(theano.function([x], T.sqr(x))(3))
9.0
>>> phintys.compat.uninstall("theano")

From the command line: ``python -m phintys.compat SCRIPT [ARGUMENTS]``.
"""

from phintys._base.names import public_dir
from phintys.compat.finder import install, uninstall
from phintys.compat.names import PACKAGES

__all__ = ["PACKAGES", "install", "uninstall"]

__dir__ = public_dir(__name__)
