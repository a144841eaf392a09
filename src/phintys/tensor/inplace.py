"""The elementwise ops that overwrite their first operand.

``add_inplace(x, y)`` returns the sum in the memory of ``x``, which is destroyed. Graphs are built
from the pure ops; rewrites introduce these where ``x`` is not used afterwards. The operand must
have the dtype and the size of the result.

Examples
--------
>>> import phintys.tensor as pt
>>> from phintys.tensor.inplace import add_inplace
>>> add_inplace.destroy_map
{0: [0]}
"""

from phintys import scalar as ps
from phintys._base.public import public_dir
from phintys.tensor.elemwise import Elemwise, name_functions

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
    "arctan_inplace",
    "arctanh_inplace",
    "beta_inplace",
    "betainc_inplace",
    "betaln_inplace",
    "cbrt_inplace",
    "ceil_inplace",
    "clip_inplace",
    "complex_from_polar_inplace",
    "complex_inplace",
    "conj_inplace",
    "copysign_inplace",
    "cos_inplace",
    "cosh_inplace",
    "deg2rad_inplace",
    "digamma_inplace",
    "eq_inplace",
    "erf_inplace",
    "erfc_inplace",
    "erfcinv_inplace",
    "erfcx_inplace",
    "erfinv_inplace",
    "exp2_inplace",
    "exp_inplace",
    "expm1_inplace",
    "floor_inplace",
    "fmax_inplace",
    "fmin_inplace",
    "fmod_inplace",
    "gamma_inplace",
    "gammainc_inplace",
    "gammaincc_inplace",
    "gammaln_inplace",
    "ge_inplace",
    "gt_inplace",
    "heaviside_inplace",
    "hypot_inplace",
    "i0_inplace",
    "i0e_inplace",
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
    "kv_inplace",
    "kve_inplace",
    "le_inplace",
    "left_shift_inplace",
    "log1mexp_inplace",
    "log1p_inplace",
    "log2_inplace",
    "log10_inplace",
    "log_inplace",
    "log_ndtr_inplace",
    "log_sigmoid_inplace",
    "logaddexp2_inplace",
    "logaddexp_inplace",
    "logical_and_inplace",
    "logical_not_inplace",
    "logical_or_inplace",
    "logical_xor_inplace",
    "lt_inplace",
    "maximum_inplace",
    "minimum_inplace",
    "mod_inplace",
    "mul_inplace",
    "ndtr_inplace",
    "ndtri_inplace",
    "neg_inplace",
    "neq_inplace",
    "nextafter_inplace",
    "or_inplace",
    "owens_t_inplace",
    "polygamma_inplace",
    "pos_inplace",
    "pow_inplace",
    "rad2deg_inplace",
    "real_inplace",
    "reciprocal_inplace",
    "right_shift_inplace",
    "rint_inplace",
    "round_half_away_inplace",
    "second_inplace",
    "sigmoid_inplace",
    "sign_inplace",
    "signbit_inplace",
    "sin_inplace",
    "sinh_inplace",
    "softplus_inplace",
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
    "xlogy_inplace",
    "xor_inplace",
    "yv_inplace",
]


def _inplace(scalar_op: ps.ScalarOp) -> Elemwise:
    return Elemwise(scalar_op, {0: 0})


