"""From a FunctionGraph to the steps of a Program: one file for each family of Ops."""

from phintys.backends.native.lower import counting as counting
from phintys.backends.native.lower import creation as creation
from phintys.backends.native.lower import dot as dot
from phintys.backends.native.lower import elemwise as elemwise
from phintys.backends.native.lower import indexing as indexing
from phintys.backends.native.lower import join as join
from phintys.backends.native.lower import observing as observing
from phintys.backends.native.lower import ranges as ranges
from phintys.backends.native.lower import reduce as reduce
from phintys.backends.native.lower import row_loop as row_loop
from phintys.backends.native.lower import running as running
from phintys.backends.native.lower import shape as shape
from phintys.backends.native.lower.whole import lower_program as lower_program
