"""Vector math: one file a family, all of it registered by the names of the scalar ops."""

from phintys.backends.native.emit.math import error_function as error_function
from phintys.backends.native.emit.math import exponential as exponential
from phintys.backends.native.emit.math import hyperbolic as hyperbolic
from phintys.backends.native.emit.math import logarithm as logarithm
from phintys.backends.native.emit.math import power as power
from phintys.backends.native.emit.math import trigonometric as trigonometric
from phintys.backends.native.emit.math.registry import FLOAT_FUNCTIONS as FLOAT_FUNCTIONS
