"""What Sphinx is told: ``python -m tools.site`` gathers the pages, and starts it."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

import matplotlib as mpl

import phintys
from tools.site.gallery import missing, programs

mpl.use("Agg")
ROOT = Path(__file__).parents[2]

project = "Phintys"
author = "The Phintys developers"
copyright = author
release = version = phintys.__version__

extensions = ["myst_parser", "sphinx_gallery.gen_gallery"]
root_doc = "index"
rst_prolog = "".join(
    f".. role:: badge-{mark}\n   :class: badge badge-{mark}\n\n"
    for mark in ("gradient", "native", "python")
)
maximum_signature_line_length = 88
highlight_language = "python"
myst_heading_anchors = 4
python_display_short_literal_types = True
toc_object_entries_show_parents = "hide"

sphinx_gallery_conf = {
    "examples_dirs": [str(ROOT / "examples" / "gallery")],
    "gallery_dirs": ["gallery"],
    # A program whose packages are not installed is shown, and not run.
    "filename_pattern": "|".join(rf"/{path.stem}\.py" for path in programs() if not missing(path)),
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_memory": False,
    "write_computation_times": False,
    "show_signature": False,
    "min_reported_time": 3600,
    "image_scrapers": ("matplotlib",),
    "reset_modules": ("matplotlib",),
    "remove_config_comments": True,
}

html_theme = "pydata_sphinx_theme"
html_title = "Phintys"
templates_path = ["templates"]
html_static_path = ["static"]
html_css_files = ["phintys.css"]
html_copy_source = False
html_show_sourcelink = False
# Summaries would be fetched, which pages from file:// may not do.
html_show_search_summary = False
html_sidebars = {"index": [], "changes_*": []}
html_theme_options = {
    "navbar_align": "left",
    "header_links_before_dropdown": 7,
    "navbar_end": ["theme-switcher"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "show_prev_next": True,
    "show_toc_level": 2,
    "navigation_depth": 2,
    "collapse_navigation": True,
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
