"""First lines of errors as the old packages write them, before the message of Phintys.

Programs of the old packages, and their tests, look for these lines. What Phintys says of an error
follows, since it says more.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from phintys._base.records import record

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["with_old_head"]


@record(frozen=True)
class _Head:
    """What a message of Phintys begins with, and the line of the packages or of each of them."""

    pattern: str
    line: str | dict[str, str]


_SCAN = (
    "When compiling the inner function of scan the following error has been encountered: "
    "The initial state (`outputs_info` in scan nomenclature) of variable {name} (argument number "
    "{index}) has dtype {dtype}, while the result of the inner function (`fn`) has dtype {other}. "
    "This can happen if the inner function of scan results in an upcast or downcast."
)

_CALLED = " (the function called by scan in each of its iterations)"


def _older(head: str, newest: str | None = None) -> dict[str, str]:
    """Return the line of Theano and Aesara, and that of PyTensor if it has one."""
    heads = {"theano": head, "aesara": head}
    return heads if newest is None else heads | {"pytensor": newest}


def _newer(head: str) -> dict[str, str]:
    """Return the line of Aesara and PyTensor, which Theano lacks or writes in another way."""
    return {"aesara": head, "pytensor": head}


_HEADS = (
    _Head(
        r"The input (?P<name>.+) at index (?P<index>\d+) has no influence",
        "{package}.function was asked to create a function computing outputs given certain inputs, "
        "but the provided input variable at index {index} is not part of the computational graph "
        "needed to compute the outputs: {name}.\n"
        "To make this error into a warning, you can pass the parameter on_unused_input='warn' to "
        "{package}.function. To disable it completely, use on_unused_input='ignore'.",
    ),
    _Head(
        r".*\(\) lacks a value for (?P<name>.+?) at index",
        _older("Missing required input: {name}", "Missing input: {name}"),
    ),
    _Head(r".*\(\) takes at most \d+ arg", "Too many parameter passed to {package} function"),
    _Head(
        r".*\(\) has no input named '(?P<name>.*?)'",
        _older("Unknown input or state: {name}", "Unknown input: {name}."),
    ),
    _Head(
        r".*\(\) got two values for the input '(?P<name>.*?)'", "Multiple values for input: {name}"
    ),
    _Head(
        r"(?P<head>Wrong number of dimensions: expected \d+) for .*, (?P<got>got \d+) "
        r"\(shape (?P<shape>.*)\)",
        "{head}, {got} with shape {shape}.",
    ),
    _Head(
        r"Cannot convert an array of dtype (?P<dtype>\w+) .* to (?P<type>\w+\((?P<own>\w+).*?\)) "
        "without loss",
        "{type} cannot store a value of dtype {dtype} without risking loss of precision. If you do "
        "not mind this loss, you can: 1) explicitly cast your data to {own}, or 2) set "
        '"allow_input_downcast=True" when calling "function".',
    ),
    _Head(
        r"The cost must be a scalar",
        {"theano": "cost must be a scalar."} | _newer("Cost must be a scalar."),
    ),
    _Head(
        r".* does not depend on (?P<name>.+?) \(type .*differentiable way",
        _older(
            "grad method was asked to compute the gradient with respect to a variable that is not "
            "part of the computational graph of the cost, or is used only by a non-differentiable "
            "operator: {name}"
        ),
    ),
    _Head(
        r"Join takes arrays of equal rank",
        {"theano": "Join() can only join tensors with the same number of dimensions."}
        | _newer("Only tensors with the same number of dimensions can be joined."),
    ),
    _Head(
        r"Too many indices for .* it has (?P<ndim>\d+) dimensions, and (?P<given>\d+) are indexed",
        _older(
            "too many indices for array",
            "too many indices for tensor: tensor is {ndim}-dimensional, but {given} were indexed",
        ),
    ),
    _Head(
        r".*: index (?P<index>-?\d+) is out of range for (?P<axis>axis \d+) of .*, which has "
        r"(?P<size>size \d+)",
        "index {index} is out of bounds for {axis} with {size}",
    ),
    _Head(
        r"Expected a variable, a number or an array of numbers, got (?P<x>.+) of type ",
        {"theano": "Cannot convert {x} to TensorType"}
        | _newer("Cannot convert {x} to a tensor variable."),
    ),
    _Head(r"updates: each key is a shared variable", "update target must be a SharedVariable"),
    _Head(
        r"The update of the shared variable (?P<name>.+?) must have its type (?P<type>.+), got "
        r"(?P<new>.+?) \(type (?P<other>.+?)\)\. ",
        "An update must have the same type as the original shared variable (shared_var={name}, "
        "shared_var.type={type}, update_val={new}, update_val.type={other}).",
    ),
    _Head(
        r"updates: expected a dict or a list of pairs",
        _older(
            "The updates parameter must be an OrderedDict/dict or a list of lists/tuples with 2 "
            "elements",
            "The `updates` parameter must be an ordered mapping or a list of pairs",
        ),
    ),
    _Head(
        r"updates: the shared variable .* has two new values",
        "this shared variable already has an update expression",
    ),
    _Head(
        r"The shared variable (?P<name>.+) cannot be an explicit input",
        "Cannot use a shared variable ({name}) as explicit input. Consider substituting a "
        "non-shared variable via the `givens` parameter",
    ),
    _Head(
        r"function: inputs is a list",
        "Input variables of a {title} function should be contained in a list, even when there is a "
        "single input.",
    ),
    _Head(
        r"function: the variable (?P<name>.+) is at index (?P<first>\d+) and at index "
        r"(?P<second>\d+) of the inputs",
        "Variable {name} is used twice in inputs to {package}.function, at indices {first} and "
        "{second}.",
    ),
    _Head(
        r"givens: (?P<name>.+) is an input of the function",
        "You are trying to replace variable '{name}' through the `givens` parameter, but this "
        "variable is an input to your function.",
    ),
    _Head(r"There is no mode '(?P<name>.*?)'", "No predefined mode exist for string: {name}"),
    _Head(
        r"SpecifyShape(?:\{.*?\})?: dimension (?P<dim>\d+) of .* must be of size "
        r"(?P<size>\d+), but the shape is (?P<shape>\(.*?\))",
        "SpecifyShape: dim {dim} of input has shape {found}, expected {size}.",
    ),
    _Head(
        r"Reshape\{.*\}: .* of shape (?P<shape>\(.*?\)) cannot take the shape \((?P<new>.*?),?\)",
        "Cannot reshape input of shape {shape} to shape [{new}]",
    ),
    _Head(
        r"The number of steps of a scan must be an integer, got .* of type \w+\((?P<dtype>\w+)",
        " n_steps must be an int. dtype provided is {dtype}",
    ),
    _Head(
        r"A scan needs the number of steps",
        "No information about the number of steps provided. Either provide a value for n_steps "
        "argument of scan or provide an input sequence",
    ),
    _Head(
        r"State (?P<index>\d+) of a scan changes between steps\. A step reads (?P<name>.*) of type "
        r"\w+\((?P<dtype>\w+).*\n?It computes .* of type \w+\((?P<other>(?!(?P=dtype)\b)\w+)",
        {"theano": _SCAN.replace("scan the", f"scan{_CALLED} the", 1)} | _newer(_SCAN),
    ),
    _Head(
        r"The condition of an ifelse must be a single truth value",
        "The condition argument must be a truthy scalar value",
    ),
    _Head(
        r"[^\n]*: the operands do not fit together\.\n(?P<lines>(?:  .*: shape \(.*\)\n)+)"
        r"The sizes in dimension (?P<dim>\d+) must be equal",
        {
            "theano": "Input dimension mis-match. ({sizes})",
            "aesara": "Input dimension mismatch. ({sizes})",
            "pytensor": "Input dimension mismatch: ({sizes})",
        },
    ),
    _Head(
        r"OpFromGraph takes (?P<number>\d+) inputs, got",
        {
            "aesara": "Expected at least {number} input(s)",
            "pytensor": "Expected {number} input(s)",
        },
    ),
    _Head(
        r"(?P<name>.+) is given twice, as inputs .* of an OpFromGraph",
        {
            "pytensor": "The following variables were provided more than once as inputs to the "
            "OpFromGraph, resulting in an invalid graph: [{name}]."
        },
    ),
    _Head(
        r"Cannot replace (?P<names>.+): the outputs do not depend on it",
        {"pytensor": "Some replacements were not used: [{names}]"},
    ),
    _Head(
        r"The keys of replace must be variables of the graph",
        {"pytensor": "Some of the replaced items are not Variables"},
    ),
    _Head(
        r"A rewrite is registered as (?P<name>'.*') already",
        _newer("The tag {name} is already present in the database."),
    ),
    _Head(
        r"position must be a number, .*; got (?P<x>.+)\.",
        _newer("`position` must be numeric; got {x}"),
    ),
    _Head(r"ProxyDB takes a database of rewrites", _newer("`db` must be an `RewriteDatabase`.")),
    _Head(
        r"In step \d+ of .*, the row of .* has the shape (?P<new>.*?\)); it had (?P<old>.*?\)) ",
        "could not broadcast input array from shape {new} into shape {old}",
    ),
    _Head(
        r"Pooling takes one of ds and ws,",
        "You can't provide a tuple value to both 'ws' and 'ds'. Please provide a value only to "
        "'ws'.",
    ),
    _Head(
        r"Pooling takes one of st and stride,",
        "You can't provide a tuple value to both 'st and 'stride'. Please provide a value only to "
        "'stride'.",
    ),
    _Head(
        r"Pooling takes one of padding and pad,",
        "You can't provide a tuple value to both 'padding' and pad.  Please provide a value only "
        "to pad.",
    ),
    _Head(
        r"\w+ takes a matrix, got .* of type ",
        _newer("The input array must be two dimensional."),
    ),
    _Head(
        r"DimShuffle: the order (?P<order>.*) names a dimension twice",
        "The same input dimension may not appear twice in the list of output dimensions: {order}",
    ),
    _Head(
        r"moveaxis: \d+ sources and ",
        _newer("`source` and `destination` arguments must have the same number of elements"),
    ),
    _Head(
        r"matmul takes tensors of rank 1 or more",
        {
            "aesara": "inputs to `matmul` cannot be scalar.",
            "pytensor": "matmul operand cannot be scalar",
        },
    ),
    _Head(
        r"specify_shape: .* has (?P<ndim>\d+) dimensions, got (?P<length>\d+) sizes",
        _newer("Input `x` is {ndim}-dimensional and will never match a shape of length {length}."),
    ),
)
"""The first that is found in a message counts."""


def _found_size(parts: dict[str, str]) -> str:
    sizes = parts["shape"].strip("(),").split(", ")
    return sizes[int(parts["dim"])]


def _different_sizes(parts: dict[str, str]) -> str:
    """Return the first two sizes that differ."""
    dim = int(parts["dim"])
    shapes = re.findall(r"shape \((.*?),?\)\n", parts["lines"])
    sizes = [shape.split(", ")[dim] for shape in shapes]
    texts = [f"input[{at}].shape[{dim}] = {size}" for at, size in enumerate(sizes)]
    other = next(at for at, size in enumerate(sizes) if size != sizes[0])
    return f"{texts[0]}, {texts[other]}"


_COMPUTED: dict[str, Callable[[dict[str, str]], str]] = {
    "{found}": _found_size,
    "{sizes}": _different_sizes,
}
"""Fields of heads that are not parts of the message."""

_TITLES = {"theano": "Theano", "aesara": "Aesara", "pytensor": "PyTensor"}


def with_old_head(message: str, notes: Any, package: str) -> str:
    """Return a message after the line that a package writes of such an error, if it has one.

    Parameters
    ----------
    message, notes
        Those of the error. A note that names the node that failed adds the line that the packages
        write of it.
    package
        ``"theano"``, ``"aesara"`` or ``"pytensor"``.

    Examples
    --------
    >>> from phintys.compat.heads import with_old_head
    >>> with_old_head("The cost must be a scalar, got x.", [], "theano").splitlines()
    ['cost must be a scalar.', 'The cost must be a scalar, got x.']
    """
    lines = [message]
    head = _head(message, package)
    if head is not None:
        lines.insert(0, head)
    node = next(filter(None, (re.match(r"While computing (.*)", str(one)) for one in notes)), None)
    if node is not None:
        lines.append(f"Apply node that caused the error: {node[1]}")
    return "\n".join(lines)


def _head(message: str, package: str) -> str | None:
    for one in _HEADS:
        found = re.match(one.pattern, message)
        if found is None:
            continue
        head = one.line if isinstance(one.line, str) else one.line.get(package)
        if head is None:
            return None
        parts = found.groupdict()
        for field, compute in _COMPUTED.items():
            if field in head:
                head = head.replace(field, compute(parts))
        return head.format_map(parts | {"package": package, "title": _TITLES[package]})
    return None
