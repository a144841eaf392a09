"""What every room stands on: errors, configuration, and where in user code a node was made."""

from phintys._base.interpreter import check_interpreter

check_interpreter()
