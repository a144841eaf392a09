"""Polynomials in sizes: a canonical form of addresses, in which equal ones are one object.

The address of ``x[i, j]`` is ``x + i * (m * 8) + j * 8``. Two adjacent loops can be merged if each
address moves by the same step in both, and whether ``n * m`` and ``m * n`` are the same step must
be known at compile time. So sizes are expanded to sums of products of atoms: lengths of arguments,
elements of arrays, quotients, counters of loops around kernels. If that would give more than
:data:`~phintys.backends.native.sizes.MOST_TERMS` terms, a sum or product is an atom too.

Sizes themselves are not kept in this form: they have quotients, extremes and checks of ranges, and
more of them become equal as checks are added, so each would have to be expanded again. The
expansion pays in loops: a step of ``scan`` on four numbers, in a vector of unknown length, takes 9
ns instead of 14, since the row that it reads is known to be the one that the step before has
written, which is in a register. For other programs, time and code are the same without it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from phintys.backends.native.limits import MOST_TERMS, WORK_UNIT
from phintys.backends.native.sizes import Arithmetic, Counter, Sizes
from phintys.backends.native.values import Array, LoopVariable, Size

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


Atom = Size | LoopVariable
_Terms = tuple[tuple[tuple[int, ...], int], ...]

_RING = {"add", "sub", "mul"}


class Polynomial:
    """A sum of products of atoms, created by :class:`Polynomials`: equal ones are one object.

    Attributes
    ----------
    terms
        Pairs of a tuple of atoms' numbers, ascending, and a factor; sorted.
    known
        The value, if the polynomial has no atoms.
    """

    __slots__ = ("known", "terms")

    def __init__(self, terms: _Terms) -> None:
        self.terms = terms
        self.known: int | None = None
        if not terms:
            self.known = 0
        elif len(terms) == 1 and not terms[0][0]:
            self.known = terms[0][1]

    def __repr__(self) -> str:
        parts = [
            "*".join([str(factor), *(f"a{atom}" for atom in atoms)]) for atoms, factor in self.terms
        ]
        return " + ".join(parts) or "0"


class Polynomials:
    """The polynomials of one program.

    Parameters
    ----------
    sizes
        The sizes of the program; no more of them may be equated afterwards.

    Attributes
    ----------
    atoms
        The atoms that the numbers in :attr:`Polynomial.terms` refer to.
    """

    def __init__(self, sizes: Sizes) -> None:
        self.sizes = sizes
        self.atoms: list[Atom] = []
        self._numbers: dict[Atom, int] = {}
        self._made: dict[_Terms, Polynomial] = {}
        self._of: dict[Atom, Polynomial] = {}
        self._products: dict[tuple[Polynomial, Polynomial], Polynomial] = {}
        self._strides: dict[Array, tuple[Polynomial, ...]] = {}
        self.zero = self.constant(0)
        self.one = self.constant(1)

    # ---- making ------------------------------------------------------------------------------

    def constant(self, value: int) -> Polynomial:
        """Return a constant polynomial."""
        return self._intern((((), value),) if value else ())

    def of(self, size: Atom) -> Polynomial:
        """Return the expanded form of a size."""
        found = self._of.get(size)
        if found is not None:
            return found
        stack: list[Atom] = [size]
        while stack:
            current = stack[-1]
            if current in self._of:
                stack.pop()
                continue
            parts = self._parts(current)
            missing = [part for part in parts if part not in self._of]
            if missing:
                stack.extend(missing)
                continue
            stack.pop()
            self._of[current] = self._combined(current, [self._of[part] for part in parts])
        return self._of[size]

    def _parts(self, size: Atom) -> tuple[Atom, ...]:
        if isinstance(size, LoopVariable):
            return ()
        if isinstance(size, Counter):
            return (size.loop,)
        canonical = self.sizes.canonical(size)
        if canonical is not size:
            return (canonical,)
        if isinstance(size, Arithmetic) and size.operation in _RING:
            return size.arguments
        return ()

    def _combined(self, size: Atom, parts: list[Polynomial]) -> Polynomial:
        if len(parts) == 1:
            return parts[0]
        if len(parts) == 2 and isinstance(size, Arithmetic):
            left, right = parts
            if size.operation == "mul":
                return self.mul(left, right)
            total = self.add(left, right if size.operation == "add" else self.scale(right, -1))
            return total if len(total.terms) <= MOST_TERMS else self._atom(size)
        if isinstance(size, Size) and size.known is not None:
            return self.constant(size.known)
        return self._atom(size)

    def _atom(self, size: Atom) -> Polynomial:
        """Return a size as a single term."""
        number = self._numbers.get(size)
        if number is None:
            number = self._numbers[size] = len(self.atoms)
            self.atoms.append(size)
        return self._intern((((number,), 1),))

    def _intern(self, terms: _Terms) -> Polynomial:
        found = self._made.get(terms)
        if found is None:
            found = self._made[terms] = Polynomial(terms)
        return found

    # ---- arithmetic --------------------------------------------------------------------------

    def add(self, left: Polynomial, right: Polynomial) -> Polynomial:
        """Return the sum."""
        if not left.terms:
            return right
        if not right.terms:
            return left
        return self._collected([*left.terms, *right.terms])

    def total(self, polynomials: Iterable[Polynomial]) -> Polynomial:
        """Return the sum of several, in time linear in the total number of terms."""
        return self._collected(term for polynomial in polynomials for term in polynomial.terms)

    def mul(self, left: Polynomial, right: Polynomial) -> Polynomial:
        """Return the product."""
        if left is self.one:
            return right
        if right is self.one:
            return left
        found = self._products.get((left, right))
        if found is None and len(left.terms) * len(right.terms) > MOST_TERMS:
            long = self.sizes.mul(self._as_size(left), self._as_size(right))
            found = self._products[left, right] = self._atom(self.sizes.canonical(long))
        if found is None:
            found = self._products[left, right] = self._collected(
                (tuple(sorted((*atoms, *others))), factor * other)
                for atoms, factor in left.terms
                for others, other in right.terms
            )
        return found

    def _as_size(self, polynomial: Polynomial) -> Size:
        """Return a polynomial as a size, which is computed once."""
        sizes = self.sizes
        total = sizes.fixed(0)
        for atoms, factor in polynomial.terms:
            term = sizes.fixed(factor)
            for number in atoms:
                atom = self.atoms[number]
                part = sizes.counter(atom) if isinstance(atom, LoopVariable) else atom
                term = sizes.mul(term, part)
            total = sizes.add(total, term)
        return total

    def scale(self, polynomial: Polynomial, factor: int) -> Polynomial:
        """Return a multiple."""
        return self.mul(polynomial, self.constant(factor))

    def sub(self, left: Polynomial, right: Polynomial) -> Polynomial:
        """Return the difference."""
        return self.add(left, self.scale(right, -1))

    def product(self, sizes: Iterable[Size]) -> Polynomial:
        """Return the product of sizes."""
        result = self.one
        for size in sizes:
            result = self.mul(result, self.of(size))
        return result

    def _collected(self, terms: Iterable[tuple[tuple[int, ...], int]]) -> Polynomial:
        factors: dict[tuple[int, ...], int] = {}
        for atoms, factor in terms:
            factors[atoms] = factors.get(atoms, 0) + factor
        return self._intern(tuple(sorted((a, f) for a, f in factors.items() if f)))

    def renamed(self, polynomial: Polynomial, atoms: Mapping[int, int]) -> Polynomial:
        """Return a polynomial with its atoms replaced.

        Parameters
        ----------
        polynomial
            The polynomial.
        atoms
            Maps the number of each atom to that of its replacement.

        Raises
        ------
        KeyError
            If it has an atom without a replacement.
        """
        return self._collected(
            (tuple(sorted(atoms[atom] for atom in one)), factor) for one, factor in polynomial.terms
        )

    # ---- arrays ------------------------------------------------------------------------------

    def strides(self, array: Array) -> tuple[Polynomial, ...]:
        """Return the strides of an array, in elements."""
        found = self._strides.get(array)
        if found is None:
            step = self.one
            backwards: list[Polynomial] = []
            for size in reversed(array.sizes):
                backwards.append(step)
                step = self.mul(step, self.of(size))
            found = self._strides[array] = tuple(reversed(backwards))
        return found

    def length(self, array: Array) -> Polynomial:
        """Return the number of elements of an array."""
        return self.product(array.sizes)

    def bytes(self, array: Array) -> Polynomial:
        """Return the size of an array in bytes."""
        return self.scale(self.length(array), array.dtype.itemsize)


# ---- estimates of time ---------------------------------------------------------------------------


class KernelCost(Protocol):
    """What the plan of a kernel says of its time."""

    @property
    def cost(self) -> float:
        """Nanoseconds of an iteration of the innermost loops."""
        ...

    @property
    def is_divisible(self) -> bool:
        """Whether threads can share it."""
        ...

    def work(self) -> Polynomial:
        """Return the number of these iterations."""
        ...


class Costs:
    """What steps ask when they estimate their time.

    Parameters
    ----------
    ring
        The polynomials of the program.
    kernels
        The plan of each of its kernels.
    """

    def __init__(self, ring: Polynomials, kernels: Mapping[Any, KernelCost]) -> None:
        self.ring = ring
        self.kernels = kernels

    def scaled(self, count: Polynomial, nanoseconds: float) -> Polynomial:
        """Return the work of a number of operations, given the time of each."""
        return self.ring.scale(count, max(1, int(nanoseconds * WORK_UNIT)))
