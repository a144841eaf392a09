"""Limits of the native backend: the numbers that decide between two ways to do the same.

The docstring of a limit begins with its unit, and says what it decides. Then comes where the number
is from: *measured* (``python -m benchmarks.limits NAME`` measures it anew, unless another command
is given), or *chosen*, with the reason. Times are those of a call, relative to the limit as it is:
at 512, "256: 1.3, 1024: 1.1" says that calls take 30 % longer at 256 and 10 % longer at 1024. They
are the least of many alternate runs on an AMD EPYC with AVX-512, which other processes used, too:
differences below a fifth may be noise. The programs are those of ``benchmarks/limit_programs.py``.

What is not here: numbers that state a fact rather than a choice, where another one would be wrong
instead of slow. These are the values of codes and flags, layouts of records, the ranges of types,
the range in which a formula holds and its coefficients, properties of other libraries, and how
much time a step of one routine takes, which its class says (``nanoseconds``).
``tests/backends/native/test_limits.py`` lists them.
"""

# ---- fusion --------------------------------------------------------------------------------------

MOST_STATEMENTS = 48
"""statements: a kernel is closed when it has as many. 48 has many divisors: repeated parts of a
program are then often cut at the same places, so that their kernels share code.
Measured: ``many_statements`` 12: 1.09, 24: 1.08, 96: 0.95 (the first call: 0.9, 0.7, 0.6).
"""

MOST_NUMBERS = 1536
"""statements: the same for a kernel without loops: what it computes are single numbers, which then
need no memory, and the compiler keeps on the stack those that no register is left for.
Measured: ``many_numbers`` 48: 1.90, 384: 1.31 (the first call: 1.2, 1.1).
"""

MOST_NESTS = 6
"""nests: a kernel is closed when it has as many.
Measured: ``many_nests`` 2: 1.09, 3: 1.01, 12: 0.85 (the first call: 1.4, 1.4, 1.1).
"""

# ---- kernels -------------------------------------------------------------------------------------

STRIDED_TILE = 32
"""elements: as many of the innermost loop are computed for each iteration of the loops around it,
where some memory is read across its rows: that many cache lines stay until they are read again.
Measured: ``transposed`` 8: 1.51, 16: 1.16, 64: 1.05, 256: 0.86.
"""

LONG_NEST = 12
"""statements: a nest with as many is a loop with masks, half as much code, instead of a loop and
its remainder.
Measured: ``long_nest`` 1: 1.03, 100: 1.01 (the first call: 1.4, 1.1).
"""

SHORT_COLUMN = 16
"""columns: up to as many of a known number are reduced in registers.
Measured: ``short_columns`` 8: 1.06, 64: 0.94; ``wide_known_columns`` 8: 1.03, 64: 1.00.
"""

SHORT_ROW = 3
"""vectors: rows of up to as many are reduced several at a time, each in a lane.
Measured: ``short_rows`` 1: 1.40, 8: 0.87; ``longer_rows`` 1: 0.98, 8: 1.04.
"""

SHORT_COPY = 4
"""elements: rows of up to as many are computed side by side, too, where they are not reduced.
Measured: ``short_copies`` 1: 0.73, 16: 0.97; ``longer_copies`` 1: 1.03, 16: 2.65.
"""

LIGHT_COST = 6.0
"""nanoseconds: loops whose iterations cost up to as much are unrolled four times.
Measured: ``light`` 0.0: 0.98.
"""

MEDIUM_COST = 16.0
"""nanoseconds: loops whose iterations cost up to as much are unrolled twice.
Measured: ``medium`` 6.0: 0.91, 100.0: 0.99.
"""

FEW_DRAWS = 256
"""numbers: up to as many random numbers are drawn one vector after the other, in less code.
Measured: ``few_draws`` 0: 0.67.
"""

ATTEMPTS_COST = 100.0
"""nanoseconds: functions that cost as much make attempts until all lanes have accepted one, so
that fewer lanes wait less.
Measured: ``attempts`` 1000000000: 0.97.
"""

BOOL_LANES = 32
"""lanes: the most of kernels that compute with bools alone.
Chosen: bools are bytes in memory, and 32 of them a register of AVX2.
"""

SUMMED_IN_ROW = 1024
"""elements: as many of a row are summed before the sum is folded into the total, so that errors of
rounding grow with the number of blocks. Results depend on it.
Measured: ``long_row`` 128: 1.67, 8192: 1.01.
"""

SUMMED_IN_COLUMN = 128
"""rows: the same for columns, each with a lane of its own, if one or two vectors hold all of them.
Measured: ``narrow_columns`` 16: 1.26, 1024: 1.02.
"""

SUMMED_IN_WIDE_COLUMNS = 16
"""rows: the same for many columns: more rows at once would access too many places in memory.
Measured: ``many_columns`` 4: 1.34, 128: 1.19.
"""

REDUCTION_CHUNKS = 64
"""chunks: the most parts of a reduction, each computed by one thread. Results depend on it, so it
must not depend on the number of threads.
Chosen: four chunks each for 16 threads.
"""

