"""Compiled functions as objects for linkers, with a C header: no Python at run time.

========================  ==========================================================================
module                    what
========================  ==========================================================================
``interface``             what a C caller has to know of a program: its arguments, lengths, results,
                          state and return codes
``sizes``                 lengths and bytes, computed from those that the caller passes
``runtime``               what the program asks its runtime for, without one: memory, results
``entry``                 the functions of the interface, as code
``assembling``            from a program to one object
``header``, ``loader``    the same interface in C and, through ctypes, in Python
``refusals``              errors of what cannot be exported
``toolchain``             linkers, where there are some: shared and static libraries, WebAssembly
``exporting``             all of it together: :func:`~.exporting.export_program`
========================  ==========================================================================

docs/export.md specifies the interface.
"""
