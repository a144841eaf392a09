"""What is imported late, and from where. Written by `make index`."""

BACKENDS: dict[str, str] = {
    "phintys.backends.jax.backend": "jax",
    "phintys.backends.native.backend": "native",
    "phintys.backends.reference.backend": "reference",
}
"""Modules -> the backends that they register."""

BATCHING: dict[str, str] = {
    "phintys.backends.jax.functions_of_jax": "JaxOp",
    "phintys.control.batching": "Fence GradientMark IfElse OpFromGraph Scan",
    "phintys.native.calls": "NativeCall",
    "phintys.random.generators.variables": "RandomVariable",
    "phintys.tensor.batching.arrays": """
        Alloc AllocDiag ArgExtremeAlong ArgSortOp Argmax Argmin Assume BatchedDot Breakpoint
        CheckAndRaise CumOp DimShuffle Dot Elemwise ExtractDiag Join LinearRecurrence LogSoftmax
        LogSumExp MakeVector MatrixOp Print Reduce Reshape RunningArgExtreme RunningExtreme
        ScalarFromTensor ScalarOp Shape ShapeI Softmax SortOp SpecifyShape Split TensorFromScalar
        WithSharding
        """,
    "phintys.tensor.batching.blockwise": "Blockwise Op",
    "phintys.tensor.batching.indexing": """
        AdvancedIncSubtensor AdvancedSubtensor IncSubtensor Subtensor
        """,
    "phintys.tensor.batching.signal": "Conv ConvByFilters ConvByImages FFT IRFFT MaxPool RFFT",
    "phintys.tensor.batching.uneven": "EvenRows",
    "phintys.tensor.partitioning": "ArgPartitionOp PartitionOp",
}
"""Modules -> the classes of Ops for which they have rules of batching."""

COMPLEX_FUNCTIONS: dict[str, str] = {
    "phintys.backends.native.assembler.math.complex": """
        abs add angle clip conj cos cosh exp exp2 expm1 fmax fmin log log10 log1p log2 maximum
        minimum mul neg pos pow reciprocal rint sign sin sinh sqr sqrt sub tan tanh true_div xlog1py
        xlogy
        """,
}
"""Modules -> the scalar ops whose code for complex numbers they have."""

