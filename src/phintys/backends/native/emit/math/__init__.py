"""Vector math: one file a family, registered by the names of the scalar ops."""

from phintys.backends.native.emit.math import arithmetic as arithmetic
from phintys.backends.native.emit.math import complex as complex
from phintys.backends.native.emit.math import error_function as error_function
from phintys.backends.native.emit.math import exponential as exponential
from phintys.backends.native.emit.math import gamma as gamma
from phintys.backends.native.emit.math import gamma_slopes as gamma_slopes
from phintys.backends.native.emit.math import hyperbolic as hyperbolic
from phintys.backends.native.emit.math import integer as integer
from phintys.backends.native.emit.math import log_gamma as log_gamma
from phintys.backends.native.emit.math import logarithm as logarithm
from phintys.backends.native.emit.math import power as power
from phintys.backends.native.emit.math import rounding as rounding
from phintys.backends.native.emit.math import selection as selection
from phintys.backends.native.emit.math import special as special
from phintys.backends.native.emit.math import trigonometric as trigonometric
from phintys.backends.native.emit.math import zeta as zeta
from phintys.backends.native.emit.math.calls import MathSymbol as MathSymbol
from phintys.backends.native.emit.math.calls import float_math as float_math
from phintys.backends.native.emit.math.registry import COMPLEX_FUNCTIONS as COMPLEX_FUNCTIONS
from phintys.backends.native.emit.math.registry import FLOAT_FUNCTIONS as FLOAT_FUNCTIONS
from phintys.backends.native.emit.math.registry import INTEGER_FUNCTIONS as INTEGER_FUNCTIONS
from phintys.backends.native.emit.math.registry import Emitter as Emitter
