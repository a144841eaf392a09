"""What rewriting makes of some 80 expressions, side by side with PyTensor.

For each expression: the number of nodes that are left, and the largest relative error of the result
near values that are dangerous to the expression as it is written, against mpmath. Fused nodes are
not counted as one. Both sides compute the rewritten graph node by node in NumPy and SciPy, so that
the error is that of the form alone.

``python -m benchmarks.run rewriting`` writes the table into ``benchmarks/data``. PyTensor is run by
this interpreter, or by the one that the environment variable ``PYTENSOR_PYTHON`` names; without it
there is no column for it.
"""
# Peers need not be installed.
# pyright: reportMissingImports=false

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import warnings

import numpy as np

EPS = float(np.finfo(float).eps)
PLAIN = [0.3, -1.25, 2.5]
POSITIVE = [0.3, 1.25, 2.5]
SMALL = [1e-20, 1e-10, 0.5]
LARGE = [-1000.0, -40.0, 0.3, 40.0, 1000.0]

# (expression of x, y, z, s, n and the matrices A, B; the values of x)
STABLE = [
    ("pt.log(1 + x)", SMALL),
    ("pt.log(1 - x)", SMALL),
    ("pt.log(1 + pt.exp(x))", LARGE),
    ("pt.log1p(pt.exp(x))", LARGE),
    ("pt.log(1 - pt.exp(x))", [-1e-20, -1.0, -50.0]),
    ("pt.log1p(-pt.exp(x))", [-1e-20, -1.0, -50.0]),
    ("pt.exp(x) - 1", SMALL),
    ("1 - pt.exp(x)", SMALL),
    ("1 / (1 + pt.exp(-x))", [-700.0, -40.0, 0.3, 40.0]),
    ("1 / (1 + pt.exp(x))", [-700.0, 0.3, 40.0, 700.0]),
    ("pt.exp(x) / (1 + pt.exp(x))", [-700.0, 0.3, 40.0, 1000.0]),
    ("1 - pt.sigmoid(x)", [-40.0, 0.3, 40.0, 700.0]),
    ("pt.log(pt.sigmoid(x))", LARGE),
    ("pt.log(1 - pt.sigmoid(x))", LARGE),
    ("-pt.log(1 / (1 + pt.exp(-x)))", LARGE),
    ("pt.log(pt.exp(x))", LARGE),
    ("pt.log(pt.exp(x) + pt.exp(y))", LARGE),
    ("pt.log(pt.exp(x) - 1)", [1e-20, 1.0, 50.0, 1000.0]),
    ("pt.log(pt.exp(x) * y)", [1.0, 50.0, 1000.0]),
    ("pt.log(pt.sum(pt.exp(x)))", [-1000.0, -1001.0]),
    ("pt.log(pt.sum(pt.exp(x)))", [1000.0, 1001.0]),
    ("pt.log(pt.mean(pt.exp(x)))", [1000.0, 1001.0]),
    ("pt.exp(x) / pt.sum(pt.exp(x), keepdims=True)", [1000.0, 1001.0]),
    ("pt.log(pt.exp(x) / pt.sum(pt.exp(x), keepdims=True))", [0.0, 1000.0]),
    ("pt.log(pt.prod(pt.exp(x)))", [500.0, 400.0, -30.0]),
    ("pt.log(pt.special.softmax(x, axis=0))", [0.0, 1000.0]),
    ("pt.log(pt.special.softmax(x, axis=0)[0])", [0.0, 1000.0]),
    ("x * pt.log(x)", [1e-320, 1e-20, 0.5]),
    ("pt.log(x ** 2)", [1e-200, 0.3, 1e200]),
    ("1 - pt.erf(x)", [-3.0, 0.3, 5.0, 20.0]),
    ("1 - pt.erfc(x)", [1e-20, 0.3, 3.0]),
    ("1 + pt.erf(x)", [-20.0, -5.0, 0.3]),
    ("pt.erf(x) - 1", [-3.0, 0.3, 20.0]),
    ("pt.log(pt.erfc(x))", [-3.0, 3.0, 20.0, 100.0]),
    ("pt.exp(x ** 2) * pt.erfc(x)", [1.0, 20.0, 100.0]),
    ("pt.sqrt(x ** 2)", [1e-200, -0.3, 1e200]),
    ("pt.exp(x) * pt.exp(-y) * pt.exp(y)", [-700.0, 0.5, 700.0]),
]
ALGEBRA = [
    ("2 * x * 3 + 0", PLAIN),
    ("(x + 1) - 1", [1e-20, 0.3, 1.0]),
    ("-(-x)", PLAIN),
    ("-x * -y", PLAIN),
    ("-(x - y)", PLAIN),
    ("x + x + x", PLAIN),
    ("2 * (x / 2)", PLAIN),
    ("1 / (1 / x)", [1e-310, 0.3, 1.0]),
    ("x * (1 / y)", PLAIN),
    ("x * x * x", PLAIN),
    ("x ** 3", PLAIN),
    ("x ** 0.5", POSITIVE),
    ("x ** 1 + x ** 0", PLAIN),
    ("abs(-x)", PLAIN),
    ("pt.maximum(x, x)", PLAIN),
    ("pt.switch(pt.eq(0, 1), x, y)", PLAIN),
    ("(A.T + 0).T", PLAIN),
    ("pt.exp(A.T).T", PLAIN),
    ("A.reshape((A.shape[0], A.shape[1]))", PLAIN),
    ("pt.exp(A)[0]", PLAIN),
    ("(2 * A).T[0]", PLAIN),
    ("x[1:][::-1][0]", PLAIN),
    ("pt.concatenate([x, y])[:x.shape[0]]", PLAIN),
    ("A.sum(axis=0).sum()", PLAIN),
    ("A.T.sum()", PLAIN),
    ("(3 * A).sum()", PLAIN),
    ("pt.exp(x).max()", PLAIN),
    ("pt.dot(A, B).sum()", PLAIN),
    ("pt.dot(A, B)[0]", PLAIN),
    ("pt.dot(A.T, B.T).T", PLAIN),
    ("(x + y).shape[0] * 2", PLAIN),
    ("pt.exp(pt.log(x))", POSITIVE),
]
# (gradient, the values of x, the same written out)
SIGMOID = "1 / (1 + pt.exp(-x))"
GRADIENTS = [
    (
        "grad(pt.log(pt.special.softmax(x, axis=0))[0], x)",
        [0.0, 1000.0, -1000.0],
        "np.eye(3)[0] - pt.special.softmax(x, axis=0)",
    ),
    (
        "grad(pt.log(pt.special.softmax(x, axis=0)[0]), x)",
        [0.0, 1000.0, -1000.0],
        "np.eye(3)[0] - pt.special.softmax(x, axis=0)",
    ),
    (
        "grad(pt.sum(pt.log(pt.special.softmax(1000 * A, axis=1))[np.arange(3), [1, 0, 2]]), A)",
        PLAIN,
        "1000 * (np.eye(3)[[1, 0, 2]] - pt.special.softmax(1000 * A, axis=1))",
    ),
    (
        "grad(pt.mean(pt.log(pt.special.softmax(1000 * A, axis=1)[np.arange(3), [1, 0, 2]])), A)",
        PLAIN,
        "1000 * (np.eye(3)[[1, 0, 2]] - pt.special.softmax(1000 * A, axis=1)) / 3",
    ),
    (
        "grad(pt.sum(B * pt.log(pt.special.softmax(1000 * A, axis=1))), A)",
        PLAIN,
        "1000 * (B - pt.special.softmax(1000 * A, axis=1) * B.sum(axis=1, keepdims=True))",
    ),
    ("grad(pt.log(pt.sum(pt.exp(x))), x)", [1000.0, 1001.0], "pt.special.softmax(x, axis=0)"),
    ("grad(pt.sum(pt.log(pt.exp(x) + pt.exp(y))), x)", LARGE, "1 / (1 + pt.exp(y - x))"),
    ("grad(pt.sum(pt.log(1 + pt.exp(x))), x)", LARGE, SIGMOID),
    (f"grad(pt.sum({SIGMOID}), x)", LARGE, "pt.exp(-x) / (1 + pt.exp(-x)) ** 2"),
    (f"grad(pt.sum(pt.log({SIGMOID})), x)", LARGE, "1 / (1 + pt.exp(x))"),
    (f"grad(pt.sum(pt.log(1 - {SIGMOID})), x)", LARGE, f"-{SIGMOID}"),
    (
        "grad(pt.sum(y * pt.log(pt.sigmoid(x)) + (1 - y) * pt.log1p(-pt.sigmoid(x))), x)",
        LARGE,
        f"y - {SIGMOID}",
    ),
    (
        f"grad(pt.sum(y * pt.log({SIGMOID}) + (1 - y) * pt.log(1 - {SIGMOID})), x)",
        LARGE,
        f"y - {SIGMOID}",
    ),
    (
        "grad(pt.sum(pt.log(pt.erfc(x))), x)",
        [-3.0, 3.0, 20.0, 100.0],
        "-2 / pt.sqrt(pt.pi) * pt.exp(-(x**2)) / pt.erfc(x)",
    ),
]
CASES = [(text, x, text) for text, x in STABLE + ALGEBRA] + GRADIENTS
A = [[0.5, -1.0, 2.0], [1.5, 0.25, -0.75], [3.0, -2.0, 1.0]]
B = [[1.0, 0.5, -0.5], [2.0, -1.5, 0.75], [-1.0, 2.5, 4.0]]