FACADES: dict[str, dict[str, str]] = {
    "phintys": {
        "phintys.backends.jax": "",
        "phintys.backends.native.runtime.support": "free_memory",
        "phintys.compile.debug_mode": "DebugMode",
        "phintys.compile.monitor": "MonitorMode NanGuardMode",
        "phintys.compile.profile": "Profile print_profiles",
        "phintys.contrib": "",
        "phintys.contrib.saving": "load save",
        "phintys.control": "OpFromGraph ifelse scan until",
        "phintys.gradient": "Lop Rop grad hessian jacobian subgraph_grad value_and_grad",
        "phintys.graph.from_function": "wrap_py",
        "phintys.graph.printing": "debugprint dprint",
        "phintys.inspect": "",
        "phintys.native": "",
        "phintys.optimize": "",
        "phintys.parallel": "",
        "phintys.random": "",
        "phintys.sparse": "",
        "phintys.tensor.batching": "vectorize_graph",
        "phintys.testing": "",
        "phintys.tree": "",
    },
    "phintys.backends.jax": {
        "phintys.backends.jax.checkpoints": "load_values save_values",
        "phintys.backends.jax.functions_for_jax": "to_jax",
        "phintys.backends.jax.functions_of_jax": "from_jax",
        "phintys.backends.jax.meshes": "mesh",
        "phintys.backends.jax.modes": "mode",
    },
    "phintys.backends.reference": {
        "phintys.backends.reference.backend": "ReferenceBackend VM",
    },
    "phintys.compile": {
        "phintys.compile.debug_mode": "DebugMode",
        "phintys.compile.monitor": "MonitorMode NanGuardMode",
        "phintys.compile.profile": "Profile",
    },
    "phintys.compile.profile": {
        "phintys.compile.profile.measured": "NodeCost OpCost",
        "phintys.compile.profile.profile": "Profile",
    },
    "phintys.control": {
        "phintys.control.branches": "IfElse branch cond ifelse",
        "phintys.control.graph_ops.from_graph": "OpFromGraph",
        "phintys.control.loop_derivatives.memory": "gradient_memory",
        "phintys.control.loop_forms.folds": "filter foldl foldr map reduce scan_checkpoints",
        "phintys.control.loop_forms.functional": "fori_loop loop while_loop",
        "phintys.control.loop_forms.scan_arguments": "until",
        "phintys.control.loop_forms.scanning": "scan",
        "phintys.control.loops.arguments": "LoopArguments",
        "phintys.control.loops.scan_op": "Scan",
        "phintys.control.rows.row_loop": "RowLoop",
    },
    "phintys.gradient": {
        "phintys.gradient.checkpointing": "checkpoint",
        "phintys.gradient.custom": "CustomGradient custom_gradient",
        "phintys.gradient.forward": "Rop pushforward_through_pullback",
        "phintys.gradient.jacobians": "hessian hessian_vector_product jacobian",
        "phintys.gradient.marks": """
            ConsiderConstant DisconnectedGrad GradClip GradScale GradientMark UndefinedGrad ZeroGrad
            consider_constant disconnected_grad disconnected_grad_ grad_clip grad_scale
            undefined_grad undefined_grad_ zero_grad zero_grad_
            """,
        "phintys.gradient.numeric": "numeric_grad",
        "phintys.gradient.patterns.compressed": "Compressed compressed_hessian compressed_jacobian",
        "phintys.gradient.patterns.rules": "pattern_of",
        "phintys.gradient.patterns.sparsity": "sparsity",
        "phintys.gradient.reverse": "Lop grad",
        "phintys.gradient.subgraph": "subgraph_grad",
        "phintys.gradient.values": "value_and_grad",
        "phintys.gradient.verify": "verify_grad verify_rop",
    },
    "phintys.graph": {
        "phintys.graph.printing": "debugprint",
    },
    "phintys.passes": {
        "phintys.passes.stabilize": "STABILIZE",
    },
    "phintys.random": {
        "phintys.random.distributions.markov_fields": "GaussianMarkovField",
    },
    "phintys.tensor": {
        "phintys.control.loop_forms.ctc": "ctc_loss",
        "phintys.control.solving.optimize": "",
        "phintys.gradient": "grad hessian jacobian",
        "phintys.random": "",
        "phintys.tensor.activations": "log_softmax relu softmax",
        "phintys.tensor.applying": "apply_along_axis apply_over_axes",
        "phintys.tensor.batching": "Blockwise vectorize vectorize_graph",
        "phintys.tensor.bits": "float_power frexp isneginf isposinf modf packbits unpackbits",
        "phintys.tensor.broadcasting": """
            broadcast_arrays broadcast_shape broadcast_shapes broadcast_sizes broadcast_to
            """,
        "phintys.tensor.combinations": """
            chi2sf comb fresnel gammal gammau kn multigammaln perm sici
            """,
        "phintys.tensor.contractions.einsum": "einsum",
        "phintys.tensor.convolution": "Convolve convolve correlate",
        "phintys.tensor.creation": """
            Alloc AllocEmpty alloc empty empty_like full full_like ones ones_like zeros zeros_like
            """,
        "phintys.tensor.cumulative": "CumOp LinearRecurrence cumprod cumsum diff",
        "phintys.tensor.diagonals": """
            AllocDiag ExtractDiag diag diagonal eye identity identity_like trace tri tril triu
            """,
        "phintys.tensor.differences": """
            cumulative_prod cumulative_sum ediff1d gradient interp trapezoid unwrap
            """,
        "phintys.tensor.dim_shuffle": """
            DimShuffle dimshuffle expand_dims matrix_transpose moveaxis shape_padaxis shape_padleft
            shape_padright squeeze swapaxes transpose
            """,
        "phintys.tensor.dtype_names": """
            bool bool_ cdouble complex128 complex64 complexfloating csingle double float16 float32
            float64 floating inexact int16 int32 int64 int8 int_ integer number signedinteger single
            uint uint16 uint32 uint64 uint8 unsignedinteger
            """,
        "phintys.tensor.dtypes": """
            can_cast finfo iinfo isdtype issubdtype min_scalar_type promote_types result_type
            """,
        "phintys.tensor.extremes": "ArgExtremeAlong Argmax Argmin argmax argmin max_and_argmax",
        "phintys.tensor.fft": "",
        "phintys.tensor.indexing": """
            AdvancedIncSubtensor AdvancedSubtensor IncSubtensor Subtensor inc_subtensor
            set_subtensor take
            """,
        "phintys.tensor.indexing.choosing": """
            argwhere choose compress extract fill_diagonal fill_diagonal_offset piecewise place put
            ravel_multi_index select unravel_index
            """,
        "phintys.tensor.indexing.grids": """
            c_ diag_indices diag_indices_from index_exp indices ix_ mask_indices meshgrid mgrid
            ogrid r_ s_ tril_indices tril_indices_from triu_indices triu_indices_from
            """,
        "phintys.tensor.indexing.setting": "put_along_axis take_along_axis",
        "phintys.tensor.inplace": "",
        "phintys.tensor.introspection": """
            common_type get_underlying_scalar_constant_value iscomplex iscomplexobj isreal isrealobj
            isscalar ndim
            """,
        "phintys.tensor.joining": """
            Join Split array_split concatenate hstack join split stack stacklists vstack
            """,
        "phintys.tensor.linalg": "",
        "phintys.tensor.linear_algebra.assumptions": "assume",
        "phintys.tensor.linear_algebra.vectors": "cross matvec vecdot vecmat",
        "phintys.tensor.manipulation.dimensions": """
            atleast_1d atleast_2d atleast_3d atleast_Nd dsplit hsplit join_dims ravel rollaxis
            split_dims vsplit
            """,
        "phintys.tensor.manipulation.editing": "delete insert resize trim_zeros",
        "phintys.tensor.manipulation.flipping": "flip fliplr flipud rot90",
        "phintys.tensor.manipulation.padding": "pad",
        "phintys.tensor.manipulation.stacking": """
            append block column_stack concat_with_broadcast dstack pack unpack unstack
            """,
        "phintys.tensor.nonzeros": "Nonzero flatnonzero nonzero nonzero_values where",
        "phintys.tensor.observing": "Assert Breakpoint CheckAndRaise Print assert_op",
        "phintys.tensor.ordering": """
            argpartition argtopk lexsort partition sort_complex top_k topk topk_and_argtopk
            """,
        "phintys.tensor.permutations": "inverse_permutation permute_row_elements to_one_hot",
        "phintys.tensor.polynomials": """
            poly polyadd polyder polydiv polyfit polyint polymul polysub polyval roots
            """,
        "phintys.tensor.products": """
            BatchedDot Dot batched_dot batched_tensordot dot inner kron matmul outer tensordot vdot
            """,
        "phintys.tensor.ranges": "ARange arange linspace",
        "phintys.tensor.reduce": "Reduce all allclose amax amin any max min prod ptp sum",
        "phintys.tensor.reshaping": "Reshape flatten reshape",
        "phintys.tensor.running_extremes": "RunningArgExtreme RunningExtreme cummax cummin",
        "phintys.tensor.scalar_bridge": """
            MakeVector ScalarFromTensor TensorFromScalar make_vector scalar_from_tensor
            tensor_from_scalar
            """,
        "phintys.tensor.searching": "SearchSorted digitize searchsorted",
        "phintys.tensor.segments": "SegmentReduce segment_max segment_min segment_prod segment_sum",
        "phintys.tensor.sequences": """
            bartlett blackman diagflat fromfunction geomspace hamming hanning kaiser logspace vander
            """,
        "phintys.tensor.sets": """
            intersect1d isin setdiff1d setxor1d union1d unique unique_all unique_counts
            unique_inverse unique_values
            """,
        "phintys.tensor.shapes": """
            Shape ShapeI SpecifyShape shape shape_i shape_tuple size specify_broadcastable
            specify_shape
            """,
        "phintys.tensor.sharding": "with_sharding",
        "phintys.tensor.signal": "",
        "phintys.tensor.size_check": "SizeCheck",
        "phintys.tensor.softmaxes": "LogSoftmax LogSumExp Softmax logsumexp",
        "phintys.tensor.sorting": "ArgSortOp SortOp argsort sort",
        "phintys.tensor.special": "",
        "phintys.tensor.standard": """
            NamespaceInfo __array_namespace_info__ around array asarray ascontiguousarray astype
            concat copy e euler_gamma from_dlpack inf nan newaxis permute_dims pi
            """,
        "phintys.tensor.statistics.counting": """
            array_equal array_equiv bincount count_nonzero histogram histogram_bin_edges
            """,
        "phintys.tensor.statistics.covariances": "corrcoef cov",
        "phintys.tensor.statistics.histograms": "histogram2d histogramdd",
        "phintys.tensor.statistics.moments": "average mean std var",
        "phintys.tensor.statistics.nans": """
            nan_to_num nanargmax nanargmin nancumprod nancumsum nanmax nanmean nanmin nanprod nanstd
            nansum nanvar
            """,
        "phintys.tensor.statistics.quantiles": """
            median nanmedian nanpercentile nanquantile percentile quantile
            """,
        "phintys.tensor.tiling": "RepeatIndex repeat roll tile",
    },
    "phintys.tensor.batching": {
        "phintys.tensor.batching.blockwise": "Blockwise",
        "phintys.tensor.batching.engine": "Batch vectorize_graph",
        "phintys.tensor.batching.functions": "vectorize",
        "phintys.tensor.batching.rules": "BATCHING batches",
    },
    "phintys.tensor.indexing": {
        "phintys.tensor.indexing.advanced": "AdvancedSubtensor",
        "phintys.tensor.indexing.basic": "Subtensor",
        "phintys.tensor.indexing.parse": "index",
        "phintys.tensor.indexing.setting": "inc_subtensor set_subtensor take",
        "phintys.tensor.indexing.template": """
            ARRAY FULL Mask NEWAXIS SCALAR SEPARATOR Slice numpy_index
            """,
        "phintys.tensor.indexing.update": "AdvancedIncSubtensor IncSubtensor",
    },
    "phintys.tensor.linalg": {
        "phintys.tensor.linear_algebra.banded": "solve_banded solveh_banded",
        "phintys.tensor.linear_algebra.cholesky": "cho_factor cho_solve cholesky cholesky_update",
        "phintys.tensor.linear_algebra.determinants": "det slogdet",
        "phintys.tensor.linear_algebra.eigen": "eig eigh eigvals eigvalsh",
        "phintys.tensor.linear_algebra.least_squares": "lstsq pinv",
        "phintys.tensor.linear_algebra.lu": "lu lu_factor lu_solve pivot_to_permutation",
        "phintys.tensor.linear_algebra.matrix_equations": """
            solve_continuous_are solve_continuous_lyapunov solve_discrete_are
            solve_discrete_lyapunov
            """,
        "phintys.tensor.linear_algebra.matrix_functions": "logm sqrtm",
        "phintys.tensor.linear_algebra.norms": "cond matrix_norm norm vector_norm",
        "phintys.tensor.linear_algebra.patterned": """
            block_diag circulant hankel tensorinv tensorsolve toeplitz
            """,
        "phintys.tensor.linear_algebra.powers": "expm matrix_dot matrix_power multi_dot",
        "phintys.tensor.linear_algebra.qr": "qr",
        "phintys.tensor.linear_algebra.schur": "ordqz qz schur solve_sylvester",
        "phintys.tensor.linear_algebra.singular_values": "matrix_rank svd svdvals",
        "phintys.tensor.linear_algebra.solving": "inv matrix_inverse solve",
        "phintys.tensor.linear_algebra.toeplitz_systems": "solve_toeplitz",
        "phintys.tensor.linear_algebra.triangular": "solve_triangular",
        "phintys.tensor.linear_algebra.tridiagonal": "tridiagonal_lu_factor tridiagonal_lu_solve",
        "phintys.tensor.linear_algebra.vectors": "matvec vecdot vecmat",
    },
}
"""Packages -> the modules of their late names -> these names, or none for a module."""

