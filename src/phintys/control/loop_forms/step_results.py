"""What the function of a ``scan`` returns: outputs, updates and a condition, in all their forms."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from phintys._base.errors import ArgumentError, ShapeError, add_note
from phintys._base.origin import current_origin
from phintys._base.records import record
from phintys.control.loop_forms.scan_inputs import described
from phintys.graph.shared_variable import SharedVariable
from phintys.graph.variable import Variable
from phintys.tensor.convert import as_tensor_variable


class until:
    """The condition that ends a :func:`~phintys.scan` after the step that computes it.

    Parameters
    ----------
    condition
        A tensor of rank 0; all numbers but 0 are true.

    Examples
    --------
    >>> import phintys
    >>> powers, _ = phintys.scan(
    ...     lambda x: (x * 2, phintys.until(x * 2 > 50)), outputs_info=1, n_steps=100
    ... )
    >>> powers.eval()
    array([ 2,  4,  8, 16, 32, 64])
    """

    def __init__(self, condition: Any) -> None:
        try:
            self.condition: Any = as_tensor_variable(condition)
        except TypeError as error:
            add_note(error, "It is the condition of until, a single truth value.")
            raise
        if self.condition.type.ndim:
            msg = (
                "The condition of until must be a single truth value, a tensor of rank 0; got "
                f"{described(self.condition)}\nReduce it with .any() or .all()."
            )
            raise ShapeError(msg)
        self.origin = current_origin()


@record()
class Returned:
    """What a step returned.

    Attributes
    ----------
    outputs
        The outputs.
    updates
        Shared variable -> its new value.
    condition
        The condition of ``until``, if there is one.
    """

    outputs: list[Any]
    updates: dict[Any, Any]
    condition: Any = None


def returned(given: Any) -> Returned:
    """Sort the results of the function of a scan.

    Outputs are a variable, several, or a list of them; updates are a dict or a list of pairs whose
    first is a shared variable; the condition is an :class:`until`. They can be in any order.
    """
    found = Returned([], {})
    if given is None:
        msg = (
            "The function of a scan returned None. It must return outputs, updates, or both: is a "
            "return statement missing?"
        )
        raise ArgumentError(msg)
    if not isinstance(given, list | tuple) or _is_group(given):
        _add(found, given)
        return found
    entries = list(cast("list[Any]", given))
    groups = [entry for entry in entries if isinstance(entry, list | tuple) and _is_outputs(entry)]
    if groups and (len(groups) > 1 or any(isinstance(entry, Variable) for entry in entries)):
        msg = (
            f"The function of a scan returned {given!r}, in which outputs are both in lists and on "
            "their own. Return one list of outputs, as in [a, b], updates; updates as pairs are a "
            "list of them, as in [a], [(shared, new)]."
        )
        raise ArgumentError(msg)
    for entry in entries:
        _add(found, entry)
    return found


def _is_outputs(given: Any) -> bool:
    return all(isinstance(entry, Variable) for entry in given)


def _is_pairs(given: Any) -> bool:
    entries = list(given)
    return bool(entries) and all(
        isinstance(entry, list | tuple)
        and len(cast("list[Any]", entry)) == 2
        and isinstance(entry[0], Variable)
        for entry in entries
    )


def _is_group(given: Any) -> bool:
    if _is_outputs(given):
        return True
    # Two lists of two variables can be outputs and updates only if the first is not a pair.
    return _is_pairs(given) and all(isinstance(pair[0], SharedVariable) for pair in given)


def _add(found: Returned, entry: Any) -> None:
    """Add a part of what was returned."""
    if isinstance(entry, until):
        if found.condition is not None:
            msg = (
                "The function of a scan returned two conditions. Combine them: until(a | b).\n"
                f"The second was made at\n  {entry.origin}"
            )
            raise ArgumentError(msg)
        found.condition = entry.condition
    elif isinstance(entry, Mapping):
        _add_updates(found, list(cast("Mapping[Any, Any]", entry).items()))
    elif isinstance(entry, list | tuple) and not _is_outputs(entry) and _is_pairs(entry):
        _add_updates(found, list(cast("list[Any]", entry)))
    elif isinstance(entry, Variable):
        found.outputs.append(entry)
    elif isinstance(entry, list | tuple):
        for each in cast("list[Any]", entry):
            if not isinstance(each, Variable):
                raise _not_symbolic(each)
            found.outputs.append(each)
    else:
        raise _not_symbolic(entry)


def _not_symbolic(entry: Any) -> ArgumentError:
    advice = ""
    if isinstance(entry, bool | int | float | complex) or hasattr(entry, "__array__"):
        advice = f" For a constant, write phintys.tensor.constant({entry!r})."
    return ArgumentError(
        "The function of a scan must return variables, updates (a dict or pairs) and until("
        f"condition); got {entry!r} of type {type(entry).__name__}.{advice}"
    )


def _add_updates(found: Returned, pairs: list[tuple[Any, Any]]) -> None:
    for shared, new in pairs:
        if not isinstance(shared, SharedVariable):
            what = described(shared) if isinstance(shared, Variable) else repr(shared)
            msg = (
                f"The updates of a step are for shared variables, got one for {what}\nA state "
                "that is not shared is an output with an initial value in outputs_info."
            )
            raise ArgumentError(msg)
        if shared in found.updates:
            both = "".join(
                f"\n{described(one) if isinstance(one, Variable) else one!r}"
                for one in (found.updates[shared], new)
            )
            msg = f"A step updates {shared} twice, with these values:{both}\nGive one of them."
            raise ArgumentError(msg)
        try:
            value = shared.type.filter_variable(new)
        except TypeError as error:
            where = f"\nThe new value is {described(new)}" if isinstance(new, Variable) else ""
            add_note(
                error,
                f"It is the update of {shared} in a step: the new value must have the dtype, rank "
                f"and shape of {shared.type}, as new.astype(dtype) has.{where}",
            )
            raise
        found.updates[shared] = value