def values_of(x):
    """Return the values of all variables, for one expression."""
    y = [0.75 + 0.5 * position for position in range(len(x))]
    return {"x": np.array(x), "y": np.array(y), "A": np.array(A), "B": np.array(B)}


def variables(pt):
    return {
        **{name: pt.dvector(name) for name in ("x", "y")},
        **{name: pt.dmatrix(name) for name in ("A", "B")},
    }


# Where a node more is on purpose.
REASONS = {
    "x * x * x": "two products are cheaper than a power",
    "x ** 3": "two products are cheaper than a power",
    "pt.switch(pt.eq(0, 1), x, y)": "x and y that do not fit together still raise",
    "x[1:][::-1][0]": "an x of one element still raises",
    "grad(pt.sum(y * pt.log(pt.sigmoid(x)) + (1 - y) * pt.log1p(-pt.sigmoid(x))), x)": (
        "sigmoid(-x) keeps the digits that 1 - sigmoid(x) loses"
    ),
    "pt.dot(A, B).sum()": "two sums and a product of vectors instead of a product of matrices",
}


def measure_phintys():
    """Return (nodes, values) of each expression, rewritten by Phintys."""
    import phintys
    import phintys.tensor as pt
    from phintys.passes import PIPELINES

    mode = phintys.Mode("reference", PIPELINES["full"])

    def compiled(text, named):
        inputs = list(named.values())
        expression = eval(text, {"pt": pt, "np": np, "grad": phintys.grad, **named})
        return phintys.function(inputs, expression, mode=mode, on_unused_input="ignore")

    return measure(pt, compiled)


