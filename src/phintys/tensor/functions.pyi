# Written by `make stubs`, from the rows in phintys/scalar/.

from phintys.tensor.elemwise import Elemwise

__all__ = [
    "abs",
    "absolute",
    "acos",
    "acosh",
    "add",
    "and_",
    "arccos",
    "arccosh",
    "arcsin",
    "arcsinh",
    "arctan",
    "arctan2",
    "arctan2_slope",
    "arctanh",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "beta",
    "beta_density",
    "betainc",
    "betainc_by_a",
    "betainc_by_b",
    "betaincc",
    "betainccinv",
    "betaincinv",
    "betaln",
    "binom",
    "bitwise_and",
    "bitwise_count",
    "bitwise_invert",
    "bitwise_left_shift",
    "bitwise_not",
    "bitwise_or",
    "bitwise_right_shift",
    "bitwise_xor",
    "boxcox",
    "boxcox1p",
    "cbrt",
    "ceil",
    "complex",
    "complex_from_polar",
    "conj",
    "conjugate",
    "copysign",
    "cos",
    "cosh",
    "cosine_integral",
    "dawsn",
    "deg2rad",
    "degrees",
    "digamma",
    "digamma_difference",
    "divide",
    "entr",
    "eq",
    "equal",
    "erf",
    "erfc",
    "erfcinv",
    "erfcx",
    "erfinv",
    "exp",
    "exp1",
    "exp2",
    "exp2_share",
    "exp_of_product",
    "exp_of_square",
    "exp_share",
    "expi",
    "expm1",
    "expn",
    "factorial",
    "fill",
    "fix",
    "floor",
    "floor_div",
    "floor_divide",
    "fmax",
    "fmin",
    "fmod",
    "fresnel_cosine",
    "fresnel_sine",
    "gamma",
    "gamma_density",
    "gammainc",
    "gammaincc",
    "gammainccinv",
    "gammaincinv",
    "gammaln",
    "gcd",
    "ge",
    "greater",
    "greater_equal",
    "gt",
    "heaviside",
    "hyp1f1",
    "hyp1f1_by_a",
    "hyp1f1_by_b",
    "hyp2f1",
    "hyp2f1_by_a",
    "hyp2f1_by_c",
    "hypot",
    "hypot_slope",
    "i0",
    "i0e",
    "i0e_less_i1e",
    "i1",
    "i1e",
    "imag",
    "int_div",
    "invert",
    "isfinite",
    "isinf",
    "isnan",
    "iv",
    "ive",
    "j0",
    "j1",
    "jv",
    "kl_div",
    "kv",
    "kve",
    "lcm",
    "ldexp",
    "le",
    "left_shift",
    "less",
    "less_equal",
    "log",
    "log1mexp",
    "log1p",
    "log2",
    "log10",
    "log_gamma_bend",
    "log_gamma_slope",
    "log_ive_slope",
    "log_kve_slope",
    "log_ndtr",
    "log_sigmoid",
    "logaddexp2",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "logit",
    "lt",
    "maximum",
    "minimum",
    "mod",
    "mul",
    "multiply",
    "ndtr",
    "ndtri",
    "ndtri_exp",
    "ne",
    "neg",
    "negative",
    "neq",
    "nextafter",
    "not_equal",
    "or_",
    "owens_t",
    "poch",
    "polygamma",
    "pos",
    "positive",
    "pow",
    "pow_less_one",
    "power",
    "psi",
    "rad2deg",
    "radians",
    "real",
    "reciprocal",
    "rel_entr",
    "remainder",
    "right_shift",
    "rint",
    "round_half_away",
    "second",
    "sigmoid",
    "sign",
    "signbit",
    "sin",
    "sinc",
    "sine_integral",
    "sinh",
    "softplus",
    "spacing",
    "spence",
    "sqr",
    "sqrt",
    "square",
    "sub",
    "subtract",
    "switch",
    "tan",
    "tanh",
    "tensor_copy",
    "trigamma",
    "true_div",
    "true_divide",
    "trunc",
    "xlog1py",
    "xlogx",
    "xlogy",
    "xor",
    "yv",
    "zeta",
]