FLOAT_FUNCTIONS: dict[str, str] = {
    "phintys.backends.native.assembler.math.arithmetic": """
        abs add ceil clip conj copysign floor fmax fmin fmod heaviside int_div maximum minimum mod
        mul neg nextafter pos reciprocal rint round_half_away sign spacing sqr sub true_div trunc
        """,
    "phintys.backends.native.assembler.math.bessel": "i0 i1 iv ive j0 j1 kv kve",
    "phintys.backends.native.assembler.math.bessel_recurrence": "jv yv",
    "phintys.backends.native.assembler.math.bessel_slopes": "log_ive_slope log_kve_slope",
    "phintys.backends.native.assembler.math.error_function": "erf erfc erfcx log_ndtr ndtr",
    "phintys.backends.native.assembler.math.exponential": """
        exp exp2 exp2_share exp_of_product exp_share expm1 sigmoid
        """,
    "phintys.backends.native.assembler.math.exponential_integrals": "expi",
    "phintys.backends.native.assembler.math.gamma": "trigamma",
    "phintys.backends.native.assembler.math.gamma_quotients": """
        beta beta_density binom gamma_density poch
        """,
    "phintys.backends.native.assembler.math.gamma_slopes": "log_gamma_slope",
    "phintys.backends.native.assembler.math.hyperbolic": "arccosh arcsinh arctanh cosh sinh tanh",
    "phintys.backends.native.assembler.math.log_beta": "betaln",
    "phintys.backends.native.assembler.math.log_gamma": "digamma gammaln",
    "phintys.backends.native.assembler.math.logarithm": """
        log log10 log1mexp log1p log2 log_sigmoid logaddexp logaddexp2 softplus xlog1py xlogy
        """,
    "phintys.backends.native.assembler.math.power": "cbrt hypot pow pow_less_one sqrt",
    "phintys.backends.native.assembler.math.trigonometric": """
        arccos arcsin arctan arctan2 cos deg2rad rad2deg sin tan
        """,
    "phintys.backends.native.assembler.math.zeta": "zeta",
}
"""Modules -> the scalar ops whose code for floats they have."""

