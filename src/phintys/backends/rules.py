"""Rules by Op and backend: how a backend lowers, or otherwise translates, the nodes of an Op.

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
    """The rules of one backend.

    Parameters
    ----------
    backend
        The name of the backend.
    late
        Modules that define rules, each with the names of the classes that its rules are for. A
        module is imported when a class of such a name is first looked up. Other modules, such as
        those of users, register their rules when they are imported.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> from phintys.backends.rules import OpRules
    >>> names = OpRules("an example")
    >>> @names.register(pt.Elemwise)
    ... def name_elemwise(op):
    ...     return f"each {op.scalar_op}"
    >>> names.find(pt.Elemwise) is name_elemwise, names.find(pt.Join)
    (True, None)
    """

    def __init__(self, backend: str, late: Mapping[LateModule, str] | None = None) -> None:
        self.backend = backend
        late = late or {}
        self.late = {name: module for module, names in late.items() for name in names.split()}
        self._rules: dict[type[Op], Rule] = {}

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
                    f"{module.__name__} registers no rule of the backend {self.backend!r} for a "
                    f"class {name!r}: name the class there, or correct the table of OpRules."
                )
                raise IntegrityError(msg)
        return dict(self._rules)
