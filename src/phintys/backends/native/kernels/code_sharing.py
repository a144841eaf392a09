"""Forms of kernels: the structure that their code depends on, without names and most numbers.

Long programs repeat themselves. Kernels of one form differ in the arrays that they access, in their
sizes and in some numbers; they share one function, which is emitted and compiled once. Arrays and
sizes are arguments in any case; numbers that differ between kernels of a form are read from a table
that is an argument too.

Programs of 60 repeated steps (:mod:`phintys.testing.families`) compile a quarter faster with forms,
some in half the time. Kernels of equal code share a function even so, but only once it is written.
"""

from __future__ import annotations

import math
from collections import defaultdict
from typing import TYPE_CHECKING, Any

import numpy as np

from phintys._base.records import record
from phintys.backends.native.dependence import has_no_result
from phintys.backends.native.expressions import (
    Conversion,
    Expression,
    Index,
    IndexCheck,
    Literal,
    Load,
    Operation,
    Position,
    SizeValue,
    Statement,
)
from phintys.backends.native.failures import Failure
from phintys.backends.native.kernels.planning import plan_kernel, plans_of
from phintys.backends.native.kernels.plans import KernelPlan, is_number
from phintys.backends.native.values import Array, LoopVariable

if TYPE_CHECKING:
    from collections.abc import Collection, Hashable, Mapping, Sequence

    from phintys.backends.native.assembler.target import Target
    from phintys.backends.native.kernels.kernel_code import ShortRows
    from phintys.backends.native.polynomials import Atom, Polynomial, Polynomials
    from phintys.backends.native.steps.kernel import Kernel, Nest

_EXCHANGEABLE = {"f", "d"}
"""Dtypes whose numbers may be read from a table; integers are often positions."""


@record(eq=False)
class KernelForm:
    """The form of one kernel.

    Attributes
    ----------
    key
        Equal for kernels that need the same code except for ``numbers``.
    memories, failures
        The memory that the kernel accesses, and its possible failures, in the order of the form.
    atoms
        The numbers of the atoms in its sizes, in ascending order: kernels of one form can have
        different sizes.
    numbers
        The numbers that may differ between kernels of one form, in order: the expression, and the
        value.
    cells
        By the ``id`` of an expression: its place in the table of numbers, for those that are not
        the same in all kernels of the program that have this form.
    is_complete
        Whether ``failures`` are all.
    """

    key: tuple[Hashable, ...]
    memories: list[Array]
    failures: list[Failure]
    atoms: list[int]
    numbers: list[tuple[Expression, float]]
    cells: dict[int, int]
    is_complete: bool

    def table(self) -> list[bytes]:
        """Return the numbers that differ between kernels, as bytes."""
        return [
            expression.dtype.type(value).tobytes()
            for expression, value in self.numbers
            if id(expression) in self.cells
        ]


@record(eq=False)
class PlannedKernel:
    """What is decided about a kernel before it is written.

    Attributes
    ----------
    plan
        Its plan.
    for_short_rows
        The plan for short rows, if it is carried out in another way if its rows are short.
    form
        Its form; ``None`` if it has no function, since it is written where it runs.
    first
        The first kernel of the same form and sizes, if there was one before: its code serves both,
        and the plans are those of that one.
    """

    plan: KernelPlan
    for_short_rows: ShortRows | None = None
    form: KernelForm | None = None
    first: Kernel | None = None
    stands_for: dict[Array, Array] | None = None
    """For the memory that it accesses, that which the plan of another names instead."""

    def in_plan(self, memory: Array) -> Array:
        """Return the name of memory in the plan."""
        return memory if self.stands_for is None else self.stands_for[memory]


