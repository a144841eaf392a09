"""The commands of IPython and notebooks that ``%load_ext phintys`` adds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from phintys._base.config import config
from phintys._base.progress import display_of_notebook
from phintys.compile.executor import Function
from phintys.compile.profile import profiles
from phintys.inspect.profiles import profile_page

if TYPE_CHECKING:
    from phintys.compile.profile import Profile


def add_commands(shell: Any) -> None:
    """Add ``%%explain`` and ``%%profile`` to a shell of IPython.

    Parameters
    ----------
    shell
        The shell, as ``load_ipython_extension`` gets it.
    """

    def explain(line: str, cell: str) -> None:
        """Run the cell, and show the programs of the functions that it assigns to names."""
        before = {id(value) for value in shell.user_ns.values()}
        shell.run_cell(cell)
        found = {
            name: value
            for name, value in shell.user_ns.items()
            if isinstance(value, Function) and id(value) not in before and not name.startswith("_")
        }
        if not found:
            print("%%explain: the cell assigns no compiled function to a name.")  # noqa: T201
        for name, function in found.items():
            print(f"{name}\n{function.explain()}")  # noqa: T201 - what the command is for

    def profile(line: str, cell: str) -> None:
        """Run the cell, and show the profiles of the functions that it compiles."""
        before = len(profiles())
        with config.change_flags(profile=True):
            shell.run_cell(cell)
        found = profiles()[before:]
        if not found:
            print("%%profile: the cell compiles no function.")  # noqa: T201
        for one in sorted(found, key=lambda one: -one.call_seconds):
            _show(one)

    for command in (explain, profile):
        shell.register_magic_function(command, magic_kind="cell", magic_name=command.__name__)


def _show(profile: Profile) -> None:
    """Show a profile as a page in a notebook, as a text elsewhere."""
    display = display_of_notebook()
    if display is None:
        print(profile)  # noqa: T201
    else:
        display(profile_page(profile))
