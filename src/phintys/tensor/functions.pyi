# Written by `make stubs`, from the rows in phintys/scalar/.

from phintys.tensor.elemwise import Elemwise

__all__ = [
    "abs",
    "absolute",
    "add",
    "and_",
    "angle",
    "arccos",
    "arccosh",
    "arcsin",
    "arcsinh",
    "arctan",
    "arctan2",
    "arctanh",
    "beta",
    "betainc",
    "betaln",
    "bitwise_and",
    "bitwise_not",
    "bitwise_or",
    "bitwise_xor",
    "cbrt",
    "ceil",
    "clip",
    "complex",
    "complex_from_polar",
    "conj",
    "copysign",
    "cos",
    "cosh",
    "deg2rad",
    "digamma",
    "divide",
    "eq",
    "erf",
    "erfc",
    "erfcinv",
    "erfcx",
    "erfinv",
    "exp",
    "exp2",
    "expm1",
    "fill",
    "floor",
    "floor_div",
    "floor_divide",
    "fmax",
    "fmin",
    "fmod",
    "gamma",
    "gammainc",
    "gammaincc",
    "gammaln",
    "ge",
    "gt",
    "heaviside",
    "hypot",
    "i0",
    "i0e",
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
    "kv",
    "kve",
    "le",
    "left_shift",
    "log",
    "log1mexp",
    "log1p",
    "log2",
    "log10",
    "log_ndtr",
    "log_sigmoid",
    "logaddexp",
    "logaddexp2",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "lt",
    "maximum",
    "minimum",
    "mod",
    "mul",
    "multiply",
    "ndtr",
    "ndtri",
    "ne",
    "neg",
    "negative",
    "neq",
    "nextafter",
    "or_",
    "owens_t",
    "polygamma",
    "pos",
    "pow",
    "power",
    "psi",
    "rad2deg",
    "real",
    "reciprocal",
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
    "sinh",
    "softplus",
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
    "xlogy",
    "xor",
    "yv",
]

ELEMENTWISE: dict[str, Elemwise]
abs: Elemwise
absolute: Elemwise
add: Elemwise
and_: Elemwise
angle: Elemwise
arccos: Elemwise
arccosh: Elemwise
arcsin: Elemwise
arcsinh: Elemwise
arctan: Elemwise
arctan2: Elemwise
arctanh: Elemwise
beta: Elemwise
betainc: Elemwise
betaln: Elemwise
bitwise_and: Elemwise
bitwise_not: Elemwise
bitwise_or: Elemwise
bitwise_xor: Elemwise
cbrt: Elemwise
ceil: Elemwise
clip: Elemwise
complex: Elemwise
complex_from_polar: Elemwise
conj: Elemwise
copysign: Elemwise
cos: Elemwise
cosh: Elemwise
deg2rad: Elemwise
digamma: Elemwise
divide: Elemwise
eq: Elemwise
erf: Elemwise
erfc: Elemwise
erfcinv: Elemwise
erfcx: Elemwise
erfinv: Elemwise
exp: Elemwise
exp2: Elemwise
expm1: Elemwise
fill: Elemwise
floor: Elemwise
floor_div: Elemwise
floor_divide: Elemwise
fmax: Elemwise
fmin: Elemwise
fmod: Elemwise
gamma: Elemwise
gammainc: Elemwise
gammaincc: Elemwise
gammaln: Elemwise
ge: Elemwise
gt: Elemwise
heaviside: Elemwise
hypot: Elemwise
i0: Elemwise
i0e: Elemwise
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
kv: Elemwise
kve: Elemwise
le: Elemwise
left_shift: Elemwise
log: Elemwise
log1mexp: Elemwise
log1p: Elemwise
log2: Elemwise
log10: Elemwise
log_ndtr: Elemwise
log_sigmoid: Elemwise
logaddexp: Elemwise
logaddexp2: Elemwise
logical_and: Elemwise
logical_not: Elemwise
logical_or: Elemwise
logical_xor: Elemwise
lt: Elemwise
maximum: Elemwise
minimum: Elemwise
mod: Elemwise
mul: Elemwise
multiply: Elemwise
ndtr: Elemwise
ndtri: Elemwise
ne: Elemwise
neg: Elemwise
negative: Elemwise
neq: Elemwise
nextafter: Elemwise
or_: Elemwise
owens_t: Elemwise
polygamma: Elemwise
pos: Elemwise
pow: Elemwise
power: Elemwise
psi: Elemwise
rad2deg: Elemwise
real: Elemwise
reciprocal: Elemwise
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
sinh: Elemwise
softplus: Elemwise
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
xlogy: Elemwise
xor: Elemwise
yv: Elemwise
