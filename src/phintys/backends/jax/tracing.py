"""The walk through a graph that makes a function of JAX of it, inside of a trace of ``jax.jit``.

A value is *known* or *traced*. Known ones are NumPy arrays: constants, sizes, and what nodes
compute from known values alone, by their own ``perform``. So arithmetic of shapes keeps its meaning
and does not reach the device. Traced ones are arrays of JAX, computed by the rule of a node's Op.

Conditions on traced values become codes, which are numbers: 0 where all is well, else that of the
failure in the :class:`Session`; earlier ones are larger, so that the first of several is their
maximum. They pass through loops and branches like other results.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import reduce
from threading import Lock
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np

from phintys._base import index
from phintys._base.errors import PhintysError, add_note
from phintys.backends.jax.arrays import jax, jnp, lax
from phintys.backends.jax.host import call_host
from phintys.backends.reference.backend import VM
from phintys.graph.choosing import Choosing
from phintys.graph.fgraph import FunctionGraph
from phintys.graph.op import Op
from phintys.graph.rules import OpRules
from phintys.graph.traversal import io_toposort
from phintys.graph.variable import Constant, Variable
from phintys.scalar.type import ScalarType
from phintys.tensor.shapes import ShapeI
from phintys.tensor.type import TensorType

if TYPE_CHECKING:
    from phintys.backends.jax.meshes import ProgramShardings
    from phintys.graph.apply import Apply

    Env = dict[Variable, Any]
    Rule = Callable[..., Any]

RULES: OpRules[Rule] = OpRules("JAX backend", index.JAX_RULES)
"""Functions (op, node, trace, *inputs) -> a result, or a list of them for several outputs."""

converts = RULES.register

_MOST_FOLDED = 4096
CODE = np.float32
"""The dtype of codes: XLA has a compiled maximum of floats, and compiles one of integers anew."""
_MOST_CODES = 1 << 24
"""Codes count down from here, so that the first of several failures has the largest one; it is the
largest number below which :data:`CODE` has all integers."""

_Result = TypeVar("_Result")
_Fact = TypeVar("_Fact")


class NotConvertedError(Exception):
    """A rule does not cover a node: its expansion is taken, or the host."""


class MisfitError(PhintysError, ValueError):
    """Inputs do not fit together. What the Op itself says of them replaces this error."""

    def __init__(self, node: Apply) -> None:
        super().__init__(f"{node.op}: the inputs do not fit together, at\n  {node.origin}")


class NeedsKnownError(PhintysError, TypeError):
    """A size depends on values of arrays, and must be computed before the program is compiled."""

    def __init__(self, node: Apply, what: str, variables: Sequence[Variable] = ()) -> None:
        super().__init__(
            f"{node.op}: {what} depends on values that a loop, a branch or a function of JAX "
            "computes. It must be known when the program is compiled for an accelerator: make it "
            f"constant, or compute it outside. It is used at\n  {node.origin}"
        )
        self.node = node
        self.variables = tuple(variables)


class HostRefusedError(PhintysError, TypeError):
    """A node would run on the host, which the mode refuses."""


class Session:
    """What is known about one program: what its traces have in common.

    Attributes
    ----------
    checks
        Check conditions on traced values.
    host
        Allow callbacks.
    precision
        Of products of matrices, as JAX names it.
    known
        Sizes that were computed beforehand.
    failures
        For each condition in order, the node and a function that makes the error.
    hosted
        Nodes, or names of scalar functions, that run on the host, with the reason.
    expanded
        Nodes that were replaced by their Op's expansion.
    is_guarded
        The program itself keeps the old values of updates if a check fails.
    layout
        The devices among which values are divided, if there are several.
    """

    def __init__(self, *, checks: bool, host: bool, precision: str) -> None:
        self.checks = checks
        self.host = host
        self.precision = precision
        self.known: dict[Variable, Any] = {}
        self.failures: list[tuple[Apply, Callable[[], Exception]]] = []
        self.hosted: dict[str, tuple[int, str]] = {}
        self.expanded: dict[str, int] = {}
        self.is_guarded = False
        self.layout: ProgramShardings | None = None
        self._derived: dict[Hashable, Any] = {}
        self._host_errors: list[Exception] = []

    def add_failure(self, node: Apply, make: Callable[[], Exception]) -> int:
        """Return the code of a new condition."""
        self.failures.append((node, make))
        return _MOST_CODES - len(self.failures)

    def failure(self, code: int) -> tuple[Apply, Callable[[], Exception]]:
        """Return the node of a code, and the function that makes the error."""
        return self.failures[_MOST_CODES - code - 1]

    def start(self) -> None:
        """Forget what the last trace has found."""
        self.failures = []
        self.hosted = {}
        self.expanded = {}

    def share_derived(self, other: Session) -> None:
        """Use the symbolic sizes of another session of the same program."""
        self._derived = other._derived

    def derived(self, key: Hashable, make: Callable[[], _Result]) -> _Result:
        """Return something symbolic that a rule needs for a node, made once for the program."""
        if key not in self._derived:
            self._derived[key] = make()
        return self._derived[key]

    def use_host(self, name: str, node: Apply, reason: str) -> None:
        """Count a callback.

        Raises
        ------
        HostRefusedError
            The mode refuses them.
        """
        if not self.host:
            msg = (
                f"{name} would run on the host, since {reason}, and the mode says host='refuse'. "
                "Write it with other functions, add a rule, or allow the host with "
                f"phintys.jax.mode(host='allow'). It is used at\n  {node.origin}"
            )
            raise HostRefusedError(msg)
        count, _ = self.hosted.get(name, (0, ""))
        self.hosted[name] = (count + 1, reason)

    def add_host_error(self, error: Exception) -> None:
        """Keep the error of a callback, which must not raise it on a thread of the device."""
        self._host_errors.append(error)

    def take_host_errors(self) -> list[Exception]:
        """Return the errors of callbacks since the last time."""
        found, self._host_errors = self._host_errors, []
        return found


class Notes(Generic[_Fact]):
    """Facts about traced arrays, by their identity: they have no hash."""

    def __init__(self) -> None:
        # With the arrays, so that no other ones get their identities.
        self._facts: dict[int, tuple[Any, _Fact]] = {}

    def __setitem__(self, x: Any, fact: _Fact) -> None:
        self._facts[id(x)] = x, fact

    def get(self, x: Any) -> _Fact | None:
        """Return the fact about an array, if there is one."""
        return self._facts[id(x)][1] if id(x) in self._facts else None


class Trace:
    """One walk: the values so far, and the codes of the conditions of this scope.

    Attributes
    ----------
    ranges
        For vectors of successive integers, the first and the last one.
    draws
        Arrays that are computed from random bits, element by element, in this scope or another.
    reversals
        For arrays, the one whose blocks of rows they have in reversed order, and the rows in a
        block. A rule that reads that one instead saves a copy, which XLA would make.
    """

    def __init__(self, session: Session, depth: int = 0) -> None:
        self.session = session
        self.depth = depth
        self.env: Env = {}
        self.ranges: Notes[tuple[int, int]] = Notes()
        self.draws: Notes[bool] = Notes()
        self.reversals: Notes[tuple[Any, int]] = Notes()
        self._positions: Notes[dict[int, Any]] = Notes()
        self._codes: list[Any] = []

    def inner(self) -> Trace:
        """Return a trace for the graph of a loop or branch, whose codes are its own."""
        inner = Trace(self.session, self.depth + 1)
        inner.draws = self.draws
        return inner

    @property
    def code(self) -> Any:
        """The code of the first failure of this scope."""
        return reduce(lax.max, self._codes) if self._codes else CODE(0)

    def add_code(self, code: Any) -> None:
        """Add the code of an inner scope. One that is known is 0."""
        if self.session.checks and not is_known(code):
            self._codes.append(code)

    def check(self, holds: Any, node: Apply, make: Callable[[], Exception]) -> None:
        """State that a condition holds. One that is known to fail is a misfit."""
        if is_known(holds):
            if not np.all(holds):
                raise MisfitError(node)
        elif self.session.checks and holds.size:
            code = self.session.add_failure(node, make)
            codes = lax.select(
                holds, lax.full_like(holds, 0, CODE), lax.full_like(holds, code, CODE)
            )
            self._codes.append(lax.reduce_max(codes, range(codes.ndim)))

    def positions(self, index: Any, size: int, node: Apply, make: Callable[[], Exception]) -> Any:
        """Return traced indices of an axis as int64 from its start, and check that they are in it.

        All readers of one index share this: XLA would compile the same checks for each of them.
        """
        by_size = self._positions.get(index) or {}
        if size not in by_size:
            by_size[size] = self._from_start(index, size, node, make)
            self._positions[index] = by_size
        return by_size[size]

    def _from_start(self, index: Any, size: int, node: Apply, make: Callable[[], Exception]) -> Any:
        limits = np.iinfo(index.dtype)
        low, high = self.ranges.get(index) or (limits.min, limits.max)
        if index.dtype == np.uint64:
            index = jnp.minimum(index, np.uint64(np.iinfo("int64").max))
        index = index.astype("int64")
        if low < -size or high >= size:
            self.check((index >= -size) & (index < size), node, make)
        return index if low >= 0 else lax.select(index < 0, index + size, index)

    def sizes(self, node: Apply, values: Sequence[Any], what: str = "a size") -> tuple[int, ...]:
        """Return sizes as integers.

        Parameters
        ----------
        node
            The node, whose last inputs they are.
        values
            The values of those inputs.
        what
            What the error calls them.

        Raises
        ------
        NeedsKnownError
            One of them is traced.
        """
        if not all(is_known(value) for value in values):
            raise NeedsKnownError(node, what, node.inputs[len(node.inputs) - len(values) :])
        return tuple(int(value) for value in values)

    def size(self, node: Apply, name: Hashable, what: str, make: Callable[[], Variable]) -> int:
        """Return the value of a size that no variable of the graph holds.

        Raises
        ------
        NeedsKnownError
            It has not been computed beforehand.
        """
        variable = self.session.derived((node, name), make)
        if variable not in self.session.known:
            raise NeedsKnownError(node, what, [variable])
        return int(self.session.known[variable])

    def evaluate(
        self, inputs: Sequence[Variable], outputs: Sequence[Variable], values: Sequence[Any]
    ) -> list[Any]:
        """Return the values of outputs for values of inputs."""
        outer, self.env = self.env, dict(zip(inputs, values, strict=True))
        try:
            if self.depth == 0:
                self.env.update(self.session.known)
            self._compute(outputs)
            return [value_of(variable, self.env) for variable in outputs]
        finally:
            self.env = outer

    def _compute(self, wanted: Sequence[Variable]) -> None:
        order = io_toposort(list(self.env), list(wanted))
        certain = _certain_nodes(wanted, self.env, order)
        for node in order:
            if node not in certain:
                continue
            with jax.named_scope(_scope_of(node)):
                if isinstance(node.op, Choosing):
                    results = self._choose(node, node.op)
                else:
                    results = self.run(node, [value_of(v, self.env) for v in node.inputs])
            made = map(_without_computing, results)
            self.env.update(zip(node.outputs, made, strict=True))

    def run(self, node: Apply, inputs: Sequence[Any]) -> list[Any]:
        """Return the results of one node."""
        if node.op.is_copy:
            return [inputs[0]]
        if _is_folded(node, inputs):
            return perform(node, inputs)
        rule = RULES.find(type(node.op))
        reason = "it has no rule"
        if rule is not None:
            try:
                result = rule(node.op, node, self, *inputs)
            except NotConvertedError as refused:
                reason = str(refused) or "its rule does not cover these inputs"
            else:
                return list(result) if isinstance(result, (list, tuple)) else [result]
        return self._expand(node, inputs) or host_call(self, node, inputs, reason)

    def _expand(self, node: Apply, inputs: Sequence[Any]) -> list[Any] | None:
        """Return the results by an Op's own graph of other Ops, if it has one."""
        expansion = getattr(node.op, "expanded", None)
        if expansion is None:
            return None

        def make() -> tuple[list[Variable], list[Variable]]:
            given = [variable.type() for variable in node.inputs]
            found = expansion(*given)
            return given, list(found) if isinstance(found, (list, tuple)) else [found]

        given, outputs = self.session.derived((node, "expansion"), make)
        name = str(node.op)
        self.session.expanded[name] = self.session.expanded.get(name, 0) + 1
        inner = self.inner()
        results = inner.evaluate(given, outputs, inputs)
        self.add_code(inner.code)
        return results

    def _choose(self, node: Apply, op: Choosing) -> list[Any]:
        """Compute one side of a choice, as lazily as the library does."""
        selector = value_of(op.selector(node), self.env)
        sides = op.sides(node)
        env = dict(self.env)

        def side(number: int) -> Callable[[], tuple[Any, ...]]:
            def run() -> tuple[Any, ...]:
                inner = self.inner()
                inner.env = dict(env)
                wanted = [node.inputs[position] for position in sides[number]]
                inner._compute(wanted)
                values = [jnp.asarray(value_of(variable, inner.env)) for variable in wanted]
                return (*values, jnp.asarray(inner.code, CODE))

            return run

        if is_known(selector):
            wanted = [node.inputs[position] for position in sides[op.chosen(selector)]]
            self._compute(wanted)
            return [value_of(variable, self.env) for variable in wanted]
        shapes = [[r.shape for r in jax.eval_shape(side(number))] for number in range(len(sides))]
        if any(shape != shapes[0] for shape in shapes):
            raise NeedsKnownError(node, "the shape of the result", [op.selector(node)])
        position = jnp.where(selector != 0, op.chosen(np.asarray(1)), op.chosen(np.asarray(0)))
        *values, code = jax.lax.switch(position, [side(number) for number in range(len(sides))])
        self.add_code(code)
        return values


