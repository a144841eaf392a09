"""Rules by Op: how a backend lowers the nodes of an Op, or how they are batched.

A rule belongs to a class of Ops and applies to its subclasses. It is found by the class itself,
wherever that is defined, so that an Op keeps its rules when it moves to another module.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, TypeVar

from phintys._base.errors import IntegrityError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from phintys._base.late import LateModule
    from phintys.graph.op import Op

__all__ = ["OpRules"]

Rule = TypeVar("Rule")


class OpRules(Generic[Rule]):
    """The rules for one purpose, such as those of a backend.

    Parameters
    ----------
    purpose
        What the rules are for, for errors.
    late
        Modules that define rules, each with the names of the classes that its rules are for. A
        module is imported when a class of such a name is first looked up. Other modules, such as
        those of users, register their rules when they are imported.

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

    def __init__(self, purpose: str, late: Mapping[LateModule, str] | None = None) -> None:
        self.purpose = purpose
        self.late: dict[str, LateModule] = {}
        self._rules: dict[type[Op], Rule] = {}
        self.add_late(late or {})

    def add_late(self, late: Mapping[LateModule, str]) -> None:
        """Add modules that define rules, for rooms above the one that keeps the rules."""
        for module, names in late.items():
            self.late.update(dict.fromkeys(names.split(), module))

    def register(self, *op_classes: type[Op]) -> Callable[[Rule], Rule]:
        """Return a decorator that makes a function the rule of classes of Ops."""

        def decorate(rule: Rule) -> Rule:
            self._rules.update(dict.fromkeys(op_classes, rule))
            return rule

        return decorate

    def find(self, op_class: type[Op]) -> Rule | None:
        """Return the rule of a class, or of its nearest base class that has one."""
        rules = (self._own(base) for base in op_class.__mro__)
        return next((rule for rule in rules if rule is not None), None)

    def _own(self, op_class: type[Any]) -> Rule | None:
        module = self.late.get(op_class.__name__)
        if op_class not in self._rules and module is not None:
            _ = module.__all__  # imports it
        return self._rules.get(op_class)

    def load(self) -> Mapping[type[Op], Rule]:
        """Import all modules that define rules, and return the rules by class.

        Raises
        ------
        IntegrityError
            If a module does not define a rule that it should.
        """
        for name, module in self.late.items():
            _ = module.__all__
            if all(op_class.__name__ != name for op_class in self._rules):
                msg = (
                    f"{module.__name__} registers no rule for the {self.purpose} of a class "
                    f"{name!r}: name the class there, or correct the table of OpRules."
                )
                raise IntegrityError(msg)
        return dict(self._rules)
