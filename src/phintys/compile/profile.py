"""Profile: how long each node of a function took."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from phintys._base.errors import ArgumentError

if TYPE_CHECKING:
    from phintys.graph.apply import Apply

__all__ = ["Profile", "as_profile"]


@dataclass
class Profile:
    """Times of a function's calls and nodes, added up over all calls.

    Functions may share one. Threads that call a function at the same time may lose a count.

    Attributes
    ----------
    name : str or None
        For the report.
    calls : int
        Calls that came to an end.
    call_seconds : float
        Time from call to return.
    compile_seconds : float
        Time that compiling took.
    nodes : dict of Apply -> [int, float]
        Executions of each node, and the time that they took.

    Examples
    --------
    >>> import phintys
    >>> import phintys.tensor as pt
    >>> x = pt.dvector("x")
    >>> f = phintys.function([x], pt.exp(x), profile=True)
    >>> _ = f([1.0, 2.0])
    >>> f.profile.calls
    1
    """

    name: str | None = None
    calls: int = 0
    call_seconds: float = 0.0
    compile_seconds: float = 0.0
    nodes: dict[Apply, list[float]] = field(default_factory=dict)

    def node_done(self, node: Apply, seconds: float) -> None:
        """Note one execution of a node."""
        entry = self.nodes.get(node)
        if entry is None:
            entry = self.nodes[node] = [0, 0.0]
        entry[0] += 1
        entry[1] += seconds

    def call_done(self, seconds: float) -> None:
        """Note one call."""
        self.calls += 1
        self.call_seconds += seconds

    @property
    def node_seconds(self) -> dict[Apply, float]:
        """The seconds that each node took, all executions together."""
        return {node: seconds for node, (_, seconds) in self.nodes.items()}

    def by_op(self) -> dict[str, tuple[int, float]]:
        """Return count and seconds for each Op, the slowest first."""
        totals: dict[str, tuple[int, float]] = {}
        for node, (count, seconds) in self.nodes.items():
            before = totals.get(str(node.op), (0, 0.0))
            totals[str(node.op)] = (before[0] + int(count), before[1] + seconds)
        return dict(sorted(totals.items(), key=lambda entry: -entry[1][1]))

    def summary(self, most: int = 20) -> str:
        """Return a table of the slowest nodes.

        Parameters
        ----------
        most
            Rows at most.
        """
        in_nodes = sum(seconds for _, seconds in self.nodes.values())
        calls = f"{self.calls} calls, {self.call_seconds * 1e3:.3f} ms"
        lines = [
            f"Function {self.name or '(unnamed)'}: {calls}",
            f"Compiled in {self.compile_seconds * 1e3:.1f} ms",
            f"In nodes: {in_nodes * 1e3:.3f} ms",
            "    time ms      %     calls  node",
        ]
        slowest = sorted(self.nodes.items(), key=lambda entry: -entry[1][1])
        for node, (count, seconds) in slowest[:most]:
            share = 100 * seconds / in_nodes if in_nodes else 0.0
            lines.append(f"{seconds * 1e3:11.3f} {share:6.1f} {int(count):9d}  {node}")
        if len(slowest) > most:
            lines.append(f"... and {len(slowest) - most} more nodes")
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.summary()


def as_profile(profile: bool | str | Profile | None, name: str | None) -> Profile | None:
    """Return what the ``profile`` argument of ``function`` asks for."""
    if profile is None or profile is False:
        return None
    if isinstance(profile, Profile):
        return profile
    if isinstance(profile, str):
        return Profile(profile)
    if profile is True:
        return Profile(name)
    msg = f"profile is True, False, a name or a Profile; got {profile!r}."
    raise ArgumentError(msg)
