"""Configuration options: one table, with start values from ``PHINTYS_FLAGS``.

The class :class:`Config` is the table: each entry is an option with its default, its allowed values
and its documentation. Use its instance :data:`config`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Generic, TextIO, TypeVar, overload

from phintys._base.errors import ConfigError
from phintys._base.names import near_misses

# Option and Config use each other's private attributes:
# pyright: reportPrivateUsage=false


ENVIRONMENT_VARIABLE = "PHINTYS_FLAGS"

T = TypeVar("T", bound=bool | int | str)


class Option(Generic[T]):
    """One entry of the table: a descriptor that validates the values of the option.

    Parameters
    ----------
    default
        The initial value. Its type is the type of the option.
    expected
        Description of the allowed values, for messages.
    accepts
        Returns whether a value of the right type is allowed.
    doc
        Documentation of the option.
    choices
        All allowed values, if they can be listed.
    remedy
        Additional advice for messages about refused values.

    Examples
    --------
    >>> Config.floatX.default, Config.floatX.choices
    ('float64', ('float64', 'float32', 'float16'))
    """

    def __init__(
        self,
        default: T,
        expected: str,
        accepts: Callable[[T], bool],
        doc: str,
        *,
        choices: tuple[T, ...] = (),
        remedy: str = "",
    ) -> None:
        self.name = ""
        self.default: T = default
        self.expected = expected
        self.doc = self.__doc__ = doc
        self.choices: tuple[T, ...] = choices
        self._accepts = accepts
        self._remedy = remedy

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, holder: None, owner: type) -> Option[T]: ...
    @overload
    def __get__(self, holder: Config, owner: type) -> T: ...
    def __get__(self, holder: Config | None, owner: type) -> Option[T] | T:
        if holder is None:
            return self
        return holder._layer.get()[self.name]

    def __set__(self, holder: Config, value: T) -> None:
        holder._layer_with(self.name)[self.name] = self.check(value)

    def check(self, value: object) -> T:
        """Return ``value``, or raise :class:`ConfigError` if the option does not allow it."""
        kind: type[T] = type(self.default)
        # In Python True is an int, but `num_threads=True` is a mistake.
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            raise self._refusal(value, f" of type {type(value).__name__}")
        if not self._accepts(value):
            close = near_misses(str(value), map(str, self.choices), 3)
            raise self._refusal(value, f" (did you mean {close[0]!r}?)" if close else "")
        return value

    def _refusal(self, value: object, comment: str) -> ConfigError:
        message = f"config.{self.name} takes {self.expected}; got {value!r}{comment}."
        return ConfigError(f"{message} {self._remedy}".rstrip())

    def parse(self, text: str) -> T:
        """Return the value of an entry ``text`` of the environment variable."""
        value: object = text
        if isinstance(self.default, bool):
            value = {"true": True, "1": True, "false": False, "0": False}.get(text.lower(), text)
        elif isinstance(self.default, int) and text.removeprefix("-").isdecimal():
            value = int(text)
        return self.check(value)


def _choice(default: str, *others: str, doc: str, remedy: str = "") -> Option[str]:
    choices = (default, *others)
    expected = " or ".join(map(repr, choices)) if len(choices) < 3 else f"one of {choices}"
    return Option(default, expected, choices.__contains__, doc, choices=choices, remedy=remedy)


def _switch(*, default: bool, doc: str) -> Option[bool]:
    return Option(default, "True or False", lambda _: True, doc, choices=(default, not default))


def _count(default: int, doc: str) -> Option[int]:
    return Option(default, "an int, 0 or larger", lambda n: n >= 0, doc)


class _Layer(dict[str, Any]):
    """Values set by one ``change_flags`` block; all others come from the layer below."""

    __slots__ = ("below",)

    def __init__(self, values: dict[str, Any], below: dict[str, Any]) -> None:
        super().__init__(values)
        self.below = below

    def __missing__(self, name: str) -> Any:
        return self.below[name]


class Config:
    """The options of Phintys. Use the instance :data:`config`, shared by the whole process.

    Values are checked when they are set. :meth:`change_flags` sets them for one block of code in
    one thread (or task) only. Initial values are read from the environment variable
    ``PHINTYS_FLAGS``, as in ``PHINTYS_FLAGS="floatX=float32,mode=reference"``.

    Parameters
    ----------
    flags
        Initial values, in the format of ``PHINTYS_FLAGS``.

    Examples
    --------
    >>> config = Config("floatX=float32")
    >>> config.floatX
    'float32'
    >>> with config.change_flags(floatX="float16", profile=True):
    ...     config.floatX
    'float16'
    >>> config.num_threads = -1
    Traceback (most recent call last):
        ...
    phintys._base.errors.ConfigError: config.num_threads takes an int, 0 or larger; got -1.
    """

    floatX = _choice(
        "float64",
        "float32",
        "float16",
        doc="The default dtype of variables and of new floating-point shared values.",
    )
    mode = Option(
        "native",
        "the name of a mode, as in 'native' or 'reference'",
        lambda name: name != "",
        doc="The default mode of functions.",
    )
    on_unused_input = _choice(
        "raise",
        "warn",
        "ignore",
        doc="The reaction to an input of a function that none of its outputs depends on.",
    )
    allow_gc = _switch(
        default=True,
        doc="Free intermediate results during a call; otherwise keep them for the next call.",
    )
    warn_float64 = _choice(
        "ignore",
        "warn",
        "raise",
        doc="The reaction to the creation of a float64 variable: helps to stay in float32.",
    )
    exception_verbosity = _choice(
        "low",
        "high",
        doc="Detail of run-time errors: 'high' adds the graph around the failing node.",
    )
    traceback_limit = _count(
        8, doc="The maximum number of places in the user's program in a run-time error."
    )
    num_threads = _count(
        0, doc="Maximum number of threads per call; 0 means all cores available to the process."
    )
    cache_dir = Option(
        "",
        "a path as str, '' for the platform's cache directory",
        lambda _: True,
        doc="Directory of the cache of compiled code; '' means the platform's cache directory.",
        remedy="Write str(path) for a pathlib.Path.",
    )
    object_cache = _switch(
        default=True,
        doc="Cache compiled code on disk, so that later runs need not compile it again.",
    )
    cache_megabytes = _count(
        512, doc="Maximum size of the cache of compiled code; the least recently used is removed."
    )
    pool_megabytes = _count(
        256,
        doc=(
            "Maximum size of the pool of memory that is kept for later calls, in megabytes, read "
            "when a function is compiled; phintys.free_memory() empties the pool."
        ),
    )
    loop_megabytes = _count(
        256,
        doc=(
            "Memory that the gradient of a loop may use for values of its forward pass, in "
            "megabytes (10^6 bytes); above it, steps are run again instead. It is read when the "
            "gradient is built. Sizes, and numbers of steps, that are unknown then are looked at "
            "when the gradient runs, if large ones would need more."
        ),
    )
    parameter_checks = _choice(
        "stored",
        "all",
        "off",
        doc=(
            "Which parameters of distributions are checked when they are computed: numbers and "
            "arrays that are stored in any case; all arrays, which takes more time; or none. It "
            "is read when a draw or a density is written."
        ),
    )
    native_target = _choice(
        "host",
        "x86-64",
        "x86-64-v2",
        "x86-64-v3",
        "x86-64-v4",
        "aarch64",
        "aarch64-macos",
        "wasm32",
        "one-lane",
        doc="The CPU that native code is generated for: that of this machine, or a generic one.",
    )
    native_level = _choice(
        "adaptive",
        "high",
        doc=(
            "When native code is compiled at the higher optimization level: once its calls repay "
            "it, in the background, or 'high': always, before the first call, which comes later "
            "but is as fast as all others. It is read when a function is compiled."
        ),
    )
    cxx = Option(
        "auto",
        "a command, 'auto', or '' for none",
        lambda _: True,
        doc=(
            "The C++ compiler for Ops with C code: 'auto' finds one; '' is none, so that such Ops "
            "run in Python."
        ),
    )
    product_crossover = Option(
        64,
        "an int, 0 or larger",
        lambda n: n >= 0,
        doc=(
            "Number of multiply-adds of vector registers up to which matrix products are computed "
            "without BLAS."
        ),
    )
    progress = _choice(
        "auto",
        "always",
        "never",
        doc=(
            "Whether a line shows how far compilations of large graphs, minimizations and tasks "
            "are: 'auto' where a person waits a while, at terminals and in notebooks."
        ),
    )
    profile = _switch(default=False, doc="Profile every function that is compiled from now on.")
    compute_test_value = _choice(
        "off",
        doc="Only 'off' is supported: Phintys has no test values.",
        remedy=(
            "Phintys has no test values: shapes and dtypes are checked when the graph is built, "
            "and run-time errors name the line that created the node. To see a value, call "
            "variable.eval({input: value})."
        ),
    )
    verify_graphs = _switch(
        default=False, doc="Check the invariants of the graph after each pass (slow)."
    )
    optimizer_verbose = _switch(default=False, doc="Print each rewrite as it is applied.")

    def __init__(self, flags: str = "") -> None:
        values: dict[str, Any] = {name: option.default for name, option in OPTIONS.items()}
        values.update(_parse_flags(flags))
        # The default of the context variable holds the values of the whole process, so reading an
        # option takes two lookups, whether or not a block overrides something in this context.
        layer = ContextVar[dict[str, Any]]("phintys.config", default=values)
        object.__setattr__(self, "_layer", layer)

    if TYPE_CHECKING:
        _layer: ContextVar[dict[str, Any]]
    else:
        # Hidden from type checkers, which would otherwise accept every name as an attribute.
        def __getattr__(self, name: str) -> object:
            raise _unknown(name)

        def __setattr__(self, name: str, value: object) -> None:
            if name not in OPTIONS:
                raise _unknown(name)
            object.__setattr__(self, name, value)

    @contextmanager
    def change_flags(self, **values: bool | int | str) -> Generator[None]:
        """Set options for one block or, as a decorator, for each call of a function.

        Other threads and tasks are not affected. Values that are assigned to these options inside
        the block are discarded at its end as well.

        Examples
        --------
        >>> with config.change_flags(floatX="float32"):
        ...     config.floatX
        'float32'
        >>> @config.change_flags(floatX="float16")
        ... def half():
        ...     return config.floatX
        >>> half()
        'float16'
        """
        checked = {name: _option(name).check(value) for name, value in values.items()}
        token = self._layer.set(_Layer(checked, self._layer.get()))
        try:
            yield
        finally:
            self._layer.reset(token)

    def _layer_with(self, name: str) -> dict[str, Any]:
        """Return the innermost layer that sets ``name``."""
        layer = self._layer.get()
        while isinstance(layer, _Layer) and name not in layer:
            layer = layer.below
        return layer

    def describe(self, file: TextIO | None = None) -> None:
        """Print each option with its value, documentation, allowed values and default.

        Examples
        --------
        >>> Config().describe()  # doctest: +ELLIPSIS
        floatX = 'float64'
            The default dtype of variables and of new floating-point shared values.
            Takes one of ('float64', 'float32', 'float16'); default 'float64'.
        ...
        """
        for name, option in OPTIONS.items():
            lines = (
                f"{name} = {getattr(self, name)!r}",
                option.doc,
                f"Takes {option.expected}; default {option.default!r}.",
            )
            print(*lines, sep="\n    ", file=file)

    def __repr__(self) -> str:
        values = ", ".join(f"{name}={getattr(self, name)!r}" for name in OPTIONS)
        return f"Config({values})"


OPTIONS: dict[str, Option[Any]] = {
    name: option for name, option in vars(Config).items() if isinstance(option, Option)
}


def _unknown(name: str) -> AttributeError:
    close = near_misses(name, OPTIONS)
    remedy = f"Did you mean {close[0]!r}?" if close else "config.describe() lists all options."
    return AttributeError(f"config has no option {name!r}. {remedy}", name=name)


def _option(name: str) -> Option[Any]:
    if name not in OPTIONS:
        raise _unknown(name)
    return OPTIONS[name]


def _parse_flags(flags: str) -> dict[str, bool | int | str]:
    """Parse a text such as ``floatX=float32,mode=reference``."""
    values: dict[str, bool | int | str] = {}
    for entry in filter(None, map(str.strip, flags.split(","))):
        name, equals, text = map(str.strip, entry.partition("="))
        try:
            if not equals:
                raise ConfigError("An entry is written option=value, entries separated by commas.")
            if name in values:
                raise ConfigError(f"{name} is set twice.")
            values[name] = _option(name).parse(text)
        except (ConfigError, AttributeError) as error:
            raise ConfigError(f"{ENVIRONMENT_VARIABLE}: cannot read {entry!r}. {error}") from None
    return values


config = Config(os.environ.get(ENVIRONMENT_VARIABLE, ""))


def usable_cores() -> int:
    """Return the number of cores that the process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def thread_limit() -> int:
    """Return the current limit on the threads of a call."""
    return config.num_threads or usable_cores()
