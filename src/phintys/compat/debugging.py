"""Profiles, dumps of functions, and graphs as strings, with their old signatures."""

from __future__ import annotations

import pickle
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from phintys._base.config import config
from phintys.compile import Profile
from phintys.compile.profile import keep
from phintys.graph import printing
from phintys.graph.traversal import applys_between

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable

    from phintys.graph import Apply, Variable

__all__ = ["ProfileStats", "as_string", "debugprint", "function_dump", "profile_stats"]


class ProfileStats(Profile):
    """A profile for ``function(..., profile=)``; the old options have no effect.

    Reports are printed when they are asked for, not at exit: ``f.profile.summary()``.
    """

    def __init__(
        self,
        atexit_print: bool = True,
        flag_time_thunks: bool | None = None,
        gpu_checks: bool = True,
        **options: Any,
    ) -> None:
        super().__init__(options.get("name"))

    def summary(
        self,
        file: Any = None,
        n_ops_to_print: int = 20,
        n_apply_to_print: int = 20,
    ) -> str:
        """Print the report, to ``sys.stderr`` by default, and return it."""
        text = super().summary(max(n_ops_to_print, n_apply_to_print))
        print(text, file=sys.stderr if file is None else file)
        return text


def profile_stats(profile: Any, name: str | None) -> Any:
    """Convert the ``profile`` argument of ``function``, so that its summaries are printed.

    Parameters
    ----------
    profile
        ``True``, a name, a profile, or ``None`` for what ``config.profile`` says.
    name
        The name of the function.
    """
    if profile is None and config.profile:
        return keep(ProfileStats(name=name))
    if profile is True or isinstance(profile, str):
        return ProfileStats(name=name if profile is True else profile)
    return profile


def function_dump(
    filename: str | os.PathLike[str],
    inputs: Any,
    outputs: Any = None,
    mode: Any = None,
    updates: Any = None,
    givens: Any = None,
    no_default_updates: bool = False,
    accept_inplace: bool = False,
    name: str | None = None,
    rebuild_strict: bool = True,
    allow_input_downcast: bool | None = None,
    profile: Any = None,
    on_unused_input: Any = None,
    extra_tag_to_remove: Any = None,
) -> None:
    """Write the arguments of :func:`function` to a file: ``function(**pickle.load(file))``.

    ``extra_tag_to_remove`` has no effect: no tag of a variable is written.
    """
    arguments = {
        "inputs": inputs,
        "outputs": outputs,
        "mode": mode,
        "updates": updates,
        "givens": givens,
        "no_default_updates": no_default_updates,
        "accept_inplace": accept_inplace,
        "name": name,
        "rebuild_strict": rebuild_strict,
        "allow_input_downcast": allow_input_downcast,
        "profile": profile,
        "on_unused_input": on_unused_input,
    }
    with Path(filename).open("wb") as file:
        pickle.dump(arguments, file, protocol=-1)


def debugprint(
    obj: Any, depth: int = -1, print_type: bool = False, *arguments: Any, **options: Any
) -> Any:
    """Print graphs as trees; see :func:`phintys.debugprint`.

    The argument after ``print_type`` is a file, or, as in newer packages, ``print_shape``, which
    the file follows. ``ids`` is an older name of ``id_type``.
    """
    if arguments and not isinstance(arguments[0], bool):
        arguments = (False, *arguments)
    if options.get("ids") is not None:
        options["id_type"] = options["ids"]
    options.pop("ids", None)
    return printing.debugprint(obj, depth, print_type, *arguments, **options)


def _call(node: Apply, arguments: list[str]) -> str:
    return f"{node.op}({', '.join(arguments)})"


def as_string(
    inputs: Iterable[Variable],
    outputs: Iterable[Variable],
    leaf_formatter: Callable[[Any], str] = str,
    node_formatter: Callable[[Any, list[str]], str] = _call,
) -> list[str]:
    """Return each output as a string, down to the inputs.

    A result that is used more than once is written in full the first time, as ``*1 -> ...``, and
    as ``*1`` from then on.

    Parameters
    ----------
    inputs, outputs
        Where the strings end, and the variables that are written.
    leaf_formatter
        Returns the text of an input or of another variable without an Op.
    node_formatter
        Returns the text of a node from those of its inputs.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> from phintys.compat.debugging import as_string
    >>> x = pt.dvector("x")
    >>> y = pt.exp(x)
    >>> as_string([x], [y * y])
    ['Mul(*1 -> Exp(x), *1)']
    """
    inputs, outputs = list(inputs), list(outputs)
    nodes = list(applys_between(inputs, outputs))
    uses = Counter(one for node in nodes for one in node.inputs)
    uses.update(outputs)
    made = {output for node in nodes for output in node.outputs} - set(inputs)
    texts: dict[Variable, str] = {}
    numbers: dict[Variable, int] = {}

    def written(variable: Variable) -> str:
        if variable in numbers:
            return f"*{numbers[variable]}"
        text = texts.get(variable)
        if text is None or uses[variable] < 2:
            return leaf_formatter(variable) if text is None else text
        numbers[variable] = len(numbers) + 1
        return f"*{numbers[variable]} -> {text}"

    for node in nodes:
        arguments = [written(one) for one in node.inputs]
        for output in node.outputs:
            if output in made:
                suffix = f"::{output.index}" if len(node.outputs) > 1 else ""
                texts[output] = node_formatter(node, arguments) + suffix
    return [written(output) for output in outputs]
