# Written by `make stubs`, from the rows in phintys/scalar/.

from phintys.tensor.elemwise import Elemwise

__all__ = [
    "abs_inplace",
    "add_inplace",
    "and_inplace",
    "angle_inplace",
    "arccos_inplace",
    "arccosh_inplace",
    "arcsin_inplace",
    "arcsinh_inplace",
    "arctan2_inplace",
    "arctan2_slope_inplace",
    "arctan_inplace",
    "arctanh_inplace",
    "beta_density_inplace",
    "beta_inplace",
    "betainc_by_a_inplace",
    "betainc_by_b_inplace",
    "betainc_inplace",
    "betaincc_inplace",
    "betainccinv_inplace",
    "betaincinv_inplace",
    "betaln_inplace",
    "binom_inplace",
    "bitwise_count_inplace",
    "boxcox1p_inplace",
    "boxcox_inplace",
    "cbrt_inplace",
    "ceil_inplace",
    "clip_inplace",
    "complex_from_polar_inplace",
    "complex_inplace",
    "conj_inplace",
    "copysign_inplace",
    "cos_inplace",
    "cosh_inplace",
    "cosine_integral_inplace",
    "dawsn_inplace",
    "deg2rad_inplace",
    "digamma_difference_inplace",
    "digamma_inplace",
    "entr_inplace",
    "eq_inplace",
    "erf_inplace",
    "erfc_inplace",
    "erfcinv_inplace",
    "erfcx_inplace",
    "erfinv_inplace",
    "exp1_inplace",
    "exp2_inplace",
    "exp2_share_inplace",
    "exp_inplace",
    "exp_of_product_inplace",
    "exp_of_square_inplace",
    "exp_share_inplace",
    "expi_inplace",
    "expm1_inplace",
    "expn_inplace",
    "factorial_inplace",
    "floor_inplace",
    "fmax_inplace",
    "fmin_inplace",
    "fmod_inplace",
    "fresnel_cosine_inplace",
    "fresnel_sine_inplace",
    "gamma_density_inplace",
    "gamma_inplace",
    "gammainc_inplace",
    "gammaincc_inplace",
    "gammainccinv_inplace",
    "gammaincinv_inplace",
    "gammaln_inplace",
    "gcd_inplace",
    "ge_inplace",
    "gt_inplace",
    "heaviside_inplace",
    "hyp1f1_by_a_inplace",
    "hyp1f1_by_b_inplace",
    "hyp1f1_inplace",
    "hyp2f1_by_a_inplace",
    "hyp2f1_by_c_inplace",
    "hyp2f1_inplace",
    "hypot_inplace",
    "hypot_slope_inplace",
    "i0_inplace",
    "i0e_inplace",
    "i0e_less_i1e_inplace",
    "i1_inplace",
    "i1e_inplace",
    "imag_inplace",
    "int_div_inplace",
    "invert_inplace",
    "isfinite_inplace",
    "isinf_inplace",
    "isnan_inplace",
    "iv_inplace",
    "ive_inplace",
    "j0_inplace",
    "j1_inplace",
    "jv_inplace",
    "kl_div_inplace",
    "kv_inplace",
    "kve_inplace",
    "lcm_inplace",
    "le_inplace",
    "left_shift_inplace",
    "log1mexp_inplace",
    "log1p_inplace",
    "log2_inplace",
    "log10_inplace",
    "log_gamma_bend_inplace",
    "log_gamma_slope_inplace",
    "log_inplace",
    "log_ive_slope_inplace",
    "log_kve_slope_inplace",
    "log_ndtr_inplace",
    "log_sigmoid_inplace",
    "logaddexp2_inplace",
    "logaddexp_inplace",
    "logical_and_inplace",
    "logical_not_inplace",
    "logical_or_inplace",
    "logical_xor_inplace",
    "logit_inplace",
    "lt_inplace",
    "maximum_inplace",
    "minimum_inplace",
    "mod_inplace",
    "mul_inplace",
    "ndtr_inplace",
    "ndtri_exp_inplace",
    "ndtri_inplace",
    "neg_inplace",
    "neq_inplace",
    "nextafter_inplace",
    "or_inplace",
    "owens_t_inplace",
    "poch_inplace",
    "polygamma_inplace",
    "pos_inplace",
    "pow_inplace",
    "pow_less_one_inplace",
    "rad2deg_inplace",
    "real_inplace",
    "reciprocal_inplace",
    "rel_entr_inplace",
    "right_shift_inplace",
    "rint_inplace",
    "round_half_away_inplace",
    "second_inplace",
    "sigmoid_inplace",
    "sign_inplace",
    "signbit_inplace",
    "sin_inplace",
    "sinc_inplace",
    "sine_integral_inplace",
    "sinh_inplace",
    "softplus_inplace",
    "spacing_inplace",
    "spence_inplace",
    "sqr_inplace",
    "sqrt_inplace",
    "sub_inplace",
    "switch_inplace",
    "tan_inplace",
    "tanh_inplace",
    "trigamma_inplace",
    "true_div_inplace",
    "trunc_inplace",
    "xlog1py_inplace",
    "xlogx_inplace",
    "xlogy_inplace",
    "xor_inplace",
    "yv_inplace",
    "zeta_inplace",
]

