"""Loops that tests draw, and the same programs without loops."""

import numpy as np
from hypothesis import strategies as st

import phintys.tensor as pt
from phintys.control import LoopArguments, Scan
from phintys.gradient import disconnected_grad
from phintys.graph import FunctionGraph
from phintys.graph.cloning import clone_replace

SIZE = 3
TAPS = [(-1,), (-2, -1), (-2,), (-3, -1), (-6, -1), (-5,)]


def unrolled(op, n, inputs):
    """Return the results of a loop of n steps, written out."""
    first = n - op.truncate_gradient if op.truncate_gradient >= 0 else 0
    arguments = op.arguments
    given = arguments.node_inputs([n, *inputs])
    traces = [
        [x[j] for j in range(depth)]
        for x, depth in zip(given.carried, arguments.depths, strict=True)
    ]
    untraced = list(given.untraced)
    stacks = [[] for _ in range(arguments.stacked)]
    for t in range(n):
        values = [pt.constant(np.int64(t)), *(x[t] for x in given.sequences)]
        for trace, taps in zip(traces, arguments.taps, strict=True):
            values += [trace[tap] for tap in taps]
        values += [*untraced, *given.captured]
        if t < first:
            values = [disconnected_grad(value) for value in values]
        replaced = clone_replace(op.inner_outputs, dict(zip(op.inner_inputs, values, strict=True)))
        made = arguments.step_outputs(replaced)
        for trace, row in zip(traces, made.carried, strict=True):
            trace.append(row)
        untraced = list(made.untraced)
        for rows, row in zip(stacks, made.stacked, strict=True):
            rows.append(row)
    return [
        *map(pt.stack, traces),
        *untraced,
        *(pt.stack(rows) if rows else None for rows in stacks),
    ]


@st.composite
def steps(draw, depth=1, truncates=False, checkpoints=(None,)):
    """Draw a loop of vectors of length 3, and values for its inputs but the number of steps."""
    taps = tuple(draw(st.lists(st.sampled_from(TAPS), max_size=2)))
    arguments = LoopArguments(
        sequences=draw(st.integers(0, 2)),
        taps=taps,
        untraced=draw(st.integers(0 if taps else 1, 2)),
        stacked=draw(st.integers(0, 2)),
        captured=draw(st.integers(1, 2)),
        has_until=draw(st.booleans()),
    )
    w = pt.dmatrix("w")
    t = pt.lscalar("t")
    _, inner, _ = arguments.counts
    vectors = [pt.tensor(f"x{i}", shape=(SIZE,)) for i in range(inner - 2)]
    pool = [*vectors, w[draw(st.integers(0, 2))], pt.cos(t) * w.sum(0)]

    def expression():
        a, b, c = (draw(st.sampled_from(pool)) for _ in range(3))
        kinds = ["affine", "product", "power", "choice", "exp", "sum", "cumsum", "constant"]
        kind = draw(st.sampled_from([*kinds, "loop"] if depth else kinds))
        if kind == "affine":
            found = pt.tanh(w @ a + b)
        elif kind == "product":
            found = a * b - 0.3 * c
        elif kind == "power":
            found = a / (1 + b**2)
        elif kind == "choice":
            found = pt.switch(a > b, pt.sin(c), b * 0.5)
        elif kind == "exp":
            found = pt.exp(-(a**2)) + c
        elif kind == "sum":
            found = a * b.sum() - c.prod() * 0.1
        elif kind == "constant":
            found = pt.zeros(SIZE) + draw(st.sampled_from([0.0, 0.7]))
        elif kind == "cumsum":
            found = pt.cumsum(a)[::-1] * 0.2 + b
        else:
            u, x = pt.lscalar("u"), pt.tensor("x", shape=(SIZE,))
            v = pt.dmatrix("v")
            again = FunctionGraph([u, x, v], [pt.tanh(v @ x) * 0.9 + 0.1 * u, x[0] * x])
            of = LoopArguments(taps=((-1,),), stacked=1, captured=1)
            trace, stack = Scan(again, of)(2, a[None], w)
            found = trace[-1] + stack.sum(0) + b
        pool.append(found)
        return found

    outputs = [expression() for _ in range(len(taps) + arguments.untraced + arguments.stacked)]
    if arguments.has_until:
        outputs.append(pt.ge(t, draw(st.integers(0, 2))))
    truncate = draw(st.integers(0, 3)) if truncates else -1
    op = Scan(
        FunctionGraph([t, *vectors, w], outputs),
        arguments,
        truncate_gradient=truncate,
        checkpoint=draw(st.sampled_from(checkpoints)),
    )
    rng = np.random.default_rng(draw(st.integers(0, 1000)))
    longest = 4
    values = [
        *(
            rng.normal(size=(longest + draw(st.integers(0, 1)), SIZE))
            for _ in range(arguments.sequences)
        ),
        *(rng.normal(size=(-of[0], SIZE)) for of in taps),
        *(rng.normal(size=SIZE) for _ in range(arguments.untraced + arguments.captured - 1)),
        rng.normal(size=(SIZE, SIZE)) * 0.7,
    ]
    return op, values