SMALLEST_CHUNK = 8192
"""elements: reductions of fewer are not split. Results depend on it.
Chosen: about a microsecond of a sum, a tenth of ``GRAIN_NANOSECONDS``.
"""

SHORTEST_CHUNK = 64
"""rows: columns are split at multiples of as many. Results depend on it.
Chosen: the totals of a chunk are only a row or two, a small share of what it reads.
"""

CHUNK_UNIT = 256
"""elements: chunks of rows are multiples of it, so that vectors fit.
Chosen: a multiple of the elements of all vectors, also unrolled four times.
"""

CHUNK_COLUMNS = 2048
"""columns: the least of a chunk, if there are as many: narrower ones use memory pages poorly.
Chosen: half a page of int8 to four pages of float64; not measured.
"""

LEAST_COST = 0.05
"""nanoseconds: the least that an iteration of a kernel is taken to cost.
Chosen: a vector of bytes in the first cache; an estimate of 0 would never share work.
"""

STACK_BYTES = 8192
"""bytes: private memory of a function up to this size is on the stack.
Chosen: two pages; a stack has 8 MiB, and threads of the C library of macOS have 512 KiB.
"""

# ---- signals -------------------------------------------------------------------------------------

POLL_NANOSECONDS = 50_000_000
"""nanoseconds: native code, and a caller that waits for threads, check for signals as often.
Chosen: half of what is noticed as a delay.
"""

POLLED_WORK = 1_000_000
"""nanoseconds: of a library call, or of a part of other work in order, between two checks.
Chosen: reading the clock is nothing beside it, and 50 of them are one ``POLL_NANOSECONDS``.
"""

POLLED_ITERATIONS = 1 << 10
"""iterations: of a loop around other loops between two checks, a power of two.
Measured: ``rows_in_order`` 32: 0.97, 1048576: 1.03.
"""

POLLED_ELEMENTS = 1 << 16
"""iterations: of the innermost loop between two checks.
Measured: ``elements`` 1024: 1.33, 1073741824: 1.08.
"""

POLLED_STEPS = 64
"""steps: of a loop between two checks, a power of two, if steps are not long.
Measured: ``steps`` 1: 1.86, 1048576: 1.00.
"""

LONG_STEP_NANOSECONDS = 100_000
"""nanoseconds: after a step of a loop that takes as long, by a rough estimate, there is a check.
Chosen: ``POLLED_STEPS`` of them are less than a fifth of ``POLL_NANOSECONDS``.
"""

POLLED_QUICK_STEPS = 4096
"""steps: of a loop between two checks, a power of two, if a step computes a few numbers.
Measured: ``quick_steps`` 64: 1.25, 1048576: 1.02.
"""

POLLED_PRODUCTS = 256
"""products: small ones between two checks, a power of two.
Chosen: 256 times ``SMALL_PRODUCT`` are less than a millisecond.
"""

SMALL_PRODUCT = 1 << 14
"""multiplications: the most of a small product; there is a check after each larger one.
Chosen: two microseconds by ``PRODUCT_FLOPS``; reading the clock is little beside it.
"""

POLLED_BYTES = 16 << 20
"""bytes: copied between two checks.
Chosen: 2 ms at 8 GB/s.
"""

# ---- threads -------------------------------------------------------------------------------------

PARALLEL_NANOSECONDS = 30_000
"""nanoseconds: threads share a kernel that takes longer, by a rough estimate.
Measured: ``shared_small_kernels`` 3000: 0.98, 300000: 0.93.
"""

GRAIN_NANOSECONDS = 10_000
"""nanoseconds: the least work of a thread.
Measured: ``shared_kernel`` 1000: 0.99, 100000: 1.00; ``shared_small_kernels`` 1000: 0.98, 100000:
0.96.
"""

NOTED_NANOSECONDS = 20_000
"""nanoseconds: the runtime is told of work that takes as long.
Chosen: telling it is nothing beside it; at most ``USE_THREADS_NANOSECONDS``.
"""

USE_THREADS_NANOSECONDS = 20_000
"""nanoseconds: a call uses threads if its steps take as long together.
Chosen: below it no step reaches ``PARALLEL_NANOSECONDS`` by much, and threads need not start.
"""

RELEASE_GIL_NANOSECONDS = 100_000
"""nanoseconds: a call releases the GIL if it takes as long.
Chosen: threads that run Python code may keep it for the switch interval, 5 ms, when it is released.
``benchmarks/threads.py`` measures what threads gain.
"""

WORK_SHIFT = 6
"""bits: estimates of work are integers in units of 2**-6 ns.
Chosen: the cheapest product, ``IMAGE_PRODUCT_NANOSECONDS``, is one unit.
"""

WORK_UNIT = 1 << WORK_SHIFT
"""units of work a nanosecond: see ``WORK_SHIFT``.
Chosen: see there.
"""

