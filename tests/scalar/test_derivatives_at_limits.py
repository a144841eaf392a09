"""Derivatives of rows at zeros, poles and infinities: where they have a limit, it is their value.

At each point the derivative is compared with its limit along one argument, which a sequence of
points must show: the function is finite and continuous there, and the derivatives converge.
"""

import itertools

import numpy as np
import pytest

import phintys
import phintys.scalar as ps
import phintys.tensor as pt
from phintys.testing.scalar_domains import DOMAINS

SPECIAL = (0.0, 1.0, -1.0, np.inf, -np.inf)
ORDINARY = (0.3, 2.5)
STEPS = np.array([1e-4, 1e-6, 1e-8, 1e-10])
FAR = np.array([1e3, 1e5, 1e7, 1e9])

# Rows that are left out, or parameters that are only tested between 0 and infinity: there the
# function becomes another one. ``clip`` and ``arctan2`` have points without one derivative.
DEGENERATE = {
    **dict.fromkeys(name for name in DOMAINS if name.startswith("hyp2f1")),
    **dict.fromkeys(
        (
            "betainc",
            "betaincc",
            "betainccinv",
            "betaincinv",
            "binom",
            "poch",
            "hyp1f1",
            "owens_t",
            "clip",
            "boxcox",
            "boxcox1p",
        )
    ),
    "betainc_by_a": None,
    "betainc_by_b": None,
    "beta": None,
    "beta_density": None,
    "gamma_density": None,
    "betaln": None,
    "gammainc": 0,
    "gammaincc": 0,
    "rel_entr": 1,
    "kl_div": 1,
    "arctan2": None,
}
ROWS = [
    name
    for name, domain in DOMAINS.items()
    if "f" in domain.kinds
    and not (domain.integers or domain.whole)
    and DEGENERATE.get(name, ()) is not None
]


def _approaches(point):
    if np.isinf(point):
        return [np.sign(point) * FAR]
    return [point + STEPS, point - STEPS]


def _limit(sequence):
    """Return what a sequence converges to; ``None`` if that is not evident."""
    if not np.isfinite(sequence).all():
        return None
    changes = np.abs(np.diff(sequence))
    scale = 1 + abs(sequence[-1])
    converges = (changes[1:] <= changes[:-1] / 2 + 1e-9 * scale).all()
    return sequence[-1] if converges and changes[-1] < 1e-3 * scale else None


def _points(name):
    count = len(DOMAINS[name].intervals)
    values = SPECIAL if count == 1 else SPECIAL + ORDINARY
    fixed = DEGENERATE.get(name)
    for point in itertools.product(values, repeat=count):
        degenerate = fixed is not None and not 0 < point[fixed] < np.inf
        if not degenerate and any(x in SPECIAL for x in point):
            yield point


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", ROWS)
def test_derivative_is_its_limit(name):
    xs = [pt.dvector() for _ in DOMAINS[name].intervals]
    y = pt.Elemwise(ps.SCALAR_OPS[name])(*xs)
    if y.dtype != "float64":
        return
    gradients = phintys.grad(y.sum(), xs, null_gradients="return", disconnected_inputs="ignore")
    places = [i for i, g in enumerate(gradients) if isinstance(g.type, pt.TensorType)]
    f = phintys.function(xs, [y, *(gradients[i] for i in places)], on_unused_input="ignore")
    for point in _points(name):
        value, *slopes = f(*(np.array([x]) for x in point))
        if not np.isfinite(value[0]):
            continue
        for k, i in enumerate(places):
            limits = []
            for sequence in _approaches(point[i]):
                along = [np.full(len(sequence), x) for x in point]
                along[i] = sequence
                values, *others = f(*along)
                is_continuous = abs(values[-1] - value[0]) < 1e-3 * (1 + abs(value[0]))
                limits.append(_limit(others[k]) if is_continuous else None)
            limits = [limit for limit in limits if limit is not None]
            found = slopes[k][0]
            is_kink = len(limits) == 2 and abs(limits[0] - limits[1]) > 1e-2
            if is_kink:
                assert np.isfinite(found), (point, i, limits)
            elif limits:
                gap = min(abs(found - limit) for limit in limits)
                assert gap < 1e-2 * (1 + abs(limits[0])), (point, i, found, limits)


@pytest.mark.parametrize(
    "function", [pt.special.xlogy, pt.special.xlog1py, pt.special.rel_entr, pt.special.kl_div]
)
def test_mixed_second_derivatives_where_a_factor_is_zero(function):
    """They are those of the limit: the slope in y vanishes there, and its slope in x does not."""
    x, y = pt.dvectors("x", "y")
    slope = phintys.grad(function(x, y).sum(), y)
    mixed = phintys.function([x, y], phintys.grad(slope.sum(), x))
    at = np.array([0.25, 2.0, 30.0])
    np.testing.assert_allclose(mixed(np.zeros(3), at), mixed(np.full(3, 1e-13), at), rtol=1e-10)
