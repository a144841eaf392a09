"""Whole programs in the style of those that were written for the old packages, beside NumPy."""

from __future__ import annotations

import copy
import importlib
import itertools
import pickle
from collections import OrderedDict

import numpy as np
import pytest
from scipy import optimize, stats
from scipy.special import expit, log_softmax, softmax


class LogisticRegression:
    """A classifier as the tutorials of deep learning write it."""

    def __init__(self, theano, inputs, n_in, n_out):
        T, zeros = theano.tensor, np.zeros((n_in, n_out), dtype=theano.config.floatX)
        self.W = theano.shared(value=zeros, name="W", borrow=True)
        self.b = theano.shared(value=zeros[0].copy(), name="b", borrow=True)
        self.p_y_given_x = T.nnet.softmax(T.dot(inputs, self.W) + self.b)
        self.y_pred = T.argmax(self.p_y_given_x, axis=1)
        self.params = [self.W, self.b]
        self.input = inputs


def test_training_on_slices_of_shared_data(theano):
    T = theano.tensor
    rng = np.random.RandomState(3)
    data = rng.randn(120, 5)
    labels = np.argmax(data @ rng.randn(5, 3), axis=1)
    xs = theano.shared(np.asarray(data, dtype=theano.config.floatX), borrow=True)
    ys = T.cast(theano.shared(np.asarray(labels, dtype=theano.config.floatX)), "int32")
    index, x, y = T.lscalar(), T.matrix("x"), T.ivector("y")
    model = LogisticRegression(theano, x, 5, 3)
    cost = -T.mean(T.log(model.p_y_given_x)[T.arange(y.shape[0]), y])
    error = T.mean(T.neq(model.y_pred, y))
    g_W, g_b = T.grad(cost=cost, wrt=model.params)
    batch = {
        x: xs[index * 40 : (index + 1) * 40],
        y: ys[index * 40 : (index + 1) * 40],
    }
    updates = [(model.W, model.W - 0.5 * g_W), (model.b, model.b - 0.5 * g_b)]
    train = theano.function(inputs=[index], outputs=cost, updates=updates, givens=batch)
    test = theano.function(inputs=[index], outputs=error, givens=batch)
    W, b = np.zeros((5, 3)), np.zeros(3)
    for _, i in itertools.product(range(5), range(3)):
        part, targets = data[40 * i : 40 * i + 40], labels[40 * i : 40 * i + 40]
        logits = part @ W + b
        expected = -log_softmax(logits, axis=1)[np.arange(40), targets].mean()
        np.testing.assert_allclose(train(i), expected)
        slope = (softmax(logits, axis=1) - np.eye(3)[targets]) / 40
        W, b = W - 0.5 * part.T @ slope, b - 0.5 * slope.sum(axis=0)
    np.testing.assert_allclose(model.W.get_value(borrow=True), W)
    assert np.mean([test(i) for i in range(3)]) < 0.2

    again = pickle.loads(pickle.dumps(model, protocol=pickle.HIGHEST_PROTOCOL))
    predict = theano.function(inputs=[again.input], outputs=again.y_pred)
    np.testing.assert_array_equal(predict(data), np.argmax(data @ W + b, axis=1))

    # All parameters in one vector, for SciPy's optimizers.
    theta = theano.shared(np.zeros(18), name="theta")
    p = T.nnet.softmax(T.dot(x, theta[:15].reshape((5, 3))) + theta[15:])
    total = T.nnet.categorical_crossentropy(p, y).mean()
    both = theano.function([x, y], [total, T.grad(total, theta)], allow_input_downcast=True)

    def value_and_slope(point):
        theta.set_value(point, borrow=True)
        return both(data, labels)

    found = optimize.minimize(value_and_slope, np.zeros(18), jac=True, options={"maxiter": 30})
    assert found.fun < 0.3