MOST_WORKERS = 255
"""threads: the most of the pool.
Chosen: a table of them has two kilobytes; larger machines are rare.
"""

CHUNKS_A_THREAD = 4
"""chunks: the average of a thread: delayed threads take fewer. It is 1 where each chunk has an
overhead of its own.
Measured: ``shared_kernel`` 1: 0.99, 16: 1.00.
"""

GRAINS_A_CHUNK = 16
"""grains: the most of a chunk: the caller checks for signals after each of its chunks.
Chosen: 16 times ``GRAIN_NANOSECONDS`` are far below ``POLL_NANOSECONDS``, should the estimate be
wrong a hundredfold.
"""

WAITING_SPINS = 2000
"""spins: an idle worker waits awake for as many, then sleeps.
Measured: ``shared_small_kernels`` 0: 1.10, 50000: 1.05.
"""

SHARING_STAKE = 2_000_000
"""nanoseconds: the account when callers begin to share their work. It absorbs the losses of jobs
that are too short to share, as long as longer ones outweigh them.
Chosen: the waits of about a hundred jobs of which each loses ``GRAIN_NANOSECONDS`` twice.
"""

SHARING_SAVINGS = 30_000_000
"""nanoseconds: the most on the account: it absorbs some waits of a few milliseconds each.
Chosen: several time slices of the scheduler of Linux, 3 ms each.
"""

SHARING_PURSE = 1_000_000
"""nanoseconds: the most that jobs may lose one after the other, whatever was gained before.
Chosen: about forty jobs for which a worker was woken that came too late.
"""

LONGEST_USUAL_LOSS = 100_000
"""nanoseconds: the most that a job takes from ``SHARING_PURSE``: longer waits are rare.
Chosen: several times what waking a worker takes.
"""

LEAST_ALONE = 4
"""times what has been lost: callers at first do so much work alone when the account is overdrawn.
Chosen: sharing then costs at most a fifth of the time on a busy machine.
"""

MOST_ALONE = 1_000_000_000
"""nanoseconds: the most work that callers do alone before they try to share again.
Chosen: a second, after which a machine may be idle again, for a try of a few milliseconds.
"""

STOPPED_NANOSECONDS = 200_000
"""nanoseconds: a thread was stopped in a chunk that took longer by as much than others of its job.
Chosen: below the shortest time slice of the scheduler of Linux, 0.7 ms, and above most chunks.
"""

STOPPED_TIMES = 8
"""times: and as many times as long, since chunks of unequal rows differ.
Chosen: rows that differ by more are rare, and then only one thread works.
"""

SOON_NANOSECONDS = 50_000
"""nanoseconds: if none of the last eight jobs began so soon after another, idle workers sleep at
once: spinning would take time from other processes, and from the caller if they share a core.
Chosen: about what workers wait awake for, ``WAITING_SPINS``.
"""

ALIGNED_RANGE = 16
"""matrices: ranges of more than this begin at its multiples, so that few lanes are left over.
Chosen: the lanes of float32 in AVX-512.
"""

PRIVATE_BYTES = 1 << 26
"""bytes: each thread may take as much for steps of a loop that it runs on its own. Where steps
need more, the arrays in them are so large that threads share each kernel.
Chosen: 64 MiB a core is less than what machines have.
"""

FEW_SHARED_STEPS = 8
"""steps: fewer are carried out one after the other if each takes ``LONG_SHARED_STEP``, most of it
in kernels and products that threads share: there may be more threads than steps.
Chosen: not measured; it needs machines of many cores.
"""

LONG_SHARED_STEP = 500_000
"""nanoseconds: see ``FEW_SHARED_STEPS``.
Chosen: beside it, waking threads for each kernel of the step is nothing.
"""

ALONE_SHARE = 4
"""times: more than this share of a step (a quarter) is not divisible: see ``FEW_SHARED_STEPS``.
Chosen: four threads at most then finish a step twice as fast.
"""

MOST_SUMMED_PARTS = 64
"""parts: the most into which a loop that only adds to states is divided, each with sums of its own.
Results depend on it, so it must not depend on the number of threads.
Chosen: as ``REDUCTION_CHUNKS``.
"""

# ---- estimates of time ---------------------------------------------------------------------------
# Rough ones: they decide about threads, signals and the GIL, where a factor of two is nothing.

UNKNOWN_NANOSECONDS = 1000.0
"""nanoseconds: of a routine without an estimate, and of steps of a loop that differ.
Chosen: a short call of a library; what takes longer by far has an estimate.
"""

LOOP_STEP_NANOSECONDS = 2.0
"""nanoseconds: for a step of a loop, however little it computes.
Chosen: a few instructions and a jump, at 3 GHz.
"""

USUAL_STEPS = 16
"""steps: a guess for a loop that ends by a condition.
Chosen: iterations of solvers and series are 5 to 50.
"""

PRODUCT_FLOPS = 16
"""multiplications and additions a nanosecond: of a product of matrices.
Measured with ``benchmarks/products.py``: 55 of float64 in BLAS at 32 x 32 x 32, with AVX-512, and
less where matrices are smaller or other CPUs have narrower vectors.
"""

