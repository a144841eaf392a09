import gc
import os
import threading

import pytest

from phintys._base.collecting import collector_paused


@pytest.fixture(autouse=True)
def collecting():
    gc.enable()
    yield
    assert gc.isenabled()


def test_pauses_nest():
    with collector_paused():
        with collector_paused():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()


def test_a_collector_that_was_off_stays_off():
    gc.disable()
    with collector_paused():
        assert not gc.isenabled()
    assert not gc.isenabled()
    gc.enable()


def test_an_error_ends_the_pause():
    with pytest.raises(ValueError, match="inside"), collector_paused():
        raise ValueError("inside")
    assert gc.isenabled()


def test_the_last_of_several_threads_ends_the_pause():
    begun, finish = threading.Event(), threading.Event()

    def work():
        with collector_paused():
            begun.set()
            finish.wait()

    thread = threading.Thread(target=work)
    with collector_paused():
        thread.start()
        begun.wait()
    assert not gc.isenabled()
    finish.set()
    thread.join()
    assert gc.isenabled()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize("inside", [False, True])
def test_a_new_process_knows_only_its_own_pauses(inside):
    begun, finish = threading.Event(), threading.Event()

    def work():
        with collector_paused():
            begun.set()
            finish.wait()

    def enabled_in_child():
        child = os.fork()
        if child == 0:
            os._exit(int(gc.isenabled()))
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

    thread = threading.Thread(target=work)
    thread.start()
    begun.wait()
    if inside:
        with collector_paused():
            assert enabled_in_child() == 0
    else:
        assert enabled_in_child() == 1
    finish.set()
    thread.join()
