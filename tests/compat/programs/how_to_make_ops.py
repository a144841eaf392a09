# The programs of "How to Make Ops", with the parts that the document leaves out of a class put
# together. It is Python 2, as printed there.
from theano.scalar import *

class Add(Op):
    #...
    def make_node(self, x, y):
        # note 1: constant, int64 and Scalar are defined in theano.scalar
        # note 2: constant(x) is equivalent to Constant(type = int64, data = x)
        # note 3: the call int64() is equivalent to Variable(type = int64) or Variable(type = Scalar(dtype = 'int64'))
        if isinstance(x, int):
            x = constant(x)
        elif not isinstance(x, Variable) or not x.type == int64:
            raise TypeError("expected an int64 Scalar")
        if isinstance(y, int):
            y = constant(y)
        elif not isinstance(y, Variable) or not x.type == int64:
            raise TypeError("expected an int64 Scalar")
        inputs = [x, y]
        outputs = [int64()]
        node = Apply(op = self, inputs = inputs, outputs = outputs)
        return node
    #...
    def perform(self, node, inputs, output_storage):
        # this does z = x + y
        x, y = inputs        # extract the two inputs
        z, = output_storage  # extract the one storage (the comma after z is not optional)
        z[0] = x + y         # we must put the variable in z[0]

add = Add()                               # I make an instance of Add
node1 = add.make_node(int64(), int64())   # I make a node with two Variable inputs
node2 = add.make_node(1, 2)               # this works too
node3 = add.make_node(int64(), 79)        # this works three
try:
    node4 = add.make_node(float64(), int64()) # this raises a TypeError
except TypeError, error:
    refused = str(error)

node = add.make_node(int64(), int64())    # I make a node with two integer inputs
storage = [None]                          # I make my storage as a 1-element list with None
add.perform(node, (3, 7), (storage, ))    # I provide the node, two inputs and storage for one output
print storage[0]                          # prints 10

class Mul(Op):
    def make_node(self, x, y):
        return Apply(self, [x, y], [x.type()])
    def perform(self, node, (x, y), (z, )):
        z[0] = x * y
    def grad(self, inputs, output_gradients):
        x, y = inputs
        gz, = output_gradients   # here again, the comma is not optional
        return mul(gz, y), mul(gz, x)
mul = Mul()
