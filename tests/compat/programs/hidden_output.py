# "Hidden outputs" of "How to Make Ops", in Python 2 as printed there.
import numpy
from theano.gof import Apply, Op

class Add(Op):
    """
    Use a hidden buffer to prevent unnecessary reallocation of memory.
    """
    default_output = 0
    def make_node(self, x, y):
        return Apply(self, [x,y], [x.type.make_variable(), x.type.make_variable()])

    def perform(self, node, (x, y), (z, stor)):
        if z[0] is None or stor[0] is None:
            stor[0] = numpy.ndarray(x.size * 2)
        else:
            if x.size > stor[0].size:
                stor[0].resize(x.size * 2, refcheck = 0)
        z[0] = stor[0][:x.size]
        numpy.add(x, y, z[0])
