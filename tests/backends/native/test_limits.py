"""Every threshold of the native backend stands in limits.py, with where its number is from."""

import ast
import re
from pathlib import Path

import pytest

from benchmarks.limits import MEASURED
from phintys.backends.native import limits

LIMITS = Path(limits.__file__)
NATIVE = LIMITS.parent

# Numbers elsewhere, each of which states a fact: another one would be wrong instead of slow.
FACTS = {
    "the range of a type, an address, or what no size reaches": """
        assembler/random._LOW lower/indexing._FAR lower/lowering._LEAST lower/lowering._MOST
        lower/ranges._MOST lower/slices._FAR routines/outlined_products.ALL
        routines/ordering._DIGITS routines/ordering._BITS_OF_A_DIGIT
        routines/stacks._NO_FAILURE routines/stacks._STATUS_BITS runtime/capi._FIRST_ADDRESS
        runtime/threads._FINEST sizes._HALF sizes.MOST sizes._ADDRESS_BITS steps/call.LARGEST
        steps/claim._ANY_BYTES writer/address_code.MOST_BYTES writer/size_code._MOST_BITS
        writer/main_function._BOUNDED_BITS writer/main_function._FACTOR_BITS
        writer/shared_passes._NONE writer/shared_passes._MOST runtime/c_entry._EXPONENT
        export/interface.MOST_LENGTH export/runtime._MOST_BYTES
    """,
    "codes, flags, indices and layouts of records": """
        export/interface.ABI export/interface.NULL_POINTER export/interface.MISALIGNED
        export/interface.WRONG_LENGTH export/interface.TOO_SMALL export/interface.NO_MEMORY
        export/interface.OTHER_SHAPE export/interface._FIRST export/interface._SECOND
        frame.STATE frame.STATUS frame.CONSTANTS frame.FIRST_RECORD frame.OUT_OF_MEMORY
        frame.EXCEPTION frame.NO_RESULT frame.NO_BUFFER frame.TOO_LARGE memory.ALIGNMENT
        lower/images._AXES routines/fourier_stages.RADICES routines/exponentials.ROOMS
        routines/triangular_functions._SINGULAR
        routines/triangular_functions._NOT_REAL runtime/blocks._ALIGNMENT runtime/blocks._CLASSES
        runtime/blocks._CLASS_BYTES runtime/blocks._BLOCKS_BYTES runtime/c_entry.WRONG_LENGTH
        runtime/c_entry.FAILED runtime/c_entry.NO_MEMORY runtime/c_entry.BAD_GRADIENT
        runtime/c_entry.BAD_VALUE runtime/c_entry._RUN runtime/c_entry._CONSTANTS
        runtime/c_entry._FIRST runtime/cache._DIGEST runtime/threads.POOL_BYTES
        runtime/threads._GAPS stepwise/storage.RUBBISH stepwise/storage._NOBODY
        writer/clock.FIRST_STEP writer/clock.EVENT_WORDS writer/main_function.BEFORE_COMMIT
    """,
    "units": "measuring._NANO runtime/threads._BILLION assembler/system._BILLION",
    "the interfaces of LLVM, NumPy, Python, LAPACK and the system": """
        assembler/atomics._WHOLE_SYSTEM runtime/blocks._LARGEST_PAGE
        assembler/llvm_library._INTERNAL assembler/llvm_library._OPTIMIZED export/assembling._LEVEL
        assembler/llvm_library._NOT_SMALLER export/constants._OF_SECTION export/constants._OBJECT
        export/constants._X86_64 export/constants._CONTENT export/constants._NOTHING
        export/constants._RELOCATIONS export/constants._STRINGS export/constants._SYMBOLS
        export/constants._LOADED export/constants._RUN export/constants._WRITTEN
        export/constants._HAS_TARGET
        assembler/llvm_library._FIRST_KNOWN assembler/llvm_library._LAST_KNOWN
        measuring._STACK_BITS routines/decompositions._NOT_FINITE runtime/blas._PTHREADS
        runtime/capi._NUMPY_ARRAY_TYPE runtime/capi._VARARGS runtime/capi._KEYWORDS
        runtime/capi.ALIGNED runtime/capi.C_CONTIGUOUS runtime/capi.OWNDATA runtime/capi.WRITEABLE
        runtime/capi.FASTCALL_KEYWORDS runtime/engine._QUICK runtime/engine._WELL
        runtime/support._QUICK runtime/support._BETTER
        routines/product_parts.ROWS routines/product_parts._LONGEST_LENGTH
    """,
    "what is shown": "explain._MOST_NUMBERS",
}

