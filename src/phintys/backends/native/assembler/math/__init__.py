"""Vector math: one file a family, registered by the names of the scalar ops."""

from phintys.backends.native.assembler.math.calls import float_math as float_math
from phintys.backends.native.assembler.math.registry import COMPLEX_FUNCTIONS as COMPLEX_FUNCTIONS
from phintys.backends.native.assembler.math.registry import FLOAT_FUNCTIONS as FLOAT_FUNCTIONS
from phintys.backends.native.assembler.math.registry import INTEGER_FUNCTIONS as INTEGER_FUNCTIONS
from phintys.backends.native.assembler.math.registry import Emitter as Emitter
from phintys.backends.native.assembler.math.registry import OutlinedSymbol as OutlinedSymbol
from phintys.backends.native.assembler.math.registry import outlined_function as outlined_function
