# Written by `make stubs`, from the rows in phintys/scalar/.

from phintys.tensor.elemwise import Elemwise
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
    "betaln",
    "cbrt",
    "digamma",
    "erf",
    "erfc",
    "erfcinv",
    "erfcx",
    "erfinv",
    "exp2",
    "expit",
    "expm1",
    "gamma",
    "gammainc",
    "gammaincc",
    "gammaln",
    "i0",
    "i0e",
    "i1",
    "i1e",
    "iv",
    "ive",
    "j0",
    "j1",
    "jv",
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
    "logsumexp",
    "ndtr",
    "ndtri",
    "owens_t",
    "polygamma",
    "psi",
    "sigmoid",
    "sinc",
    "softmax",
    "softplus",
    "trigamma",
    "xlog1py",
    "xlogy",
    "yv",
]

beta: Elemwise
betainc: Elemwise
betaln: Elemwise
cbrt: Elemwise
digamma: Elemwise
erf: Elemwise
erfc: Elemwise
erfcinv: Elemwise
erfcx: Elemwise
erfinv: Elemwise
exp2: Elemwise
expit: Elemwise
expm1: Elemwise
gamma: Elemwise
gammainc: Elemwise
gammaincc: Elemwise
gammaln: Elemwise
i0: Elemwise
i0e: Elemwise
i1: Elemwise
i1e: Elemwise
iv: Elemwise
ive: Elemwise
j0: Elemwise
j1: Elemwise
jv: Elemwise
kv: Elemwise
kve: Elemwise
log1mexp: Elemwise
log1p: Elemwise
log_expit: Elemwise
log_ndtr: Elemwise
log_sigmoid: Elemwise
logaddexp: Elemwise
logaddexp2: Elemwise
ndtr: Elemwise
ndtri: Elemwise
owens_t: Elemwise
polygamma: Elemwise
psi: Elemwise
sigmoid: Elemwise
sinc: Elemwise
softplus: Elemwise
trigamma: Elemwise
xlog1py: Elemwise
xlogy: Elemwise
yv: Elemwise
