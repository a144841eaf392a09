"""The frame: data exchanged between a program's main function and the runtime.

It is an array of 8-byte slots, created by the runtime for each call:

==============================  ==================================================================
slot                            what
==============================  ==================================================================
``STATE``                       what the runtime passes to its own functions below
``STATUS`` and two more         0; or the number of a failure (an index into ``layout.failures``,
                                plus 1) and the two numbers that its message wants; or
                                ``OUT_OF_MEMORY``, ``NO_RESULT``, or ``EXCEPTION`` when a function
                                of the runtime has set a Python exception
``CONSTANTS``                   address of a table of the addresses of ``layout.constants``
``layout.records[value]``       for each argument, result, and value that a callback takes or gives:
                                its address, then the lengths of its axes. For a
                                :class:`~phintys.backends.native.values.Handle` the address is that
                                of the Python object.
the rest                        room for sizes and addresses that the program computes
==============================  ==================================================================

Before the call the runtime fills ``STATE``, ``CONSTANTS`` and the records of the arguments (numbers
must be C-contiguous and aligned to their size), and sets ``STATUS`` to 0. Functions of the runtime:

``ptr phintys_arena(ptr state, i64 group, i64 bytes)``
    Memory for buffers, aligned to 64 bytes and valid until the call ends; called once for each of
    ``layout.groups``, and once with each following number for the work of a kernel in the commit.
    Null sets the status to ``NO_BUFFER``, or ``OUT_OF_MEMORY`` for such a kernel.
``ptr phintys_new_array(ptr state, i64 number, ptr sizes)``
    A new NumPy array for ``layout.new_arrays[number]``; returns the address of its data. Null sets
    the status to ``NO_RESULT``, with the number; the sizes are the lengths in the array's record.
``ptr phintys_claim(ptr state, i64 number, ptr sizes)``
    The same for ``layout.claims[number]``, whose target begins as its source: in the memory of the
    source if that is not referenced elsewhere.
``i32 phintys_callback(ptr state, i64 number)``
    Run ``layout.callbacks[number]``: the records of its inputs have been filled, it fills those of
    its outputs. A nonzero result means ``EXCEPTION``. Inputs may be reused as soon as it returns,
    unless the Op's view map says that outputs are views of them.
``void phintys_work(ptr state, i64 nanoseconds)``
    Rough estimate of the time of the steps whose sizes are known by now: the runtime decides about
    threads and the GIL. Called if it is ``NOTED_NANOSECONDS`` or more.
``i32 phintys_parallel_for(ptr state, ptr kernel, ptr arguments, i64 n, i64 grain)``
    Call ``kernel(arguments, begin, end)`` for ranges that make up ``0 ... n``, in any order and
    concurrently; ranges shorter than ``grain`` are not worthwhile. If it is 0, there should be no
    more ranges than threads; if it is negative, its absolute value is the length of each range. A
    nonzero result means ``EXCEPTION``: a signal ended the call, and some ranges are missing.
``i32 phintys_poll(ptr state)``
    A nonzero result means the same. Called regularly by long-running code, from any thread.
``ptr phintys_malloc(i64 bytes)``, ``void phintys_free(ptr)``
    Memory for a kernel, from any thread.
``phintys_blas_dgemm`` and other functions of BLAS
    See :mod:`~phintys.backends.native.routines.blas_calls`.

A kernel is passed to ``phintys_parallel_for`` if it will take longer than
``PARALLEL_NANOSECONDS``, by a rough estimate; a range should take ``GRAIN_NANOSECONDS``.
"""

from __future__ import annotations

STATE, STATUS, CONSTANTS, FIRST_RECORD = 0, 1, 4, 5

OUT_OF_MEMORY = -1
"""Status: there is no memory for the work of a kernel.

Its two numbers are the bytes, and the number of the kernel's node in ``Layout.workspaces``.
"""

EXCEPTION = -2
"""Status: a function of the runtime has set a Python exception."""

NO_RESULT = -3
"""Status: an array for a result cannot be created."""

NO_BUFFER = -4
"""Status: there is no memory for a block of the arena.

Its two numbers are the bytes of the largest buffer, and its number in ``Layout.buffers``.
"""

TOO_LARGE = -5
"""Status: a buffer is larger than any memory; with the same numbers."""