def is_known(value: Any) -> bool:
    """Return whether a value is a NumPy array or number, not one of JAX."""
    return isinstance(value, (np.ndarray, np.generic, bool))


def _without_computing(value: Any) -> Any:
    """Return a value; zeros in place of one without elements, which need not be computed.

    XLA (jaxlib 0.10) ends the process when it compiles some programs that do, such as an empty part
    of a join with an empty array.
    """
    if isinstance(value, jax.Array) and not value.size:
        return jnp.zeros(value.shape, value.dtype)
    return value


def value_of(variable: Variable, env: Env) -> Any:
    """Return the value of a variable that has been computed, or of a constant."""
    if variable in env:
        return env[variable]
    assert isinstance(variable, Constant)
    return np.asarray(variable.data)


def perform(node: Apply, inputs: Sequence[Any]) -> list[Any]:
    """Return the results of a node by its own method, in NumPy."""
    cells: list[list[Any]] = [[None] for _ in node.outputs]
    with np.errstate(all="ignore"):
        node.op.perform(node, [np.asarray(value) for value in inputs], cells)
    return [cell[0] for cell in cells]


def _is_folded(node: Apply, inputs: Sequence[Any]) -> bool:
    """Return whether a node runs while its graph is traced; never what makes large values."""
    if not all(is_known(value) for value in inputs) or hasattr(node.op, "fgraph"):
        return False
    if not node.inputs or sum(np.size(value) for value in inputs) > _MOST_FOLDED:
        return False
    rule = RULES.find(type(node.op))
    if rule is None and type(node.op).do_constant_folding is not Op.do_constant_folding:
        return False  # an Op of a user, which may do something else in each call
    return not getattr(rule, "makes_large", False)


