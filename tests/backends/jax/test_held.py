"""Values that stay on a device between calls: donated, converted, and as they were after errors."""

import copy
import pickle
from functools import partial
from threading import Thread

import numpy as np
import pytest

import phintys
import phintys.tensor as pt

pytest.importorskip("jax", reason="needs jax")

import jax

from phintys._base.errors import TransferError
from phintys.backends.jax.tracing import converts
from tests.backends.jax.test_mode import Counted

x = pt.dvector("x")
n = pt.lscalar("n")
ON_DEVICE = phintys.jax.mode(results="device")
ONES = np.ones(3)


def _stored(shared):
    return shared.get_value(borrow=True, return_internal_type=True)


@pytest.fixture(name="w")
def _w():
    return phintys.shared(np.arange(3.0), "w")


@pytest.fixture(name="step")
def _step(w):
    """A function that fails if n is out of range, and whose next call does not compile."""
    function = phintys.function([x, n], (w * x)[n], updates={w: w + x}, mode=ON_DEVICE)
    function(ONES, 0)
    function(ONES, 0)
    return function


def test_updates_stay_on_the_device_in_the_memory_of_the_old_values(w, step):
    before = _stored(w)
    traces = step.vm.traces
    assert isinstance(step(ONES, 1), jax.Array)
    assert before.is_deleted()
    assert isinstance(_stored(w), jax.Array)
    assert step.vm.traces == traces
    np.testing.assert_array_equal(w.get_value(), [3, 4, 5])
    assert "they take the memory of the old values" in step.explain()


def test_a_failing_call_leaves_values_as_they_were(w, step):
    before = _stored(w)
    with pytest.raises(IndexError, match="index 7"):
        step(ONES, 7)
    assert before.is_deleted()  # it was given away, and came back
    np.testing.assert_array_equal(w.get_value(), [2, 3, 4])
    assert float(step(ONES, 1)) == 3


@pytest.mark.parametrize("results", ["device", "numpy"])
def test_a_call_that_fails_late_leaves_values_as_they_were(w, results):
    mode = phintys.jax.mode(results=results, checks="later")
    step = phintys.function([x, n], (w * x)[n], updates={w: w + x}, mode=mode)
    step(ONES, 0)
    step(ONES, 7)
    np.testing.assert_array_equal(w.get_value(), [1, 2, 3])
    with pytest.raises(IndexError):
        step(ONES, 0)
    step(ONES, 0)
    np.testing.assert_array_equal(w.get_value(), [2, 3, 4])


def test_a_failing_callback_leaves_values_as_they_were():
    t = phintys.shared(np.ones(2), "t")
    y = pt.dvector("y")
    update = t + pt.linalg.solve_toeplitz(y, np.ones(2))
    step = phintys.function([y], t.sum(), updates={t: update}, mode=ON_DEVICE)
    for _ in range(2):
        step([1.0, 0.0])
    with pytest.raises(np.linalg.LinAlgError):
        step([0.0, 0.0])
    np.testing.assert_array_equal(t.get_value(), [3, 3])
    assert "they are new arrays" in step.explain()


def test_values_that_change_their_shape_are_new_arrays():
    t = phintys.shared(np.ones(1), "t")
    step = phintys.function([], t.sum(), updates={t: pt.concatenate([t, t])}, mode=ON_DEVICE)
    assert [float(step()) for _ in range(4)] == [1, 2, 4, 8]


class Suspicious(Counted):
    """Its input plus 1, of which its rule claims that it must be negative."""

    def perform(self, node, inputs, output_storage):
        output_storage[0][0] = inputs[0] + 1


@converts(Suspicious)
def suspicious(op, node, trace, value):
    trace.check(value < 0, node, AssertionError)
    return value + 1


def test_results_that_the_reference_computes_again_are_stored(w):
    step = phintys.function([], updates={w: Suspicious()(w)}, mode=ON_DEVICE)
    for _ in range(3):
        step()
    np.testing.assert_array_equal(w.get_value(), [3, 4, 5])
    assert "3 calls were repeated" in step.explain()


@pytest.mark.parametrize("mode", [None, "jax"])
def test_functions_of_other_modes_read_and_replace_values_of_a_device(w, step, mode):
    read = phintys.function([x], (w * x).sum(), mode=mode)
    assert read(ONES) == 9
    double = phintys.function([x], (w * x).sum(), updates={w: w * 2}, mode=mode)
    assert double(ONES) == 9
    assert isinstance(_stored(w), np.ndarray)
    assert float(step(ONES, 0)) == 4
    assert read(ONES) == 21
    assert double(ONES, output_subset=[0]) == [21]
    np.testing.assert_array_equal(w.get_value(), [10, 14, 18])


def test_values_are_converted_and_copied(w, step):
    np.testing.assert_array_equal(copy.deepcopy(w).get_value(), [2, 3, 4])
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(w)).get_value(), [2, 3, 4])
    np.testing.assert_array_equal(step[w], [2, 3, 4])
    twin = step.copy()
    assert float(twin(ONES, 0)) == 2
    mine = w.get_value()
    mine[:] = 0
    assert not w.get_value(borrow=True).flags.writeable
    kept = w.get_value(return_internal_type=True)
    step(ONES, 0)
    np.testing.assert_array_equal(kept, [3, 4, 5])
    w.set_value(jax.numpy.zeros(3))
    assert isinstance(_stored(w), np.ndarray)
    w.zero(borrow=True)
    assert float(step(ONES, 2)) == 0


def test_a_borrowed_value_can_be_zeroed(w, step):
    w.zero(borrow=True)
    assert float(step(ONES, 2)) == 0


