"""The pages in a browser: they load without errors, fold, find and zoom.

`make browser-tests` installs what this needs, where it may.
"""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from matplotlib.image import imread

import phintys
import phintys.tensor as pt
from phintys.inspect import graph_page, profile_page

webdriver = pytest.importorskip("selenium.webdriver", reason="needs selenium")
BROWSER = shutil.which("chromium") or shutil.which("chromium-browser")
DRIVER = shutil.which("chromedriver")
pytestmark = pytest.mark.skipif(not (BROWSER and DRIVER), reason="needs Chromium and its driver")

SELECTED = "views[0].cy.getElementById(views[0].selected).data('label')"


@pytest.fixture(scope="module")
def browser():
    options = webdriver.ChromeOptions()
    options.binary_location = BROWSER
    for argument in ("--headless", "--no-sandbox", "--disable-gpu", "--window-size=1200,800"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    service = webdriver.ChromeService(executable_path=DRIVER)
    with webdriver.Chrome(options=options, service=service) as driver:
        driver.set_page_load_timeout(60)
        yield driver


def opened(browser, what, tmp_path, page=graph_page):
    page(what, tmp_path / "page.html")
    browser.get((tmp_path / "page.html").as_uri())
    assert [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"] == []
    return browser


def run(browser, expression):
    return browser.execute_script(f"return {expression}")


def test_a_small_graph_is_shown_whole(browser, tmp_path):
    x = pt.dmatrix("x")
    opened(browser, phintys.function([x], pt.exp(x).sum(), mode="native"), tmp_path)
    assert run(browser, "models.length") == 3
    assert run(browser, "views[0].cy.nodes('[?isBox]').length") == 4
    run(browser, "views[0].select('n1')")
    assert "Exp" in browser.find_element("id", "details").text
    assert __file__ in browser.find_element("id", "details").text


def test_nodes_are_found_and_parts_folded(browser, tmp_path):
    x = pt.dvector("x")
    y = x
    for _ in range(300):
        y = pt.sin(y)
    opened(browser, [pt.cumsum(y)], tmp_path)
    assert run(browser, "views[0].cy.nodes('[?isBox]').length") < 30
    box = browser.find_element("id", "search")
    box.send_keys("cumsum{")
    assert browser.find_element("id", "matches").text == "1 found"
    box.send_keys("\ue007")  # Enter
    assert run(browser, SELECTED) == "Cumsum{axis=0}"
    for _ in range(2):
        browser.find_element("id", "unfold").click()
    assert run(browser, "views[0].cy.nodes('[?isBox]').length") == 303
    browser.find_element("id", "fold").click()
    assert run(browser, "views[0].cy.nodes('[?isBox]').length") < 30


def test_pictures_stand_side_by_side(browser, tmp_path):
    x = pt.dvector("x")
    opened(browser, phintys.function([x], pt.log(1 + x)), tmp_path)
    browser.find_element("id", "beside").click()
    assert run(browser, "views.length") == 2
    assert run(browser, "views.map((view) => view.model.title)") == ["as written", "as rewritten"]
    for number in (0, 1):
        box = run(browser, f"views[{number}].cy.elements().renderedBoundingBox()")
        assert box["x1"] >= 0
        assert box["x2"] <= run(browser, f"views[{number}].cy.container().clientWidth")


def test_keys_move_and_zoom(browser, tmp_path):
    x = pt.dscalar("x")
    opened(browser, [pt.exp(pt.sin(x))], tmp_path)
    canvas = browser.find_element("class name", "canvas")
    canvas.send_keys("\ue015")  # Down: the first node
    canvas.send_keys("\ue015")
    assert run(browser, SELECTED) == "Sin"
    before = run(browser, "views[0].cy.zoom()")
    canvas.send_keys("+")
    assert run(browser, "views[0].cy.zoom()") > before


def test_ten_thousand_nodes_are_usable(browser, tmp_path):
    x = pt.dvector("x")
    y = x
    for number in range(5000):
        y = pt.sin(y) + x if number % 2 else pt.exp(-y)
    opened(browser, [y], tmp_path)
    assert run(browser, "models[0].nodes.length") > 10_000
    assert 6 <= run(browser, "views[0].cy.nodes('[?isBox]').length") < 50
    browser.find_element("id", "unfold").click()
    assert run(browser, "views[0].cy.nodes('[?isBox]').length") > 100
    assert overlaps(browser, "node[?isBox]") == []


def overlaps(browser, selector):
    """Return the pairs of boxes or labels that lie over each other."""
    return run(
        browser,
        """(() => {
          const found = [], boxes = views[0].cy.elements(arguments[0]).map((one) => [one.id(),
            one.boundingBox(one.isEdge() ? {includeNodes: false, includeEdges: false}
                                         : {includeLabels: false, includeOverlays: false})]);
          boxes.forEach(([id, a], at) => boxes.slice(at + 1).forEach(([other, b]) => {
            const wide = Math.min(a.x2, b.x2) - Math.max(a.x1, b.x1);
            const high = Math.min(a.y2, b.y2) - Math.max(a.y1, b.y1);
            if (wide > 3 && high > 3) found.push([id, other]);
          }));
          return found;
        })()""".replace("arguments[0]", json.dumps(selector)),
    )


def perceptron():
    x, label = pt.dmatrix("x"), pt.dmatrix("label")
    weights = [phintys.shared(np.zeros((4, 4)), name=f"w{number}") for number in range(3)]
    h = x
    for w in weights[:-1]:
        h = pt.tanh(h @ w)
    return -(label * pt.log(pt.softmax(h @ weights[-1], axis=1))).sum()


def test_labels_of_edges_and_nodes_do_not_overlap(browser, tmp_path):
    opened(browser, perceptron(), tmp_path)
    assert run(browser, "views[0].cy.edges().length") > 12
    assert overlaps(browser, "node[?isBox], node[?part], edge") == []


def test_a_screenshot_looks_as_before(browser, tmp_path):
    """In coarse grain, since fonts differ: the mean brightness of each field of a grid."""
    opened(browser, perceptron(), tmp_path)
    browser.find_element("class name", "canvas").screenshot(str(tmp_path / "now.png"))
    now = coarse(tmp_path / "now.png")
    before = imread(Path(__file__).with_name("screenshot.png"))[..., 0]
    assert np.abs(now - before).mean() < 0.01
    run(browser, "(views[0].model.fold(), views[0].draw())")
    browser.find_element("class name", "canvas").screenshot(str(tmp_path / "folded.png"))
    assert np.abs(coarse(tmp_path / "folded.png") - before).mean() > 0.02


def coarse(path, rows=25, columns=40):
    image = imread(path)[..., :3].mean(axis=2)
    bands = np.array_split(image, rows, axis=0)
    return np.array([[part.mean() for part in np.array_split(band, columns, 1)] for band in bands])


def test_text_on_colours_is_legible(browser, tmp_path):
    opened(browser, [pt.exp(pt.dscalar("x"))], tmp_path)
    colours = "[...PALETTE, ...Object.values(OF_KIND), '#b2182b', '#fff4d6', '#39434d', '#dfe4ea']"
    assert run(browser, f"Math.min(...{colours}.map((one) => contrast(one, textOn(one))))") >= 4.5


def test_times_have_colours(browser, tmp_path):
    x = pt.dvector("x")
    f = phintys.function([x], pt.exp(x).sum(), profile=True)
    f(np.ones(1000))
    opened(browser, f, tmp_path)
    run(browser, "(current = 1, show())")
    run(browser, "(element('colours').value = 'seconds', views[0].draw(), legend())")
    assert "most:" in browser.find_element("id", "legend").text


def test_a_profile_has_flames_and_a_time_line(browser, tmp_path):
    x = pt.dmatrix("x")
    f = phintys.function([x], pt.tanh(x @ x).sum(), profile=True, name="total")
    for _ in range(3):
        f(np.ones((50, 50)))
    opened(browser, f, tmp_path, profile_page)
    assert "3 calls" in browser.find_element("id", "summary").text
    parts = browser.find_elements("css selector", "#flame button")
    assert any("Tanh" in part.text for part in parts)
    assert __file__.rpartition("/")[2] in parts[1].text
    parts[-1].click()
    assert "total" in browser.find_element("css selector", "#flame button.around").text
    browser.find_element("css selector", "[data-by=Op]").click()
    browser.find_element("id", "search").send_keys("dot")
    assert browser.find_element("id", "matches").text != "0 found"
    assert run(browser, "events.length") > 3
    browser.find_element("id", "closer").click()
    assert run(browser, "to - from < last")
    browser.find_element("id", "fit").click()
    assert run(browser, "to - from === last")
    browser.find_element("id", "times").send_keys("\ue015")  # Down: the first step
    assert "begins at 0 ns" in browser.find_element("id", "details").text