def makes_large(rule: Callable[..., _Result]) -> Callable[..., _Result]:
    """Mark the rule of an Op whose results may be much larger than its inputs."""
    rule.makes_large = True  # pyright: ignore[reportFunctionMemberAccess]
    return rule


def _certain_nodes(wanted: Sequence[Variable], env: Env, order: Sequence[Apply]) -> set[Apply]:
    """Return the nodes that are needed whatever is chosen."""
    nodes = set(order)
    if not any(isinstance(node.op, Choosing) for node in order):
        return nodes
    found: set[Apply] = set()
    left = [v.owner for v in wanted if v not in env]
    while left:
        node = left.pop()
        if node is None or node in found or node not in nodes:
            continue
        found.add(node)
        guarded: set[int] = set()
        if isinstance(node.op, Choosing):
            guarded = {position for side in node.op.sides(node) for position in side}
        left += [v.owner for i, v in enumerate(node.inputs) if i not in guarded and v not in env]
    return found


def _scope_of(node: Apply) -> str:
    """Return the name under which profilers of JAX show a node."""
    scalar = getattr(node.op, "scalar_op", "")
    text = f"{type(node.op).__name__}_{scalar}" if len(str(scalar)) <= 20 else "Elemwise"
    return "".join(c if c.isalnum() or c == "_" else "_" for c in text)


