"""Programs of the JAX backend.

A program is compiled for the shapes of its inputs and for each value of the sizes that depend on
values of inputs. These are computed first: on the host if they follow from small
integers, else by small programs of their own. At most :data:`MOST_SPECIALISED` main programs are
kept, those that were used last.
"""

from __future__ import annotations

import re
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from threading import RLock
from typing import TYPE_CHECKING, Any

import numpy as np

from phintys._base.errors import ConfigError, add_note
from phintys._base.records import record
from phintys.backends.jax.arrays import jax, jnp
from phintys.backends.jax.held import UPLOADS, HeldArray, Transfers, sent, to_host
from phintys.backends.jax.meshes import ProgramShardings, check_division, common_mesh, sharding_of
from phintys.backends.jax.requirement import with_64_bits
from phintys.backends.jax.tracing import HostRefusedError, NeedsKnownError, Session, Trace, is_known
from phintys.backends.reference.backend import VM
from phintys.graph.inner import HasInnerGraph
from phintys.graph.shared_variable import SharedVariable, on_host
from phintys.graph.traversal import graph_inputs
from phintys.graph.variable import Constant, Variable
from phintys.tensor.shapes import Shape, ShapeI
from phintys.tensor.sharding import WithSharding

if TYPE_CHECKING:
    from phintys.backends.jax.options import JaxOptions
    from phintys.graph.apply import Apply
    from phintys.graph.fgraph import FunctionGraph

MOST_SPECIALISED = 64
"""The most programs that are kept for values of sizes."""

_COLLECTIVE = re.compile(
    r"\b(all-reduce|all-gather|reduce-scatter|all-to-all|collective-permute)(?:-start)?\("
)

_SHOWN = ("checks", "results", "matmul", "host")

_MOST_TRIES = 200
"""The most sizes of sizes that are looked for before a graph is refused."""


@record()
class Specialised:
    """A program for given sizes.

    Attributes
    ----------
    call
        The function of JAX: inputs -> results and the code of the first failure, which is ``None``
        if nothing is checked.
    session
        What its trace has found.
    """

    call: Callable[..., Any]
    session: Session

    def collectives(self, shapes: Sequence[Any]) -> Counter[str]:
        """Return how many operations of which kind move data between devices.

        Parameters
        ----------
        shapes
            The inputs, of which only shapes and dtypes matter.
        """
        text = self.call.lower(*shapes).compile().as_text()  # pyright: ignore[reportFunctionMemberAccess]
        return Counter(_COLLECTIVE.findall(text))


@record()
class EarlySize:
    """A size that is computed first.

    Attributes
    ----------
    size
        The variable.
    leaves
        Positions of the inputs whose values it follows from, if the host computes it.
    programs
        Otherwise the programs that compute it, by the sizes known before.
    """

    size: Variable
    leaves: frozenset[int] | None
    programs: dict[Any, Specialised]


_AS_IT_IS = nullcontext()


class _OtherDonationError(Exception):
    """A trace has found that old values cannot be given away: they may be needed."""


class _ReplacedError(Exception):
    """Another program has replaced a value that was going to be given away."""


