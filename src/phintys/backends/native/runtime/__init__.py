"""The runtime of native programs: calls, memory, threads, callbacks, errors and the cache."""