INTEGER_FUNCTIONS: dict[str, str] = {
    "phintys.backends.native.assembler.math.arithmetic": "clip fmax fmin maximum minimum",
    "phintys.backends.native.assembler.math.integer": """
        abs add and_ ceil conj floor fmod gcd int_div invert lcm left_shift mod mul neg or_ pos pow
        reciprocal right_shift sign sqr sub trunc xor
        """,
}
"""Modules -> the scalar ops whose code for integers they have."""

JAX_RULES: dict[str, str] = {
    "phintys.backends.jax.rules.functions": "JaxOp",
    "phintys.backends.jax.rules.indexing": """
        AdvancedIncSubtensor AdvancedSubtensor IncSubtensor Nonzero RepeatIndex Subtensor
        """,
    "phintys.backends.jax.rules.linear_algebra": """
        Cholesky CholeskyInverse CholeskyUpdate Det Eig Eigh Eigvals Expm ExpmDerivative Inv
        LUFactor PackedQR PermuteRows PivotToPermutation PivotedQR QR SVD SlogDet Solve
        SolveTriangular
        """,
    "phintys.backends.jax.rules.loops": "OpFromGraph RowLoop Scan _CountSteps",
    "phintys.backends.jax.rules.products": """
        BatchedDot Conv ConvByFilters ConvByImages Convolve Dot FFT Gemm IRFFT MaxPool RFFT
        """,
    "phintys.backends.jax.rules.random_bits": """
        Advance FoldIn Jump Positions RandomBits SplitState StateOfWords StateWords
        """,
    "phintys.backends.jax.rules.reductions": """
        ArgExtremeAlong ArgPartitionOp ArgSortOp CumOp LinearRecurrence LogSoftmax LogSumExp
        PartitionOp Reduce RowOrder RunningArgExtreme RunningExtreme SearchSorted SegmentReduce
        Softmax SoftmaxOrZero SortOp _ArgExtreme
        """,
    "phintys.backends.jax.rules.scalars": "Elemwise",
    "phintys.backends.jax.rules.shapes": """
        ARange Alloc AllocDiag AllocEmpty Assume CheckAndRaise DimShuffle ExtractDiag Fence
        GradientMark Join MakeVector Print Reshape ScalarFromTensor Shape ShapeI SizeCheck
        SpecifyShape Split TensorFromScalar WithSharding
        """,
    "phintys.backends.jax.rules.sparse": """
        EntryPlaces EntryProduct PatternOp PlacesIn ProductByColumns ProductByRows ProductGradients
        ProductOfRows ProductWithPattern
        """,
    "phintys.backends.jax.rules.sparse_systems": """
        Factorize InverseAtEntries LogDet LowerFactor RootFactor RootFactorGradient SelectedInverse
        SolveByFactors SolveTriangularMatrix
        """,
}
"""Modules -> the classes of Ops that they convert to functions of JAX."""

