"""Files about the project agree with each other and with the package."""

import re
import tomllib
from pathlib import Path

import pytest

import phintys

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
RECIPE = (ROOT / "packaging" / "conda-forge" / "recipe.yaml").read_text("utf-8")
CITATION = (ROOT / "CITATION.cff").read_text("utf-8")
FILES = sorted((ROOT / ".github").rglob("*.yml"))


def test_one_version():
    found = {
        "package": phintys.__version__,
        "pyproject": PROJECT["version"],
        "citation": re.search(r"^version: (.+)$", CITATION, re.MULTILINE)[1],
        "recipe": re.search(r'version: "(.+)"', RECIPE)[1],
        "changelog": re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)[1],
    }
    assert set(found.values()) == {phintys.__version__}, found


def test_the_recipe_needs_what_the_package_needs():
    needed = {one.replace(" ", "") for one in PROJECT["dependencies"]}
    listed = RECIPE.split("  run:\n")[1].split("\n\n")[0]
    found = {line.strip(" -").replace(" ", "") for line in listed.splitlines()}
    assert found == needed | {"python>=${{python_min}}"}
    assert f'python_min: "{PROJECT["requires-python"].removeprefix(">=")}"' in RECIPE


def test_authors_and_licence_are_the_same():
    assert f"name: {PROJECT['authors'][0]['name']}\n" in CITATION
    assert f"license: {PROJECT['license']}\n" in CITATION
    assert f"license: {PROJECT['license']}\n" in RECIPE


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_forms_and_workflows_are_yaml(path):
    yaml = pytest.importorskip("yaml", reason="comes with the extra 'dask'")
    read = yaml.safe_load(path.read_text("utf-8"))
    assert isinstance(read, dict)
    for job in read.get("jobs", {}).values():
        assert job["runs-on"]
        assert all({"uses", "run"} & step.keys() for step in job["steps"])


def test_the_workflow_tests_every_version_that_the_package_names():
    versions = {
        line.removeprefix("Programming Language :: Python :: ")
        for line in PROJECT["classifiers"]
        if re.fullmatch(r"Programming Language :: Python :: 3\.\d+", line)
    }
    workflow = (ROOT / ".github" / "workflows" / "tests.yml").read_text("utf-8")
    listed = re.search(r"python: \[(.+)\]", workflow)[1]
    assert set(re.findall(r'"([\d.]+)"', listed)) == versions


def test_links_of_pages_about_the_project_lead_somewhere():
    for name in ("SECURITY.md", "CODE_OF_CONDUCT.md", "RELEASING.md"):
        for target in re.findall(r"\]\(([^)#:]+)\)", (ROOT / name).read_text("utf-8")):
            assert (ROOT / target).exists(), f"{name}: {target}"
