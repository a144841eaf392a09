"""The thread pool, in native code: workers know nothing of Python and never need the GIL.

A job is a kernel and a range. It is cut into chunks, and one 64-bit word holds the job's generation
(the upper half) and the number of chunks that have not been taken. Taking a chunk is one
compare-and-exchange of that word, so a worker that comes late, with an old word, takes nothing. The
caller works too, and returns when all chunks are done. Idle workers spin on the word for a while
and then sleep on a condition variable. A second caller, or a kernel inside a kernel, finds the pool
busy and does its work alone, with bitwise identical results: the result of a chunk does not depend
on the thread that computes it.

On a machine that other processes keep busy, a worker may be stopped in the middle of a chunk, for
as long as the others' time slices last, and its caller has to wait. Nobody else can compute the
chunk, since the worker may still write it. A worker may also be woken on the core of its caller,
which is stopped then. So the pool keeps an account of time: what workers have computed is a gain,
and all time in which the caller has not computed is a loss. If the losses exceed the gains, callers
work alone for a while, and for twice as long if that is so again as soon as they share their work
once more. Savings pay for long waits, which are rare. What each job loses, as where callers pause
between calls and workers are asleep, has a much smaller limit. Only the time that they spend on
such work counts, not that between calls: what sharing loses is then a small part of the time of the
calls, however rare these are.
"""

from __future__ import annotations

from phintys.backends.native.assembler.atomics import (
    call_pointer,
    compare_exchange,
    fetch_add,
    null,
    pause,
)
from phintys.backends.native.assembler.builder import Builder
from phintys.backends.native.assembler.control import divide_up, loop, when
from phintys.backends.native.assembler.module import Module, ModuleFunction
from phintys.backends.native.assembler.records import Record
from phintys.backends.native.assembler.system import has_pool, write_clock
from phintys.backends.native.assembler.types import INT32, INT64, PTR, VOID
from phintys.backends.native.assembler.values import Value
from phintys.backends.native.limits import (
    CHUNKS_A_THREAD,
    GRAINS_A_CHUNK,
    LEAST_ALONE,
    LONGEST_USUAL_LOSS,
    MOST_ALONE,
    MOST_WORKERS,
    POLL_NANOSECONDS,
    SHARING_PURSE,
    SHARING_SAVINGS,
    SHARING_STAKE,
    SOON_NANOSECONDS,
    STOPPED_NANOSECONDS,
    STOPPED_TIMES,
)

# Fields that different threads write at the same time are 64 bytes apart, on separate cache lines.
POOL = Record(
    {
        "word": (INT64, 0),  # generation << 32 | chunks that have not been taken
        "sleepers": (INT32, 64),
        "done": (INT32, 128),  # chunks of this job that are finished
        "caller_sleeps": (INT32, 132),
        "tickets": (INT32, 192),  # how many more workers may join this job
        "kernel": (PTR, 256),
        "arguments": (PTR, 264),
        "count": (INT64, 272),
        "chunk": (INT64, 280),
        "chunks": (INT64, 288),
        "stop": (INT32, 296),
        "busy": (INT32, 300),
        "patience": (INT64, 304),  # passes of the spin loops before a thread sleeps
        "workers": (INT64, 312),
        "wanted": (INT64, 320),  # maximum number of workers
        "account": (INT64, 336),  # nanoseconds that sharing has gained, at most SHARING_SAVINGS
        "purse": (INT64, 144),  # the same without long waits, at most SHARING_PURSE
        "alone": (INT64, 344),  # nanoseconds of work to be done alone when that was last decided
        "left": (INT64, 352),  # those that are left of it; callers share work if there are none
        "ended": (INT64, 360),  # when the last job ended
        "gaps": (INT64, 368),  # a bit for each of the last jobs: whether it soon followed another
        "watch": (INT64, 376),  # like patience, for idle workers
        "poll": (PTR, 328),  # i32 poll(call), not 0 if the call must end; null if none ends early
        # Nanoseconds of the shortest chunk of this job, by any thread: it was not interrupted.
        "shortest": (INT64, 136),
        # The largest pthread objects take 64 bytes (macOS).
        "mutex": (PTR, 384),
        "work_there": (PTR, 512),
        "work_done": (PTR, 640),
        "handles": (PTR, 768),
    }
).with_atomic(
    *("word", "sleepers", "done", "caller_sleeps", "tickets", "stop", "busy", "shortest"),
    # A caller reads these before it knows whether it gets the pool, and workers read ``watch``.
    *("wanted", "left", "watch"),
)
POOL_BYTES = 768 + 8 * MOST_WORKERS


