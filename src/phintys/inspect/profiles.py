"""Interactive pages of profiles: a flame graph, and a time line of the first calls."""

from __future__ import annotations

import os
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from phintys._base.errors import ArgumentError
from phintys._base.records import record
from phintys.compile.profile import Profile
from phintys.inspect.documents import Page, assembled
from phintys.inspect.drawings import short

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from phintys.compile.profile import NodeCost

_MOST_SHOWN = 60
"""Characters of a label."""

_SMALLEST = 0.0005
"""The share of all time below which parts of a flame graph are left out."""


@record()
class Flame:
    """A part of a flame graph.

    Attributes
    ----------
    label
        What takes the time.
    seconds
        How long, over all calls.
    facts
        Further lines.
    parts
        What it consists of, slowest first. They need not sum to the whole.
    """

    label: str
    seconds: float
    facts: list[str]
    parts: list[Flame]

    def as_dict(self) -> dict[str, Any]:
        """Return plain data that JSON can hold."""
        return {
            "label": self.label,
            "seconds": self.seconds,
            "facts": self.facts,
            "parts": [part.as_dict() for part in self.parts],
        }


class ProfilePage(Page):
    """A page of a profile, which notebooks show.

    Parameters
    ----------
    profile
        The profile.

    Examples
    --------
    >>> import phintys, phintys.tensor as pt
    >>> from phintys.inspect import profile_page
    >>> x = pt.dvector("x")
    >>> f = phintys.function([x], pt.exp(x).sum(), profile=True, name="total")
    >>> _ = f([1.0, 2.0])
    >>> profile_page(f)
    <ProfilePage of total, 1 call>
    """

    def __init__(self, profile: Profile) -> None:
        super().__init__(f"Profile of {profile.name or 'a function'}")
        self.profile = profile

    @property
    def flames(self) -> dict[str, Flame]:
        """The flame graphs by what they divide the time among."""
        return {
            "line": by_line(self.profile),
            "Op": by_op(self.profile),
            "step": by_step(self.profile),
        }

    @property
    def html(self) -> str:
        """The page: text, styles, scripts and data in one file."""
        profile = self.profile
        data = {
            "summary": (
                f"{profile.calls:,} {_calls(profile)} in {shown_time(profile.call_seconds)}; "
                f"compiled in {shown_time(profile.compile_seconds)}"
            ),
            "flames": {name: flame.as_dict() for name, flame in self.flames.items()},
            "steps": [[step.label, step.kind] for step in profile.steps],
            "events": time_line(profile),
            "report": str(profile),
        }
        return assembled(
            "profile.html",
            self.title,
            data,
            styles=("page.css", "profile.css"),
            scripts=("common.js", "profile.js"),
        )

    def __repr__(self) -> str:
        profile = self.profile
        name = profile.name or "a function"
        return f"<ProfilePage of {name}, {profile.calls:,} {_calls(profile)}>"


def profile_page(what: Any, path: str | os.PathLike[str] | None = None) -> ProfilePage:
    """Return an interactive page of what a function has measured.

    Parameters
    ----------
    what
        A function that was compiled with ``profile=True``, or its ``profile``.
    path
        Where to write the page as an HTML file, which needs no network; nowhere by default.

    Returns
    -------
    ProfilePage
        A flame graph, whose time is divided by lines of the user's program, by Ops or by steps of
        the backend; and the first 10,000 steps on a time line, with a row for each thread.
        Notebooks show it.

    Raises
    ------
    ArgumentError
        ``what`` is something else, or a function that is not profiled.

    Examples
    --------
    >>> import phintys, phintys.tensor as pt
    >>> from phintys.inspect import profile_page
    >>> x = pt.dvector("x")
    >>> f = phintys.function([x], pt.exp(x).sum(), profile=True)
    >>> _ = f([1.0, 2.0])
    >>> list(profile_page(f).flames)
    ['line', 'Op', 'step']
    """
    profile = what if isinstance(what, Profile) else getattr(what, "profile", None)
    if not isinstance(profile, Profile):
        msg = (
            "A page of a profile needs a function that was compiled with profile=True, or its "
            f"profile; got {type(what).__name__}: {short(str(what))}."
        )
        raise ArgumentError(msg)
    page = ProfilePage(profile)
    if path is not None:
        page.save(path)
    return page