class JaxProgram:
    """A graph as programs of JAX."""

    def __init__(self, fgraph: FunctionGraph, options: JaxOptions) -> None:
        self.fgraph = fgraph
        self.options = options
        self.inputs = list(fgraph.inputs)
        self.outputs = list(fgraph.outputs)
        self.traces = 0
        self.repeated = 0
        self.transfers = Transfers()
        self._device = options.find_device()
        self._given = [sharding_of(variable) for variable in fgraph.inputs]
        self._layout = self._find_layout()
        self._updates = dict(fgraph.update_mapping)
        self._explicit = sum(not isinstance(one, SharedVariable) for one in fgraph.inputs)
        updated = set(self._updates.values())
        self._are_stored = [
            options.results == "device" and isinstance(one, SharedVariable) and at not in updated
            for at, one in enumerate(fgraph.inputs)
        ]
        self._takes_arrays = self._layout is None and not any(self._are_stored)
        self._keeping: set[Any] = set()
        self._preludes: list[EarlySize] = []
        self._programs: OrderedDict[Any, Specialised] = OrderedDict()
        self._derived = self._new_session()
        self._moves = 0
        self._late: list[tuple[Any, Specialised]] = []
        self._lock = RLock()
        # Held while a program overwrites old values; it waits for no other lock.
        self._overwriting = RLock()

    def _new_session(self) -> Session:
        options = self.options
        return Session(
            checks=options.checks is not False,
            host=options.host == "allow",
            precision=options.matmul,
        )

    def _specialised(
        self, outputs: Sequence[Variable], known: dict[Variable, Any], *, donates: bool = False
    ) -> Specialised:
        session = self._new_session()
        session.share_derived(self._derived)
        session.known = dict(known)
        session.layout = self._layout

        def traced(*values: Any) -> tuple[list[Any], Any]:
            self.traces += outputs is self.outputs
            session.start()
            trace = Trace(session)
            found = [jnp.asarray(v) for v in trace.evaluate(self.inputs, outputs, values)]
            code = trace.code
            if outputs is self.outputs:
                self._keep_old(found, values, code, session, donates=donates)
            return found, None if is_known(code) else code

        places = tuple(sorted(self._updates.values())) if donates else ()
        placed = {} if self._layout is None else self._placing(self._layout, outputs)
        return Specialised(jax.jit(traced, donate_argnums=places, **placed), session)

    def _find_layout(self) -> ProgramShardings | None:
        """Return the devices among which values are divided."""
        inner = (
            node.op.sharding
            for node in _all_nodes(self.fgraph)
            if isinstance(node.op, WithSharding)
        )
        mesh = common_mesh([*(one for one in self._given if one is not None), *inner])
        if mesh is None:
            return None
        if self._device is not None:
            msg = (
                f"phintys.jax.mode(device={self.options.device!r}): the function has values on "
                f"{mesh}, which says itself where they are. Leave device=None."
            )
            raise ConfigError(msg)
        return ProgramShardings(mesh)

    def _placing(self, layout: ProgramShardings, outputs: Sequence[Variable]) -> dict[str, Any]:
        """Return where JAX shall put inputs and outputs; it chooses places for the others."""
        ours = [layout.of(sharding) for sharding in self._given]
        if outputs is not self.outputs:
            return {"in_shardings": tuple(ours), "out_shardings": layout.whole}
        is_read_here = layout.is_spread and self.options.results == "numpy"
        results: list[Any] = [layout.whole if is_read_here else None] * len(outputs)
        for at, place in self._updates.items():
            results[at] = layout.of(self._given[place])
        return {"in_shardings": tuple(ours), "out_shardings": (results, layout.whole)}

    def _keep_old(
        self, found: list[Any], values: Sequence[Any], code: Any, session: Session, *, donates: bool
    ) -> None:
        """Let updates be the old values if a check fails, where the host cannot see to it.

        That is where the old values are overwritten, and where checks are late.
        """
        if not donates and self.options.checks != "later":
            return
        alike = [
            (np.shape(values[place]), values[place].dtype) == (found[at].shape, found[at].dtype)
            for at, place in self._updates.items()
        ]
        session.is_guarded = all(alike) and not session.hosted
        if donates and not session.is_guarded:
            raise _OtherDonationError
        if session.failures and session.is_guarded:
            for at, place in self._updates.items():
                found[at] = jnp.where(code == 0, found[at], values[place])

    # ---- sizes -----------------------------------------------------------------------------------

    def _sizes(self, inputs: Sequence[Any]) -> dict[Variable, Any]:
        """Return the values of the sizes that are computed first."""
        known: dict[Variable, Any] = {}
        for prelude in self._preludes:
            if prelude.leaves is not None:
                found = self._size_on_host(prelude.size, prelude.leaves, known, inputs)
            else:
                key = _key(known)
                if key not in prelude.programs:
                    prelude.programs[key] = self._specialised([prelude.size], known)
                (found,), _ = prelude.programs[key].call(*inputs)
            known[prelude.size] = np.asarray(found)
        return known

    def _size_on_host(
        self,
        size: Variable,
        leaves: frozenset[int],
        known: dict[Variable, Any],
        inputs: Sequence[Any],
    ) -> Any:
        session = self._new_session()
        session.share_derived(self._derived)
        session.known = known
        values = [
            np.asarray(value)
            if position in leaves
            else jax.ShapeDtypeStruct(np.shape(value), value.dtype)
            for position, value in enumerate(inputs)
        ]
        (found,) = Trace(session).evaluate(self.inputs, [size], values)
        return found

    def _compute_first(self, needed: NeedsKnownError) -> None:
        """Add sizes to those that are computed first; raise if they belong to an inner graph."""
        sizes = [prelude.size for prelude in self._preludes]
        if not needed.variables or len(sizes) >= _MOST_TRIES:
            raise needed
        places = {variable: position for position, variable in enumerate(self.inputs)}
        for size in needed.variables:
            leaves = [v for v in graph_inputs([size]) if not isinstance(v, Constant)]
            if any(leaf not in places for leaf in leaves):
                raise needed
            if size in sizes:  # a size found later is what it follows from: that is computed before
                self._raise_if_endless(needed)
                self._preludes.insert(0, self._preludes.pop(sizes.index(size)))
            else:
                read = _read_by_value(size, places)
                is_small = all(_is_small(self.inputs[position]) for position in read)
                self._preludes.insert(0, EarlySize(size, read if is_small else None, {}))
            sizes = [prelude.size for prelude in self._preludes]
        self._programs.clear()

    def _raise_if_endless(self, needed: NeedsKnownError) -> None:
        self._moves += 1
        if self._moves > _MOST_TRIES:
            raise needed

    # ---- calls -----------------------------------------------------------------------------------

    def device_filter(self, type: Any, filter: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """Return a filter of arguments that lets arrays of JAX pass if they are of a type."""
        dtype, rank = getattr(type, "dtype", None), getattr(type, "ndim", None)
        shape = getattr(type, "shape", None)
        is_open = shape is not None and all(size is None for size in shape)

        def filtered(value: Any) -> Any:
            if value.__class__ is np.ndarray:
                return filter(value)
            if isinstance(value, jax.Array) and value.dtype == dtype and value.ndim == rank:
                if not is_open:
                    type.filter(np.broadcast_to(np.zeros((), dtype), value.shape))
                return value
            return filter(value)

        return filtered

    def __call__(self, inputs: Sequence[Any]) -> list[Any]:
        """Return the values of the outputs."""
        with self._lock, with_64_bits(), self._on_device():
            self._raise_late()
            inputs = list(inputs)
            holders = self._to_be_donated(inputs)
            try:
                results, code, program, values, holders = self._run(inputs, holders)
            except Exception as error:
                self._raise_as_library(inputs, error)
                raise
            if self._has_failed(results, code, program):
                number = 0 if code is None else int(code)
                results, holders = self._repeated(inputs, values, number, program), []
            if self.options.results == "device":
                return self._held(results, holders)
            if self._layout is not None and self._layout.is_spread:
                return [self.transfers.fetch(result) for result in results]
            found = [np.array(result) for result in results]
            self.transfers.count_fetched(found)
            return found

    def _to_be_donated(self, inputs: list[Any]) -> list[HeldArray]:
        """Return the old values of all updates, if the new ones can take their memory.

        Those that are on the host are sent, and replaced in the inputs.
        """
        if not self._updates:
            return []
        places = self._updates.values()
        found = [inputs[place] for place in places]
        is_possible = self.options.results == "device" and len(set(map(id, found))) == len(found)
        if not is_possible or not all(isinstance(v, HeldArray | np.ndarray) for v in found):
            return []
        for place in places:
            if isinstance(inputs[place], np.ndarray):
                self.transfers.send([inputs[place]])
                array = sent(inputs[place], self._where(place, inputs[place]))
                inputs[place] = HeldArray(array, self.transfers)
        return [inputs[place] for place in places]

    def _where(self, at: int, value: Any) -> Any:
        """Return the device, or the sharding, of an input."""
        if self._layout is None:
            return self._device
        sharding = self._given[at]
        if sharding is not None:
            check_division(sharding, value, str(self.inputs[at]))
        return self._layout.of(sharding)

    def _held(self, results: list[Any], holders: Sequence[HeldArray]) -> list[Any]:
        """Return the results with those that are updates as values for the cells."""
        kept = iter(holders)
        for at in self._updates:
            results[at] = next(kept) if holders else HeldArray(results[at], self.transfers)
        return results

    def _has_failed(self, results: Sequence[Any], code: Any, program: Specialised) -> bool:
        """Return whether a check has failed; this waits for the device, unless checks are late."""
        session = program.session
        if self.options.checks == "later" and (session.is_guarded or not self._updates):
            self._late.append((code, program))
            return False
        if session.hosted:
            jax.block_until_ready(results)
            jax.effects_barrier()
        is_wrong = code is not None and int(code) != 0
        return is_wrong or bool(session.take_host_errors())

    def _repeated(
        self, inputs: Sequence[Any], values: Sequence[Any], code: int, program: Specialised
    ) -> list[Any]:
        """Compute by the reference backend, which raises the library's own error.

        That names values and the user's line, also in nested graphs. Without an error, rounding has
        made the difference, and the results are the ones that the library defines.
        """
        self.repeated += 1
        with _noting(program, code):
            pairs = zip(inputs, values, strict=True)
            whole = [_on_host(one if isinstance(one, HeldArray) else value) for one, value in pairs]
            found = VM(self.fgraph)(whole)
        return [jnp.asarray(value) for value in found]

    def _on_device(self) -> Any:
        return _AS_IT_IS if self._device is None else jax.default_device(self._device)

    def _run(
        self, inputs: Sequence[Any], holders: list[HeldArray]
    ) -> tuple[list[Any], Any, Specialised, list[Any], list[HeldArray]]:
        while True:
            with _keeping(inputs) as kept:
                if _were_replaced(inputs, kept):
                    continue
                values = self._placed(kept)
                key: Any = ()
                try:
                    known = self._sizes(values)
                    key = (*[value.shape for value in values], _key(known))
                    donated = [] if key in self._keeping else holders
                    program = self._program(key, known, donates=bool(donated))
                    results, code = self._started(program, values, kept, donated)
                except NeedsKnownError as needed:
                    self._compute_first(needed)
                except _OtherDonationError:
                    del self._programs[key, True]
                    self._keeping.add(key)
                except _ReplacedError:
                    continue
                else:
                    self.transfers.send(values)
                    return results, code, program, values, donated

    def _program(self, key: Any, known: dict[Variable, Any], *, donates: bool) -> Specialised:
        key = (key, donates)
        program = self._programs.get(key)
        if program is None:
            program = self._specialised(self.outputs, known, donates=donates)
            self._programs[key] = program
            if len(self._programs) > MOST_SPECIALISED:
                self._programs.popitem(last=False)
        else:
            self._programs.move_to_end(key)
        return program

    def _placed(self, inputs: Sequence[Any]) -> list[Any]:
        """Return inputs as JAX takes them; stored ones are sent once if results stay there."""
        if self._takes_arrays:
            return list(inputs)
        if self._layout is not None:
            return [self._divided(self._layout, at, value) for at, value in enumerate(inputs)]
        return [
            self._upload(value, self._device)
            if is_stored and isinstance(value, np.ndarray)
            else value
            for value, is_stored in zip(inputs, self._are_stored, strict=True)
        ]

    def _divided(self, layout: ProgramShardings, at: int, value: Any) -> Any:
        """Return an input as a program for several devices takes it."""
        sharding = self._given[at]
        wanted = layout.of(sharding)
        if isinstance(value, jax.Array):
            return value if value.sharding == wanted else jax.device_put(value, wanted)
        is_own_part = sharding is not None and at < self._explicit and layout.is_spread
        if is_own_part:
            return jax.make_array_from_process_local_data(wanted, value)
        wanted = self._where(at, value)
        if self._are_stored[at]:
            return self._upload(value, wanted)
        return sent(value, wanted) if layout.is_spread else value

    def _upload(self, value: np.ndarray[Any, Any], where: Any) -> Any:
        def make() -> Any:
            self.transfers.send([value])
            return sent(value, where)

        return UPLOADS.find(value, where, make)

    def _started(
        self,
        program: Specialised,
        values: Sequence[Any],
        kept: Sequence[Any],
        donated: Sequence[HeldArray],
    ) -> tuple[list[Any], Any]:
        """Start a program; the old values that it overwrites become the new ones."""
        if not donated:
            return program.call(*values)
        found: list[Any] = []
        given = list(values)
        try:
            with self._overwriting:
                for (at, place), holder in zip(self._updates.items(), donated, strict=True):
                    is_read = holder.move(kept[place], found, at, self._overwriting)
                    if is_read is None:
                        raise _ReplacedError
                    if is_read and given[place] is kept[place]:
                        given[place] = jnp.copy(given[place])
                # Python handles no signal between the end of the call and the entry in the list.
                found.extend(map(program.call, *([value] for value in given)))
        finally:
            for holder in donated:
                holder.settle()
                holder.stay(found)
        return found[0]

    def _raise_late(self) -> None:
        """Raise the failure of an earlier call, whose inputs are gone."""
        late, self._late = self._late, []
        for code, program in late:
            session = program.session
            if code is not None and int(code):
                node, make = session.failure(int(code))
                error = make()
                add_note(
                    error, f"In an earlier call, computing {node.op}, made at\n  {node.origin}"
                )
                raise error
            if found := session.take_host_errors():
                raise found[0]

    def _raise_as_library(self, inputs: Sequence[Any], error: Exception) -> None:
        """Raise the error of the reference backend instead of one of a trace, if it has one."""
        if isinstance(error, NeedsKnownError | HostRefusedError):
            return
        if self._layout is not None and self._layout.is_spread:
            return  # a process has only a part of the inputs
        try:
            VM(self.fgraph)([_on_host(value) for value in inputs])
        except Exception as found:
            raise found from None

    def _counted(self, program: Specialised, key: Any) -> str:
        types: list[Any] = [variable.type for variable in self.inputs]
        with self._lock, with_64_bits():
            shapes = [jax.ShapeDtypeStruct(s, t.dtype) for s, t in zip(key, types, strict=False)]
            found = program.collectives(shapes)
        return ", ".join(f"{count} {name}" for name, count in sorted(found.items())) or "none"

    def free(self) -> None:
        """Release the compiled programs."""
        with self._lock:
            self._programs.clear()
            for prelude in self._preludes:
                prelude.programs.clear()

    def explain(self) -> str:
        """Return a description: devices, sizes that are computed first, what runs on the host."""
        options = self.options
        device: Any = self._device or jax.devices()[0]
        if self._layout is not None:
            device = f"{self._layout.mesh.size} devices, {dict(self._layout.mesh.shape)}"
        chosen = ", ".join(f"{name}={getattr(options, name)!r}" for name in _SHOWN)
        compiled = f"{len(self._programs)} programs are compiled, of at most {MOST_SPECIALISED}"
        traces = f"by {self.traces} traces"
        lines = [f"A program of JAX on {device}: {chosen}.", f"{compiled}, {traces}."]
        if not self.traces:
            lines.append("It is compiled by its first call, for the shapes of its arguments.")
        for prelude in self._preludes:
            where = "device" if prelude.leaves is None else "host"
            lines.append(f"  computed first, on the {where}: {prelude.size}")
        lines.append(str(self.transfers))
        if self._updates and options.results == "device":
            donated = any(donates for _, donates in self._programs)
            how = "take the memory of the old values" if donated else "are new arrays"
            lines.append(f"Updates stay on the device: they {how}.")
        if self.repeated:
            lines.append(f"{self.repeated} calls were repeated by the reference backend.")
        for (key, _), program in list(self._programs.items())[-1:]:
            session = program.session
            sizes = f", and the sizes {key[-1]}" if self._preludes else ""
            lines.append(f"The last one is for the shapes {key[:-1]}{sizes}.")
            lines.append(f"{len(session.failures)} checks of values.")
            if self._layout is not None:
                lines.append(f"Collective operations: {self._counted(program, key)}.")
            for name, (count, reason) in session.hosted.items():
                lines.append(f"  {count} callbacks to the host: {name}, since {reason}")
            for name, count in session.expanded.items():
                lines.append(f"  {count} expansions into other Ops: {name}")
        return "\n".join(lines)


def _all_nodes(fgraph: FunctionGraph) -> Iterator[Apply]:
    """Yield the nodes of a graph and of those inside of it."""
    for node in fgraph.toposort():
        yield node
        if isinstance(node.op, HasInnerGraph):
            yield from _all_nodes(node.op.fgraph)


def _on_host(value: Any) -> Any:
    """Return an input as an array of NumPy that the reference backend may overwrite."""
    value = on_host(value)
    return to_host(value) if isinstance(value, jax.Array) else np.array(value)


@contextmanager
def _keeping(inputs: Sequence[Any]) -> Iterator[list[Any]]:
    """Yield inputs with the arrays of those on a device, which nobody else gives away meanwhile.

    A program that read a deleted array would fail, and XLA write a line to the standard error.
    """
    held = [one for one in inputs if isinstance(one, HeldArray)]
    kept: list[Any] = []
    try:
        kept.extend(one.keep() for one in held)
        arrays = iter(kept)
        yield [next(arrays) if isinstance(one, HeldArray) else one for one in inputs]
    finally:
        for one, _ in zip(held, kept, strict=False):
            one.release()


def _were_replaced(inputs: Sequence[Any], values: Sequence[Any]) -> bool:
    """Return whether stored values that were to be read have been given away, and replaced.

    Raises
    ------
    TransferError
        Nothing has replaced one of them.
    """
    pairs = zip(inputs, values, strict=True)
    replaced = [
        (one, value) for one, value in pairs if isinstance(one, HeldArray) and value.is_deleted()
    ]
    for stored, value in replaced:
        stored.raise_if_lost(value)
    return bool(replaced)


def _key(known: dict[Variable, Any]) -> tuple[Any, ...]:
    return tuple(
        value.tolist() if value.ndim == 0 else (*value.ravel().tolist(),)
        for value in known.values()
    )


@contextmanager
def _noting(program: Specialised, code: int) -> Iterator[None]:
    """Add the node whose check has failed to an error that does not name it."""
    try:
        yield
    except Exception as error:
        if code and not hasattr(error, "__notes__"):
            node, _ = program.session.failure(code)
            add_note(error, f"While computing {node.op}, made at\n  {node.origin}")
        raise


def _is_small(variable: Variable) -> bool:
    """Return whether the host may read an input: small integers, as sizes are."""
    dtype = np.dtype(getattr(variable.type, "dtype", "O"))
    return dtype.kind in "iub" and getattr(variable.type, "ndim", 2) <= 1


def _read_by_value(size: Variable, places: dict[Variable, int]) -> frozenset[int]:
    """Return the positions of the inputs whose values, not only shapes, a size follows from.

    The shape of a value that is computed is found by computing it.
    """
    found: set[int] = set()
    seen: set[Variable] = set()
    left = [size]
    while left:
        variable = left.pop()
        if variable in seen:
            continue
        seen.add(variable)
        if variable in places:
            found.add(places[variable])
        elif variable.owner is not None and not _is_shape_of_input(variable.owner, places):
            left += variable.owner.inputs
    return frozenset(found)


def _is_shape_of_input(node: Apply, places: dict[Variable, int]) -> bool:
    return isinstance(node.op, (Shape, ShapeI)) and node.inputs[0] in places
