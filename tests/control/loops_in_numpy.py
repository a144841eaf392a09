"""Loops as plain Python, which the tests of loops compare with."""

import numpy as np

MODES = ["native", "reference", "debug"]


def plain_scan(step, sequences=(), states=(), n=None, backwards=False, fixed=()):
    """Return what a scan returns: a list of stacks, and the number of steps that were run.

    Parameters
    ----------
    step
        A function of rows, states and fixed values, which returns a list of outputs, and whether
        to stop.
    sequences
        Pairs of an array and its taps.
    states
        For each output ``None``, or a pair of the rows before the first step and the taps.
    n, backwards, fixed
        As for scan.
    """
    lengths, firsts = [], []
    for x, taps in sequences:
        first, last = min(*taps, 0), max(*taps, 0)
        lengths.append(max(len(x) - (last - first), 0))
        firsts.append(-first)
    n = min(lengths) if n is None else n
    traces = [[] if state is None else list(state[0][: -min(state[1])]) for state in states]
    before = [len(trace) for trace in traces]
    ran = 0
    for t in range(n):
        given = []
        for (x, taps), length, first in zip(sequences, lengths, firsts, strict=True):
            at = length - 1 - t if backwards else t
            given += [x[first + at + tap] for tap in taps]
        for trace, state in zip(traces, states, strict=True):
            if state is not None:
                given += [trace[len(trace) + tap] for tap in state[1]]
        outputs, stop = step(*given, *fixed)
        for trace, output in zip(traces, outputs, strict=True):
            trace.append(output)
        ran += 1
        if stop:
            break
    return [np.array(trace[first:]) for trace, first in zip(traces, before, strict=True)], ran