class Layer:
    """A layer in the style of Lasagne: parameters with tags, and an output for each input."""

    def __init__(self, theano):
        self.theano = theano
        self.params = OrderedDict()

    def add(self, value, name, **tags):
        variable = self.theano.shared(np.asarray(value, dtype=self.theano.config.floatX), name)
        tags = {"trainable": True, "regularizable": True} | tags
        self.params[variable] = {tag for tag, holds in tags.items() if holds}
        return variable

    def tagged(self, tag):
        return [variable for variable, tags in self.params.items() if tag in tags]


class Dense(Layer):
    def __init__(self, theano, n_in, n_out, nonlinearity, rng):
        super().__init__(theano)
        self.nonlinearity = nonlinearity
        self.W = self.add(rng.normal(0, 0.3, (n_in, n_out)), "W")
        self.b = self.add(np.zeros(n_out), "b", regularizable=False)

    def output(self, x, deterministic=False):
        flat = x.flatten(2) if x.ndim > 2 else x
        product = self.theano.tensor.dot(flat, self.W)
        return self.nonlinearity(product + self.b.dimshuffle("x", 0))


class BatchNorm(Layer):
    """Running averages are default updates of clones, which share the value of the original."""

    def __init__(self, theano, n, alpha=0.1, epsilon=1e-4):
        super().__init__(theano)
        self.alpha, self.epsilon = alpha, epsilon
        self.gamma, self.beta = self.add(np.ones(n), "gamma"), self.add(np.zeros(n), "beta")
        self.mean = self.add(np.zeros(n), "mean", trainable=False)
        self.inv_std = self.add(np.ones(n), "inv_std", trainable=False)

    def output(self, x, deterministic=False):
        T, clone = self.theano.tensor, self.theano.clone
        mean, inv_std = self.mean, self.inv_std
        if not deterministic:
            mean, inv_std = x.mean(0), T.inv(T.sqrt(x.var(0) + self.epsilon))
            for kept, new in ((self.mean, mean), (self.inv_std, inv_std)):
                running = clone(kept, share_inputs=False)
                running.default_update = (1 - self.alpha) * running + self.alpha * new
                mean += 0 * running
        pattern = ["x", 0]
        scale = self.gamma * inv_std
        return (x - mean.dimshuffle(pattern)) * scale.dimshuffle(pattern) + self.beta


def test_layers_with_tags_and_running_averages(theano):
    T = theano.tensor
    rng = np.random.RandomState(3)
    data = rng.randn(64, 2, 3)
    labels = (data.sum((1, 2)) > 0).astype("int32")
    x, y = T.tensor3("inputs"), T.ivector("targets")
    layers = [
        Dense(theano, 6, 8, T.nnet.relu, rng),
        BatchNorm(theano, 8),
        Dense(theano, 8, 2, T.nnet.softmax, rng),
    ]

    def output(deterministic):
        value = x
        for layer in layers:
            value = layer.output(value, deterministic=deterministic)
        return value

    params = [one for layer in layers for one in layer.tagged("trainable")]
    assert [one.name for one in params] == ["W", "b", "gamma", "beta", "W", "b"]
    probabilities = output(deterministic=False)
    leaves = theano.gof.graph.inputs([probabilities])
    shared = [v for v in leaves if isinstance(v, theano.compile.SharedVariable)]
    assert {v.name for v in shared} == {"W", "b", "gamma", "beta", "mean", "inv_std"}
    loss = T.nnet.categorical_crossentropy(probabilities, y).mean()
    loss += 1e-4 * sum(T.sum(p**2) for one in layers for p in one.tagged("regularizable"))
    grads = theano.grad(loss, params)
    norm = T.sqrt(sum(T.sum(g**2) for g in grads))
    grads = [g * T.clip(norm, 0, 5.0) / (norm + 1e-7) for g in grads]
    updates = OrderedDict()
    for param, grad in zip(params, grads, strict=True):
        value = param.get_value(borrow=True)
        velocity = theano.shared(np.zeros_like(value), broadcastable=param.broadcastable)
        step = 0.9 * velocity - 0.1 * grad
        updates[velocity], updates[param] = step, param + 0.9 * step - 0.1 * grad
    train = theano.function([x, y], loss, updates=updates)
    test = theano.function([x], output(deterministic=True))
    hidden = np.maximum(data.reshape(64, 6) @ layers[0].W.get_value(), 0)
    first = train(data, labels)
    np.testing.assert_allclose(layers[1].mean.get_value(), 0.1 * hidden.mean(0))
    for _ in range(60):
        last = train(data, labels)
    assert last < first / 2
    assert np.mean(test(data).argmax(axis=1) == labels) > 0.9