CONVOLUTION_NANOSECONDS = 0.03
"""nanoseconds: for a product of a convolution of vectors.
Chosen: a million elements with a kernel of a hundred take 3 ms, a fifth of NumPy's time.
"""

IMAGE_PRODUCT_NANOSECONDS = 0.015
"""nanoseconds: for a product of a convolution of images.
Chosen: one unit of work, the least: see ``WORK_SHIFT``.
"""

POOLING_NANOSECONDS = 0.2
"""nanoseconds: for a comparison of max pooling.
Chosen: rough; not measured.
"""

STACKED_MATRIX_NANOSECONDS = 15.0
"""nanoseconds: for a matrix of a stack, however small.
Chosen: reading and writing it, and the loop; not measured.
"""

BAND_NANOSECONDS = 5.0
"""nanoseconds: for a row of a band that is factorized, whose divisions wait for each other.
Chosen: about the latency of a division and a product; not measured.
"""

DRAW_NANOSECONDS = 10.0
"""nanoseconds: for a number drawn by NumPy's generators, of most distributions.
Chosen: rough; distributions differ by more than a factor of two.
"""

SPARSE_NANOSECONDS = 0.5
"""nanoseconds: for an entry of a sparse matrix and a column of a dense one.
Chosen: 1.1 for a vector and 0.3 for each of 16 columns, where the dense operand is in a cache.
"""

SELECTED_INVERSE_NANOSECONDS = 50.0
"""nanoseconds: for an element of the factor of a sparse matrix, to find that of the inverse.
Chosen: the columns of a grid of 100 x 100 have about twenty elements; rough.
"""

SPARSE_TILES = (8, 4, 2)
"""vectors: of columns whose sums are in registers at once, widest first; others are single ones.
Chosen: eight sums, a factor and what is read fit 16 registers.
"""

SPARSE_BLOCKS = 8
"""blocks: of the rows of a product of sparse matrices, which threads share; each has memory for a
whole row of the result. Also the most of a product with a transposed matrix and a vector.
Chosen: the threads of common machines, while matrices of many columns need not much memory.
"""

SPARSE_ENTRIES_A_SUM = 4
"""entries: for each element of the result, in a block of the rows of a transposed product; each
block but the first has memory for a whole result, which is added up.
Chosen: an entry takes four times as long as setting an element to 0 and adding it.
"""

SPARSE_ENTRIES_A_BLOCK = 16_384
"""entries: in such a block at least.
Chosen: they take about as long as it takes to wake up threads.
"""

SEARCH_NANOSECONDS = 10.0
"""nanoseconds: to find a value: the length of the vector is known only when the call runs.
Chosen: about a dozen halvings, in a cache; not measured.
"""

# ---- products of matrices ------------------------------------------------------------------------

MOST_IN_TILES = 32**3
"""multiplications: above it BLAS is better in any case; below, ``config.product_crossover``
decides.
Measured with ``benchmarks/products.py``: float32, 32768: 635 ns in tiles, 605 in BLAS; 76800:
1524 and 1471.
"""

TILED_LENGTH = 4096
"""elements: the most along each axis of a product in tiles, so that its work is a small number.
Chosen: 4096**3 fits an int64, with room.
"""

PACKED_ELEMENTS = 2048
"""elements: the most of the second matrix of a product in tiles; it is copied if its rows are not
contiguous.
Chosen: 16 KiB on the stack, half of the first cache.
"""

PRODUCT_TILE_ROWS = 4
"""rows: of a tile: this number of sums fills the pipeline of a full-width multiplier.
Measured: ``product_in_tiles`` 2: 0.96, 6: 0.83, 8: 0.91.
"""

NARROW_COLUMNS = (4, 2)
"""columns: as many that are left over have code without masks.
Chosen: half and a quarter of a vector of AVX-512.
"""

MOST_BY_COLUMNS = 1 << 12
"""elements: of the largest matrix that a vector is multiplied by column by column, within loops.
Measured: ``products_by_columns`` 0: 1.44, 1048576: 0.97; ``larger_products_by_columns`` 0: 0.86,
1048576: 0.80.
"""

VECTORS_BY_COLUMNS = 2
"""vectors: of rows that are computed at once.
Measured: ``products_by_columns`` 1: 1.21, 4: 1.05.
"""

COLUMNS_SIDE_BY_SIDE = 4
"""columns: with sums of their own, which do not wait for each other.
Measured: ``products_by_columns`` 2: 0.82, 8: 1.20.
"""

MOST_BY_ROWS = 1 << 6
"""elements: of the largest matrix that a vector is multiplied by row by row, within loops.
Measured: ``products_by_rows`` 0: 0.96, 1024: 1.27; ``larger_products_by_rows`` 0: 1.53, 1024: 0.99.
"""

