"""Ops that the compiler inserts into graphs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from phintys.backends.base import copy_value
from phintys.graph.apply import Apply
from phintys.tensor.shape_rules import KeepsShape

if TYPE_CHECKING:
    from phintys.graph.variable import Variable


class DeepCopy(KeepsShape):
    """y = x, as a copy in new memory.

    The compiler inserts it where an output would share memory with an input, a shared value, a
    constant or another output, and for inputs that would be overwritten.
    """

    __props__ = ()
    is_copy = True

    def make_node(self, x: Variable) -> Apply:
        return Apply(self, [x], [x.type()])

    def perform(
        self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]
    ) -> None:
        output_storage[0][0] = copy_value(inputs[0])


deep_copy = DeepCopy()