LOWERINGS: dict[str, str] = {
    "phintys.backends.native.lower.banded": "SolveBanded SolveTridiagonalLU TridiagonalLU",
    "phintys.backends.native.lower.counting": "Nonzero RepeatIndex",
    "phintys.backends.native.lower.cumulative": """
        CumOp LinearRecurrence RunningArgExtreme RunningExtreme
        """,
    "phintys.backends.native.lower.decompositions": "PackedQR PivotedQR QR SVD",
    "phintys.backends.native.lower.elemwise": "DimShuffle Elemwise",
    "phintys.backends.native.lower.fourier": "FFT IRFFT RFFT",
    "phintys.backends.native.lower.from_graph": "OpFromGraph",
    "phintys.backends.native.lower.general_eigen": "Eig Eigvals",
    "phintys.backends.native.lower.if_else": "IfElse",
    "phintys.backends.native.lower.images": "Conv ConvByFilters ConvByImages Convolve MaxPool",
    "phintys.backends.native.lower.indexing": """
        AdvancedIncSubtensor AdvancedSubtensor IncSubtensor Subtensor
        """,
    "phintys.backends.native.lower.linear_algebra": """
        Cholesky CholeskyAdjoint CholeskyInverse CholeskyUpdate Eigh LUFactor PermuteRows
        SolveTriangular
        """,
    "phintys.backends.native.lower.matrix_functions": "Expm ExpmDerivative Logm Sqrtm",
    "phintys.backends.native.lower.observing": "Assume CheckAndRaise Fence WithSharding",
    "phintys.backends.native.lower.products": "BatchedDot Dot Gemm",
    "phintys.backends.native.lower.random": """
        Advance FoldIn Jump NumpyDraw NumpyIntegers Positions RandomBits SplitState StateOfWords
        StateWords
        """,
    "phintys.backends.native.lower.ranges": "ARange",
    "phintys.backends.native.lower.reduce": "Reduce",
    "phintys.backends.native.lower.row_loop": "RowLoop",
    "phintys.backends.native.lower.scan": "Scan StepCount",
    "phintys.backends.native.lower.schur_forms": "QZ QuasiTriangularSylvester Schur",
    "phintys.backends.native.lower.searching": "ArgExtremeAlong Argmax Argmin SearchSorted",
    "phintys.backends.native.lower.segments": "SegmentReduce",
    "phintys.backends.native.lower.shapes": """
        Alloc AllocDiag AllocEmpty ExtractDiag GradientMark Join MakeVector Reshape Shape ShapeI
        SizeCheck SpecifyShape Split
        """,
    "phintys.backends.native.lower.softmaxes": "LogSoftmax LogSumExp Softmax SoftmaxOrZero",
    "phintys.backends.native.lower.solving_by_factors": """
        Det Inv Lstsq Pinv SlogDet Solve Sylvester
        """,
    "phintys.backends.native.lower.sorting": "ArgPartitionOp ArgSortOp PartitionOp RowOrder SortOp",
    "phintys.backends.native.lower.sparse": """
        CommonPattern Converted EntryPlaces FirstAtEntries MergedPattern PlacesIn ProductAtEntries
        ProductByColumns ProductByRows ProductGradients ProductOfRows ProductPattern
        ProductWithPattern SecondAtEntries SelectedInverse
        """,
    "phintys.backends.native.lower.user_functions": "NativeCall",
}
"""Modules -> the classes of Ops that they lower to native code."""