ELEMENTWISE: dict[str, Elemwise]
abs: Elemwise
absolute: Elemwise
acos: Elemwise
acosh: Elemwise
add: Elemwise
and_: Elemwise
arccos: Elemwise
arccosh: Elemwise
arcsin: Elemwise
arcsinh: Elemwise
arctan: Elemwise
arctan2: Elemwise
arctan2_slope: Elemwise
arctanh: Elemwise
asin: Elemwise
asinh: Elemwise
atan: Elemwise
atan2: Elemwise
atanh: Elemwise
beta: Elemwise
beta_density: Elemwise
betainc: Elemwise
betainc_by_a: Elemwise
betainc_by_b: Elemwise
betaincc: Elemwise
betainccinv: Elemwise
betaincinv: Elemwise
betaln: Elemwise
binom: Elemwise
bitwise_and: Elemwise
bitwise_count: Elemwise
bitwise_invert: Elemwise
bitwise_left_shift: Elemwise
bitwise_not: Elemwise
bitwise_or: Elemwise
bitwise_right_shift: Elemwise
bitwise_xor: Elemwise
boxcox: Elemwise
boxcox1p: Elemwise
cbrt: Elemwise
ceil: Elemwise
complex: Elemwise
complex_from_polar: Elemwise
conj: Elemwise
conjugate: Elemwise
copysign: Elemwise
cos: Elemwise
cosh: Elemwise
cosine_integral: Elemwise
dawsn: Elemwise
deg2rad: Elemwise
degrees: Elemwise
digamma: Elemwise
digamma_difference: Elemwise
divide: Elemwise
entr: Elemwise
eq: Elemwise
equal: Elemwise
erf: Elemwise
erfc: Elemwise
erfcinv: Elemwise
erfcx: Elemwise
erfinv: Elemwise
exp: Elemwise
exp1: Elemwise
exp2: Elemwise
exp2_share: Elemwise
exp_of_product: Elemwise
exp_of_square: Elemwise
exp_share: Elemwise
expi: Elemwise
expm1: Elemwise
expn: Elemwise
factorial: Elemwise
fill: Elemwise
fix: Elemwise
floor: Elemwise
floor_div: Elemwise
floor_divide: Elemwise
fmax: Elemwise
fmin: Elemwise
fmod: Elemwise
fresnel_cosine: Elemwise
fresnel_sine: Elemwise
gamma: Elemwise
gamma_density: Elemwise
gammainc: Elemwise
gammaincc: Elemwise
gammainccinv: Elemwise
gammaincinv: Elemwise
gammaln: Elemwise
gcd: Elemwise
ge: Elemwise
greater: Elemwise
greater_equal: Elemwise
gt: Elemwise
heaviside: Elemwise
hyp1f1: Elemwise
hyp1f1_by_a: Elemwise
hyp1f1_by_b: Elemwise
hyp2f1: Elemwise
hyp2f1_by_a: Elemwise
hyp2f1_by_c: Elemwise
hypot: Elemwise
hypot_slope: Elemwise
i0: Elemwise
i0e: Elemwise
i0e_less_i1e: Elemwise
i1: Elemwise
i1e: Elemwise
imag: Elemwise
int_div: Elemwise
invert: Elemwise
isfinite: Elemwise
isinf: Elemwise
isnan: Elemwise
iv: Elemwise
ive: Elemwise
j0: Elemwise
j1: Elemwise
jv: Elemwise
kl_div: Elemwise
kv: Elemwise
kve: Elemwise
lcm: Elemwise
ldexp: Elemwise
le: Elemwise
left_shift: Elemwise
less: Elemwise
less_equal: Elemwise
log: Elemwise
log1mexp: Elemwise
log1p: Elemwise
log2: Elemwise
log10: Elemwise
log_gamma_bend: Elemwise
log_gamma_slope: Elemwise
log_ive_slope: Elemwise
log_kve_slope: Elemwise
log_ndtr: Elemwise
log_sigmoid: Elemwise
logaddexp2: Elemwise
logical_and: Elemwise
logical_not: Elemwise
logical_or: Elemwise
logical_xor: Elemwise
logit: Elemwise
lt: Elemwise
maximum: Elemwise
minimum: Elemwise
mod: Elemwise
mul: Elemwise
multiply: Elemwise
ndtr: Elemwise
ndtri: Elemwise
ndtri_exp: Elemwise
ne: Elemwise
neg: Elemwise
negative: Elemwise
neq: Elemwise
nextafter: Elemwise
not_equal: Elemwise
or_: Elemwise
owens_t: Elemwise
poch: Elemwise
polygamma: Elemwise
pos: Elemwise
positive: Elemwise
pow: Elemwise
pow_less_one: Elemwise
power: Elemwise
psi: Elemwise
rad2deg: Elemwise
radians: Elemwise
real: Elemwise
reciprocal: Elemwise
rel_entr: Elemwise
remainder: Elemwise
right_shift: Elemwise
rint: Elemwise
round_half_away: Elemwise
second: Elemwise
sigmoid: Elemwise
sign: Elemwise
signbit: Elemwise
sin: Elemwise
sinc: Elemwise
sine_integral: Elemwise
sinh: Elemwise
softplus: Elemwise
spacing: Elemwise
spence: Elemwise
sqr: Elemwise
sqrt: Elemwise
square: Elemwise
sub: Elemwise
subtract: Elemwise
switch: Elemwise
tan: Elemwise
tanh: Elemwise
tensor_copy: Elemwise
trigamma: Elemwise
true_div: Elemwise
true_divide: Elemwise
trunc: Elemwise
xlog1py: Elemwise
xlogx: Elemwise
xlogy: Elemwise
xor: Elemwise
yv: Elemwise
zeta: Elemwise