# ---- the host ------------------------------------------------------------------------------------


def host_call(trace: Trace, node: Apply, inputs: Sequence[Any], reason: str) -> list[Any]:
    """Run a node on the host by the reference backend, in a callback."""
    session = trace.session
    for variable in (*node.inputs, *node.outputs):
        if not isinstance(variable.type, TensorType | ScalarType):
            raise _not_an_array(node, variable, reason)
    if session.layout is not None and session.layout.mesh.size > 1:
        raise _host_of_many(node, reason)
    trace.session.use_host(_host_name(node.op), node, reason)
    shapes = _output_shapes(trace, node, inputs)
    types = [output.type for output in node.outputs]
    dtypes = [np.dtype(t.dtype) for t in types]  # pyright: ignore[reportAttributeAccessIssue]
    specs = [jax.ShapeDtypeStruct(s, d) for s, d in zip(shapes, dtypes, strict=True)]

    alone = node.clone_with_new_inputs([variable.type() for variable in node.inputs])
    machine = VM(FunctionGraph(list(alone.inputs), list(alone.outputs), clone=False))

    lock = Lock()  # JAX may run callbacks on several threads

    def on_host(*values: Any) -> tuple[Any, ...]:
        try:
            with lock:
                results = machine([np.array(value) for value in values])
        except Exception as error:  # noqa: BLE001 - it is raised when the call returns
            session.add_host_error(error)
            return tuple(np.zeros(spec.shape, spec.dtype) for spec in specs)
        return tuple(np.asarray(r, d) for r, d in zip(results, dtypes, strict=True))

    return call_host(on_host, specs, inputs, "sequential")


