"""The plots of the pages about speed show the data files, and the pages show all plots."""

import re
import xml.etree.ElementTree as ET
from pathlib import Path
from statistics import median

import pytest

from benchmarks.__main__ import ONE_PROCESS, WHOLE
from benchmarks.plots import PLOTS, picture
from benchmarks.suite import results
from benchmarks.suite.run import DATA_FILES, jobs, part
from benchmarks.suite.workloads import WORKLOADS

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "docs" / name for name in ("numbers_beside.md", "numbers_inside.md")]


@pytest.mark.parametrize("plot", PLOTS, ids=lambda plot: plot.path.stem)
def test_a_plot_shows_its_data(plot):
    assert plot.path.read_text(encoding="utf-8") == picture(plot), "python -m benchmarks --draw"


def test_the_pages_show_all_plots_and_name_all_data_files():
    text = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    assert sorted(re.findall(r"numbers/(\w+)\.svg", text)) == sorted(one.path.stem for one in PLOTS)
    named = set(re.findall(r"benchmarks/data/([\w.]+)", text))
    assert named == {path.name for path in results.DATA.iterdir()}


def test_data_files_begin_with_the_machine():
    for path in results.DATA.iterdir():
        assert re.match(r"# .*Python 3", path.read_text(encoding="utf-8")), path.name


PEERS = ("NumPy", "PyTensor", "JAX")
GOAL = 0.7
"""Of the time of the fastest other library."""


def rows_above_the_goal():
    """Yield (program, data file): by calls, and by calls in a second of four processes."""
    for path in results.DATA.glob("*.csv"):
        figures = results.load(path.stem)[1]
        for figure, suffix in (("call", ""), ("rate", ", 4")):
            for program, columns in figures.get(figure, {}).items():
                values = {name: columns.get(f"{name}{suffix}") for name in ("Phintys", *PEERS)}
                known = {name: median(found) for name, found in values.items() if found}
                mine = known.pop("Phintys", None)
                if mine is None or not known:
                    continue
                best = mine / min(known.values()) if not suffix else max(known.values()) / mine
                if best > GOAL:
                    yield program, path.stem


def test_each_row_above_the_goal_has_a_reason():
    table = PAGES[0].read_text(encoding="utf-8").split("## Where others are as fast")[1]
    rows = [line.strip("| ").split(" | ") for line in table.splitlines() if line.startswith("| ")]
    said = {(program, data) for programs, data, _ in rows[1:] for program in programs.split("; ")}
    assert set(rows_above_the_goal()) <= said
    measured = {data: results.load(data)[1] for _, data in said}
    assert all(
        program in WORKLOADS or program in next(iter(measured[data].values()))
        for program, data in said
    )


def test_tables_are_read_as_they_are_written(tmp_path, monkeypatch):
    monkeypatch.setattr(results, "DATA", tmp_path)
    written = {
        "call": {"a, b": {"Phintys": [1e-6, 2.5e-6], "JAX": []}},
        "first": {"a, b": {"JAX": [3.0]}},
    }
    results.save("some", written)
    measured_on, read = results.load("some")
    assert "phintys " in measured_on
    del written["call"]["a, b"]["JAX"]
    assert read == written


def test_bars_reach_from_the_least_to_the_largest_value(tmp_path, monkeypatch):
    monkeypatch.setattr(results, "DATA", tmp_path)
    plot = PLOTS[0]
    rows = {"<x>": {"Phintys": [1e-6, 1e-3, 4e-6]}, "y": {"JAX": [1e-5]}}
    results.save(plot.data, {plot.figure: rows})
    image = ET.fromstring(picture(plot))
    texts = {element.text for element in image.iter() if element.tag.endswith("text")}
    assert {"<x>", "y", "Phintys", "JAX"} <= texts
    bars = [element for element in image.iter() if element.get("stroke-width") == "2"]
    (marked,) = (element for element in image.iter() if element.get("cy") == "71.5")
    left, right = re.fullmatch(r"M([\d.]+) [\d.]+H([\d.]+)", bars[0].get("d")).groups()
    assert len(bars) == 1
    assert float(left) < float(marked.get("cx")) < float(right)


def test_values_of_several_processes_are_in_one_row():
    one = {"call": {"a": {"JAX": [1.0], "Phintys": [2.0]}}}
    other = {"call": {"a": {"JAX": [3.0]}, "b": {"JAX": [4.0]}}}
    assert results.joined([one, other]) == {
        "call": {"a": {"JAX": [1.0, 3.0], "Phintys": [2.0]}, "b": {"JAX": [4.0]}}
    }


def test_make_bench_writes_each_data_file_that_is_drawn():
    written = {*DATA_FILES, "processes", "busy_machine", *ONE_PROCESS}
    assert {plot.data for plot in PLOTS} <= written
    assert {f"suite.{name}" for name in ("run", "busy", "beside")} <= {name for name, *_ in WHOLE}


def test_each_program_goes_into_one_data_file():
    results = {"call": {program: {"JAX": [1.0]} for program in WORKLOADS}}
    parts = {name: part(results, name)["call"] for name in DATA_FILES}
    assert sum(map(len, parts.values())) == len(WORKLOADS)
    assert "loop in a loop, 50x50" in parts["loops"]
    assert "scalar multiply" in parts["peers"]
    assert all(parts.values())


def test_each_round_measures_every_program_and_the_slow_one_last():
    found = list(jobs(["PyTensor", "Phintys"], ["a", "b"], 2))
    one = [("a", "Phintys"), ("b", "Phintys"), ("a", "PyTensor"), ("b", "PyTensor")]
    assert found == one + one
