"""``python -m tools.site``: the documentation as pages of HTML, in ``build/site/html``.

The pages of ``docs/`` stay plain Markdown, which tests run and which code hosts show. They are
copied into a folder of sources, where links that leave ``docs/`` lead to copies of what they name;
the lists of ``docs/index.md`` become the navigation; the reference is written from docstrings; and
the gallery runs the programs of ``examples/gallery``. Sphinx makes the pages of these.
"""

from tools.site.navigation import Section, sections
from tools.site.staging import stage

__all__ = ["Section", "sections", "stage"]
