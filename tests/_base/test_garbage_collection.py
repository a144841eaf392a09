import dis
import gc
import os
import subprocess
import sys
import threading

import pytest

from phintys._base.garbage_collection import collector_paused


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


FILES = {__file__, collector_paused.__code__.co_filename}


class Interrupt(Exception):
    pass


def interrupted(at):
    """Raise where a handler may run, for the at-th time in a pause; return what was raised."""
    left = at
    before: dict[int, str] = {}  # by the number of a frame: frames must not live longer for it

    def trace(frame, event, argument):
        nonlocal left
        is_ours = frame.f_code.co_filename in FILES
        frame.f_trace_lines = False
        frame.f_trace_opcodes = is_ours
        if event == "opcode":
            # Python looks for signals after calls, and where functions begin and loops go back.
            may_run = before.get(id(frame), "CALL").startswith(("CALL", "RESUME", "JUMP_BACKWARD"))
            before[id(frame)] = dis.opname[frame.f_code.co_code[frame.f_lasti]]
            left -= may_run
            if left < 0:
                raise Interrupt
        elif event == "return":
            before.pop(id(frame), None)
        return trace if is_ours else None

    def pausing():
        with collector_paused():
            with collector_paused():
                pass
            assert not gc.isenabled()

    sys._getframe().f_trace_opcodes = True  # Python 3.12 wants to know before tracing begins
    try:
        sys.settrace(trace)
        pausing()
    except Interrupt as interrupt:
        return interrupt
    finally:
        sys.settrace(None)
    return None


def test_a_signal_at_any_moment_leaves_no_pause():
    before = sys.gettrace()  # of a debugger, or of a measurement of coverage
    count = 0
    try:
        while (error := interrupted(count)) is not None:
            # Even while the exception is kept, as an interactive session keeps the last one.
            assert gc.isenabled(), f"instruction {count}"
            del error
            count += 1
    finally:
        sys.settrace(before)
    assert gc.isenabled()
    assert count > 5


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


def in_a_new_process(text):
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_imported_modules_are_old_for_the_collector():
    in_a_new_process(
        "import gc, phintys, phintys.tensor as pt\n"
        "gc.disable()\n"
        "pt.linalg.cholesky(pt.matrix())\n"
        "import phintys.tensor.linear_algebra.cholesky as module\n"
        "assert any(one is vars(module) for one in gc.get_objects(generation=2))\n"
        "assert not any(one is vars(module) for one in gc.get_objects(generation=0))\n"
    )


def test_what_a_program_has_frozen_stays_frozen():
    in_a_new_process(
        "import gc, phintys, phintys.tensor as pt\n"
        "gc.freeze()\n"
        "frozen = gc.get_freeze_count()\n"
        "pt.linalg.cholesky(pt.matrix())\n"
        "assert gc.get_freeze_count() > frozen // 2\n"
    )
