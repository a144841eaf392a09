"""Lengths around 0, 2**31, 2**32 and 2**61 to 2**64 in all Ops that take one: run as a program.

Prints each case in which native code and the reference backend differ. Memory is limited, so that
what is too long cannot be made. Without arguments it takes all programs and all lengths.
"""

import itertools
import resource
import sys

import numpy as np

import phintys.tensor as pt
from phintys.compile import In, Mode, function
from phintys.passes import PIPELINES

MEMORY = 3 * 2**30
MODES = [Mode("native", PIPELINES["none"]), Mode("native")]
BASE = Mode("reference", PIPELINES["none"])

EDGES = [0, 2**31, 2**32, 2**61, 2**62, 2**63, 2**64]
NEAR = {sign * edge + near for edge in EDGES for sign in (1, -1) for near in (-1, 0, 1)}
# Multiples of these are small, modulo 2**64.
WRAPPING = {-(-(2**64) // factor) for factor in (3, 5, 7, 24)} | {(2**64 + 2**21) // 3}
LENGTHS = sorted(n for n in {2, 3, 5, *NEAR, *WRAPPING} if -(2**63) <= n < 2**63)

PROGRAMS = {
    "alloc": lambda x, n: pt.alloc(1.0, n),
    "alloc, rows": lambda x, n: pt.alloc(x, n, 5),
    "alloc, flat": lambda x, n: pt.alloc(1.0, 3, n).flatten(),
    "alloc, square": lambda x, n: pt.alloc(1.0, n, n).flatten(),
    "alloc, an element": lambda x, n: pt.alloc(x, 24, n, 5)[1, 0],
    "alloc, cut": lambda x, n: pt.alloc(x, n, 5)[:1],
    "empty": lambda x, n: pt.AllocEmpty("float64")(n, 3)[:2] > np.inf,
    "ones, transposed": lambda x, n: pt.ones((n, 7)).T.flatten(),
    "broadcast_to": lambda x, n: pt.broadcast_to(x, (n, 5)),
    "broadcast_to, one": lambda x, n: pt.broadcast_to(x[:1], (n,)).reshape((-1,)),
    "sum of broadcasts": lambda x, n: pt.alloc(1.0, n, 1, 1) + pt.alloc(2.0, 1, n, 1),
    "outer": lambda x, n: pt.outer(pt.alloc(1.0, n), pt.alloc(1.0, n)),
    "repeat": pt.repeat,
    "repeat of rows": lambda x, n: pt.repeat(x[:, None], n, axis=1),
    "repeat, counts": lambda x, n: pt.repeat(x[:3], pt.stack([n, n, 2])),
    "repeat, many counts": lambda x, n: pt.repeat(x, pt.alloc(n, 5)),
    "tile": lambda x, n: pt.tile(x, (n,)),
    "tile twice": lambda x, n: pt.tile(x, (n, n)),
    "reshape": lambda x, n: x.reshape((n,)),
    "reshape, rows": lambda x, n: x.reshape((n, 5)),
    "reshape, columns": lambda x, n: x.reshape((3, n)),
    "reshape, square": lambda x, n: x.reshape((n, n)),
    "reshape, the rest": lambda x, n: x.reshape((n, -1)),
    "reshape, the rest between": lambda x, n: x.reshape((n, -1, n)),
    "reshape of nothing": lambda x, n: x[:0].reshape((n, n)),
    "reshape of nothing, 0": lambda x, n: x[:0].reshape((n, 0)),
    "arange": lambda x, n: pt.arange(n),
    "arange, around 0": lambda x, n: pt.arange(-n, n),
    "arange, step": lambda x, n: pt.arange(0, 5, n),
    "arange, start": lambda x, n: pt.arange(n, n + 3),
    "eye": lambda x, n: pt.eye(n),
    "eye, rows": lambda x, n: pt.eye(n, 3),
    "join": lambda x, n: pt.concatenate([pt.alloc(1.0, n)] * 4),
    "join, short": lambda x, n: pt.concatenate([x, *[pt.alloc(np.int8(1), n)] * 4])[:3],
    "split": lambda x, n: pt.split(x, pt.stack([n, 5 - n]), 2),
    "split in 4": lambda x, n: pt.split(x, pt.stack([n, n, n, n + 5]), 4),
    "index": lambda x, n: x[n],
    "slice, stop": lambda x, n: x[:n],
    "slice, start": lambda x, n: x[n:],
    "slice, step": lambda x, n: x[::n],
    "slice, all": lambda x, n: x[n::-n],
    "slice, both": lambda x, n: x[n : n + 3 : 2],
    "set": lambda x, n: pt.set_subtensor(x[:n], 3.0),
    "increment": lambda x, n: pt.inc_subtensor(x[n::2], 3.0),
    "take": lambda x, n: pt.take(x, pt.stack([n, 0])),
    "roll": pt.roll,
    "cumsum": lambda x, n: pt.cumsum(pt.alloc(np.int8(1), n)),
    "nonzero": lambda x, n: pt.nonzero(pt.alloc(np.int8(0), n, 3)),
    "diagonal": lambda x, n: pt.diagonal(pt.alloc(x, n, 5)),
    "product of sizes": lambda x, n: pt.alloc(1.0, n * n, n),
    "wider": lambda x, n: pt.cast(pt.alloc(np.int8(1), n), "complex128"),
    "argsort": lambda x, n: pt.argsort(pt.alloc(np.int8(1), n)),
    "argmax": lambda x, n: pt.argmax(pt.alloc(np.int8(1), n, 0, 3), axis=2),
}


def outcome(f, n):
    """Return what a call comes to: the class of an error, or shapes and first values."""
    try:
        results = f(np.arange(5.0), np.array(n))
    except MemoryError as error:
        return MemoryError if str(error) else "without a word"
    except (ValueError, IndexError) as error:
        return type(error) if type(error).__module__.startswith("phintys") else ValueError
    results = results if isinstance(results, list) else [results]
    return [(one.dtype.name, one.shape, one.reshape(-1)[:100].tolist()) for one in results]


def is_as_expected(found, expected):
    """Return whether native code does what the reference backend does."""
    if expected is MemoryError:  # it may need less memory, or find earlier that it will need more
        return found in {MemoryError, ValueError} if isinstance(found, type) else found
    return found == expected


def main(part=0, parts=1, step=1):
    """Print differences: for each ``parts``-th program and each ``step``-th length."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    x, n = pt.dvector("x"), pt.lscalar("n")
    for name, make in itertools.islice(PROGRAMS.items(), part, None, parts):
        built = make(x, n)
        base, *others = (
            function([In(x), n], built, mode=mode, on_unused_input="ignore")
            for mode in (BASE, *MODES)
        )
        for length in LENGTHS[part % step :: step]:
            sys.stderr.write(f"at {name}, {length}\n")
            expected = outcome(base, length)
            for mode, f in zip(MODES, others, strict=True):
                found = outcome(f, length)
                if not is_as_expected(found, expected):
                    sys.stdout.write(f"{name}, {length}, {mode}: {found}, not {expected}\n")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
