"""The assembler: LLVM IR as text, and the scalar ops in it.

A kernel is written once, for scalars or vectors of any number of lanes::

    target = Target.configured()
    module = Module(target)
    lanes = target.lanes(FLOAT64)
    function = module.function("kernel", VOID, [INT64, (PTR, "noalias"), (PTR, "noalias")])
    b = Builder(function)
    n, out, x = b.arguments


    with loop(b, 0, n, lanes) as each:
        mask = lane_mask(b, n - each.index, lanes)
        value = load(b, FLOAT64.of(lanes), b.offset(x, each.index, FLOAT64), mask)
        result = emit(b, "exp", [emit(b, "neg", [value], "float64")], "float64")
        store(b, result, b.offset(out, each.index, FLOAT64), mask)
    b.ret()

``str(module)`` is the text. Before the code is run, symbols in ``module.externals`` are bound to
``address_of(symbol)``, and ``library(target, module.math_functions)`` is compiled, once for all
kernels.
"""
