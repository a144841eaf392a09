"""Exporting a compiled function: lower it for a target, and write its files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from phintys._base.config import config
from phintys._base.errors import ArgumentError
from phintys.backends.native.assembler.target import Target
from phintys.backends.native.export import header, toolchain
from phintys.backends.native.export.assembling import assemble
from phintys.backends.native.export.interface import interface_of
from phintys.backends.native.lower import lower_program
from phintys.backends.native.plan import Plan
from phintys.backends.native.writer.programs import write_program

if TYPE_CHECKING:
    from phintys.backends.base import ExportNames, ExportOptions
    from phintys.graph.fgraph import FunctionGraph

KINDS = ("object", "shared", "static", "python", "wasm")


def export_program(fgraph: FunctionGraph, names: ExportNames, options: ExportOptions) -> list[Path]:
    """Write the files of an exported function.

    Parameters
    ----------
    fgraph
        The graph.
    names
        The names of its values, and the values of its shared variables.
    options
        What is written, and for which machine.

    Returns
    -------
    list of Path
        The files.

    Raises
    ------
    ArgumentError
        If the function cannot be exported, or an option is invalid.
    """
    _check(names, options)
    with config.change_flags(native_target=options.target):
        target = replace(Target.configured(), contracts=options.contract)
        plan = Plan(lower_program(fgraph, is_exported=True), target)
        emitted = write_program(plan)
    interface = interface_of(plan.program, emitted, names)
    assembled = assemble(
        plan,
        emitted,
        interface,
        blas=options.blas,
        blas_prefix=options.blas_prefix,
        allocates=options.allocate,
    )
    folder = Path(options.path)
    folder.mkdir(parents=True, exist_ok=True)
    description = header.description_of(interface, assembled, target, options)
    files = {
        f"{names.name}.o": assembled.data,
        f"{names.name}.h": header.header_of(interface, assembled).encode(),
        f"{names.name}.json": header.as_json(description),
    }
    written = [folder / name for name in files]
    for path, content in zip(written, files.values(), strict=True):
        path.write_bytes(content)
    return written + toolchain.link(folder, names.name, description, options)


def _check(names: ExportNames, options: ExportOptions) -> None:
    if not (names.name.isidentifier() and names.name.isascii()):
        msg = (
            f"export: the name must be one of C, got {names.name!r}. Pass name=, or name the "
            "function: phintys.function(..., name='model')."
        )
        raise ArgumentError(msg)
    choices = (("kind", options.kind, KINDS), ("blas", options.blas, ("link", "bundled", "none")))
    for option, given, allowed in choices:
        if given not in allowed:
            msg = f"export: {option} is one of {allowed}, got {given!r}."
            raise ArgumentError(msg)
    if options.threads != 1:
        msg = (
            f"export: threads must be 1, got {options.threads!r}: the pool of threads belongs to "
            "this process, and is not exported. Call the function in several threads, for parts of "
            "the arguments, each with work memory of its own."
        )
        raise ArgumentError(msg)
