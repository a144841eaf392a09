"""The lowest layer: errors, configuration, and origins of nodes in user code."""

from phintys._base.interpreter import check_interpreter

check_interpreter()