_FINEST = 30
"""Binary logarithm of the maximum number of chunks."""


_BILLION = 1_000_000_000


_GAPS = 255
"""If none of the last eight jobs began so many nanoseconds after another, idle workers sleep at
once: spinning would take time from other processes, and from the caller if they share a core."""

_TALLY = Record.packed(
    chunks=INT64,  # how many chunks a thread has computed
    spent=INT64,  # the nanoseconds of all of them
    longest=INT64,  # those of the longest
)

_SYMBOL = "phintys_threads"


def emit_threads(module: Module) -> None:
    """Emit the thread pool.

    ``phintys_run_parallel(call, kernel, arguments, count, grain, threads)`` calls
    ``kernel(arguments, begin, end)`` until all of ``range(count)`` is done. Then it returns 0, or 1
    if ``poll(call)`` said that the call must end; in either case no thread works on it any more.
    Chunks are multiples of the grain; if it is 0 there are no more chunks than threads, and if it
    is negative, its absolute value is the length of each chunk.
    ``phintys_pool_reset()`` resets the pool, without workers; ``phintys_pool_stop()`` stops the
    workers and waits for them. ``phintys_pool_judge(gain)`` enters the gain of a job into the
    account. Where there are no threads there is only the first of these
    functions: it computes all chunks itself.
    """
    module.memory(_SYMBOL, POOL_BYTES)
    _emit_ask(module)
    _emit_alone(module)
    if not has_pool():
        _emit_run_without_pool(module)
        return
    write_clock(module)
    _emit_drop(module)
    _emit_drain(module)
    _emit_worker(module)
    _emit_spawn(module)
    _emit_judge(module)
    _emit_run(module)
    _emit_reset(module)
    _emit_stop(module)


def _pool(b: Builder) -> Value:
    return Value(b, PTR, f"@{_SYMBOL}")


def _internal(module: Module, name: str, parameters: int, returns: object = VOID) -> ModuleFunction:
    types = [PTR] * parameters
    return module.function(name, returns, types, linkage="internal", attributes="noinline")  # pyright: ignore[reportArgumentType]


def _lock(b: Builder, pool: Value) -> None:
    b.call("pthread_mutex_lock", INT32, [POOL.pointer(b, pool, "mutex")])


def _unlock(b: Builder, pool: Value) -> None:
    b.call("pthread_mutex_unlock", INT32, [POOL.pointer(b, pool, "mutex")])


def _sleep(b: Builder, pool: Value, condition: str) -> None:
    signal, mutex = POOL.pointer(b, pool, condition), POOL.pointer(b, pool, "mutex")
    b.call("pthread_cond_wait", INT32, [signal, mutex])


def _remaining(b: Builder, word: Value) -> Value:
    return b.convert(word, INT32)


def _generation(b: Builder, word: Value) -> Value:
    return b.convert(word >> 32, INT32)


def _emit_ask(module: Module) -> None:
    """``ask(call)``: whether the call must end; always false without a call."""
    b = Builder(_internal(module, "phintys_ask", 1, INT32))
    (call,) = b.arguments
    ask, no = b.new_block("ask"), b.new_block("no")
    poll = POOL.load(b, _pool(b), "poll")
    b.branch(b.compare("ne", poll, null(b)) & b.compare("ne", call, null(b)), ask, no)
    b.begin(ask)
    b.ret(call_pointer(b, poll, INT32, [call]))
    b.begin(no)
    b.ret(b.constant(INT32, 0))


