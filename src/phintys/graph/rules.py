"""Rules by Op: how a backend lowers the nodes of an Op, or how they are batched.

A rule belongs to a class of Ops and applies to its subclasses. It is found by the class itself,
wherever that is defined, so that an Op keeps its rules when it moves to another module.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, TypeVar

from phintys._base.errors import IntegrityError
from phintys._base.late import Homes

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from phintys.graph.op import Op

__all__ = ["OpRules"]

Rule = TypeVar("Rule")


class OpRules(Generic[Rule]):
    """The rules for one purpose, such as those of a backend.

    Parameters
    ----------
    purpose
        What the rules are for, for errors.
    homes
        The table of the index that names the classes for which our modules have rules, which are
        imported when a class of such a name is first looked up. Other modules, such as those of
        users, register their rules when they are imported.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> from phintys.graph.rules import OpRules
    >>> names = OpRules("an example")
    >>> @names.register(pt.Elemwise)
    ... def name_elemwise(op):
    ...     return f"each {op.scalar_op}"
    >>> names.find(pt.Elemwise) is name_elemwise, names.find(pt.Join)
    (True, None)
    """

    def __init__(self, purpose: str, homes: Mapping[str, str] | None = None) -> None:
        self.purpose = purpose
        self.homes = Homes(homes or {})
        self._rules: dict[type[Op], Rule] = {}

    def register(self, *op_classes: type[Op]) -> Callable[[Rule], Rule]:
        """Return a decorator that makes a function the rule of classes of Ops."""
        for op_class in op_classes:
            self.homes.load_before(op_class.__name__)

        def decorate(rule: Rule) -> Rule:
            self._rules.update(dict.fromkeys(op_classes, rule))
            return rule

        return decorate

    def find(self, op_class: type[Op]) -> Rule | None:
        """Return the rule of a class, or of its nearest base class that has one."""
        rules = (self._own(base) for base in op_class.__mro__)
        return next((rule for rule in rules if rule is not None), None)

    def _own(self, op_class: type[Any]) -> Rule | None:
        if op_class not in self._rules:
            self.homes.load(op_class.__name__)
        return self._rules.get(op_class)

    def load(self) -> Mapping[type[Op], Rule]:
        """Import all modules that define rules, and return the rules by class.

        Raises
        ------
        IntegrityError
            If a module does not define a rule that it should.
        """
        for name, home in self.homes.items():
            self.homes.load(name)
            if all(op_class.__name__ != name for op_class in self._rules):
                msg = (
                    f"{home} registers no rule for the {self.purpose} of a class {name!r}: name "
                    "the class there, or run `make index`."
                )
                raise IntegrityError(msg)
        return dict(self._rules)