ROWS_SIDE_BY_SIDE = 4
"""rows: with sums of their own, which do not wait for each other.
Measured: ``products_by_rows`` 2: 0.95, 8: 1.03.
"""

SYMMETRIC_BLOCK = 128
"""rows: of a product of a matrix and its transpose that are computed at once, up to the diagonal.
Measured: ``symmetric`` 64: 1.05, 256: 1.19.
"""

SYMMETRIC_ROWS = 2 * SYMMETRIC_BLOCK
"""rows: such a product with fewer is computed whole.
Measured: ``small_symmetric`` 128: 0.90, 1024: 1.01; ``symmetric`` 128: 1.00, 1024: 1.36.
"""

SYMMETRIC_STEPS = 64
"""elements: along the axis that is summed; with fewer it is computed whole, too.
Measured: ``thin_symmetric`` 16: 0.71, 1024: 0.82; ``symmetric`` 16: 1.03, 1024: 1.38.
"""

MIRRORED_ROWS = 8
"""rows: that are copied across the diagonal at once; it divides ``SYMMETRIC_BLOCK``.
Measured: ``symmetric`` 1: 1.03, 4: 1.00, 16: 0.99.
"""

SHARED_PRODUCT = 1 << 17
"""multiplications: products with fewer are calls of BLAS, which has one thread for them anyway.
Measured: ``shared_product`` 0: 1.24, 268435456: 3.52.
"""

SHARED_VECTOR_PRODUCT = 1 << 12
"""elements: the same for a matrix that is multiplied by a vector.
Measured: ``shared_vector_product`` 0: 0.84, 268435456: 63.42.
"""

MOST_PRODUCT_PARTS = 64
"""parts: the most of a product. Results depend on it.
Chosen: as ``REDUCTION_CHUNKS``.
"""

PRODUCT_PART_WORK = 1 << 22
"""multiplications: the least of a part, for float64: a tenth of a millisecond.
Measured: ``shared_product`` 262144: 0.96, 268435456: 0.92.
"""

LEAST_STRIP_ROWS = 48
"""rows: the least of a strip: each part packs the other matrix again, so thin strips are slow.
Chosen: twice the rows that kernels of BLAS compute together.
"""

LEAST_STRIP_COLUMNS = 128
"""columns: the same for strips of columns.
Chosen: twice ``STRIP_COLUMNS``.
"""

STRIP_COLUMNS = 64
"""columns: of a strip, and rows of a matrix that a vector is multiplied by, are multiples of this.
Chosen: a multiple of what kernels of BLAS compute together, and of a cache line.
"""

BLAS_TILE_ROWS = 504
"""rows: the most of a tile of a large product, unless one of the matrices is thin.
Measured: ``large_product`` 96: 1.22, 2016: 1.01.
"""

BLAS_TILE_COLUMNS = 1024
"""columns: the same.
Measured: ``large_product`` 256: 1.07, 4096: 1.02.
"""

BLAS_TILE_WORK = 1 << 30
"""multiplications: the most of a tile.
Chosen: a tenth of a second on a slow machine, two ``POLL_NANOSECONDS``.
"""

BLAS_TILED_ELEMENTS = 1 << 21
"""elements: of a result above which tiles are better than strips, if there is enough work.
Measured: ``large_product`` 1024: 1.02, 1099511627776: 0.99.
"""

STRIPS_CALL_ELEMENTS = 1 << 22
"""elements: the most of a result that a thread computes in one call of several strips, if the
result has more than twice as many: a short inner axis is little work, but writing takes time.
Chosen: 32 MB, about 10 ms of writing.
"""

PRODUCT_CALL_WORK = 1 << 29
"""multiplications: of one call, for float64.
Chosen: a twentieth of a second on a slow machine, one ``POLL_NANOSECONDS``.
"""

PRODUCT_CALL_INNER = 1 << 17
"""elements: the longest inner axis of one call, for float64: thin matrices are read from memory.
Chosen: 48 rows of it are 50 MB, about 10 ms of reading.
"""

INNER_UNIT = 8
"""elements: pieces of a split inner axis are multiples of this.
Chosen: a cache line of float64.
"""

VECTOR_PART_ELEMENTS = 1 << 17
"""elements: of a part of a matrix that a vector is multiplied by, for float64.
Measured: ``shared_vector_product`` 8192: 1.10, 2097152: 0.42.
"""

VECTOR_CALL_ELEMENTS = 1 << 22
"""elements: of such parts between two checks for signals, for float64.
Chosen: 32 MB, about 5 ms of reading.
"""

BATCH_WORK = 1 << 22
"""multiplications: of small products that a thread computes between two checks for signals.
Chosen: a millisecond, as ``POLLED_WORK``.
"""

# ---- dense matrices ------------------------------------------------------------------------------

EXPRESSED_ROWS = 4
"""rows: factors and systems of matrices of a known size of up to this are expressions, which are
fused with others.
Measured: ``expressed`` 2: 1.48, 6: 0.98 (the first call: 0.9, 0.8); ``larger_expressed`` 2: 1.04,
6: 1.16 (the first call: 0.9, 1.1).
"""

