"""Nodes know the line of user code that made them."""

import copy
import pickle
import sys
import threading
from functools import singledispatch
from types import SimpleNamespace

import pytest

import phintys
import phintys.tensor as pt
from phintys._base import origin as module
from phintys._base.origin import Origin, current_origin, in_steps, inherit_origin
from phintys.graph import Apply, Op, Type, clone, clone_replace

anything = Type()


class F(Op):
    __props__ = ()

    def make_node(self, x):
        x = x if hasattr(x, "type") else anything.make_constant(x)
        return Apply(self, [x], [anything()])


f = F()
x = anything("x")


def here():
    """Return the line of the caller."""
    return sys._getframe(1).f_lineno


def test_a_node_knows_file_line_and_function():
    y, line = f(x), here()
    origin = y.owner.origin
    assert (origin.filename, origin.lineno, origin.function) == (
        __file__,
        line,
        "test_a_node_knows_file_line_and_function",
    )
    assert origin.source == "y, line = f(x), here()"
    assert str(origin) == (
        f'File "{__file__}", line {line}, in test_a_node_knows_file_line_and_function\n'
        "    y, line = f(x), here()"
    )
    assert repr(origin) == f"<Origin {__file__}:{line}>"
    assert y.origin is origin
    assert x.origin is None


def test_a_plain_apply_knows_its_line():
    node, line = Apply(f, [x], [anything()]), here()
    assert node.origin.lineno == line


def test_make_node_functions_set_on_instances_are_looked_through():
    g = Op()

    def make_node(x):
        return Apply(g, [x], [anything()])

    g.make_node = make_node
    y, line = g(x), here()
    assert y.owner.origin.lineno == line
    node, line = g.make_node(x), here()
    assert node.origin.lineno == line


def test_nodes_made_in_methods_comprehensions_lambdas_and_generators():
    class Model:
        def build(self, x):
            return f(x), here()

    y, line = Model().build(x)
    assert (y.origin.lineno, y.origin.function) == (line, "build")
    ys, line = [f(x) for _ in range(3)], here()
    assert {y.origin.lineno for y in ys} == {line}
    make, line = lambda: f(x), here()
    assert make().origin.lineno == line
    y, line = next(f(x) for _ in range(1)), here()
    assert y.origin.lineno == line
    (y,), line = list(map(f, [x])), here()
    assert y.origin.lineno == line


def test_a_call_over_several_lines_is_known_by_where_it_begins():
    line = here() + 1
    y = f(
        x,
    )
    assert y.origin.lineno == line


def test_two_calls_on_one_line_and_calls_in_a_loop():
    a, b = f(x), f(x)
    assert a.origin.lineno == b.origin.lineno
    made = [f(x) for _ in range(3)]
    assert len({y.origin for y in made}) == 1  # recorded once


def test_executed_code():
    space = {"f": f, "x": x}
    exec(compile("a = 1\n\nb = f(x)", "<made up>", "exec"), space)
    origin = space["b"].origin
    assert (origin.filename, origin.lineno, origin.function) == ("<made up>", 3, "<module>")
    assert origin.source == ""
    assert str(origin) == 'File "<made up>", line 3, in <module>'


def test_functions_of_the_standard_library_between_are_looked_through():
    @singledispatch
    def convert(value):
        return f(value)

    # What is called through singledispatch here is user code; Phintys's own would be looked
    # through, and then the frame of functools is met.
    wrapper = SimpleNamespace(origin=None)

    @singledispatch
    def ours(value):
        wrapper.origin = current_origin(2)

    ours(1)
    line = here() - 1
    assert (wrapper.origin.filename, wrapper.origin.lineno) == (__file__, line)
    assert convert(x).origin.function == "convert"


def test_clones_and_rebuilt_nodes_keep_the_line():
    y, line = f(x), here()
    (_,), (copied,) = clone([x], [y])
    replaced = clone_replace(y, {x: anything("z")})
    assert copied.origin is y.origin
    assert replaced.origin is y.origin
    assert y.origin.lineno == line


def test_rebuilding_by_make_node_keeps_the_line_of_all_that_it_makes():
    other = Type()

    class Convert(Op):
        __props__ = ()

        def make_node(self, x):
            x = f(x) if x.type == other else x
            return Apply(self, [x], [anything()])

    y, line = Convert()(x), here()
    rebuilt = clone_replace(y, {x: other("z")}, rebuild_strict=False)
    assert rebuilt.origin is y.origin
    assert rebuilt.owner.inputs[0].origin is y.origin
    assert y.origin.lineno == line


def test_inherit_origin():
    y = f(x)
    with inherit_origin(y.origin):
        inside = f(x)
        with inherit_origin(None):
            anew, line = f(x), here()
    after, last = f(x), here()
    assert inside.origin is y.origin
    assert anew.origin.lineno == line
    assert after.origin.lineno == last