def eight_schools(tt, sigma, effects):
    """Return variables and log-density as PyMC3 built them."""

    def bound(logp, *conditions):
        holds = 1
        for condition in conditions:
            holds = holds * (1 * condition)
        return tt.switch(tt.all(holds), logp, -np.inf)

    def normal(value, mu, sd):
        tau = sd**-2.0
        return bound((-tau * (value - mu) ** 2 + tt.log(tau / np.pi / 2.0)) / 2.0, sd > 0)

    mu, log_sd, theta = tt.dscalar("mu"), tt.dscalar("sd_log__"), tt.dvector("theta")
    sd = tt.exp(log_sd)
    half_cauchy = tt.log(2) - tt.log(np.pi * 5.0) - tt.log1p((sd / 5.0) ** 2)
    logp = tt.sum(normal(mu, 0.0, 5.0)) + tt.sum(bound(half_cauchy, sd >= 0) + log_sd)
    logp += tt.sum(normal(theta, 0.0, 1.0))
    logp += tt.sum(normal(tt.as_tensor_variable(effects), mu + sd * theta, tt.constant(sigma)))
    return OrderedDict([(mu, ()), (log_sd, ()), (theta, (8,))]), logp


def test_log_densities_of_one_flat_vector(theano):
    tt = theano.tensor
    effects = np.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])
    sigma = np.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])
    shapes, logp = eight_schools(tt, sigma, effects)
    leaves = theano.gof.graph.inputs([logp])
    free = [v for v in leaves if not isinstance(v, theano.gof.Constant)]
    assert {v.name for v in free} == {"mu", "sd_log__", "theta"}
    assert all(v.dtype in tt.continuous_dtypes for v in free)

    joined = tt.concatenate([v.ravel() for v in shapes])
    point = joined.type("inarray")
    replace, start = {}, 0
    for variable, shape in shapes.items():
        size = int(np.prod(shape))
        part = point[start : start + size]
        replace[variable] = (part.reshape(shape) if shape else part[0]).astype(variable.dtype)
        start += size
    flat = theano.clone(logp, replace, strict=False)
    slope = tt.flatten(tt.grad(flat, point, disconnected_inputs="warn"))
    f = theano.function([point], [flat, slope], profile=False)
    f.trust_input = True

    def density(q):
        sd = np.exp(q[1])
        prior = stats.norm.logpdf(q[0], 0, 5) + stats.halfcauchy.logpdf(sd, scale=5) + q[1]
        likelihood = stats.norm.logpdf(effects, q[0] + sd * q[2:], sigma).sum()
        return prior + stats.norm.logpdf(q[2:]).sum() + likelihood

    q = np.random.RandomState(0).randn(10)
    value, gradient = f(q)
    np.testing.assert_allclose(value, density(q))
    steps = 1e-6 * np.eye(10)
    numeric = [(density(q + step) - density(q - step)) / 2e-6 for step in steps]
    np.testing.assert_allclose(gradient, numeric, rtol=1e-5, atol=1e-6)

    index = tt.arange(slope.shape[0], dtype="int32")
    curvature, _ = theano.map(lambda i: tt.grad(slope[i], point)[i], index)
    whole = tt.hessian(flat, point)
    found, expected = theano.function([point], [curvature, whole])(q)
    np.testing.assert_allclose(found, np.diag(expected))

    # A step of Hamiltonian Monte Carlo, from clones of the density and its gradient.
    start, p, epsilon = tt.dvector("q0"), tt.dvector("p"), tt.dscalar("epsilon")

    def energy(at, momentum):
        return 0.5 * momentum.dot(momentum) - theano.clone(flat, {point: at})

    half = p + epsilon / 2 * theano.clone(slope, {point: start})
    moved = start + epsilon * half
    after = half + epsilon / 2 * theano.clone(slope, {point: moved})
    leap = theano.function([start, p, epsilon], [moved, energy(moved, after) - energy(start, p)])
    assert abs(leap(q * 0.1, q, 1e-3)[1]) < 1e-4