def _emit_drain(module: Module) -> None:
    """``drain(pool, call, tally)``: take and compute chunks until none is left.

    The call is that of the caller, which takes all chunks at once when the call must end; null for
    workers. The tally says how many this thread has computed.
    """
    b = Builder(_internal(module, "phintys_drain", 3))
    pool, call, tally = b.arguments
    time = b.slot(INT64)
    b.store(_now(b), time)
    names = ("look", "attempt", "compute", "check", "wake", "ask", "drop", "out")
    look, attempt, compute, check, wake, ask, drop, out = (b.new_block(name) for name in names)
    b.jump(look)
    b.begin(look)
    word = POOL.load(b, pool, "word")
    remaining = _remaining(b, word)
    b.branch(b.eq(remaining, 0), out, attempt)
    b.begin(attempt)
    taken = compare_exchange(b, POOL.pointer(b, pool, "word"), word, word - 1)
    b.branch(taken, compute, look)
    b.begin(compute)
    # The job's fields do not change until its last chunk is done, and this one is not.
    kernel, arguments = (POOL.load(b, pool, name) for name in ("kernel", "arguments"))
    count, chunk, chunks = (POOL.load(b, pool, name) for name in ("count", "chunk", "chunks"))
    start = (chunks - b.convert(remaining, INT64)) * chunk
    stop = b.minimum_number(start + chunk, count)
    call_pointer(b, kernel, VOID, [arguments, start, stop])
    _count_chunk(b, pool, tally, time)
    done = fetch_add(b, POOL.pointer(b, pool, "done"), b.constant(INT32, 1)) + 1
    b.branch(b.eq(done, b.convert(chunks, INT32)), check, ask)
    b.begin(check)
    asleep = POOL.load(b, pool, "caller_sleeps")
    b.branch(b.ne(asleep, 0), wake, out)
    b.begin(wake)
    _lock(b, pool)
    b.call("pthread_cond_broadcast", INT32, [POOL.pointer(b, pool, "work_done")])
    _unlock(b, pool)
    b.jump(out)
    b.begin(ask)
    b.branch(b.eq(b.call("phintys_ask", INT32, [call]), 0), look, drop)
    b.begin(drop)
    b.call("phintys_drop_chunks", VOID, [pool])
    b.jump(out)
    b.begin(out)
    b.ret()


def _count_chunk(b: Builder, pool: Value, tally: Value, time: Value) -> None:
    """Add to a tally a chunk that began at the time in a slot, and store the present time there."""
    now = _now(b)
    spent = now - b.load(INT64, time)
    _TALLY.store(b, tally, "chunks", _TALLY.load(b, tally, "chunks") + 1)
    _TALLY.store(b, tally, "spent", _TALLY.load(b, tally, "spent") + spent)
    longest = b.maximum_number(_TALLY.load(b, tally, "longest"), spent)
    _TALLY.store(b, tally, "longest", longest)
    # Of two threads that write at once, either may be the last: then it is only a short one.
    with when(b, spent < POOL.load(b, pool, "shortest")):
        POOL.store(b, pool, "shortest", spent)
    b.store(now, time)