def by_line(profile: Profile) -> Flame:
    """Return time by files, functions, lines and nodes of the user's program."""
    tree: dict[Any, Any] = {}
    for cost in _costs(profile):
        origin = cost.node.origin
        file = PurePath(origin.filename).name
        line = f"{file}:{origin.lineno}  {origin.source}".rstrip()
        inside = tree.setdefault(file, {}).setdefault(origin.function, {}).setdefault(line, [])
        inside.append(_flame_of_node(cost, cost.seconds))
    return _root(profile, [_joined(label, inside) for label, inside in tree.items()])


def by_op(profile: Profile) -> Flame:
    """Return time by Ops and nodes."""
    tree: dict[str, list[Flame]] = {}
    for cost in _costs(profile):
        tree.setdefault(str(cost.node.op), []).append(_flame_of_node(cost, cost.seconds))
    return _root(profile, [_joined(label, inside) for label, inside in tree.items()])


def by_step(profile: Profile) -> Flame:
    """Return time by kinds of steps, steps and nodes."""
    costs = {cost.node: cost for cost in profile.by_node()}
    tree: dict[str, list[Flame]] = {}
    for step in profile.steps:
        inside = [
            _flame_of_node(costs[node], share * step.seconds) for node, share in step.nodes.items()
        ]
        facts = [step.label, f"{step.calls:,} runs"]
        flame = Flame(short(step.label, _MOST_SHOWN), step.seconds, facts, _slowest_first(inside))
        tree.setdefault(step.kind, []).append(flame)
    return _root(profile, [_joined(label, inside) for label, inside in tree.items()])


def time_line(profile: Profile) -> list[list[float]]:
    """Return runs of steps: step (-1: the whole program), begin and length in us, thread."""
    found: list[list[float]] = []
    first = 0
    threads: dict[int, int] = {}
    for program in profile.programs:
        for event in program.events:
            step = -1 if event.step < 0 else first + event.step
            thread = threads.setdefault(event.thread, len(threads))
            length = (event.end - event.begin) * 1e6
            found.append([step, event.begin * 1e6, length, thread])
        first += len(program.steps)
    start = min((event[1] for event in found), default=0.0)
    return sorted([step, round(at - start, 3), round(long, 3), on] for step, at, long, on in found)


def _costs(profile: Profile) -> Iterable[NodeCost]:
    least = _SMALLEST * max(profile.call_seconds, profile.step_seconds)
    return [cost for cost in profile.by_node() if cost.seconds >= least]


def _flame_of_node(cost: NodeCost, seconds: float) -> Flame:
    facts = [str(cost.node), str(cost.node.origin), f"{cost.calls:,} runs"]
    if cost.size is not None:
        facts.append(f"results: {cost.size:,} bytes")
    if cost.flops:
        facts.append(f"{cost.flops:,.0f} floating-point operations a run")
    return Flame(short(str(cost.node.op), _MOST_SHOWN), seconds, facts, [])


def _joined(label: str, inside: Any) -> Flame:
    """Return a part that consists of others, given as flames or as a dict of their labels."""
    if isinstance(inside, dict):
        inside = [_joined(one, parts) for one, parts in inside.items()]
    seconds = sum(part.seconds for part in inside)
    return Flame(short(label, _MOST_SHOWN), seconds, [label], _slowest_first(inside))


def _root(profile: Profile, parts: list[Flame]) -> Flame:
    seconds = max(profile.call_seconds, sum(part.seconds for part in parts))
    name = profile.name or "function"
    facts = [f"{name}: {profile.calls:,} {_calls(profile)}"]
    return Flame(name, seconds, facts, _slowest_first(parts))


def _slowest_first(parts: Sequence[Flame]) -> list[Flame]:
    return sorted(parts, key=lambda part: -part.seconds)


def _calls(profile: Profile) -> str:
    return "call" if profile.calls == 1 else "calls"


def shown_time(seconds: float) -> str:
    """Return a length of time in a unit in which it has few digits.

    Examples
    --------
    >>> from phintys.inspect.profiles import shown_time
    >>> shown_time(2.5), shown_time(0.0125), shown_time(3e-6)
    ('2.5 s', '12.5 ms', '3.0 us')
    """
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds / 1e-9:.0f} ns"