def test_functions_are_copied_pickled_and_read(theano):
    T = theano.tensor
    v, factor = T.dvector("v"), T.dscalar("factor")
    total = theano.shared(np.zeros(2), "total")
    f = theano.function(
        [v, theano.In(factor, value=2.0, name="by")],
        {"sum": total.sum(), "scaled": v * factor},
        updates=OrderedDict([(total, total + v * factor)]),
        name="adder",
    )
    assert f([1.0, 1.0])["scaled"].tolist() == [2.0, 2.0]
    assert f["by"] == 2.0
    f["by"] = 1.0
    assert f([1.0, 1.0], output_subset=["sum"]) == {"sum": 4.0}
    assert f.get_shared() == [total]
    assert total.get_value().tolist() == [3.0, 3.0]

    other = theano.shared(np.ones(2), "other")
    swapped = f.copy(share_memory=False, swap={total: other}, name="swapped")
    assert swapped([0.0, 1.0], by=3.0)["sum"] == 2.0
    assert other.get_value().tolist() == [1.0, 4.0]
    frozen = f.copy(share_memory=True, delete_updates=True)
    assert frozen([5.0, 5.0])["sum"] == 6.0
    assert total.get_value().tolist() == [3.0, 3.0]

    g, value = pickle.loads(pickle.dumps((f, total), protocol=-1))
    g([1.0, 0.0])
    assert value.get_value().tolist() == [4.0, 3.0]
    h = copy.deepcopy(f)
    h([9.0, 9.0])
    assert total.get_value().tolist() == [3.0, 3.0]
    assert (f.name, swapped.name, g.name) == ("adder", "swapped", "adder")

    with pytest.raises(theano.compile.UnusedInputError, match="factor"):
        theano.function([v, factor], v)
    with pytest.warns(UserWarning, match="factor"):
        theano.function([v, factor], v, on_unused_input="warn")
    narrow = T.fvector("narrow")
    for allowed in (None, False):
        strict = theano.function([narrow], narrow * 2, allow_input_downcast=allowed)
        with pytest.raises(TypeError):
            strict(np.ones(2))
    loose = theano.function([narrow], narrow * 2, allow_input_downcast=True)
    assert loose(np.ones(2)).dtype == "float32"
    half = theano.function([v], narrow * 2, givens={narrow: T.cast(v, "float32")})
    assert half([1.0]).dtype == "float32"
    with pytest.raises(TypeError, match="rebuild_strict"):
        theano.function([v], narrow * 2, givens={narrow: v})
    wide = theano.function([v], narrow * 2, givens={narrow: v}, rebuild_strict=False)
    assert wide([1.0]).dtype == "float64"
    # Each update reads the values from before the call.
    a, b = theano.shared(1.0), theano.shared(2.0)
    assert theano.function([], [a, b], updates=[(a, b), (b, a)])() == [1.0, 2.0]
    assert (a.get_value(), b.get_value()) == (2.0, 1.0)


