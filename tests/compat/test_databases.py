"""Databases of rewrites that programs make themselves."""

from __future__ import annotations

import importlib
import io

import pytest

import phintys.tensor as pt
from phintys._base.errors import RewriteError
from phintys.compat.databases import (
    EquilibriumDB,
    LocalGroupDB,
    ProxyDB,
    RewriteDatabaseQuery,
    SequenceDB,
    TopoDB,
)
from phintys.compat.rewriters import EquilibriumOptimizer, OpRemove, OpSub, in2out, optimizer
from phintys.graph import FunctionGraph

x = pt.dscalar("x")


def ops_after(rewriter, y):
    fgraph = FunctionGraph([x], [y], copy_inputs=False)
    rewriter.rewrite(fgraph)
    return [str(node.op) for node in fgraph.toposort()]


def test_a_sequence_runs_what_is_selected_in_order():
    database = SequenceDB()
    database.register("b", in2out(OpSub(pt.sin, pt.cos)), "basic", position=2)
    database.register("a", in2out(OpSub(pt.exp, pt.sin)), "basic", "extra", position=1)
    database.register("c", in2out(OpSub(pt.cos, pt.tan)), "extra", position=3)
    y = pt.exp(x)
    assert ops_after(database.query("+basic"), y) == ["Cos"]
    assert ops_after(database.query("+basic", "+extra"), y) == ["Tan"]
    assert ops_after(database.query("+basic", "&extra"), y) == ["Sin"]
    assert ops_after(database.query("+basic", "-b"), y) == ["Sin"]
    assert ops_after(database.query("+basic", "+extra", position_cutoff=3), y) == ["Cos"]
    added = RewriteDatabaseQuery(["basic"]).register((in2out(OpRemove(pt.sin)), 1.5))
    assert ops_after(database.query(added), y) == []
    database.remove_tags("b", "basic")
    database.add_tags("c", "basic")
    assert ops_after(database.query("+basic"), y) == ["Sin"]


def test_databases_are_in_databases():
    """A model's rewrites, as a library of probabilities has them."""
    rules = LocalGroupDB()
    rules.name = "rules"
    rules.register("one", OpSub(pt.exp, pt.sin), "basic")
    rules.register("two", OpSub(pt.cosh, pt.cos), "basic", "optional")
    whole = SequenceDB()
    whole.register("walk", TopoDB(rules, order="out_to_in"), "basic", position=1)
    settled = EquilibriumDB()
    settled.register("three", OpSub(pt.sin, pt.tan), "basic")
    whole.register("settled", settled, "basic", position=2)
    whole.register("again", ProxyDB(settled), "basic", position=3)
    y = pt.exp(pt.cosh(x))
    assert ops_after(whole.query("+basic"), y) == ["Cos", "Tan"]
    assert ops_after(whole.query("+basic", "-optional"), y) == ["Cosh", "Tan"]
    inner = RewriteDatabaseQuery(["basic"], exclude=["three"])
    query = RewriteDatabaseQuery(["basic"], subquery={"settled": inner, "again": inner})
    assert ops_after(whole.query(query), y) == ["Cos", "Sin"]
    assert whole["walk"].db is rules
    assert "one" in rules


def test_final_and_cleanup_rewriters_of_an_equilibrium():
    seen = []

    def note(name, rule):
        @optimizer
        def step(fgraph):
            seen.append(name)
            in2out(rule).rewrite(fgraph)

        return step

    database = EquilibriumDB()
    database.register("rule", OpSub(pt.exp, pt.sin), "basic")
    database.register("whole", note("whole", OpSub(pt.sin, pt.cos)), "basic")
    database.register("end", note("end", OpSub(pt.cos, pt.tan)), "basic", final_rewriter=True)
    database.register("tidy", note("tidy", OpRemove(pt.neg)), "basic", cleanup=True)
    assert ops_after(database.query("+basic"), pt.exp(pt.neg(x))) == ["Tan"]
    first = ["whole", "tidy"]
    assert seen == [*first, *first, *first, "end", *first, "end"]


def test_an_equilibrium_that_never_comes_is_an_error():
    both = [in2out(OpSub(pt.sin, pt.cos)), in2out(OpSub(pt.cos, pt.sin))]
    turning = EquilibriumOptimizer([*both, in2out(OpSub(pt.sin, pt.cos))], max_use_ratio=1)
    with pytest.raises(RewriteError, match="still changes"):
        ops_after(turning, pt.sin(x))


def test_a_group_applies_all_rules_if_asked():
    for all_of_them, expected in ((False, ["Sin"]), (True, ["Cos"])):
        group = LocalGroupDB(apply_all_rewrites=all_of_them)
        group.register("one", OpSub(pt.exp, pt.sin), "basic", position=1)
        group.register("two", OpSub(pt.sin, pt.cos), "basic", position=2)
        walk = in2out(group.query("+basic"), ignore_newtrees=True)
        assert ops_after(walk, pt.exp(x)) == expected


def test_names_and_tags_are_told_apart():
    database = SequenceDB()
    database.register("a", in2out(OpRemove(pt.exp)), "basic")
    rule = in2out(OpRemove(pt.sin))
    for name, tag in (("a", "other"), ("basic", "other"), ("b", "a")):
        with pytest.raises(ValueError, match="already: choose another name"):
            database.register(name, rule, tag)
    with pytest.raises(TypeError, match="1 is not a valid rewrite"):
        database.register("b", 1)
    database.register("a", rule, "basic", overwrite_existing=True)
    assert ops_after(database.query("+basic"), pt.exp(pt.sin(x))) == ["Exp"]


def test_names_tags_and_summaries():
    database = SequenceDB()
    database.register("one", OpRemove(pt.exp), "basic", position=1)
    database.register("two", OpRemove(pt.sin), "basic", "other", position=2)
    assert database["other"] is database["two"]
    with pytest.raises(KeyError, match="one, two have that tag"):
        database["basic"]
    with pytest.raises(ValueError, match="must be a number, 'first' or 'last'"):
        database.register("three", OpRemove(pt.cos), position="middle")
    page = io.StringIO()
    database.print_summary(page)
    assert "two: PatternRewriter" not in page.getvalue()
    assert "basic, other, two" in page.getvalue()
    database.unregister("one")
    assert "one" not in database
    assert database["basic"] is database["two"]


@pytest.mark.parametrize(
    ("package", "module"),
    [
        ("theano", "theano.gof"),
        ("theano", "theano.gof.optdb"),
        ("aesara", "aesara.graph.optdb"),
        ("aesara", "aesara.graph.rewriting.db"),
        ("pytensor", "pytensor.graph.rewriting.db"),
    ],
)
def test_modules_of_the_old_packages_have_them(package, module, request):
    request.getfixturevalue(package)
    assert importlib.import_module(module).SequenceDB is SequenceDB


def test_a_rewrite_runs_at_the_end_or_after_each_of_the_others():
    with pytest.raises(ValueError, match="`final_rewriter` and `cleanup` must not both"):
        EquilibriumDB().register("d", OpSub(pt.exp, pt.sin), final_rewriter=True, cleanup=True)
    assert SequenceDB().query("+a").data == []


def test_a_query_may_include_nothing():
    assert not RewriteDatabaseQuery(include=None).selects({"fast_run"})
