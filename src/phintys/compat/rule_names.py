"""Single rewrites of the old packages -> the rules of Phintys that do the same.

Only those are listed whose equations are among those of the rules. A rule may do more than the old
rewrite did: leaving it out leaves that out as well, which changes no result.
"""

from __future__ import annotations

__all__ = ["OLD_RULES", "rules_of"]

OLD_RULES = {
    # elements
    "local_abs_lift": "drop_sign_of_argument",
    "local_add_canonizer": "collect_terms merge_constants subtract_constant cancel_integers",
    "local_cast_cast": "merge_casts drop_useless_cast",
    "local_elemwise_alloc": "drop_fill_of_operand elemwise_before_fill",
    "local_exp_log": "log_of_exp exp_of_log",
    "local_exp_log_nan_switch": "log_of_exp exp_of_log",
    "local_exp_over_1_plus_exp": "quotient_to_sigmoid",
    "local_expm1": "function_minus_one",
    "local_fill_sink": "drop_fill_of_operand elemwise_before_fill",
    "local_fill_to_alloc": "fill_to_alloc",
    "local_intdiv_by_one": "divide_by_one",
    "local_log1p": "log_of_one_plus log_of_one_minus",
    "local_log1p_plusminus_exp": "log1p_of_exp log1p_of_minus_exp",
    "local_log_add_exp": "log_of_exp_plus_exp",
    "local_merge_switch_same_cond": "switch_twice",
    "local_mul_canonizer": "collect_factors merge_constants merge_scales",
    "local_mul_exp_to_exp_add": "merge_exponentials",
    "local_mul_pow_to_pow_add": "collect_factors",
    "local_neg_div_neg": "sign_out_of_quotient",
    "local_neg_neg": "undo_involution",
    "local_one_minus_erf": "one_minus_function",
    "local_one_plus_erf": "one_plus_erf",
    "local_pow_canonicalize": "simple_power",
    "local_pow_specialize": "expand_power simple_power",
    "local_remove_useless_assert": "drop_true_conditions",
    "local_sqrt_sqr": "root_of_square",
    "local_useless_elemwise": "drop_identity_function drop_repeated_operand drop_identity",
    "local_useless_elemwise_comparison": "compare_with_itself compare_size_with_negative",
    "local_useless_fill": "drop_useless_fill",
    "local_useless_switch": "decide_switch",
    "log1p_neg_sigmoid": "log1p_of_minus_sigmoid",
    "log1msigm_to_softplus": "log1p_of_minus_sigmoid",
    # reductions
    "local_cut_useless_reduce": "drop_axes_of_size_one",
    "local_useless_reduce": "drop_axes_of_size_one",
    "local_op_of_op": "merge_reductions",
    "local_reduce_broadcastable": "drop_axes_of_size_one",
    "local_sum_prod_mul_by_scalar": "factor_out_of_sum",
    "local_sum_prod_of_mul_or_div": "factor_out_of_sum",
    # shapes
    "local_alloc_sink_dimshuffle": "dimshuffle_of_alloc",
    "local_canonicalize_alloc": "drop_useless_alloc merge_allocs",
    "local_dimshuffle_alloc": "dimshuffle_of_alloc",
    "local_dimshuffle_lift": "merge_dimshuffles drop_useless_dimshuffle dimshuffle_before_elemwise",
    "local_useless_alloc": "drop_useless_alloc",
    "local_useless_dimshuffle_in_reshape": "reshape_of_dimshuffle",
    "local_reshape_chain": "merge_reshapes",
    "local_reshape_to_dimshuffle": "reshape_to_dimshuffle",
    "local_useless_reshape": "drop_useless_reshape",
    "local_join_1": "join_of_one",
    "local_join_empty": "drop_empty_parts",
    # indexing
    "local_subtensor_inc_subtensor": "read_what_was_set read_what_was_incremented",
    "local_subtensor_lift": "index_before_elemwise index_before_dimshuffle",
    "local_subtensor_merge": "merge_indices",
    "local_subtensor_of_alloc": "index_before_alloc",
    "local_subtensor_of_dot": "index_before_dot",
    "local_subtensor_of_join": "index_before_join",
    "local_subtensor_of_reduce": "index_before_reduction",
    "local_useless_slice": "drop_full_slices",
    "local_useless_subtensor": "drop_full_slices",
    # products and matrices
    "inv_as_solve": "inv_times",
    "inv_to_solve": "inv_times",
    "local_lift_transpose_through_dot": "transpose_of_dot",
    "psd_solve_to_chol_solve": "solve_with_structure",
    "psd_solve_with_chol": "solve_with_structure",
    "slogdet_specialization": "log_of_det log_of_abs_det",
    # loops
    "scanOp_pushout_nonseqs_ops": "hoist_invariant_work",
    "scanOp_pushout_output": "multiply_after_loop",
    "scanOp_pushout_seqs_ops": "multiply_before_loop",
    "scan_pushout": "hoist_invariant_work multiply_before_loop multiply_after_loop "
    "sum_products_after_loop",
    "scan_pushout_add": "sum_products_after_loop",
    "scan_pushout_dot1": "sum_products_after_loop",
    "scan_push_out_seq": "multiply_before_loop",
    "scan_push_out_non_seq": "hoist_invariant_work",
    "scan_push_out_dot1": "sum_products_after_loop",
    "scan_pushout_nonseqs_ops": "hoist_invariant_work",
    "scan_pushout_seqs_ops": "multiply_before_loop",
    "scan_save_mem": "keep_last_rows keep_later_rows",
    "scan_save_mem_no_prealloc": "keep_last_rows keep_later_rows",
    "scan_save_mem_prealloc": "keep_last_rows keep_later_rows",
    "scanOp_save_mem": "keep_last_rows keep_later_rows",
    "scan_merge": "combine_loops",
    "scanOp_merge": "combine_loops",
}


def rules_of(name: str) -> frozenset[str]:
    """Return the names of the rules and passes that a name stands for: at least itself.

    Examples
    --------
    >>> from phintys.compat.rule_names import rules_of
    >>> sorted(rules_of("local_subtensor_merge"))
    ['local_subtensor_merge', 'merge_indices']
    """
    return frozenset({name, *OLD_RULES.get(name, "").split()})