def test_a_label_model_by_scans(theano):
    """Partition function, marginals and the best path of a chain, beside all its paths."""
    T, scan = theano.tensor, theano.scan
    scores, moves = T.dmatrix("scores"), T.dmatrix("moves")

    def logsumexp(x, axis):
        top = x.max(axis=axis, keepdims=True)
        return (top + T.log(T.exp(x - top).sum(axis=axis, keepdims=True))).sum(axis=axis)

    forward, _ = scan(
        lambda score, alpha: logsumexp(alpha.dimshuffle(0, "x") + moves, 0) + score,
        sequences=scores[1:],
        outputs_info=scores[0],
    )
    partition = logsumexp(forward[-1], 0)

    def best(score, before):
        ways = before.dimshuffle(0, "x") + moves
        return ways.max(axis=0) + score, T.cast(ways.argmax(axis=0), "int32")

    (reached, back), _ = scan(best, sequences=scores[1:], outputs_info=[scores[0], None])
    last = T.cast(T.argmax(reached[-1]), "int32")
    path, _ = scan(lambda came, now: came[now], sequences=back[::-1], outputs_info=last)
    path = T.concatenate([path[::-1], [last]])
    marginals = T.grad(partition, scores)
    f = theano.function([scores, moves], [partition, path, marginals])

    rng = np.random.RandomState(5)
    s, m = rng.randn(4, 3), rng.randn(3, 3)
    weights = {
        labels: sum(s[i, label] for i, label in enumerate(labels))
        + sum(m[pair] for pair in itertools.pairwise(labels))
        for labels in itertools.product(range(3), repeat=4)
    }
    total = np.log(sum(np.exp(weight) for weight in weights.values()))
    expected = np.zeros((4, 3))
    for labels, weight in weights.items():
        expected[np.arange(4), labels] += np.exp(weight - total)
    found = f(s, m)
    np.testing.assert_allclose(found[0], total)
    assert tuple(found[1]) == max(weights, key=weights.__getitem__)
    np.testing.assert_allclose(found[2], expected)


def test_rules_features_and_walks_of_the_newer_packages(aesara):
    """They are used together, and the values of the graph are compared afterwards."""
    at = aesara.tensor
    basic = importlib.import_module("aesara.graph.basic")
    rewriting = importlib.import_module("aesara.graph.rewriting.basic")
    features = importlib.import_module("aesara.graph.features")
    FunctionGraph = importlib.import_module("aesara.graph.fg").FunctionGraph

    @rewriting.node_rewriter([at.exp])
    def by_sigmoid(fgraph, node):
        (inner,) = node.inputs
        if inner.owner is None or inner.owner.op != at.neg:
            return False
        new = 1.0 / at.sigmoid(inner.owner.inputs[0]) - 1.0
        rewriting.copy_stack_trace(node.outputs, new)
        return {node.outputs[0]: new}

    x, y = at.dvectors("x", "y")
    output = at.exp(-x) * at.log(at.exp(y))
    fgraph = FunctionGraph([x, y], [output], clone=False)
    fgraph.attach_feature(features.ReplaceValidate())
    fgraph.attach_feature(features.NodeFinder())
    mark = fgraph.checkpoint()
    inverse = rewriting.PatternNodeRewriter((at.log, (at.exp, "v")), "v")
    rewriting.in2out(by_sigmoid, inverse, name="both").rewrite(fgraph)
    assert fgraph.get_nodes(at.exp) == ()
    assert rewriting.check_stack_trace(fgraph)
    one = "TensorConstant{[1.]}"
    wanted = f"FunctionGraph(Mul(Sub(True_div({one}, Sigmoid(x)), {one}), y))"
    assert str(fgraph) == wanted
    f = aesara.function([x, y], fgraph.outputs, mode=aesara.Mode("py", optimizer=None))
    a, b = np.array([-1.0, 0.5]), np.array([2.0, 3.0])
    np.testing.assert_allclose(f(a, b)[0], (1 / expit(a) - 1) * b)
    fgraph.revert(mark)
    assert fgraph.outputs == [output]
    assert len(basic.list_of_nodes([x, y], [output])) == 5
    assert [v.name for v in basic.graph_inputs([output])] == ["x", "y"]
    inputs, outputs = basic.clone([x, y], [output])
    assert basic.equal_computations([output], outputs, [x, y], inputs)
    (moved,) = basic.clone_replace([output], {x: y})
    np.testing.assert_allclose(moved.eval({y: b}), np.exp(-b) * b)