SMALL_SYSTEM_ROWS = 12
"""rows: and right sides, of systems in loops that are solved without LAPACK.
Measured: ``systems`` 8: 1.82, 16: 0.95; ``many_right_sides`` 8: 0.96, 16: 1.06.
"""

LANE_ROWS = 16
"""rows: and columns, of matrices of a stack that are computed side by side, each in a lane.
Measured: ``stack`` 8: 1.37, 32: 1.00; ``stack_of_larger`` 8: 0.98, 32: 0.86.
"""

UNROLLED_ROWS = 4
"""rows: matrices of a stack of a known size of up to this are numbers in registers, without loops.
Measured: ``unrolled_stack`` 2: 1.71, 6: 1.02 (the first call: 0.8, 0.8); ``larger_unrolled_stack``
2: 0.99, 6: 0.70 (the first call: 0.7, 0.8).
"""

UNROLLED_AT_RUN_TIME = (3, 2)
"""rows: sizes for which there is such code if the size is not known.
Measured: ``stack_of_three`` (): 1.38, (2,): 1.37, (4, 3, 2): 1.00 (the first call: 0.7, 0.7, 0.9).
"""

LANE_CHUNK = 8
"""elements: neighbours of a matrix that are read at once, at most.
Measured: ``stack`` 2: 0.88, 4: 1.03, 16: 1.00.
"""

TILED_FACTOR_ROWS = 512
"""rows: Cholesky factors of up to this, and inverses by them, are computed in tiles of registers.
Measured: ``factor`` 64: 1.26, 1024: 1.14; ``larger_factor`` 64: 0.97, 1024: 0.85.
"""

BUNDLED_DEPTH = 128
"""numbers: along the inner axis of a bundled product, for which columns are copied at once.
Chosen: 16 KiB on the stack for two vectors of AVX-512, half of the first cache.
"""

BUNDLED_BLOCK = 32
"""rows: of a block on the diagonal of bundled factors and triangles, which is not a product.
Chosen: two vectors of float64 with AVX-512, and 8 KiB on the stack for a square.
"""

FACTOR_TILE_LANES = 8
"""lanes: the most of a tile: a tile of n lanes takes n + 8 registers.
Measured: ``factor`` 4: 1.00.
"""

BLOCKED_ROWS_A_BYTE = 8
"""rows: for each byte of the processor's vectors: one matrix of more is factorized in blocks that
threads share, rather than in tiles or by LAPACK.
Measured: with vectors of 32 bytes, ``factor`` 4: 0.96, 16: 0.85; ``factor_and_inverse`` 4: 1.00,
16: 1.14.
"""

FACTOR_BLOCK = 192
"""rows: and columns, of a block.
Measured: ``larger_factor`` 96: 0.95, 384: 0.98.
"""

FACTOR_BLOCK_TILE = 96
"""rows: or columns, of a block that a thread computes at once; it divides ``FACTOR_BLOCK``.
Measured: ``larger_factor`` 48: 1.00, 192: 0.99.
"""

LAPACK_PANEL = 64
"""columns: of a panel in LAPACK, at most: with room for as many it uses products of matrices.
Chosen: the largest block size that LAPACK asks for (ILAENV; DORMQR's NBMAX).
"""

# ---- convolutions, searches ----------------------------------------------------------------------

CONVOLUTION_VECTORS = 8
"""vectors: of a tile: enough sums for the processor not to wait for the last product.
Measured: ``convolved`` 2: 2.46, 4: 1.18, 16: 1.35.
"""

PANEL_ROWS = 1024
"""rows: of a panel of windows of images, at most; more if filters have more elements.
Measured: ``images`` 128: 1.00, 256: 1.10, 4096: 0.98; ``image_gradients`` 128: 1.00, 256: 1.01,
4096: 1.00.
"""

PANEL_BYTES = 256
"""bytes: of a row of a panel, the windows that are multiplied together.
Measured: ``images`` 64: 0.93, 128: 1.11, 1024: 1.15; ``image_gradients`` 64: 1.13, 128: 0.93, 1024:
1.10.
"""

SHARED_IMAGE_WORK = 1 << 19
"""multiplications: threads share a convolution of images with as many.
Chosen: eight microseconds; with ``USE_THREADS_NANOSECONDS`` this is the lesser condition.
"""

IMAGE_RANGES = 32
"""ranges: of images, at most, that threads share, each with scratch memory of its own.
Chosen: two each for 16 threads.
"""

IMAGE_SCRATCH = 1 << 24
"""elements: of the scratch memory of all ranges, at most.
Chosen: 128 MB of float64, whatever the size of the filters.
"""

IMAGE_ITEMS = 16
"""images: and blocks of channels of images, into which a gradient is divided, if it has as many.
Measured: ``image_gradients`` 1: 1.02, 64: 1.04.
"""