MODES: dict[str, str] = {
    "phintys.backends.jax.modes": "jax",
    "phintys.compile.debug_mode": "DEBUG_MODE DebugMode debug",
    "phintys.compile.mode": "FAST_COMPILE FAST_RUN native reference",
    "phintys.compile.monitor": "NanGuardMode",
}
"""Modules -> the modes that they register, and other names of these."""

OUTLINED_FUNCTIONS: dict[str, str] = {
    "phintys.backends.native.assembler.random": "random_bits",
    "phintys.backends.native.routines.blocked_factors": "blocked_cholesky blocked_inverse",
    "phintys.backends.native.routines.fourier": "fourier fourier_of_real fourier_to_real",
    "phintys.backends.native.routines.image_parts": "image_filters image_spread image_sums",
    "phintys.backends.native.routines.images": "max_pooled",
    "phintys.backends.native.routines.ordering": "sorting_order",
    "phintys.backends.native.routines.outlined_products": "product",
    "phintys.backends.native.routines.product_parts": "product_parts vector_parts",
    "phintys.backends.native.routines.small_factors": "lu triangle",
    "phintys.backends.native.routines.tiled_factors": "cholesky cholesky_inverse",
    "phintys.backends.native.routines.times_vectors": "columns rows",
}
"""Modules -> the outlined functions that they write, beside vector math."""