def recurrent_boltzmann_machine(theano, n_visible, n_hidden, n_states):
    """Return the variables of a machine whose biases a recurrent network gives, and its draws."""
    T = theano.tensor
    numbers, draws = np.random.RandomState(3), T.shared_randomstreams.RandomStreams(seed=4)

    def weights(*shape):
        return theano.shared(numbers.normal(scale=0.01, size=shape))

    W, visible, hidden = weights(n_visible, n_hidden), weights(n_visible), weights(n_hidden)
    to_hidden, to_visible = weights(n_states, n_hidden), weights(n_states, n_visible)
    inside, onward, bias = weights(n_visible, n_states), weights(n_states, n_states), weights(3)
    params = [W, visible, hidden, to_hidden, to_visible, inside, onward, bias]

    def sampled(v, b_v, b_h, k):
        def step(v):
            mean_h = T.nnet.sigmoid(T.dot(v, W) + b_h)
            h = draws.binomial(size=mean_h.shape, n=1, p=mean_h, dtype=theano.config.floatX)
            mean_v = T.nnet.sigmoid(T.dot(h, W.T) + b_v)
            drawn = draws.binomial(size=mean_v.shape, n=1, p=mean_v, dtype=theano.config.floatX)
            return mean_v, drawn

        chain, updates = theano.scan(lambda v: step(v)[1], outputs_info=[v], n_steps=k)
        last = chain[-1]
        mean = step(last)[0]
        match = T.xlogx.xlogy0(v, mean) + T.xlogx.xlogy0(1 - v, 1 - mean)

        def energy(v):
            return -(v * b_v).sum() - T.nnet.softplus(T.dot(v, W) + b_h).sum()

        cost = (energy(v) - energy(last)) / v.shape[0]
        return last, cost, match.sum() / v.shape[0], updates

    def biases(u):
        return visible + T.dot(u, to_visible), hidden + T.dot(u, to_hidden)

    def state(v, u):
        return T.tanh(bias + T.dot(v, inside) + T.dot(u, onward))

    def generated(u):
        v, _, _, updates = sampled(T.zeros((n_visible,)), *biases(u), k=5)
        return [v, state(v, u)], updates

    v, start = T.matrix("v"), T.zeros((n_states,))
    (_, b_v, b_h), updates = theano.scan(
        lambda v, u, *_: [state(v, u), *biases(u)],
        sequences=v,
        outputs_info=[start, None, None],
        non_sequences=params,
    )
    sample, cost, match, drawing = sampled(v, b_v[:], b_h[:], k=5)
    updates.update(drawing)
    slopes = T.grad(cost, params, consider_constant=[sample])
    updates.update((p, p - 0.1 * slope) for p, slope in zip(params, slopes, strict=True))
    (song, _), drawing = theano.scan(
        lambda u, *_: generated(u), outputs_info=[None, start], non_sequences=params, n_steps=6
    )
    train = theano.function([v], match, updates=updates)
    return train, theano.function([], song, updates=drawing)


def test_a_recurrent_network_of_boltzmann_machines(theano):
    train, compose = recurrent_boltzmann_machine(theano, 6, 4, 3)
    song = np.tile(np.eye(6)[:3], (5, 1))
    matches = [float(train(song)) for _ in range(120)]
    assert np.mean(matches[-20:]) > np.mean(matches[:20]) + 1
    first, second = compose(), compose()
    assert first.shape == (6, 6)
    assert not np.array_equal(first, second)
