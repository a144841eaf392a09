# The programs of "Making arithmetic Ops on double" with an Op that is a plain instance.
from theano import gof

double = gof.Type()
double.filter = lambda x, strict=False, allow_downcast=None: float(x)

mul = gof.Op()

def make_node(x, y):
    if x.type != double or y.type != double:
        raise TypeError('mul only works on doubles')
    return gof.Apply(mul, [x, y], [double()])
mul.make_node = make_node

def perform(node, inputs, output_storage):
    x, y = inputs[0], inputs[1]
    z = output_storage[0]
    z[0] = x * y
mul.perform = perform

import theano
x, y = double('x'), double('y')
z = mul(x, y)
f = theano.function([x, y], z)
first = f(5, 6)
second = f(5.6, 6.7)

x = double('x')
try:
    z = mul(x, 2)
except AttributeError as error:
    no_wrapping = str(error)

def make_node(x, y):
    if isinstance(x, (int, float)):
        x = gof.Constant(double, x)
    if isinstance(y, (int, float)):
        y = gof.Constant(double, y)
    if x.type != double or y.type != double:
        raise TypeError('mul only works on doubles')
    return gof.Apply(mul, [x, y], [double()])
mul.make_node = make_node

import numpy
x = double('x')
z = mul(x, 2)
f = theano.function([x], z)
third = f(10)
close = numpy.allclose(f(3.4), 6.8)
