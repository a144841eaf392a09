"""The pages in a browser: they load without errors, fold, find and zoom.

`make browser-tests` installs what this needs, where it may.
"""

import shutil

import numpy as np
import pytest

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
    assert run(browser, "views[0].cy.nodes(':childless').length") == 4
    run(browser, "views[0].select('n1')")
    assert "Exp" in browser.find_element("id", "details").text
    assert __file__ in browser.find_element("id", "details").text


def test_nodes_are_found_and_parts_folded(browser, tmp_path):
    x = pt.dvector("x")
    y = x
    for _ in range(300):
        y = pt.sin(y)
    opened(browser, [pt.cumsum(y)], tmp_path)
    assert run(browser, "views[0].cy.nodes(':childless').length") < 10
    box = browser.find_element("id", "search")
    box.send_keys("cumsum{")
    assert browser.find_element("id", "matches").text == "1 found"
    box.send_keys("\ue007")  # Enter
    assert run(browser, SELECTED) == "Cumsum{axis=0}"
    for _ in range(2):
        browser.find_element("id", "unfold").click()
    assert run(browser, "views[0].cy.nodes(':childless').length") == 303
    browser.find_element("id", "fold").click()
    assert run(browser, "views[0].cy.nodes(':childless').length") < 10


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
    assert run(browser, "views[0].cy.nodes(':childless').length") < 50
    browser.find_element("id", "unfold").click()
    assert run(browser, "views[0].cy.nodes(':childless').length") > 100


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