PATTERNS: dict[str, str] = {
    "phintys.control.patterns": "Fence IfElse OpFromGraph Scan",
    "phintys.gradient.patterns.arrays": """
        AdvancedIncSubtensor AdvancedSubtensor Alloc AllocDiag ArgExtremeAlong Assume CheckAndRaise
        CumOp DimShuffle DisconnectedGrad Elemwise ExtractDiag FFT GradientMark IRFFT IncSubtensor
        Join LinearRecurrence LogSoftmax LogSumExp MakeVector PartitionOp Print RFFT Reduce Reshape
        RunningExtreme ScalarFromTensor ScalarOp SegmentReduce Softmax SortOp SpecifyShape Split
        Subtensor TensorFromScalar WithSharding ZeroGrad
        """,
    "phintys.gradient.patterns.multiplying": """
        BatchedDot Blockwise Conv ConvByFilters ConvByImages Convolve Dot MatrixOp
        """,
    "phintys.sparse.dependence": """
        ElementsAt FirstAtEntries FromParts Parts ProductAtEntries ProductByColumns ProductByRows
        ProductOfRows SecondAtEntries
        """,
}
"""Modules -> the classes of Ops for which they have rules of sparsity patterns."""

REWRITERS: dict[str, dict[str, str]] = {
    "phintys.passes.choices": {
        "combine_choices": "IfElse",
    },
    "phintys.passes.loop_merging": {
        "combine_loops": "Scan",
    },
}
"""Modules -> their rewriters of whole graphs -> the Ops that these need."""

