"""The loss of connectionist temporal classification, by a loop over time.

The forward recursion is that of Graves, Fernández, Gomez and Schmidhuber, Connectionist Temporal
Classification, 2006, in logarithms.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import phintys.tensor as pt
from phintys._base.errors import ShapeError
from phintys.control import scan

__all__ = ["ctc", "ctc_available"]

_NEVER = -1e30
"""The logarithm of the probability of what cannot happen: finite, so that slopes are not NaN."""

_BLANK = 0


def ctc_available() -> bool:
    """Return ``True``: no library is needed."""
    return True


def ctc(activations: Any, labels: Any, input_lengths: Any) -> Any:
    """Return how unlikely the labels of each sequence are: minus the logarithm of the probability.

    Parameters
    ----------
    activations
        Numbers of which the softmax are probabilities: (time, sequence, class). Class 0 is blank.
    labels
        The classes of each sequence in order, a row each; negative numbers fill a row.
    input_lengths
        How many steps each sequence has.

    Returns
    -------
    Variable
        A vector; infinite where the labels do not fit into the steps.

    Examples
    --------
    Of two steps and two classes, three of four equally likely ways spell the label 1:

    >>> import phintys.tensor as pt
    >>> from phintys.compat.ctc import ctc
    >>> pt.exp(-ctc(pt.zeros((2, 1, 2)), [[1]], [2])).eval().round(6)
    array([0.75])
    """
    x, labels = pt.as_tensor_variable(activations), pt.as_tensor_variable(labels)
    lengths = pt.as_tensor_variable(input_lengths)
    if (x.ndim, labels.ndim, lengths.ndim) != (3, 2, 1):
        msg = (
            "ctc takes activations of rank 3, a matrix of labels and a vector of lengths; got "
            f"ranks {x.ndim}, {labels.ndim} and {lengths.ndim}."
        )
        raise ShapeError(msg)
    path, may_skip = _path(labels)
    # (time, sequence, place): the class at each place of the path.
    index = pt.zeros((x.shape[0], 1, 1), dtype="int64") + path
    scores = pt.take_along_axis(pt.log_softmax(x, axis=-1), index, axis=2)
    impossible = np.asarray(_NEVER, x.dtype)
    before_first = pt.switch(pt.eq(pt.arange(path.shape[1]), 0), 0.0, impossible)
    start = pt.zeros_like(scores[0]) + before_first.astype(x.dtype)

    def step(score: Any, time: Any, before: Any, lengths: Any, may_skip: Any) -> Any:
        one, two = _moved(before, 1, impossible), _moved(before, 2, impossible)
        skipped = pt.switch(may_skip, two, impossible)
        after = pt.logaddexp(pt.logaddexp(before, one), skipped) + score
        return pt.switch(pt.lt(time, lengths)[:, None], after, before)

    rows = scan(
        step,
        sequences=[scores, pt.arange(x.shape[0])],
        outputs_info=[start],
        non_sequences=[lengths, may_skip],
        return_updates=False,
    )
    last = rows[-1]
    count = pt.ge(labels, 0).sum(axis=1)
    items = pt.arange(x.shape[1])
    at_blank = last[items, 2 * count]
    at_label = pt.switch(count > 0, last[items, pt.maximum(2 * count - 1, 0)], impossible)
    total = pt.logaddexp(at_blank, at_label)
    return pt.switch(total < _NEVER / 2, np.asarray(np.inf, x.dtype), -total)


def _path(labels: Any) -> tuple[Any, Any]:
    """Return the labels with blanks between them, and where a blank may be skipped."""
    items, most = labels.shape[0], labels.shape[1]
    known = pt.maximum(labels, 0).astype("int64")
    blanks = pt.full_like(known, _BLANK)
    both = pt.stack([blanks, known], axis=2).reshape((items, 2 * most))
    path = pt.concatenate([both, pt.full((items, 1), _BLANK, dtype="int64")], axis=1)
    two_before = _moved(path, 2, _BLANK)
    return path, pt.ne(path, _BLANK) & pt.ne(path, two_before)


def _moved(rows: Any, by: int, fill: Any) -> Any:
    """Return rows moved to the right."""
    front = pt.zeros_like(rows[:, :by]) + np.asarray(fill, rows.dtype)
    return pt.concatenate([front, rows], axis=1)[:, : rows.shape[1]]
