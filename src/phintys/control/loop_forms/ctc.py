"""The loss of connectionist temporal classification, by a loop over time.

The forward recursion is that of Graves, Fernández, Gomez and Schmidhuber, Connectionist Temporal
Classification, 2006, in logarithms.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from phintys import tensor as pt
from phintys._base.errors import ArgumentError, ShapeError
from phintys._base.names import public_dir
from phintys.control.loop_forms.scanning import scan

__all__ = ["ctc_loss"]

__dir__ = public_dir(__name__)

_NEVER = -1e30
"""The logarithm of the probability of what cannot happen: finite, so that slopes are not NaN."""


def ctc_loss(logits: Any, labels: Any, lengths: Any, blank: int = 0) -> Any:
    """Return minus the logarithm of the probability that sequences spell their labels.

    At each step a sequence has one class. Equal classes in a row count as one, and then those
    that are ``blank`` are left out: what remains must be the labels. The probability is the sum
    over all ways to do so.

    Parameters
    ----------
    logits
        Floats of shape (time, sequence, class), of which the softmax over classes are the
        probabilities.
    labels
        Integers of shape (sequence, most labels): the classes in order, none of them ``blank``.
        Negative numbers fill the end of a row.
    lengths
        Integers of shape (sequence,): how many steps each sequence has.
    blank
        The class that is left out.

    Returns
    -------
    TensorVariable
        A loss for each sequence, of the dtype of ``logits``: infinite where the labels do not fit
        into the steps. Steps after the end of a sequence have no gradient.

    Raises
    ------
    ShapeError
        An argument has another rank.
    ArgumentError
        The logits are not floats, or ``blank`` is negative.

    Notes
    -----
    The forward recursion of Graves, Fernández, Gomez and Schmidhuber (Connectionist Temporal
    Classification, 2006), in logarithms, is a loop over time, compiled with its gradient like any
    other. With T steps, N sequences and at most L labels it takes O(T N L) operations.

    Examples
    --------
    Of two steps and two classes, three of four equally likely ways spell the label 1:

    >>> import phintys.tensor as pt
    >>> pt.exp(-pt.ctc_loss(pt.zeros((2, 1, 2)), [[1]], [2])).eval().round(6)
    array([0.75])
    """
    x, labels, lengths = (pt.as_tensor_variable(one) for one in (logits, labels, lengths))
    if (x.ndim, labels.ndim, lengths.ndim) != (3, 2, 1):
        msg = (
            "ctc_loss takes logits of rank 3, a matrix of labels and a vector of lengths; got "
            f"ranks {x.ndim}, {labels.ndim} and {lengths.ndim}."
        )
        raise ShapeError(msg)
    if x.type.numpy_dtype.kind != "f" or blank < 0:
        msg = (
            "ctc_loss: logits must be of a real floating dtype, and blank must be a class from 0 "
            f"on; got {x.type.dtype} and {blank}."
        )
        raise ArgumentError(msg)
    path, may_skip = _path(labels, blank)
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


def _path(labels: Any, blank: int) -> tuple[Any, Any]:
    """Return the labels with blanks between them, and where a blank may be skipped."""
    items, most = labels.shape[0], labels.shape[1]
    known = pt.switch(pt.ge(labels, 0), labels, blank).astype("int64")
    blanks = pt.full_like(known, blank)
    both = pt.stack([blanks, known], axis=2).reshape((items, 2 * most))
    path = pt.concatenate([both, pt.full((items, 1), blank, dtype="int64")], axis=1)
    two_before = _moved(path, 2, blank)
    return path, pt.ne(path, blank) & pt.ne(path, two_before)


def _moved(rows: Any, by: int, fill: Any) -> Any:
    """Return rows moved to the right."""
    front = pt.zeros_like(rows[:, :by]) + np.asarray(fill, rows.dtype)
    return pt.concatenate([front, rows], axis=1)[:, : rows.shape[1]]