def plan_kernels(
    kernels: Sequence[Kernel],
    short: Mapping[Kernel, KernelPlan],
    inline: Collection[Kernel],
    polynomials: Polynomials,
    target: Target,
) -> dict[Kernel, PlannedKernel]:
    """Return the plans of the kernels of a program, and which of them share their code.

    Parameters
    ----------
    kernels
        The kernels.
    short
        The plans of those that compute short vectors.
    inline
        Those that have no function, since they are written where they run.
    polynomials, target
        As for :func:`~phintys.backends.native.kernels.planning.plan_kernel`.
    """
    planned: dict[Kernel, PlannedKernel] = {}
    first: dict[tuple[Hashable, ...], Kernel] = {}
    functions = [kernel for kernel in kernels if kernel not in inline]
    for kernel, form in zip(functions, forms_of(functions, polynomials), strict=True):
        key = (form.key, *form.atoms)
        alike = first.get(key)
        if alike is not None:
            planned[kernel] = _planned_like(planned[alike], alike, form)
            continue
        if form.is_complete:
            first[key] = kernel
        planned[kernel] = PlannedKernel(*plans_of(kernel, polynomials, target), form)
    for kernel in kernels:
        if kernel not in planned:
            plan = short.get(kernel)
            if plan is None:
                plan = plan_kernel(kernel, polynomials, target)
            planned[kernel] = PlannedKernel(plan)
    return planned


def _planned_like(other: PlannedKernel, first: Kernel, form: KernelForm) -> PlannedKernel:
    """Return the plans of a kernel that has the form and the sizes of another one."""
    theirs = [] if other.form is None else other.form.memories
    stands_for = dict(zip(form.memories, theirs, strict=True))
    return PlannedKernel(other.plan, other.for_short_rows, form, first, stands_for)


def forms_of(kernels: Sequence[Kernel], polynomials: Polynomials) -> list[KernelForm]:
    """Return the forms of the kernels of a program.

    Parameters
    ----------
    kernels
        The kernels.
    polynomials
        Those of the program.
    """
    forms = [_Reader(kernel, polynomials).form() for kernel in kernels]
    alike: dict[tuple[Hashable, ...], list[KernelForm]] = defaultdict(list)
    for form in forms:
        alike[form.key].append(form)
    for group in alike.values():
        if len(group) > 1:
            _find_cells(group)
    return forms


def _find_cells(group: Sequence[KernelForm]) -> None:
    """Find the numbers that differ."""
    columns = zip(*[[value for _, value in form.numbers] for form in group], strict=True)
    differing = [at for at, column in enumerate(columns) if len(set(column)) > 1]
    for form in group:
        form.cells = {id(form.numbers[at][0]): cell for cell, at in enumerate(differing)}


def _is_exchangeable(value: float) -> bool:
    """Return whether code that reads a number from a table is as fast as code that contains it.

    LLVM has better code for powers of two, zero and one.
    """
    return math.isfinite(value) and abs(math.frexp(value)[0]) not in {0.0, 0.5}