def _host_of_many(node: Apply, reason: str) -> HostRefusedError:
    return HostRefusedError(
        f"{_host_name(node.op)} would run on the host, since {reason}, and the values of the "
        "function are divided among several devices, from which only elementwise Ops can call the "
        "host. Write it with other functions, or compute it in a function of its own without "
        f"shardings. It is used at\n  {node.origin}"
    )


def _not_an_array(node: Apply, variable: Variable, reason: str) -> HostRefusedError:
    return HostRefusedError(
        f"{_host_name(node.op)} would run on the host, since {reason}; it has a value of the type "
        f"{variable.type}, and the host gets arrays alone. Compute it in a native function, or "
        "choose among the elements of sparse matrices in loops, rather than among the matrices. "
        f"It is used at\n  {node.origin}"
    )


def _host_name(op: Op) -> str:
    return type(op).__name__


def _output_shapes(trace: Trace, node: Apply, inputs: Sequence[Any]) -> list[tuple[int, ...]]:
    """Return the shapes of the results of a node, by its type or its shape rule."""
    static = [getattr(output.type, "shape", None) for output in node.outputs]
    if all(shape is not None and None not in shape for shape in static):
        return static  # pyright: ignore[reportReturnType]

    def make() -> list[Variable]:
        given = [tuple(ShapeI(d)(v) for d in range(_rank(v))) for v in node.inputs]
        infer: Callable[..., Any] | None = getattr(node.op, "infer_shape", None)
        if infer is None:
            raise _without_shape(node)
        from_sizes = infer(None, node, given)
        return [size for shape in from_sizes for size in shape]

    sizes = trace.session.derived((node, "shape"), make)
    symbolic = [size for size in sizes if not isinstance(size, (int, np.integer))]
    inner = trace.inner()
    found = iter(inner.evaluate(node.inputs, symbolic, inputs))
    values = [size if isinstance(size, (int, np.integer)) else next(found) for size in sizes]
    unknown = [
        size
        for size, value in zip(sizes, values, strict=True)
        if not isinstance(value, int) and not is_known(value)
    ]
    if unknown:
        raise NeedsKnownError(node, "the shape of the result", unknown)
    numbers = iter(values)
    return [tuple(int(next(numbers)) for _ in range(_rank(o))) for o in node.outputs]


def _without_shape(node: Apply) -> NeedsKnownError:
    error = NeedsKnownError(node, "the shape of the result")
    add_note(
        error,
        f"{type(node.op).__name__} runs on the host and does not define infer_shape, which says "
        "how the shapes of its results follow from those of its inputs. Define it, or return a "
        "type with a static shape from make_node.",
    )
    return error


def _rank(variable: Variable) -> int:
    return int(getattr(variable.type, "ndim", 0))