def measure_pytensor():
    """Return (nodes, values) of each expression, rewritten by PyTensor."""
    import pytensor
    import pytensor.tensor as pt
    from pytensor.compile.mode import Mode

    # Without what computes in place or puts several nodes into one, which changes no form.
    mode = Mode(linker="py", optimizer="fast_run").excluding("fusion", "inplace", "BlasOpt")

    def compiled(text, named):
        inputs = list(named.values())
        expression = eval(text, {"pt": pt, "np": np, "grad": pytensor.grad, **named})
        return pytensor.function(inputs, expression, mode=mode, on_unused_input="ignore")

    return measure(pt, compiled)


def measure(pt, compiled):
    results = []
    for text, x, _ in CASES:
        named = variables(pt)
        function = compiled(text, named)
        nodes = [str(node.op) for node in function.maker.fgraph.apply_nodes]
        count = sum("DeepCopy" not in name for name in nodes)
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = function(*values_of(x).values())
        results.append((count, np.asarray(result, float).ravel().tolist()))
    return results


def pytensor_results():
    """Return what PyTensor makes of the expressions; ``None`` if it is not installed."""
    python = os.environ.get("PYTENSOR_PYTHON", sys.executable)
    command = [python, __file__, "--pytensor"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        if "No module named 'pytensor'" not in done.stderr:
            sys.exit(done.stderr)
        return None, ""
    version, results = json.loads(done.stdout.splitlines()[-1])
    return results, version


# ---- the right values ----------------------------------------------------------------------------


def exact_values():
    """Return the values of each expression, computed as it is written, with 1000 digits."""
    import mpmath
    from mpmath import mp

    mp.dps = 1000  # exp(-1000) beside 1

    def on_arrays(function):
        return np.frompyfunc(function, 1, 1)

    class Exact:
        """The functions of the expressions, on arrays of mpmath's numbers."""

        exp, log, sqrt = map(on_arrays, (mpmath.exp, mpmath.log, mpmath.sqrt))
        erf, erfc, log1p = map(on_arrays, (mpmath.erf, mpmath.erfc, lambda x: mpmath.log(1 + x)))
        sigmoid = on_arrays(lambda x: 1 / (1 + mpmath.exp(-x)))
        sum, prod, dot = np.sum, np.prod, np.dot
        concatenate, maximum = np.concatenate, np.maximum
        eq, switch, pi = np.equal, np.where, mpmath.pi

        @staticmethod
        def mean(x):
            return np.sum(x) / x.size

        class special:
            @staticmethod
            def softmax(x, axis):
                powers = Exact.exp(x)
                return powers / powers.sum(axis=axis, keepdims=True)

    results = []
    for _, x, text in CASES:
        named = {
            name: np.vectorize(mpmath.mpf, otypes=[object])(value)
            for name, value in values_of(x).items()
        }
        result = np.atleast_1d(np.asarray(eval(text, {"pt": Exact, "np": np, **named}), object))
        results.append(result.ravel().tolist())
    return results


def error_of(values, exact):
    """Return the largest relative error; that of a result below the smallest number is 0."""
    largest = 0.0
    for value, right in zip(values, exact, strict=True):
        if not math.isfinite(value):
            return math.inf
        if abs(right) < 1e-307 and abs(value) < 1e-307:
            continue  # numbers without all their digits
        scale = abs(right) if right else 1
        largest = max(largest, float(abs(value - right) / scale))
    return largest


# ---- the table -----------------------------------------------------------------------------------


def shown(error):
    if error == math.inf:
        return "wrong"
    return "exact" if error == 0 else f"{error:.0e}"


def main():
    exact = exact_values()
    ours = measure_phintys()
    theirs, version = pytensor_results()
    width = max(len(text) for text, *_ in CASES)
    peer = "  PyTensor" if theirs else ""
    print(f"{'expression':{width}}   Phintys     {peer}")
    print(f"{'':{width}}   nodes error {'  nodes error' if theirs else ''}")
    misses = []
    for row, ((text, *_), right) in enumerate(zip(CASES, exact, strict=True)):
        nodes, values = ours[row]
        error = error_of(values, right)
        line = f"{text:{width}}   {nodes:5} {shown(error):6}"
        if theirs:
            peer_nodes, peer_values = theirs[row]
            peer_error = error_of(peer_values, right)
            line += f"   {peer_nodes:5} {shown(peer_error):6}"
            better = peer_error > max(2 * error, 4 * EPS)
            if (nodes > peer_nodes and not better) or error > max(2 * peer_error, 4 * EPS):
                line += f"   <- {REASONS.get(text, 'a miss')}"
                misses.append(text)
        print(line.rstrip())
    if theirs:
        count = sum(text not in REASONS for text in misses)
        print(
            f"\n{len(CASES)} expressions, {len(misses) - count} with a node more on purpose, "
            f"{count} misses; PyTensor {version}."
        )


if __name__ == "__main__":
    if "--pytensor" in sys.argv:
        import pytensor

        print(json.dumps((pytensor.__version__, measure_pytensor())))
    else:
        main()
