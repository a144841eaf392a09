"""Programs of matrices as users write them, against the same in NumPy."""

import numpy as np

import phintys
import phintys.tensor as pt


def test_finite_elements_and_the_gradient_by_the_places_of_their_corners():
    """Heat that flows to the border of a square, which is cut into triangles."""
    size = 5
    places = np.stack(np.meshgrid(*[np.linspace(0, 1, size)] * 2, indexing="ij"), -1).reshape(-1, 2)
    low = np.arange(size * size).reshape(size, size)[:-1, :-1].ravel()
    corners = np.concatenate(
        [
            np.stack([low, low + size, low + 1], 1),
            np.stack([low + size, low + size + 1, low + 1], 1),
        ]
    )
    inside = np.flatnonzero(((places > 0) & (places < 1)).all(axis=1))
    rows, columns = np.repeat(corners, 3, axis=1).ravel(), np.tile(corners, 3).ravel()

    count = len(places)

    def energy(xp, places, conduction, scattered):
        ends = places[corners]
        sides = ends[:, [2, 0, 1]] - ends[:, [1, 2, 0]]
        area = abs(sides[:, 0, 0] * sides[:, 1, 1] - sides[:, 0, 1] * sides[:, 1, 0]) / 2
        parts = xp.einsum("eid,ejd->eij", sides, sides) * (conduction / (4 * area))[:, None, None]
        stiffness = scattered((count, count), (rows, columns), parts.reshape(-1))
        loads = scattered((count,), corners.T, xp.stack([area / 3] * 3))
        free = xp.linalg.solve(stiffness[np.ix_(inside, inside)], loads[inside])
        return free @ loads[inside]

    def by_numpy(places, conduction):
        def scattered(shape, index, values):
            total = np.zeros(shape)
            np.add.at(total, index if len(shape) > 1 else (index,), values)
            return total

        return energy(np, places, conduction, scattered)

    def by_us(shape, index, values):
        total = pt.zeros(shape)
        return total[index if len(shape) > 1 else (index,)].inc(values)

    p, k = pt.dmatrix("p"), pt.dvector("k")
    value = energy(pt, p, k, by_us)
    f = phintys.function([p, k], [value, phintys.grad(value, [p, k])])
    conduction = np.random.default_rng(0).uniform(0.5, 2.0, len(corners))
    found, slopes = f(places, conduction)
    np.testing.assert_allclose(found, by_numpy(places, conduction))
    for number, slope in enumerate(slopes):
        given = [places, conduction]
        expected = np.zeros_like(slope)
        for at in np.ndindex(slope.shape):
            ends = []
            for sign in (1, -1):
                moved = given[number].copy()
                moved[at] += sign * 1e-6
                ends.append(by_numpy(*given[:number], moved, *given[number + 1 :]))
            expected[at] = (ends[0] - ends[1]) / 2e-6
        np.testing.assert_allclose(slope, expected, rtol=1e-5, atol=1e-8)