class _Reader:
    """Reads one kernel, and records its form; each item says how many follow it."""

    def __init__(self, kernel: Kernel, polynomials: Polynomials) -> None:
        self.kernel = kernel
        self.polynomials = polynomials
        self.key: list[Hashable] = []
        self.arrays: dict[Array, int] = {}
        self.memories: dict[Array, int] = {}
        self.sizes: dict[Polynomial, int] = {}
        self.loops: dict[LoopVariable, int] = {}
        self.failures: dict[Failure, int] = {}
        self.numbers: list[tuple[Expression, float]] = []
        self.is_complete = True
        self._seen: dict[int, int] = {}

    def form(self) -> KernelForm:
        """Return the form."""
        kernel = self.kernel
        self._new_loops(kernel.outer)
        for nest in kernel.nests:
            self._nest(nest)
        atoms = sorted({a for one in self.sizes for some, _ in one.terms for a in some})
        names = {atom: self._name(rank, atom) for rank, atom in enumerate(atoms)}
        self.key += [
            tuple((tuple(names[atom] for atom in some), factor) for some, factor in one.terms)
            for one in self.sizes
        ]
        return KernelForm(
            tuple(self.key),
            list(self.memories),
            list(self.failures),
            atoms,
            self.numbers,
            {},
            self.is_complete,
        )

    def _name(self, rank: int, atom: int) -> Hashable:
        """Return the key of an atom: the counter of a loop around the kernel is itself the key."""
        behind = self.polynomials.atoms[atom]
        return behind if isinstance(behind, LoopVariable) else rank

    def of(self, size: Atom) -> int:
        """Return the number of a size; sizes are at the end of the key."""
        return self.sizes.setdefault(self.polynomials.of(size), len(self.sizes))

    def _new_loops(self, loops: Sequence[LoopVariable]) -> None:
        self.key.append(len(loops))
        for loop in loops:
            self.loops.setdefault(loop, len(self.loops))
            self.key.append(self.of(loop.extent))

    def _nest(self, nest: Nest) -> None:
        self._new_loops(nest.loops)
        self.key.append(len(nest.statements))
        for statement in nest.statements:
            self._statement(statement)

    def _statement(self, statement: Statement) -> None:
        stack: list[Expression] = []
        self._array(statement.target)
        self._indices(statement.indices, stack)
        stack.append(statement.value)
        self._expressions(stack)
        self.key += [statement.reducer, statement.accumulate, statement.is_grouped]
        for loops in (statement.loops, statement.reduction, statement.sequential):
            self._old_loops(loops)

    def _old_loops(self, loops: Sequence[LoopVariable]) -> None:
        self.key.append(len(loops))
        self.key += [self.loops.get(loop, loop) for loop in loops]

    def _array(self, array: Array) -> None:
        number = self.arrays.get(array)
        if number is None:
            number = self.arrays[array] = len(self.arrays)
            memory = self.memories.setdefault(array.memory, len(self.memories))
            self.key += [array.dtype.char, array in self.kernel.local, memory, len(array.sizes)]
            self.key += [self.of(size) for size in array.sizes]
        self.key.append(number)

    def _indices(self, indices: Sequence[Index], stack: list[Expression]) -> None:
        key, of = self.key, self.of
        for index in indices:
            key.append(len(index.terms))
            for loop, step in index.terms:
                # A loop around the kernel is a number that the kernel is given.
                key.append(self.loops.get(loop, loop))
                key.append(of(step))
            key.append(None if index.offset is None else of(index.offset))
            key.append(index.dynamic is not None)
            if index.dynamic is not None:
                stack.append(index.dynamic)

    def _expressions(self, stack: list[Expression]) -> None:
        key = self.key
        while stack:
            current = stack.pop()
            before = self._seen.get(id(current))
            if before is not None:
                key += ["again", before]
                continue
            self._seen[id(current)] = len(self._seen)
            if isinstance(current, Operation):
                # Ops of the table are one object each.
                key += ["op", id(current.op), current.dtype.char, len(current.arguments)]
                self.is_complete = self.is_complete and not has_no_result(current)
                stack.extend(current.arguments)
            elif isinstance(current, Load):
                self._load(current, stack)
            else:
                self._other(current, stack)

    def _load(self, load: Load, stack: list[Expression]) -> None:
        array = load.array
        if is_number(array):
            assert array.data is not None
            self._number(load, array.data.reshape(-1)[0])
            if any(index.dynamic is not None for index in load.indices):
                # The number is known, but indices from other arrays are still read and checked.
                self.key.append("indexed")
                self._indices(load.indices, stack)
            return
        self.key.append("load")
        self._array(array)
        self._indices(load.indices, stack)

    def _number(self, expression: Expression, value: Any) -> None:
        kind = expression.dtype.char
        if kind in _EXCHANGEABLE and _is_exchangeable(float(value)):
            self.key += ["any", kind]
            self.numbers.append((expression, float(value)))
        else:
            self.key += ["number", kind, np.asarray(value).tobytes()]

    def _other(self, current: Expression, stack: list[Expression]) -> None:
        key = self.key
        if isinstance(current, Literal):
            self._number(current, current.value)
        elif isinstance(current, Conversion):
            key += ["cast", current.dtype.char]
            stack.append(current.argument)
        elif isinstance(current, SizeValue):
            key += ["size", self.of(current.size)]
        elif isinstance(current, Position):
            key.append("position")
            self._indices([current.index], stack)
        else:
            assert isinstance(current, IndexCheck)
            number = self.failures.setdefault(current.failure, len(self.failures))
            key += ["check", self.of(current.size), number]
            stack.append(current.argument)