IMAGE_SUMS = 16
"""parts: of panels with sums of their own, at most. Results depend on it.
Measured: ``image_gradients`` 1: 0.83, 64: 0.89.
"""

IMAGE_SUM_ELEMENTS = 1 << 22
"""elements: of all these sums, at most.
Chosen: 32 MB of float64.
"""

SHARED_POOLING = 1 << 16
"""elements: that max pooling compares; threads share more.
Chosen: 13 us, by ``POOLING_NANOSECONDS``: about ``GRAIN_NANOSECONDS``.
"""

POOLING_RANGE = 1 << 14
"""elements: that a thread compares at once.
Chosen: 3 us: ranges are begun in turn, so that threads end together.
"""

POOLED_LANES = 4
"""lanes: of the shortest vectors that compare the windows of a line in max pooling.
Measured: ``pooled`` 2: 0.96, 8: 1.45, 16: 2.87.
"""

SEARCHED_VECTORS = 4
"""vectors: of values that are searched at once, so that one need not wait for memory.
Measured: ``searches`` 1: 2.91, 2: 1.69, 8: 0.76.
"""

SORT_NANOSECONDS = 4.0
"""nanoseconds: to sort a number by a digit of eight bits.
Chosen: of 100,000 float64 with their indices eight digits took 3.3 ms on a busy machine.
"""

SORTED_BY_INSERTION = 32
"""numbers: up to as many are sorted by insertion, without a count of digits.
Chosen: 32^2 / 4 moves take as long as the counts of eight digits.
"""

SHORT_SORTED_ROW = 256
"""numbers: rows of fewer are sorted without NumPy, which sorts several numbers at once.
Chosen: with a call of NumPy 100 float64 took 11.9 us, without one 9.0; 300 took 15 and 18 us.
"""

SORTED_PART = 1 << 18
"""numbers: of which a digit is read between two checks for signals.
Chosen: about ``POLLED_WORK``, by ``SORT_NANOSECONDS``.
"""

FOURIER_NANOSECONDS = 20.0
"""nanoseconds: to transform a point.
Chosen: of 1,024 points a point took 11 ns, of 64 rows of 256 points 7; larger ones not measured.
"""

OWN_FOURIER_NUMBERS = 1 << 16
"""numbers: transforms of arrays of fewer are computed without SciPy.
Measured: ``transforms`` 0: 1.74, 1048576: 0.99; ``long_transform`` 0: 1.24, 1048576: 1.00;
``large_transforms`` 0: 0.97, 1048576: 1.01.
"""

FOURIER_BLOCK = 8
"""sequences: as many are transformed at once, if they are short.
Measured: ``short_transforms`` 4: 1.51, 16: 0.88, 64: 0.88; ``transforms`` 4: 1.27, 16: 1.39,
64: 2.43; ``single_transforms`` 4: 1.01, 16: 0.92, 64: 1.39.
"""

FOURIER_BLOCK_POINTS = 8192
"""points: of the sequences that are transformed at once.
Measured: ``transforms`` 1024: 1.01, 4096: 1.00, 32768: 1.01; ``longer_transforms`` 1024: 1.27,
4096: 1.02, 32768: 1.13.
"""

# ---- lowering ------------------------------------------------------------------------------------

LONGEST_FORMULA = 8
"""terms: integers with up to as many are formulas of sizes; others are computed as arrays are.
Chosen: sums and products of shapes have up to four; not measured.
"""

MOST_TERMS = 12
"""terms: formulas of sizes with more are not expanded.
Chosen: products of two sums of three terms have nine. Expanding is quadratic.
"""

MOST_WRITTEN = 40
"""parts: of a size that is printed, and the depth of operations in it.
Chosen: half a line of text.
"""

LATEST_IN_REGISTERS = 8
"""elements: the most of a trace that the next steps of a loop read from registers.
Measured: ``lags`` 1: 1.87.
"""

SHORT_COMMIT = 65_536
"""iterations: with as many, a kernel is short enough for the commit, where no signal may end it.
Chosen: less than 0.1 ms at a nanosecond each.
"""

SHORT_WRITE_BYTES = 4 << 20
"""bytes: updates of up to this size are written in place while other threads of Python wait.
Chosen: half a millisecond at 8 GB/s, a tenth of the interval at which Python switches threads.
"""

DEEPEST_BRANCHES = 60
"""branches: inside of each other, at most: lowering, and what follows it, are recursive.
Chosen: by ``CALLS_A_BRANCH`` Python's stack of 1,000 calls ends at 141, less what the caller uses.
"""

BRANCHES_IN_ANY_CASE = 20
"""branches: inside of each other for which the stack is not examined.
Chosen: 270 calls of the 1000 that Python allows.
"""

CALLS_A_BRANCH = 6
"""calls of Python: inside of each other for a branch.
Chosen: counted, with room; see ``test_a_deep_stack_leaves_less_room``.
"""

CALLS_AFTER_BRANCHES = 150
"""calls of Python: inside of each other in the last branch.
Chosen: for the deepest stages after lowering, with room; see ``CALLS_A_BRANCH``.
"""