def test_inherit_origin_ends_with_an_error_and_is_of_one_thread():
    y = f(x)
    with pytest.raises(ZeroDivisionError), inherit_origin(y.origin):
        1 / 0
    assert current_origin() is not y.origin

    seen = []
    with inherit_origin(y.origin):
        thread = threading.Thread(target=lambda: seen.append(f(x).origin))
        thread.start()
        thread.join()
    assert seen[0] is not y.origin


def test_an_origin_can_be_pickled_and_copied():
    origin = f(x).origin
    again = pickle.loads(pickle.dumps(origin))
    assert str(again) == str(origin)
    assert copy.deepcopy(origin) is origin


def test_unknown_origin():
    assert str(module.UNKNOWN) == 'File "<unknown>", line 0, in <unknown>'
    assert module.UNKNOWN.source == ""


def test_lines_are_those_that_python_tells():
    """Instructions of all kinds, held against Python's own table."""
    code = compile(
        "a = [1,\n 2,\n\n  (3 +\n a)]\ndef g(\n  x=1,\n):\n  return (x\n + 1)\n", "<text>", "exec"
    )
    functions = [code, *(c for c in code.co_consts if hasattr(c, "co_code"))]
    assert len(functions) == 2
    for each in functions:
        for start, end, line in each.co_lines():
            for offset in range(start, end, 2):
                expected = each.co_firstlineno if line is None else line
                assert Origin(each, offset).lineno == expected


def test_what_is_remembered_is_bounded(monkeypatch):
    monkeypatch.setattr(module, "_MOST_REMEMBERED", 8)
    for i in range(40):
        space = {"f": f, "x": x}
        exec(compile(f"\n\ny = f(x)  # {i}", f"<text {i}>", "exec"), space)
        assert (space["y"].origin.filename, space["y"].origin.lineno) == (f"<text {i}>", 3)
        assert len(module._PLACES) <= 8
        assert len(module._INTERNAL) <= 8


def test_what_is_known_is_found_the_quick_way(monkeypatch):
    def build():
        return f(x)

    first = build().origin
    monkeypatch.setattr(module, "_first_origin", None)  # calling it would fail
    assert build().origin is first


def test_without_user_code_there_is_no_origin(monkeypatch):
    monkeypatch.setattr(module, "_INTERNAL", dict.fromkeys(_files_on_the_stack(), True))
    assert current_origin() is module.UNKNOWN
    monkeypatch.setattr(module, "is_internal", lambda filename: True)
    monkeypatch.setattr(module, "_INTERNAL", {})
    assert current_origin() is module.UNKNOWN


def _files_on_the_stack():
    frame = sys._getframe()
    while frame is not None:
        yield frame.f_code.co_filename
        frame = frame.f_back


def test_lines_are_right_after_memory_ran_out_while_they_were_read():
    class Code:
        co_firstlineno = 1
        attempts = 0

        def co_lines(self):
            self.attempts += 1
            yield 0, 2, 10
            if self.attempts == 1:
                raise MemoryError
            yield 2, 4, 11

    places = module._Places(Code())
    with pytest.raises(MemoryError):
        places.line(2)
    assert [places.line(at) for at in (0, 2, 3)] == [10, 11, 11]


def test_steps_of_a_function_have_its_line_and_its_name():
    @in_steps
    def inner(value):
        return f(value)

    @in_steps
    def twice(value):
        return inner(f(value))

    y = twice(x)
    assert y.origin.step_of == y.owner.inputs[0].origin.step_of == "twice"
    assert y.origin.source == "y = twice(x)"
    again = pickle.loads(pickle.dumps(y.origin))
    assert (again.step_of, again.lineno) == ("twice", y.origin.lineno)
    assert not f(y).origin.step_of


def hidden(error):
    """Return, for each frame of a traceback, whether it is of the library, and whether hidden."""
    step = error.__traceback__
    while step is not None:
        frame = step.tb_frame
        yield (
            module.is_internal(frame.f_code.co_filename),
            frame.f_locals.get("__tracebackhide__", False),
        )
        step = step.tb_next


@pytest.mark.parametrize("has_ipython", [False, True])
def test_frames_of_the_library_are_hidden_from_notebooks(monkeypatch, has_ipython):
    monkeypatch.delitem(sys.modules, "IPython", raising=False)
    if has_ipython:
        shell = SimpleNamespace(get_ipython=lambda: None)
        monkeypatch.setitem(sys.modules, "IPython", shell)
    x, y = pt.dvectors("x", "y")
    f = phintys.function([x, y], x / y)
    for wrong in (
        lambda: f([1.0, 2.0], [1.0, 2.0, 3.0]),
        lambda: f("a", [1.0]),
        lambda: pt.log(x)[0, 0],
        lambda: x @ "a",
    ):
        with pytest.raises(Exception, match=r".") as caught:
            wrong()
        frames = list(hidden(caught.value))
        assert len(frames) > 3
        assert all(is_hidden == (is_library and has_ipython) for is_library, is_hidden in frames)