def test_the_state_of_an_input_stays_on_the_device():
    count = pt.dvector("count")
    state = phintys.In(count, value=np.zeros(2), update=count + 1)
    step = phintys.function([state], count.sum(), mode=ON_DEVICE)
    assert [float(step()) for _ in range(3)] == [0, 2, 4]
    assert "they take the memory of the old values" in step.explain()
    np.testing.assert_array_equal(step[count], [3, 3])


def test_stored_values_that_do_not_change_are_sent_once():
    data = phintys.shared(np.arange(1000.0), "data")
    f = phintys.function([], data.sum(), mode=ON_DEVICE)
    g = phintys.function([], data.max(), mode=ON_DEVICE)
    for _ in range(3):
        f()
        g()
    assert "0 arrays were sent" in g.explain()
    assert "1 arrays were sent to the device (8000 bytes), 0 were fetched" in f.explain()
    data.set_value(np.zeros(3))
    assert float(f()) == 0


def test_arguments_on_a_device_stay_there():
    f = phintys.function([x], 2 * x, mode=ON_DEVICE)
    with jax.enable_x64(True):
        found = f(jax.numpy.ones(3))
    np.testing.assert_array_equal(f(found), [4, 4, 4])
    assert "0 arrays were sent" in f.explain()
    assert f(np.ones(3, "float32")).dtype == "float64"
    with pytest.raises(TypeError, match="Bad argument at index 0"):
        f(jax.numpy.ones((3, 3)))
    fixed = phintys.function([y := pt.tensor("y", shape=(2,))], y, mode=ON_DEVICE)
    with pytest.raises(TypeError, match="Wrong shape"):
        fixed(f(np.ones(3)))


def test_readers_see_values_that_another_thread_replaces(w, step, capfd):
    read = phintys.function([], w - w[0], mode=ON_DEVICE)
    found, errors = [], []

    def reading():
        try:
            for _ in range(100):
                found.append(np.asarray(read()).tolist())
                value = w.get_value()
                found.append((value - value[0]).tolist())
        except Exception as error:  # noqa: BLE001 - shown by the assertion
            errors.append(error)

    thread = Thread(target=reading)
    thread.start()
    while thread.is_alive():
        step(ONES, 0)
    thread.join()
    assert not errors
    assert all(row == [0, 1, 2] for row in found)
    assert capfd.readouterr().err == ""


def test_updates_in_several_threads_are_all_made(w, capfd):
    steps = [phintys.function([], updates={w: w + 1}, mode=ON_DEVICE) for _ in range(3)]
    for step in steps:
        step()
    threads = [Thread(target=lambda step=step: [step() for _ in range(30)]) for step in steps]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    np.testing.assert_array_equal(w.get_value(), np.arange(3.0) + 93)
    assert capfd.readouterr().err == ""


@pytest.fixture(name="overwritten")
def _overwritten(step):
    """A function that makes a call of ``step`` do something between its end and its results."""

    def overwritten(action):
        for program in step.vm._programs.values():
            program.call = partial(_then, program.call, action)

    return overwritten


def _then(call, action, *values):
    results = jax.block_until_ready(call(*values))
    action()
    return results


@pytest.mark.parametrize("mode", [None, ON_DEVICE], ids=["native", "on the device"])
def test_readers_wait_for_the_value_that_replaces_a_deleted_one(w, step, overwritten, mode, capfd):
    read = phintys.function([], w - w[0], mode=mode)
    read()
    found, threads = [], []

    def action():
        thread = Thread(target=lambda: found.append(np.asarray(read()).tolist()))
        thread.start()
        thread.join(timeout=0.05)  # it would have ended by then with an error
        threads.append(thread)

    overwritten(action)
    step(ONES, 0)
    threads[0].join()
    assert found == [[0, 1, 2]]
    assert capfd.readouterr().err == ""


def _after(action, call, *values):
    action()
    return call(*values)


def test_what_a_program_is_about_to_read_is_not_given_away(w, step, capfd):
    """Else XLA would write a line to the standard error."""
    read = phintys.function([], w - w[0], mode=ON_DEVICE)
    read()

    def action():
        thread = Thread(target=lambda: step(ONES, 0))
        thread.start()
        thread.join()

    for program in read.vm._programs.values():
        program.call = partial(_after, action, program.call)
    before = _stored(w)
    assert np.asarray(read()).tolist() == [0, 1, 2]
    assert not before.is_deleted()
    np.testing.assert_array_equal(w.get_value(), [3, 4, 5])
    step(ONES, 0)
    np.testing.assert_array_equal(w.get_value(), [4, 5, 6])
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("mode", [None, ON_DEVICE], ids=["native", "on the device"])
def test_values_lost_by_a_failing_device_are_an_error(w, step, overwritten, mode):
    read = phintys.function([], w - w[0], mode=mode)

    def fail():
        raise jax.errors.JaxRuntimeError("The device is gone.")

    overwritten(fail)
    with pytest.raises(TransferError, match="was lost"):
        step(ONES, 0)
    with pytest.raises(TransferError, match="Set it again with set_value"):
        read()
    w.set_value(np.arange(3.0))
    np.testing.assert_array_equal(read(), [0, 1, 2])


@pytest.mark.stress
def test_draws_on_the_device_are_those_of_the_reference():
    found: list[list[float]] = []
    for mode in (ON_DEVICE, "reference"):
        rng = phintys.random.shared_rng(7)
        after, words = rng.normal(0.0, 1.0, size=(10,))  # pyright: ignore[reportAttributeAccessIssue]
        draw = phintys.function([], words, updates={rng: after}, mode=mode)
        found.append([np.asarray(draw()).tolist() for _ in range(3)])
    np.testing.assert_allclose(found[0], found[1], rtol=1e-13)
