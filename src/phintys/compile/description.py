"""What ``help``, ``inspect.signature`` and notebooks say of a compiled function."""

from __future__ import annotations

from inspect import Parameter, Signature
from keyword import iskeyword
from typing import TYPE_CHECKING, Any

from phintys._base.nested_containers import Unquoted, form_of, is_nest, walk

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from phintys.compile.maker import FunctionMaker
    from phintys.compile.signature import CallSignature


def signature_of(maker: FunctionMaker, inputs: CallSignature) -> Signature:
    """Return the signature of a function: its explicit inputs, annotated by their Types.

    Parameters
    ----------
    maker
        The maker of the function.
    inputs
        Its explicit inputs. Those up to the last one that has no name of its own are
        positional-only; one without a default after one with a default is keyword-only.

    Examples
    --------
    >>> import inspect, phintys, phintys.tensor as pt
    >>> x, n = pt.dscalar("x"), pt.lscalar("n")
    >>> f = phintys.function([x, phintys.In(n, value=2)], x**n)
    >>> print(inspect.signature(f))
    (x: Scalar(float64), n: Scalar(int64) = array(2)) -> Scalar(float64)
    """
    arguments = [*_arguments(inputs)]
    names = [name for name, _, _ in arguments]
    is_keyword = [_is_usable(name) and names.count(name) == 1 for name in names]
    positional_only = len(names) - [*reversed(is_keyword), False].index(False)
    found: list[Parameter] = []
    has_default = False
    for number, (name, annotation, default) in enumerate(arguments):
        kind: Any = Parameter.POSITIONAL_OR_KEYWORD
        if default is not Parameter.empty:
            has_default = True
        elif has_default and is_keyword[number]:
            kind = Parameter.KEYWORD_ONLY
        if number < positional_only:
            kind = Parameter.POSITIONAL_ONLY
            name = name if is_keyword[number] else f"input_{number}"
        elif found and found[-1].kind == Parameter.KEYWORD_ONLY:
            kind = Parameter.KEYWORD_ONLY
        found.append(Parameter(name, kind, default=default, annotation=annotation))
    return Signature(found, return_annotation=Unquoted(returned_by(maker)))


def _arguments(inputs: CallSignature) -> Iterator[tuple[str, Any, Any]]:
    """Yield the name of each argument, or nothing, its Type or form, and its default."""
    nests, parameters = inputs.nests, inputs.parameters
    for form in range(len(parameters)) if nests is None else nests.inputs:
        if is_nest(form):
            types = (str(parameters[number].spec.variable.type) for _, number in walk(form))
            yield "", Unquoted(form_of(form, types)), Parameter.empty
            continue
        parameter = parameters[form]
        default = Parameter.empty if parameter.default is None else parameter.default.value
        yield parameter.name or "", parameter.spec.variable.type, default


def _is_usable(name: str) -> bool:
    return name.isidentifier() and not iskeyword(name)


def returned_by(maker: FunctionMaker) -> str:
    """Return the Types of the outputs of a function, in the form in which it returns them."""
    types = [str(out.variable.type) for out in maker.outputs]
    if maker.unpack == "none":
        return "None"
    if maker.nests is not None:
        return form_of(maker.nests.outputs, types)
    if maker.keys is not None:
        pairs = zip(maker.keys, types, strict=True)
        return f"{{{', '.join(f'{key!r}: {type_}' for key, type_ in pairs)}}}"
    return types[0] if maker.unpack == "one" else f"[{', '.join(types)}]"


def documentation_of(maker: FunctionMaker, inputs: CallSignature) -> str:
    """Return the documentation of a function: inputs, results, updates, and where it was compiled.

    Examples
    --------
    >>> import phintys, phintys.tensor as pt
    >>> x = pt.dvector("x")
    >>> text = phintys.function([x], x.sum(), name="total").__doc__
    >>> text.splitlines()[0]
    'total(x: Vector(float64, shape=(?,))) -> Scalar(float64)'
    >>> text.splitlines()[4:7]
    ['Parameters', '----------', 'x : Vector(float64, shape=(?,))']
    """
    parameters = [
        f"{parameter.name or '(unnamed)'} : {parameter.spec.variable.type}"
        + ("" if parameter.default is None else ", optional")
        for parameter in inputs.parameters
    ]
    outputs = [
        line
        for number, out in enumerate(maker.outputs)
        for line in (_output(maker.keys, number, out.variable.type), f"    {out.variable}")
    ]
    reads = [spec for spec in maker.inputs if spec.implicit]
    updated = {maker.inputs[position].variable for position in maker.updated}
    shared = [
        f"{spec.name or spec.variable} : {spec.variable.type}"
        + (", updated" if spec.variable in updated else "")
        for spec in reads
    ]
    made = [f"Compiled at {maker.origin}"] if maker.origin.lineno else []
    return "\n\n".join(
        [
            f"{inputs} -> {returned_by(maker)}",
            "A compiled function. f.explain() describes its program, f.dprint() prints its graph.",
            *_section("Parameters", parameters),
            *_section("Returns", outputs),
            *_section("Shared variables", shared),
            *made,
        ]
    )


def _output(keys: Sequence[str] | None, number: int, type_: object) -> str:
    return f"{type_}" if keys is None else f"{keys[number]} : {type_}"


def _section(title: str, lines: Sequence[str]) -> list[str]:
    """Return a section of a docstring, or nothing if it has no lines."""
    return ["\n".join([title, "-" * len(title), *lines])] if lines else []
