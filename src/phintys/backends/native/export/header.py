"""The header of C, and the description, of an exported function."""

from __future__ import annotations

import json
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from phintys.backends.native.export.interface import (
    ABI,
    C_TYPES,
    CODES,
    Dimension,
    Interface,
    PointerParameter,
)
from phintys.backends.native.values import Size

if TYPE_CHECKING:
    from collections.abc import Iterable

    from phintys.backends.base import ExportOptions
    from phintys.backends.native.assembler.target import Target
    from phintys.backends.native.export.assembling import Assembled

_CODE_NAMES = {
    -1: "PHINTYS_NULL_POINTER",
    -2: "PHINTYS_MISALIGNED",
    -3: "PHINTYS_WRONG_LENGTH",
    -4: "PHINTYS_TOO_SMALL",
    -5: "PHINTYS_NO_MEMORY",
    -6: "PHINTYS_OTHER_SHAPE",
}


def header_of(interface: Interface, assembled: Assembled) -> str:
    """Return the header."""
    name = interface.name
    guard = f"PHINTYS_{name.upper()}_H"
    needs = ", ".join(assembled.needs) or "nothing"
    lines = [
        f"/* {name}: a function compiled by Phintys {version('phintys')}.",
        "",
        "Arguments:",
        *map(_described, interface.arguments),
        "Results (NULL for those that are not wanted):",
        *map(_described, interface.results),
        *_state_lines(interface),
        f"Calls: {needs}.",
        *(f"Needs the library {one}." for one in assembled.libraries),
        "*/",
        f"#ifndef {guard}",
        f"#define {guard}",
        "#include <stdint.h>",
        "#ifndef PHINTYS_ABI",
        f"#define PHINTYS_ABI {ABI}",
        *(f"#define {word} ({code}) /* {CODES[code]} */" for code, word in _CODE_NAMES.items()),
        f"#elif PHINTYS_ABI != {ABI}",
        '#error "Objects of different versions of the interface of Phintys cannot be mixed."',
        "#endif",
        "#ifdef __cplusplus",
        'extern "C" {',
        "#endif",
        "",
        *(
            f"#define {name.upper()}_STATE_{one.name.upper()} {number}"
            for number, one in enumerate(interface.state)
        ),
        *_declarations(name),
        "",
        *_typed(interface),
        "",
        "#ifdef __cplusplus",
        "}",
        "#endif",
        "#endif",
    ]
    return "\n".join(lines) + "\n"


def _declarations(name: str) -> list[str]:
    return [
        "/* The uniform form: see docs/export.md of Phintys. */",
        f"int32_t {name}(const void *const *args, const int64_t *dims, void *const *results,",
        "    const int64_t *capacities, int64_t *shapes, int64_t *numbers, void *state,",
        "    void *work, int64_t work_bytes);",
        "/* Bytes of work memory for all intermediate results; -1 if they depend on data. */",
        f"int64_t {name}_work_bytes(const int64_t *dims);",
        "/* The lengths of all axes of all results; -1 for those that depend on data. */",
        f"void {name}_shapes(const int64_t *dims, int64_t *shapes);",
        "/* The message of a return code; {0} and {1} stand for the numbers of the call. */",
        f"const char *{name}_message(int32_t code);",
        "/* Values that calls update, in memory of the caller, aligned to 8 bytes. */",
        f"int64_t {name}_state_bytes(void);",
        f"void {name}_state_init(void *state);",
        f"int32_t {name}_state_get(const void *state, int32_t number, void *value);",
        f"int32_t {name}_state_set(void *state, int32_t number, const void *value);",
    ]


def _typed(interface: Interface) -> list[str]:
    """Return the typed form: an inline function."""
    dimensions = interface.dimensions
    parameters = [f"int64_t {one.name}" for one in dimensions]
    parameters += [f"const {_c_type(one)} *{one.name}" for one in interface.arguments]
    capacities: list[str] = []
    for one in interface.results:
        parameters.append(f"{_c_type(one)} *{one.name}")
        if any(not isinstance(length, int) for length in one.lengths):
            parameters.append(f"int64_t {one.name}_capacity")
            capacities.append(f"{one.name}_capacity")
        else:
            count = 1
            for length in one.lengths:
                assert isinstance(length, int)
                count *= length
            capacities.append(str(count))
    if interface.state:
        parameters.append("void *state")
    parameters += ["void *work", "int64_t work_bytes"]
    state = "state" if interface.state else "0"
    return [
        "/* The typed form. Capacities count elements; without malloc, work must not be NULL. */",
        f"static inline int32_t {interface.name}_typed({', '.join(parameters)}) {{",
        f"  const void *const args[] = {{{_listed(one.name for one in interface.arguments)}}};",
        f"  const int64_t dims[] = {{{_listed(one.name for one in dimensions)}}};",
        f"  void *const results[] = {{{_listed(one.name for one in interface.results)}}};",
        f"  const int64_t capacities[] = {{{_listed(capacities)}}};",
        f"  return {interface.name}(args, dims, results, capacities, 0, 0, {state},",
        "    work, work_bytes);",
        "}",
    ]


def _listed(items: Iterable[str]) -> str:
    return ", ".join(items) or "0"


def _c_type(parameter: PointerParameter) -> str:
    return C_TYPES[parameter.value.dtype.name]


def _length_text(length: Any) -> str:
    if isinstance(length, Dimension):
        return length.name
    return "?" if isinstance(length, Size) else str(length)


def _shape_text(parameter: PointerParameter) -> str:
    return "".join(f"[{_length_text(length)}]" for length in parameter.lengths)


def _described(parameter: PointerParameter) -> str:
    return f"  {parameter.value.dtype} {parameter.name}{_shape_text(parameter)}"


def _state_lines(interface: Interface) -> list[str]:
    if not interface.state:
        return []
    lines = [
        f"  {one.argument.dtype} {one.name}{''.join(f'[{n}]' for n in one.initial.shape)}"
        for one in interface.state
    ]
    return [f"State ({interface.state_bytes} bytes):", *lines]


# ---- the description -----------------------------------------------------------------------------


def description_of(
    interface: Interface, assembled: Assembled, target: Target, options: ExportOptions
) -> dict[str, Any]:
    """Return the description, for programs."""
    return {
        "abi": ABI,
        "phintys": version("phintys"),
        "name": interface.name,
        "target": target.name,
        "triple": target.triple,
        "cpu": target.cpu,
        "blas": options.blas,
        "allocates": options.allocate,
        "contracts": options.contract,
        "dimensions": [one.name for one in interface.dimensions],
        "arguments": [_parameter(one, interface) for one in interface.arguments],
        "results": [_parameter(one, interface) for one in interface.results],
        "state_bytes": interface.state_bytes,
        "state": [
            {
                "name": one.name,
                "dtype": one.argument.dtype.name,
                "shape": list(one.initial.shape),
                "offset": one.offset,
            }
            for one in interface.state
        ],
        "failures": interface.failures,
        "needs": list(assembled.needs),
        "libraries": list(assembled.libraries),
        "functions": list(assembled.functions),
    }


def _parameter(parameter: PointerParameter, interface: Interface) -> dict[str, Any]:
    """Return an argument or a result: a length is a number, a dimension's name, or null."""
    lengths = [
        length.name
        if isinstance(length, Dimension)
        else None
        if isinstance(length, Size)
        else length
        for length in parameter.lengths
    ]
    return {"name": parameter.name, "dtype": parameter.value.dtype.name, "shape": lengths}


def as_json(description: dict[str, Any]) -> bytes:
    """Return a description as a file."""
    return (json.dumps(description, indent=1) + "\n").encode()
