"""Functions of BLAS and LAPACK as code of our own, for objects that are linked with no library.

They take what the libraries' functions take, so callers are the same. All matrices are seen with
strides: a column-major one is the transpose of a row-major one.

===============  ===================================================================================
module           what
===============  ===================================================================================
``numbers``      arithmetic with real and complex numbers alike, and matrices with strides
``products``     products of matrices, and of a matrix with a vector
``triangles``    products and systems with a triangle
``factors``      Cholesky factors, their inverses, LU factors
``routines``     the libraries' functions: :func:`~.routines.bundled`
===============  ===================================================================================
"""