abs_inplace: Elemwise
add_inplace: Elemwise
and_inplace: Elemwise
angle_inplace: Elemwise
arccos_inplace: Elemwise
arccosh_inplace: Elemwise
arcsin_inplace: Elemwise
arcsinh_inplace: Elemwise
arctan2_inplace: Elemwise
arctan2_slope_inplace: Elemwise
arctan_inplace: Elemwise
arctanh_inplace: Elemwise
beta_density_inplace: Elemwise
beta_inplace: Elemwise
betainc_by_a_inplace: Elemwise
betainc_by_b_inplace: Elemwise
betainc_inplace: Elemwise
betaincc_inplace: Elemwise
betainccinv_inplace: Elemwise
betaincinv_inplace: Elemwise
betaln_inplace: Elemwise
binom_inplace: Elemwise
bitwise_count_inplace: Elemwise
boxcox1p_inplace: Elemwise
boxcox_inplace: Elemwise
cbrt_inplace: Elemwise
ceil_inplace: Elemwise
clip_inplace: Elemwise
complex_from_polar_inplace: Elemwise
complex_inplace: Elemwise
conj_inplace: Elemwise
copysign_inplace: Elemwise
cos_inplace: Elemwise
cosh_inplace: Elemwise
cosine_integral_inplace: Elemwise
dawsn_inplace: Elemwise
deg2rad_inplace: Elemwise
digamma_difference_inplace: Elemwise
digamma_inplace: Elemwise
entr_inplace: Elemwise
eq_inplace: Elemwise
erf_inplace: Elemwise
erfc_inplace: Elemwise
erfcinv_inplace: Elemwise
erfcx_inplace: Elemwise
erfinv_inplace: Elemwise
exp1_inplace: Elemwise
exp2_inplace: Elemwise
exp2_share_inplace: Elemwise
exp_inplace: Elemwise
exp_of_product_inplace: Elemwise
exp_of_square_inplace: Elemwise
exp_share_inplace: Elemwise
expi_inplace: Elemwise
expm1_inplace: Elemwise
expn_inplace: Elemwise
factorial_inplace: Elemwise
floor_inplace: Elemwise
fmax_inplace: Elemwise
fmin_inplace: Elemwise
fmod_inplace: Elemwise
fresnel_cosine_inplace: Elemwise
fresnel_sine_inplace: Elemwise
gamma_density_inplace: Elemwise
gamma_inplace: Elemwise
gammainc_inplace: Elemwise
gammaincc_inplace: Elemwise
gammainccinv_inplace: Elemwise
gammaincinv_inplace: Elemwise
gammaln_inplace: Elemwise
gcd_inplace: Elemwise
ge_inplace: Elemwise
gt_inplace: Elemwise
heaviside_inplace: Elemwise
hyp1f1_by_a_inplace: Elemwise
hyp1f1_by_b_inplace: Elemwise
hyp1f1_inplace: Elemwise
hyp2f1_by_a_inplace: Elemwise
hyp2f1_by_c_inplace: Elemwise
hyp2f1_inplace: Elemwise
hypot_inplace: Elemwise
hypot_slope_inplace: Elemwise
i0_inplace: Elemwise
i0e_inplace: Elemwise
i0e_less_i1e_inplace: Elemwise
i1_inplace: Elemwise
i1e_inplace: Elemwise
imag_inplace: Elemwise
int_div_inplace: Elemwise
invert_inplace: Elemwise
isfinite_inplace: Elemwise
isinf_inplace: Elemwise
isnan_inplace: Elemwise
iv_inplace: Elemwise
ive_inplace: Elemwise
j0_inplace: Elemwise
j1_inplace: Elemwise
jv_inplace: Elemwise
kl_div_inplace: Elemwise
kv_inplace: Elemwise
kve_inplace: Elemwise
lcm_inplace: Elemwise
le_inplace: Elemwise
left_shift_inplace: Elemwise
log1mexp_inplace: Elemwise
log1p_inplace: Elemwise
log2_inplace: Elemwise
log10_inplace: Elemwise
log_gamma_bend_inplace: Elemwise
log_gamma_slope_inplace: Elemwise
log_inplace: Elemwise
log_ive_slope_inplace: Elemwise
log_kve_slope_inplace: Elemwise
log_ndtr_inplace: Elemwise
log_sigmoid_inplace: Elemwise
logaddexp2_inplace: Elemwise
logaddexp_inplace: Elemwise
logical_and_inplace: Elemwise
logical_not_inplace: Elemwise
logical_or_inplace: Elemwise
logical_xor_inplace: Elemwise
logit_inplace: Elemwise
lt_inplace: Elemwise
maximum_inplace: Elemwise
minimum_inplace: Elemwise
mod_inplace: Elemwise
mul_inplace: Elemwise
ndtr_inplace: Elemwise
ndtri_exp_inplace: Elemwise
ndtri_inplace: Elemwise
neg_inplace: Elemwise
neq_inplace: Elemwise
nextafter_inplace: Elemwise
or_inplace: Elemwise
owens_t_inplace: Elemwise
poch_inplace: Elemwise
polygamma_inplace: Elemwise
pos_inplace: Elemwise
pow_inplace: Elemwise
pow_less_one_inplace: Elemwise
rad2deg_inplace: Elemwise
real_inplace: Elemwise
reciprocal_inplace: Elemwise
rel_entr_inplace: Elemwise
right_shift_inplace: Elemwise
rint_inplace: Elemwise
round_half_away_inplace: Elemwise
second_inplace: Elemwise
sigmoid_inplace: Elemwise
sign_inplace: Elemwise
signbit_inplace: Elemwise
sin_inplace: Elemwise
sinc_inplace: Elemwise
sine_integral_inplace: Elemwise
sinh_inplace: Elemwise
softplus_inplace: Elemwise
spacing_inplace: Elemwise
spence_inplace: Elemwise
sqr_inplace: Elemwise
sqrt_inplace: Elemwise
sub_inplace: Elemwise
switch_inplace: Elemwise
tan_inplace: Elemwise
tanh_inplace: Elemwise
trigamma_inplace: Elemwise
true_div_inplace: Elemwise
trunc_inplace: Elemwise
xlog1py_inplace: Elemwise
xlogx_inplace: Elemwise
xlogy_inplace: Elemwise
xor_inplace: Elemwise
yv_inplace: Elemwise
zeta_inplace: Elemwise
