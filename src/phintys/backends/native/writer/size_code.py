"""The values of sizes in one function of the main function."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from phintys._base.errors import IntegrityError
from phintys.backends.native.assembler.types import INT64
from phintys.backends.native.dependence import arrays_in_size
from phintys.backends.native.limits import WORK_SHIFT
from phintys.backends.native.sizes import MOST, Arithmetic, Counter, Extent, Size, Sizes
from phintys.backends.native.values import Array, LoopVariable

if TYPE_CHECKING:
    from collections.abc import Collection, Generator, Sequence

    from phintys.backends.native.assembler.builder import Builder
    from phintys.backends.native.assembler.values import Value
    from phintys.backends.native.polynomials import Atom, Polynomial, Polynomials
    from phintys.backends.native.writer.function_code import FunctionCode

_MOST_BITS = 63
"""Bits of an int64 without its sign."""


class SizeCode:
    """Emits the computation of sizes, each once, and before the loops in which it does not change.

    Parameters
    ----------
    code
        The function.
    """

    def __init__(self, code: FunctionCode) -> None:
        self.code = code
        self.main = code.main
        self.b = code.b
        self._known: dict[Atom, Value] = {}
        self._polynomials: dict[Polynomial, Value] = {}

    def size(self, size: Size) -> Value:
        """Return the value of a size."""
        return self.polynomial(self.main.ring.of(size))

    def size_as_given(self, size: Size) -> Value:
        """Return a size as it was before checks merged it with another."""
        ring = self.main.as_given
        return self.polynomial(ring.of(size), ring)

    def polynomial(self, polynomial: Polynomial, ring: Polynomials | None = None) -> Value:
        """Return the value of a polynomial (of the program's, if no other ring is given)."""
        b = self.b
        ring = self.main.ring if ring is None else ring
        if polynomial.known is not None:
            return b.constant(INT64, polynomial.known)
        found = self._polynomials.get(polynomial)
        if found is not None:
            return found
        values = {
            atom: self._atom(ring.atoms[atom], ring.sizes)
            for term, _ in polynomial.terms
            for atom in term
        }
        total: Value | None = None
        code = self.code
        home = code.home(code.atoms_of(polynomial, ring)) if code.open_loops else None
        with code.before(home):
            for atoms, factor in polynomial.terms:
                term: Value | None = None
                for atom in atoms:
                    term = values[atom] if term is None else term * values[atom]
                if term is None:
                    term = b.constant(INT64, factor)
                elif factor != 1:
                    term = term * factor
                total = term if total is None else total + term
        assert total is not None
        if ring is self.main.ring:  # other rings have atoms of their own
            self._polynomials[polynomial] = total
        return total

    def estimate(self, polynomial: Polynomial) -> Value:
        """Return an amount of work: the value of a polynomial, or the largest int64 if it is above.

        That of 2^61 passes is, and must not be taken for a little.
        """
        ring = self.main.ring
        if polynomial.known is not None:
            return self.b.constant(INT64, min(polynomial.known, MOST))
        if _bits(polynomial, ring) <= _MOST_BITS:
            return self.polynomial(polynomial)
        atoms = {at for term, _ in polynomial.terms for at in term}
        values = {at: self._atom(ring.atoms[at], ring.sizes) for at in atoms}
        sums: dict[bool, Value] = {}
        with self.code.before(self.code.home(self.code.atoms_of(polynomial))):
            for term, factor in polynomial.terms:
                value = self.b.constant(INT64, min(abs(factor), MOST))
                for at in term:
                    value = self.saturating("mul", value, values[at])
                before = sums.get(factor > 0)
                sums[factor > 0] = (
                    value if before is None else self.saturating("add", before, value)
                )
            added, taken = (sums.get(sign, self.b.constant(INT64, 0)) for sign in (True, False))
            if False not in sums:
                return added
            return self.b.select(self.b.eq(added, MOST), added, added - taken)

    def nanoseconds(self, work: Polynomial) -> Value:
        """Return an amount of work in nanoseconds."""
        return self.estimate(work) >> WORK_SHIFT

    def saturating(self, operation: str, left: Value, right: Value) -> Value:
        """Return a sum or product of lengths, or the largest int64 if it is out of range."""
        return saturating(self.b, operation, left, right)

    @contextmanager
    def where_fixed(self, *sizes: Size) -> Generator[None]:
        """Write before the first pass of the outermost loop in which sizes do not change."""
        atoms = (atom for size in sizes for atom in self.code.atoms_of(self.main.ring.of(size)))
        with self.code.before(self.code.home(atoms) if self.code.open_loops else None):
            yield

    def keep(self, atom: Atom, value: Value) -> None:
        """Store a size in the frame, for later parts of the main function."""
        self._known[atom] = value
        self.main.kept_atoms.add(atom)
        self.b.store(value, self.code.slot(self.main.atom_slot(atom)))

    def hold(self, atom: Atom, value: Value) -> None:
        """Record a size that is known in the body of a loop."""
        self._known[atom] = value

    def forget(self, changed: Collection[Array]) -> None:
        """Forget sizes that depend on arrays which are rewritten."""
        if not changed:
            return

        def stays(atom: Atom) -> bool:
            if not isinstance(atom, Size):
                return True
            return not any(array in changed for array in arrays_in_size(atom))

        atoms = self.main.ring.atoms
        self._known = {atom: value for atom, value in self._known.items() if stays(atom)}
        self.main.kept_atoms = {atom for atom in self.main.kept_atoms if stays(atom)}
        self._polynomials = {
            polynomial: value
            for polynomial, value in self._polynomials.items()
            if all(stays(atoms[at]) for term, _ in polynomial.terms for at in term)
        }

    @contextmanager
    def aside(self) -> Generator[None]:
        """Emit code that may not run: sizes computed in it are not known afterwards."""
        main = self.main
        before = dict(self._known), dict(self._polynomials)
        before_in_frame = set(main.kept_atoms), set(main.merged_atoms)
        yield
        self._known, self._polynomials = before
        main.kept_atoms, main.merged_atoms = before_in_frame

    def _atom(self, atom: Atom, sizes: Sizes) -> Value:
        stack: list[Atom] = [atom]
        while stack:
            current = stack[-1]
            is_usable = self._is_usable(current, sizes)
            if is_usable and current in self._known:
                stack.pop()
                continue
            is_kept = is_usable and current in self.main.kept_atoms
            if is_kept or not isinstance(current, Arithmetic):
                with self.code.before(self.code.home([current]) if self.code.open_loops else None):
                    self._known[current] = self._from_frame(current)
                continue
            operands = [sizes.canonical(size) for size in current.arguments]
            missing = [
                one
                for one in operands
                if one.known is None and not (one in self._known and self._is_usable(one, sizes))
            ]
            if missing:
                stack.extend(missing)
                continue
            self._note_merged(current, operands)
            left, right = (
                self._known[s] if s.known is None else self.b.constant(INT64, s.known)
                for s in operands
            )
            if not self.code.open_loops:
                self.keep(current, size_arithmetic(self.b, current.operation, left, right))
                continue
            with self.code.before(self.code.home([current])):
                self._known[current] = size_arithmetic(self.b, current.operation, left, right)
        return self._known[atom]

    def _is_usable(self, atom: Atom, sizes: Sizes) -> bool:
        """Return whether the value of an atom, if it is known, is the one among some sizes.

        A check compares sizes as given, and not with what a later check promises.
        """
        return sizes is not self.main.as_given.sizes or atom not in self.main.merged_atoms

    def _note_merged(self, atom: Arithmetic, operands: Sequence[Size]) -> None:
        """Record whether an atom is computed of merged sizes."""
        merged = self.main.merged_atoms
        pairs = zip(operands, atom.arguments, strict=True)
        if any(one is not given or one in merged for one, given in pairs):
            merged.add(atom)
        else:
            merged.discard(atom)

    def _from_frame(self, atom: Atom) -> Value:
        if isinstance(atom, Extent):
            slot = self.main.record(atom.array) + 1 + atom.axis
        elif isinstance(atom, Counter):
            slot = self.main.atom_slot(atom.loop)
        else:
            slot = self.main.atom_slot(atom)
        return self.b.load(INT64, self.code.slot(slot))


def saturating(b: Builder, operation: str, left: Value, right: Value) -> Value:
    """Return a sum or product of lengths, or the largest int64 if it is out of range."""
    result, overflows = b.checked(operation, left, right)
    return b.select(overflows, b.constant(INT64, MOST), result)


def size_arithmetic(b: Builder, operation: str, left: Value, right: Value) -> Value:
    """Return the value of an :class:`~phintys.backends.native.sizes.Arithmetic`."""
    if operation in {"add", "sub", "mul"}:
        return b.binary(operation, left, right)
    if operation == "max":
        return b.maximum_number(left, right)
    if operation == "min":
        return b.minimum_number(left, right)
    if operation == "lt":
        return b.write(INT64, f"zext i1 {(left < right).text} to i64")
    if operation in {"volume", "total"}:
        if operation == "volume":
            one = b.constant(INT64, 1)
            left, right = b.maximum_number(left, one), b.maximum_number(right, one)
        return saturating(b, "mul" if operation == "volume" else "add", left, right)
    if operation not in {"floordiv", "mod"}:
        msg = f"There is no operation {operation!r} on sizes."
        raise IntegrityError(msg)
    # Quotients by 0 are not used, but computing one would trap.
    divisor = b.select(b.eq(right, 0), b.constant(INT64, 1), right)
    quotient = b.binary("sdiv", left, divisor)
    rest = left - quotient * divisor
    below = b.ne(rest, 0) & ((rest ^ divisor) < 0)
    if operation == "mod":
        return b.select(below, rest + divisor, rest)
    return b.select(below, quotient - 1, quotient)


def _bits(polynomial: Polynomial, ring: Polynomials) -> int:
    """Return how many bits hold the sum of all terms of a polynomial in lengths."""
    terms = [
        abs(factor).bit_length() + sum(_bits_of(ring.atoms[at]) for at in term)
        for term, factor in polynomial.terms
    ]
    return max(terms, default=0) + len(terms).bit_length()


def _bits_of(atom: Atom) -> int:
    return (atom.extent if isinstance(atom, LoopVariable) else atom).bits
