# The programs of "Making the double type", in the order in which the document prints them.

# Note that we shadow Python's function ``filter`` with this
# definition.
def filter(x, strict=False, allow_downcast=None):
    if strict:
        if isinstance(x, float):
            return x
        else:
            raise TypeError('Expected a float!')
    elif allow_downcast:
        return float(x)
    else:   # Covers both the False and None cases.
        x_float = float(x)
        if x_float == x:
            return x_float
        else:
             raise TypeError('The double type cannot accurately represent '
                             'value %s (of type %s): you must explicitly '
                             'allow downcasting if you want to do this.'
                             % (x, type(x)))

def values_eq_approx(x, y, tolerance=1e-4):
    return abs(x - y) / (abs(x) + abs(y)) < tolerance

from theano import gof

double = gof.Type()
double.filter = filter
double.values_eq_approx = values_eq_approx

double_of_instance = double

from theano import gof

class Double(gof.Type):

    def filter(self, x, strict=False, allow_downcast=None):
        if strict:
            if isinstance(x, float):
                return x
            else:
                raise TypeError('Expected a float!')
        elif allow_downcast:
            return float(x)
        else:   # Covers both the False and None cases.
            x_float = float(x)
            if x_float == x:
                return x_float
            else:
                 raise TypeError('The double type cannot accurately represent '
                                 'value %s (of type %s): you must explicitly '
                                 'allow downcasting if you want to do this.'
                                 % (x, type(x)))

    def values_eq_approx(self, x, y, tolerance=1e-4):
        return abs(x - y) / (abs(x) + abs(y)) < tolerance

    def __str__(self):
        return "double"

double = Double()

double1 = Double()
double2 = Double()
equal_by_default = double1 == double2

def __eq__(self, other):
    return type(self) is Double and type(other) is Double

Double.__eq__ = __eq__
Double.__hash__ = lambda self: hash(Double)
equal_as_defined = double1 == double2