ALLOWED = {name for names in FACTS.values() for name in names.split()}
SOURCES = {
    str(path.relative_to(NATIVE).with_suffix("")): path.read_text()
    for path in NATIVE.rglob("*.py")
    # Coefficients of functions, and the ranges in which formulas hold.
    if path != LIMITS and "math" not in path.parts
}


def names_of(text):
    """Yield the names of numbers, and of tuples of numbers, that a module defines."""
    for names, value in re.findall(r"^(\w[\w, ]*)(?:: .+)? = (.*\d.*)$", text, re.MULTILINE):
        if is_number(value):
            yield from names.split(", ")


def is_number(value):
    """Return whether an expression computes numbers from numbers and names alone."""
    try:
        parts = list(ast.walk(ast.parse(value, mode="eval")))
    except SyntaxError:  # the beginning of a longer one
        return False
    numeric = (ast.BinOp, ast.UnaryOp, ast.Tuple, ast.operator, ast.unaryop, ast.Name, ast.Load)
    numbers = [part for part in parts[1:] if not isinstance(part, numeric)]
    return bool(numbers) and all(
        isinstance(part, ast.Constant) and type(part.value) in {int, float} for part in numbers
    )


def test_no_threshold_stands_elsewhere():
    found = {f"{name}.{each}" for name, text in SOURCES.items() for each in names_of(text)}
    assert found == ALLOWED


def test_no_threshold_stands_in_a_comparison():
    compared = re.compile(r"(\S+ (?<![-<>])[<>]=? \d\d[\d_]*)\b")
    found = {f"{name}: {each}" for name, text in SOURCES.items() for each in compared.findall(text)}
    assert found == {
        # How wide numbers, masks and registers are; the range of int64; an example.
        "assembler/casting: type.bits >= 32",
        "assembler/control: lanes <= 16",
        "routines/outlined_products: target.vector_bytes >= 32",
        "sizes: known.bit_length() <= 63",
        "sizes: len(bits).bit_length() <= 63",
        "sizes: len(text) < 1000",
    }


def documented():
    """Return the names of limits with their docstrings."""
    found = re.findall(r'^(\w+) = .+\n"""((?:.|\n)+?)"""$', LIMITS.read_text(), re.MULTILINE)
    assert len(found) == len(list(names_of(LIMITS.read_text())))
    return dict(found)


def test_each_limit_says_its_unit_and_where_its_number_is_from():
    for name, text in documented().items():
        assert re.match(r"[a-zA-Z' ]+: ", text), name
        origins = re.findall(r"^(Measured: |Measured with |Chosen: )", text, re.MULTILINE)
        assert len(origins) == 1, name
        assert (name in MEASURED) == (origins[0] == "Measured: "), name


@pytest.mark.parametrize("unit", ["POLLED_ITERATIONS", "POLLED_STEPS", "POLLED_QUICK_STEPS"])
def test_what_is_counted_by_its_bits_is_a_power_of_two(unit):
    assert getattr(limits, unit).bit_count() == 1


def test_blocks_are_made_of_whole_tiles():
    assert limits.FACTOR_BLOCK % limits.FACTOR_BLOCK_TILE == 0
    assert limits.SYMMETRIC_BLOCK % limits.MIRRORED_ROWS == 0
    assert limits.NOTED_NANOSECONDS <= limits.USE_THREADS_NANOSECONDS


def test_each_limit_is_used():
    words = {word for text in SOURCES.values() for word in re.findall(r"[A-Z_]{4,}", text)}
    assert set(documented()) <= words