MOST_BRANCHES_OF_NODE = 64
"""branches: the most in which a node is lowered; else it is computed before them.
Chosen: an expression that all cases of 64 need; see also ``MOST_LOWERINGS``.
"""

MOST_LOWERINGS = 8
"""times: all nodes are lowered as often at most, on average.
Chosen: compiling takes in proportion.
"""

FEW_NODES = 100
"""nodes: smaller graphs are lowered as often as one of this size.
Chosen: with ``MOST_LOWERINGS``, 800 lowered nodes are still a small program.
"""

# ---- frames and memory ---------------------------------------------------------------------------

SMALL_BLOCK = 1024
"""bytes: a block of the arena up to this size, known only to a call, can be in the frame.
Chosen: half of ``FRAME_BUFFER_BYTES``, so that others fit in, too.
"""

FRAME_BYTES = 4096
"""bytes: of a frame on the stack, at most.
Chosen: a page, so that a call touches no more of the stack than one.
"""

FRAME_BUFFER_BYTES = 2048
"""bytes: of a frame up to which buffers are put in it.
Chosen: half of ``FRAME_BYTES``: the other is for records.
"""

C_FRAME_BYTES = 32 << 10
"""bytes: of a frame on the stack of a caller in C, at most.
Chosen: a sixteenth of the smallest usual stack of a thread, 512 KiB.
"""

COMPARED_BUFFERS = 64
"""buffers: that are compared, at most, to name the largest if memory runs out.
Chosen: a line of code for each, which is never executed.
"""

LONG_RUN = 8
"""addresses: as many in order are written by a loop.
Chosen: less code from here on; not measured.
"""

SMALLEST_BLOCK_BITS = 12
"""bits: of the size of the smallest class of blocks of the arena.
Chosen: smaller blocks are in frames, and a block has a header of 64 bytes.
"""

KEPT_BLOCKS = 7
"""blocks: the most that are kept of a class.
Chosen: with their number they are a cache line.
"""

HUGE_PAGE_BYTES = 4 << 20
"""bytes: from this size on Linux is asked for huge pages.
Chosen: as in NumPy; two huge pages of 2 MiB.
"""

LARGE_RESULT_BYTES = 64 << 10
"""bytes: of a result for which NumPy is asked for memory of its own instead of a copy.
Measured: ``results`` 16384: 1.14, 1048576: 0.94; ``larger_results`` 16384: 1.09, 1048576: 0.89.
"""

IDLE_COPIES = 16
"""copies: of callbacks that are kept for further threads, at most.
Chosen: more threads rarely call one function at the same time.
"""

# ---- compiling -----------------------------------------------------------------------------------

STEPS_IN_A_PART = 32
"""steps: of a Program in one function, at most: LLVM's time grows faster than the length.
Measured: ``many_steps_of_program`` 8: 1.02, 128: 1.01, 1000: 1.03 (the first call: 1.0, 1.0, 1.2).
"""

PART_LINES = 1500
"""lines: of LLVM's text that occupy a thread.
Chosen: at the lower level they take 20 ms.
"""

LARGE_TEXT_LINES = 60_000
"""lines: texts with more are compiled at the lower level of optimization alone.
Chosen: two seconds at the higher one, by ``LINE_NANOSECONDS``.
"""

LINE_NANOSECONDS = 30_000
"""nanoseconds: to compile a line of text at the higher level, which a function's calls must repay.
Chosen: rough; ``benchmarks/compiling.py`` measures how long programs take to compile.
"""

TRIAL_CALL_NANOSECONDS = 10_000
"""nanoseconds: added to the time of each call on trial.
Chosen: frequent callers are likely to continue.
"""

LONG_TEXT = 40_000
"""characters: longer texts are parsed with the GIL released.
Chosen: not measured; other threads that wait for shorter ones barely notice.
"""

REMEMBERED_CONSTANTS = 4096
"""constants: whose texts are remembered.
Chosen: far more than a program has, in less than a megabyte.
"""

# ---- the cache of machine code -------------------------------------------------------------------

STALE_SECONDS = 3600
"""seconds: a temporary file of this age belongs to a process that has ended.
Chosen: writing one takes milliseconds.
"""

SWEEP_SECONDS = 3600
"""seconds: a process that writes little scans the whole folder, which may be large, as rarely.
Chosen: a scan is long only for folders that take far longer to fill.
"""

SWEPT_SHARE = 1 / 16
"""share of the cache's limit: a process that has written as much scans the folder.
Chosen: 16 processes at once exceed the limit twice at most.
"""

KEPT_SHARE = 0.8
"""share of the cache's limit: as much is kept when old files are removed.
Chosen: so that it is not needed again at once.
"""

# ---- programs carried out step by step -----------------------------------------------------------

NUMBERS_A_STATEMENT = 4096
"""numbers: computing as many with NumPy takes as long as carrying out a statement in Python.
Chosen: rough; not measured.
"""