def _new_tally(b: Builder) -> Value:
    """Return a tally of no chunks."""
    tally = b.slot(INT64, _TALLY.size // 8)
    for name in _TALLY.fields:
        _TALLY.store(b, tally, name, 0)
    return tally


def _emit_drop(module: Module) -> None:
    """``drop_chunks(pool)``: take all remaining chunks without computing them."""
    b = Builder(_internal(module, "phintys_drop_chunks", 1))
    (pool,) = b.arguments
    look, attempt, taken, out = (b.new_block(name) for name in ("look", "attempt", "taken", "out"))
    b.jump(look)
    b.begin(look)
    word = POOL.load(b, pool, "word")
    remaining = _remaining(b, word)
    b.branch(b.eq(remaining, 0), out, attempt)
    b.begin(attempt)
    none_left = word & -(1 << 32)
    b.branch(compare_exchange(b, POOL.pointer(b, pool, "word"), word, none_left), taken, look)
    b.begin(taken)
    fetch_add(b, POOL.pointer(b, pool, "done"), remaining)
    b.jump(out)
    b.begin(out)
    b.ret()


def _emit_worker(module: Module) -> None:
    """``worker(pool)``: the main function of each thread of the pool."""
    b = Builder(_internal(module, "phintys_worker", 1, PTR))
    (pool,) = b.arguments
    names = ("idle", "watch", "patient", "doze", "check", "sleep", "wake", "job", "join", "quit")
    idle, watch, patient, doze, check, sleep, wake, job, join, quit = map(b.new_block, names)
    tally = _new_tally(b)  # only that of the caller is read
    before = b.block
    b.jump(idle)

    b.begin(idle)
    # The job that this worker has finished, or had no ticket for.
    past = b.phi(INT32)
    past.add(b.constant(INT32, 0), before)
    limit = POOL.load(b, pool, "watch")
    b.jump(watch)

    b.begin(watch)
    passes = b.phi(INT64)
    passes.add(b.constant(INT64, 0), idle)
    word = POOL.load(b, pool, "word")
    b.branch(_is_new(b, word, past.value), job, patient)

    b.begin(patient)
    pause(b)
    following = passes.value + 1
    passes.add(following, patient)
    stopped = b.ne(POOL.load(b, pool, "stop"), 0)
    b.branch((following < limit) & ~stopped, watch, doze)

    b.begin(doze)
    _lock(b, pool)
    fetch_add(b, POOL.pointer(b, pool, "sleepers"), b.constant(INT32, 1))
    b.jump(check)
    b.begin(check)
    word_now = POOL.load(b, pool, "word")
    stopped = b.ne(POOL.load(b, pool, "stop"), 0)
    b.branch(_is_new(b, word_now, past.value) | stopped, wake, sleep)
    b.begin(sleep)
    _sleep(b, pool, "work_there")
    b.jump(check)
    b.begin(wake)
    fetch_add(b, POOL.pointer(b, pool, "sleepers"), b.constant(INT32, -1))
    _unlock(b, pool)
    past.add(past.value, wake)
    b.branch(stopped, quit, idle)

    b.begin(job)
    ticket = fetch_add(b, POOL.pointer(b, pool, "tickets"), b.constant(INT32, -1))
    generation = _generation(b, word)
    past.add(generation, job)
    b.branch(ticket > 0, join, idle)
    b.begin(join)
    b.call("phintys_drain", VOID, [pool, null(b), tally])
    past.add(generation, join)
    b.jump(idle)
    b.begin(quit)
    b.ret(null(b))


def _is_new(b: Builder, word: Value, past: Value) -> Value:
    """Return whether a word offers chunks of a job other than the past one."""
    return b.ne(_remaining(b, word), 0) & b.ne(_generation(b, word), past)


def _emit_spawn(module: Module) -> None:
    """``spawn(pool)``: start the missing workers."""
    b = Builder(_internal(module, "phintys_spawn", 1))
    (pool,) = b.arguments
    more, made, failed, out = (b.new_block(name) for name in ("more", "made", "failed", "out"))
    begin = b.new_block("begin")
    b.jump(begin)
    b.begin(begin)
    workers = POOL.load(b, pool, "workers")
    b.branch(workers < POOL.load(b, pool, "wanted"), more, out)
    b.begin(more)
    handle = b.offset(POOL.pointer(b, pool, "handles"), workers, INT64)
    worker = Value(b, PTR, "@phintys_worker")
    result = b.call("pthread_create", INT32, [handle, null(b), worker, pool])
    b.branch(b.eq(result, 0), made, failed)
    b.begin(made)
    POOL.store(b, pool, "workers", workers + 1)
    b.jump(begin)
    b.begin(failed)
    # The system cannot start more threads: continue with the existing ones.
    POOL.store(b, pool, "wanted", workers)
    b.jump(out)
    b.begin(out)
    b.ret()


def _emit_run(module: Module) -> None:
    """``run_parallel(call, kernel, arguments, count, grain, threads)``."""
    parameters = [PTR, PTR, PTR, INT64, INT64, INT64]
    b = Builder(module.function("phintys_run_parallel", INT32, parameters))
    call, kernel, arguments, count, grain, threads = b.arguments
    pool = _pool(b)
    names = ("alone", "several", "wary", "trusting", "parallel")
    alone, several, wary, trusting, parallel = map(b.new_block, names)
    given = [call, kernel, arguments, count, grain]
    # POOL.wanted is the machine's limit, threads is the caller's.
    helpers = b.minimum_number(POOL.load(b, pool, "wanted"), threads - 1)
    b.branch((helpers > 0) & (count > b.maximum_number(grain, 1)), several, alone)

    b.begin(alone)
    b.ret(b.call("phintys_alone", INT32, given))

    b.begin(several)
    b.branch(POOL.load(b, pool, "left") > 0, wary, trusting)
    b.begin(wary)
    begin = _now(b)
    status = b.call("phintys_alone", INT32, given)
    fetch_add(b, POOL.pointer(b, pool, "left"), begin - _now(b))
    b.ret(status)
    b.begin(trusting)
    free, taken = b.constant(INT32, 0), b.constant(INT32, 1)
    got = compare_exchange(b, POOL.pointer(b, pool, "busy"), free, taken)
    b.branch(got, parallel, alone)

    b.begin(parallel)
    with when(b, POOL.load(b, pool, "workers") < POOL.load(b, pool, "wanted")):
        b.call("phintys_spawn", VOID, [pool])
    begin = _now(b)
    _choose_watch(b, pool, begin)
    _publish(b, pool, kernel, arguments, count, grain, helpers)
    tally = _new_tally(b)
    b.call("phintys_drain", VOID, [pool, call, tally])
    _wait(b, pool, call)
    end = _now(b)
    POOL.store(b, pool, "ended", end)
    b.call("phintys_pool_judge", VOID, [_gain(b, pool, tally, end - begin)])
    POOL.store(b, pool, "busy", free)
    b.ret(b.call("phintys_ask", INT32, [call]))


def _gain(b: Builder, pool: Value, tally: Value, elapsed: Value) -> Value:
    """Return the gain of a job: the time of what others computed, less what their caller lost.

    A caller that was stopped in one of its chunks did not compute all the time.
    """
    shortest = POOL.load(b, pool, "shortest")
    others = POOL.load(b, pool, "chunks") - _TALLY.load(b, tally, "chunks")
    longest = _TALLY.load(b, tally, "longest")
    was_stopped = longest > shortest * STOPPED_TIMES + STOPPED_NANOSECONDS
    stopped = b.select(was_stopped, longest - shortest, 0)
    return others * shortest - (elapsed - _TALLY.load(b, tally, "spent")) - stopped


def _emit_run_without_pool(module: Module) -> None:
    """``run_parallel(call, kernel, arguments, count, grain, threads)``, in the calling thread."""
    parameters = [PTR, PTR, PTR, INT64, INT64, INT64]
    b = Builder(module.function("phintys_run_parallel", INT32, parameters))
    call, kernel, arguments, count, grain, _ = b.arguments
    some, none = b.new_block("some"), b.new_block("none")
    b.branch(count > 0, some, none)
    b.begin(none)
    b.ret(b.constant(INT32, 0))
    b.begin(some)
    b.ret(b.call("phintys_alone", INT32, [call, kernel, arguments, count, grain]))


def _now(b: Builder) -> Value:
    """Return the time in nanoseconds."""
    return b.call("clock", INT64, [])


def _choose_watch(b: Builder, pool: Value, begin: Value) -> None:
    """Decide whether workers watch for another job when this one, which now begins, has ended."""
    is_soon = begin - POOL.load(b, pool, "ended") < SOON_NANOSECONDS
    gaps = POOL.load(b, pool, "gaps") * 2 + b.convert(is_soon, INT64)
    POOL.store(b, pool, "gaps", gaps)
    patience = POOL.load(b, pool, "patience")
    POOL.store(b, pool, "watch", b.select(b.ne(gaps & _GAPS, 0), patience, 0))


def _emit_judge(module: Module) -> None:
    """``pool_judge(gain)``: enter a gain into the account.

    If it is overdrawn, callers do some of their next work alone. That grows as long as sharing does
    not pay.
    """
    b = Builder(module.function("phintys_pool_judge", VOID, [INT64]))
    (gain,) = b.arguments
    pool = _pool(b)
    account = b.minimum_number(POOL.load(b, pool, "account") + gain, SHARING_SAVINGS)
    usual = b.maximum_number(gain, -LONGEST_USUAL_LOSS)
    purse = b.minimum_number(POOL.load(b, pool, "purse") + usual, SHARING_PURSE)
    is_overdrawn = (account < 0) | (purse < 0)
    before = b.select(account < SHARING_SAVINGS, POOL.load(b, pool, "alone"), 0)
    lost = b.maximum_number(SHARING_STAKE - account, SHARING_PURSE)
    least = lost * LEAST_ALONE
    longer = b.minimum_number(b.maximum_number(before * 2, least), MOST_ALONE)
    POOL.store(b, pool, "left", b.select(is_overdrawn, longer, 0))
    POOL.store(b, pool, "alone", b.select(is_overdrawn, longer, before))
    POOL.store(b, pool, "account", b.select(is_overdrawn, SHARING_STAKE, account))
    POOL.store(b, pool, "purse", b.select(is_overdrawn, SHARING_PURSE, purse))
    b.ret()


def _emit_alone(module: Module) -> None:
    """``alone(call, kernel, arguments, count, grain)``: compute a range in this thread."""
    parameters = [PTR, PTR, PTR, INT64, INT64]
    b = Builder(module.function("phintys_alone", INT32, parameters, linkage="internal"))
    call, kernel, arguments, count, grain = b.arguments
    piece, rest, more, out = (b.new_block(name) for name in ("piece", "rest", "more", "out"))
    size = b.minimum_number(_longest_chunk(b, count, grain), count)
    before = b.block
    b.jump(piece)
    b.begin(piece)
    start = b.phi(INT64)
    start.add(b.constant(INT64, 0), before)
    left = count - start.value
    stop = start.value + b.minimum_number(size, left)
    call_pointer(b, kernel, VOID, [arguments, start.value, stop])
    b.branch(stop < count, rest, out)
    b.begin(rest)
    status = b.call("phintys_ask", INT32, [call])
    start.add(stop, rest)
    b.branch(b.eq(status, 0), piece, more)
    b.begin(more)
    b.ret(b.constant(INT32, 1))
    b.begin(out)
    b.ret(b.constant(INT32, 0))


def _longest_chunk(b: Builder, count: Value, grain: Value) -> Value:
    """Return the maximum length of a chunk such that signals are checked in time."""
    finest = (count >> _FINEST) + 1
    longest = b.select(b.eq(grain, 0), count, b.maximum_number(grain * GRAINS_A_CHUNK, -grain))
    return b.maximum_number(longest, finest)


def _publish(
    b: Builder,
    pool: Value,
    kernel: Value,
    arguments: Value,
    count: Value,
    grain: Value,
    helpers: Value,
) -> None:
    """Describe the job, then offer its chunks, and wake the workers that it needs."""
    chunks_each = b.select(b.eq(grain, 0), 1, b.constant(INT64, CHUNKS_A_THREAD))
    unit = b.maximum_number(grain, 1)
    share = unit * divide_up(b, divide_up(b, count, unit), (helpers + 1) * chunks_each)
    chunk = b.minimum_number(share, _longest_chunk(b, count, grain))
    chunks = divide_up(b, count, chunk)
    fields = {
        "kernel": kernel,
        "arguments": arguments,
        "count": count,
        "chunk": chunk,
        "chunks": chunks,
        "done": b.constant(INT32, 0),
        "caller_sleeps": b.constant(INT32, 0),
        "shortest": b.constant(INT64, _BILLION),
    }
    for name, value in fields.items():
        POOL.store(b, pool, name, value)
    joining = b.convert(b.minimum_number(helpers, chunks - 1), INT32)
    POOL.store(b, pool, "tickets", joining)
    generation = (POOL.load(b, pool, "word") >> 32) + 1
    POOL.store(b, pool, "word", (generation << 32) | chunks)
    sleepers = POOL.load(b, pool, "sleepers")
    with when(b, sleepers > 0):
        _lock(b, pool)
        with loop(b, 0, b.convert(joining, INT64)):
            b.call("pthread_cond_signal", INT32, [POOL.pointer(b, pool, "work_there")])
        _unlock(b, pool)


def _wait(b: Builder, pool: Value, call: Value) -> None:
    """Return when all chunks are done: spin for a while, then sleep, and check for signals."""
    names = ("watch", "patient", "doze", "check", "sleep", "ask", "wake", "after")
    watch, patient, doze, check, sleep, ask, wake, after = map(b.new_block, names)
    chunks = b.convert(POOL.load(b, pool, "chunks"), INT32)
    limit = POOL.load(b, pool, "patience")
    before = b.block
    b.jump(watch)
    b.begin(watch)
    passes = b.phi(INT64)
    passes.add(b.constant(INT64, 0), before)
    done = POOL.load(b, pool, "done")
    b.branch(b.eq(done, chunks), after, patient)
    b.begin(patient)
    pause(b)
    following = passes.value + 1
    passes.add(following, patient)
    b.branch(following < limit, watch, doze)
    b.begin(doze)
    _lock(b, pool)
    POOL.store(b, pool, "caller_sleeps", 1)
    b.jump(check)
    b.begin(check)
    done = POOL.load(b, pool, "done")
    b.branch(b.eq(done, chunks), wake, sleep)
    b.begin(sleep)
    late = _sleep_for(b, pool, "work_done")
    b.branch(b.eq(late, 0), check, ask)
    b.begin(ask)
    _unlock(b, pool)
    # Workers check themselves whether the call must end, so there is nothing to do here.
    b.call("phintys_ask", INT32, [call])
    _lock(b, pool)
    b.jump(check)
    b.begin(wake)
    _unlock(b, pool)
    b.jump(after)
    b.begin(after)


def _sleep_for(b: Builder, pool: Value, condition: str) -> Value:
    """Sleep until a condition is signalled, and return 0; return nonzero on a timeout."""
    time = b.slot(INT64, 2)
    b.call("clock_gettime", INT32, [b.constant(INT32, 0), time])  # CLOCK_REALTIME
    place = b.offset(time, 1, INT64)
    nanoseconds = b.load(INT64, place) + POLL_NANOSECONDS
    is_over = b.le(_BILLION, nanoseconds)
    b.store(b.load(INT64, time) + b.convert(is_over, INT64), time)
    b.store(b.select(is_over, nanoseconds - _BILLION, nanoseconds), place)
    signal, mutex = POOL.pointer(b, pool, condition), POOL.pointer(b, pool, "mutex")
    return b.call("pthread_cond_timedwait", INT32, [signal, mutex, time])


def _emit_reset(module: Module) -> None:
    """``reset()``: no job, no workers, free locks. Used at the start, and after a fork."""
    b = Builder(module.function("phintys_pool_reset", VOID, []))
    pool = _pool(b)
    for name in ("sleepers", "done", "caller_sleeps", "tickets", "stop", "busy"):
        POOL.store(b, pool, name, 0)
    for name in ("word", "workers", "alone", "left", "ended", "gaps", "watch"):
        POOL.store(b, pool, name, 0)
    POOL.store(b, pool, "account", SHARING_STAKE)
    POOL.store(b, pool, "purse", SHARING_PURSE)
    b.call("pthread_mutex_init", INT32, [POOL.pointer(b, pool, "mutex"), null(b)])
    for name in ("work_there", "work_done"):
        b.call("pthread_cond_init", INT32, [POOL.pointer(b, pool, name), null(b)])
    b.ret()


def _emit_stop(module: Module) -> None:
    """``stop()``: stop the workers, wait for them, and work without them from now on."""
    b = Builder(module.function("phintys_pool_stop", VOID, []))
    pool = _pool(b)
    workers = POOL.load(b, pool, "workers")
    POOL.store(b, pool, "wanted", 0)
    _lock(b, pool)
    POOL.store(b, pool, "stop", 1)
    b.call("pthread_cond_broadcast", INT32, [POOL.pointer(b, pool, "work_there")])
    _unlock(b, pool)
    with loop(b, 0, workers) as each:
        place = b.offset(POOL.pointer(b, pool, "handles"), each.index, INT64)
        b.call("pthread_join", INT32, [b.load(INT64, place), null(b)])
    POOL.store(b, pool, "workers", 0)
    b.ret()