RULES: dict[str, dict[str, str]] = {
    "phintys.passes.batching": {
        "CANONICAL_STACKS": "MatrixOp",
        "CANONICAL_BATCHING": "Blockwise",
    },
    "phintys.passes.blas": {
        "BLAS": "Dot",
    },
    "phintys.passes.choices": {
        "CANONICAL_CHOICES": "IfElse",
    },
    "phintys.passes.factors": {
        "EXPAND_FACTORS": "CholeskyAdjoint",
    },
    "phintys.passes.indexing": {
        "CANONICAL_INDEXING": "Subtensor",
        "KNOWN_PARTS": "Subtensor",
    },
    "phintys.passes.linear_algebra": {
        "STABILIZE_LINEAR_ALGEBRA": """
            ARange AllocDiag Assume Cholesky Det ExtractDiag Inv SlogDet Solve
            """,
        "EXPAND_LINEAR_ALGEBRA": "Cholesky Det Inv SlogDet Solve Sylvester",
        "EXPAND_LEAST_SQUARES": "Lstsq Pinv",
    },
    "phintys.passes.loop_arguments": {
        "LOOP_ARGUMENTS": "Scan",
    },
    "phintys.passes.loop_states": {
        "LOOP_STATES": "Scan",
    },
    "phintys.passes.loop_sums": {
        "CANONICAL_LOOPS": "Scan",
        "LOOP_SUMS": "Scan",
    },
    "phintys.passes.loop_unrolling": {
        "LOOP_UNROLLING": "Scan",
    },
    "phintys.passes.loop_work": {
        "LOOP_WORK": "Scan",
    },
    "phintys.passes.marks": {
        "CANONICAL_GRADIENT": "GradientMark",
        "CANONICAL_SHARDING": "WithSharding",
        "CANONICAL_FENCES": "Fence",
        "CANONICAL_CHECKS": "CheckAndRaise",
    },
    "phintys.passes.products": {
        "CANONICAL_DOT": "BatchedDot Dot",
        "STABILIZE_PRODUCTS": "Dot",
    },
    "phintys.passes.reduce": {
        "CANONICAL_REDUCE": "Reduce",
        "STABILIZE_REDUCE": "Reduce",
    },
    "phintys.passes.shapes": {
        "CANONICAL_DIMSHUFFLE": "DimShuffle",
        "CANONICAL_JOIN": "Join",
        "CANONICAL_SHAPE": "Alloc Reshape SpecifyShape",
    },
    "phintys.passes.sparse": {
        "CANONICAL_SPARSE": "CommonPattern ElementsAt MergedPattern Parts",
        "EXPAND_SPARSE": """
            ElementsAt InverseAtEntries ProductAtEntries ProductOfRows ProductPattern
            """,
    },
    "phintys.passes.stabilize": {
        "STABILIZE": """
            LogSoftmax LogSumExp Softmax cosh erf erfc exp exp2 expm1 log log10 log1p log2 log_ndtr
            log_sigmoid ndtr sigmoid softplus
            """,
    },
    "phintys.passes.updates": {
        "CANONICAL_UPDATES": "IncSubtensor",
        "SPECIALIZE_UPDATES": "AdvancedIncSubtensor IncSubtensor",
        "CANONICAL_SCATTERED": "AdvancedIncSubtensor IncSubtensor",
        "SPECIALIZE_SCATTERED": "AdvancedIncSubtensor IncSubtensor",
    },
}
"""Modules -> their tuples of rules -> the Ops that these need."""

SCALAR_CODE: dict[str, str] = {
    "phintys.backends.native.assembler.random": """
        FloatBits FloatOfBits RandomWord RareCase Rejection
        """,
    "phintys.backends.native.assembler.user_functions": "NativeScalar",
}
"""Modules -> the classes of scalar ops whose code they have."""

SHARED_CONSTRUCTORS: dict[str, str] = {
    "phintys.random.generators.numpy_generators": "Generator",
    "phintys.sparse.variable": "sparray spmatrix",
}
"""Modules -> the classes of values that they make shared variables of."""

TRANSFERS: dict[str, str] = {
    "phintys.backends.jax.meshes": "cpu cuda gpu rocm tpu",
}
"""Modules -> the platforms to whose devices they transfer."""
