# Written by `make stubs`, from the rows in phintys/scalar/.

from phintys.tensor.elemwise import Elemwise
from phintys.tensor.math import logaddexp
from phintys.tensor.softmaxes import (
    LogSoftmax,
    LogSumExp,
    Softmax,
    log_softmax,
    logsumexp,
    softmax,
)

__all__ = [
    "LogSoftmax",
    "LogSumExp",
    "Softmax",
    "beta",
    "betainc",
    "betaincc",
    "betainccinv",
    "betaincinv",
    "betaln",
    "binom",
    "boxcox",
    "boxcox1p",
    "cbrt",
    "cosine_integral",
    "dawsn",
    "digamma",
    "entr",
    "erf",
    "erfc",
    "erfcinv",
    "erfcx",
    "erfinv",
    "exp1",
    "exp2",
    "expi",
    "expit",
    "expm1",
    "expn",
    "factorial",
    "fresnel_cosine",
    "fresnel_sine",
    "gamma",
    "gammainc",
    "gammaincc",
    "gammainccinv",
    "gammaincinv",
    "gammaln",
    "hyp1f1",
    "hyp2f1",
    "i0",
    "i0e",
    "i1",
    "i1e",
    "iv",
    "ive",
    "j0",
    "j1",
    "jv",
    "kl_div",
    "kv",
    "kve",
    "log1mexp",
    "log1p",
    "log_expit",
    "log_ndtr",
    "log_sigmoid",
    "log_softmax",
    "logaddexp",
    "logaddexp2",
    "logit",
    "logsumexp",
    "ndtr",
    "ndtri",
    "ndtri_exp",
    "owens_t",
    "poch",
    "polygamma",
    "psi",
    "rel_entr",
    "sigmoid",
    "sinc",
    "sine_integral",
    "softmax",
    "softplus",
    "spence",
    "trigamma",
    "xlog1py",
    "xlogx",
    "xlogy",
    "yv",
    "zeta",
]

beta: Elemwise
betainc: Elemwise
betaincc: Elemwise
betainccinv: Elemwise
betaincinv: Elemwise
betaln: Elemwise
binom: Elemwise
boxcox: Elemwise
boxcox1p: Elemwise
cbrt: Elemwise
cosine_integral: Elemwise
dawsn: Elemwise
digamma: Elemwise
entr: Elemwise
erf: Elemwise
erfc: Elemwise
erfcinv: Elemwise
erfcx: Elemwise
erfinv: Elemwise
exp1: Elemwise
exp2: Elemwise
expi: Elemwise
expit: Elemwise
expm1: Elemwise
expn: Elemwise
factorial: Elemwise
fresnel_cosine: Elemwise
fresnel_sine: Elemwise
gamma: Elemwise
gammainc: Elemwise
gammaincc: Elemwise
gammainccinv: Elemwise
gammaincinv: Elemwise
gammaln: Elemwise
hyp1f1: Elemwise
hyp2f1: Elemwise
i0: Elemwise
i0e: Elemwise
i1: Elemwise
i1e: Elemwise
iv: Elemwise
ive: Elemwise
j0: Elemwise
j1: Elemwise
jv: Elemwise
kl_div: Elemwise
kv: Elemwise
kve: Elemwise
log1mexp: Elemwise
log1p: Elemwise
log_expit: Elemwise
log_ndtr: Elemwise
log_sigmoid: Elemwise
logaddexp2: Elemwise
logit: Elemwise
ndtr: Elemwise
ndtri: Elemwise
ndtri_exp: Elemwise
owens_t: Elemwise
poch: Elemwise
polygamma: Elemwise
psi: Elemwise
rel_entr: Elemwise
sigmoid: Elemwise
sinc: Elemwise
sine_integral: Elemwise
softplus: Elemwise
spence: Elemwise
trigamma: Elemwise
xlog1py: Elemwise
xlogx: Elemwise
xlogy: Elemwise
yv: Elemwise
zeta: Elemwise
