"""How outlined functions are called, and hand ranges of their work to threads of the pool."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from phintys._base.records import record
from phintys.backends.native.assembler.atomics import call_pointer
from phintys.backends.native.assembler.builder import Builder
from phintys.backends.native.assembler.control import when
from phintys.backends.native.assembler.types import INT32, INT64, PTR, VOID
from phintys.backends.native.assembler.values import Value

if TYPE_CHECKING:
    from collections.abc import Mapping

    from phintys.backends.native.assembler.records import Record
    from phintys.backends.native.steps.call import CallWriter, LibraryCall
    from phintys.backends.native.values import Array


@record(frozen=True, eq=False)
class Runtime:
    """The functions of the runtime that a function was passed, and the address of its status."""

    state: Value
    parallel: Value
    poll: Value
    status: Value

    def is_going(self, b: Builder) -> Value:
        """Return whether the call continues."""
        return b.eq(b.load(INT32, self.status), 0)

    def look(self, b: Builder) -> None:
        """Emit a signal check, which may end the call, unless the call has ended."""
        with when(b, self.is_going(b)):
            b.store(call_pointer(b, self.poll, INT32, [self.state]), self.status)


def runtime_of(b: Builder) -> Runtime:
    """Return it for the first arguments of a function."""
    status = b.slot(INT32)
    b.store(b.constant(INT32, 0), status)
    state, parallel, poll = b.arguments[:3]
    return Runtime(state, parallel, poll, status)


def run_ranges(
    b: Builder, kernel: str, runtime: Runtime, block: Value, count: Value, grain: Value
) -> None:
    """Call a kernel for a range: on threads of the pool, if there is more than one part."""
    state, parallel, status = runtime.state, runtime.parallel, runtime.status
    function = Value(b, PTR, f"@{kernel}")
    single, several, after = (b.new_block(name) for name in ("single", "several", "after"))
    b.branch(b.le(count, b.maximum_number(grain, 1)), single, several)
    b.begin(single)
    call_pointer(b, function, VOID, [block, b.constant(INT64, 0), count])
    b.store(b.constant(INT32, 0), status)
    b.jump(after)
    b.begin(several)
    result = call_pointer(b, parallel, INT32, [state, function, block, count, grain])
    b.store(result, status)
    b.jump(after)
    b.begin(after)


def call_with_record(
    record: Record,
    arrays: Mapping[str, Array],
    call: LibraryCall[Any],
    writer: CallWriter,
    symbol: str,
) -> None:
    """Write the call of an outlined function that is passed a record, and can be interrupted."""
    b = writer.b
    block = b.slot(INT64, record.size // 8)
    for name, array in arrays.items():
        record.store(b, block, name, writer.pointer(array))
    for name, size in call.lengths.items():
        record.store(b, block, name, writer.size(size))
    b.module.math_functions.add(symbol)
    writer.share(symbol, [block])