abs_inplace = _inplace(ps.abs)
add_inplace = _inplace(ps.add)
copysign_inplace = _inplace(ps.copysign)
fmod_inplace = _inplace(ps.fmod)
hypot_inplace = _inplace(ps.hypot)
int_div_inplace = _inplace(ps.int_div)
mod_inplace = _inplace(ps.mod)
mul_inplace = _inplace(ps.mul)
neg_inplace = _inplace(ps.neg)
nextafter_inplace = _inplace(ps.nextafter)
pos_inplace = _inplace(ps.pos)
pow_inplace = _inplace(ps.pow)
reciprocal_inplace = _inplace(ps.reciprocal)
sign_inplace = _inplace(ps.sign)
sqr_inplace = _inplace(ps.sqr)
sub_inplace = _inplace(ps.sub)
true_div_inplace = _inplace(ps.true_div)
xlog1py_inplace = _inplace(ps.xlog1py)
xlogy_inplace = _inplace(ps.xlogy)
eq_inplace = _inplace(ps.eq)
ge_inplace = _inplace(ps.ge)
gt_inplace = _inplace(ps.gt)
isfinite_inplace = _inplace(ps.isfinite)
isinf_inplace = _inplace(ps.isinf)
isnan_inplace = _inplace(ps.isnan)
le_inplace = _inplace(ps.le)
lt_inplace = _inplace(ps.lt)
neq_inplace = _inplace(ps.ne)
signbit_inplace = _inplace(ps.signbit)
and_inplace = _inplace(ps.and_)
invert_inplace = _inplace(ps.invert)
left_shift_inplace = _inplace(ps.left_shift)
logical_and_inplace = _inplace(ps.logical_and)
logical_not_inplace = _inplace(ps.logical_not)
logical_or_inplace = _inplace(ps.logical_or)
logical_xor_inplace = _inplace(ps.logical_xor)
or_inplace = _inplace(ps.or_)
right_shift_inplace = _inplace(ps.right_shift)
xor_inplace = _inplace(ps.xor)
ceil_inplace = _inplace(ps.ceil)
floor_inplace = _inplace(ps.floor)
rint_inplace = _inplace(ps.rint)
round_half_away_inplace = _inplace(ps.round_half_away)
trunc_inplace = _inplace(ps.trunc)
cbrt_inplace = _inplace(ps.cbrt)
exp_inplace = _inplace(ps.exp)
exp2_inplace = _inplace(ps.exp2)
expm1_inplace = _inplace(ps.expm1)
log_inplace = _inplace(ps.log)
log1mexp_inplace = _inplace(ps.log1mexp)
log1p_inplace = _inplace(ps.log1p)
log2_inplace = _inplace(ps.log2)
log10_inplace = _inplace(ps.log10)
log_sigmoid_inplace = _inplace(ps.log_sigmoid)
logaddexp_inplace = _inplace(ps.logaddexp)
logaddexp2_inplace = _inplace(ps.logaddexp2)
sigmoid_inplace = _inplace(ps.sigmoid)
softplus_inplace = _inplace(ps.softplus)
sqrt_inplace = _inplace(ps.sqrt)
arccos_inplace = _inplace(ps.arccos)
arccosh_inplace = _inplace(ps.arccosh)
arcsin_inplace = _inplace(ps.arcsin)
arcsinh_inplace = _inplace(ps.arcsinh)
arctan_inplace = _inplace(ps.arctan)
arctan2_inplace = _inplace(ps.arctan2)
arctanh_inplace = _inplace(ps.arctanh)
cos_inplace = _inplace(ps.cos)
cosh_inplace = _inplace(ps.cosh)
deg2rad_inplace = _inplace(ps.deg2rad)
rad2deg_inplace = _inplace(ps.rad2deg)
sin_inplace = _inplace(ps.sin)
sinh_inplace = _inplace(ps.sinh)
tan_inplace = _inplace(ps.tan)
tanh_inplace = _inplace(ps.tanh)
beta_inplace = _inplace(ps.beta)
betainc_inplace = _inplace(ps.betainc)
betaln_inplace = _inplace(ps.betaln)
digamma_inplace = _inplace(ps.digamma)
erf_inplace = _inplace(ps.erf)
erfc_inplace = _inplace(ps.erfc)
erfcinv_inplace = _inplace(ps.erfcinv)
erfcx_inplace = _inplace(ps.erfcx)
erfinv_inplace = _inplace(ps.erfinv)
gamma_inplace = _inplace(ps.gamma)
gammainc_inplace = _inplace(ps.gammainc)
gammaincc_inplace = _inplace(ps.gammaincc)
gammaln_inplace = _inplace(ps.gammaln)
i0_inplace = _inplace(ps.i0)
i0e_inplace = _inplace(ps.i0e)
i1_inplace = _inplace(ps.i1)
i1e_inplace = _inplace(ps.i1e)
iv_inplace = _inplace(ps.iv)
ive_inplace = _inplace(ps.ive)
j0_inplace = _inplace(ps.j0)
j1_inplace = _inplace(ps.j1)
jv_inplace = _inplace(ps.jv)
kv_inplace = _inplace(ps.kv)
kve_inplace = _inplace(ps.kve)
log_ndtr_inplace = _inplace(ps.log_ndtr)
ndtr_inplace = _inplace(ps.ndtr)
ndtri_inplace = _inplace(ps.ndtri)
owens_t_inplace = _inplace(ps.owens_t)
polygamma_inplace = _inplace(ps.polygamma)
trigamma_inplace = _inplace(ps.trigamma)
yv_inplace = _inplace(ps.yv)
angle_inplace = _inplace(ps.angle)
complex_inplace = _inplace(ps.complex)
complex_from_polar_inplace = _inplace(ps.complex_from_polar)
conj_inplace = _inplace(ps.conj)
imag_inplace = _inplace(ps.imag)
real_inplace = _inplace(ps.real)
clip_inplace = _inplace(ps.clip)
fmax_inplace = _inplace(ps.fmax)
fmin_inplace = _inplace(ps.fmin)
heaviside_inplace = _inplace(ps.heaviside)
maximum_inplace = _inplace(ps.maximum)
minimum_inplace = _inplace(ps.minimum)
second_inplace = _inplace(ps.second)
switch_inplace = _inplace(ps.switch)

name_functions(globals(), __all__, __name__)

__dir__ = public_dir(__name__)
