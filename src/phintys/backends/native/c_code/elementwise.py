"""Loops around the C code of scalar ops."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from phintys.graph.apply import Apply
from phintys.graph.c_op import COp, c_names, called
from phintys.scalar.type import get_scalar_type

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.tensor.elemwise import Elemwise


class ElementwiseLoop(COp):
    """The C code of an elementwise Op: that of its scalar op, for each element.

    A dimension broadcasts if its static size is 1.
    """

    def __init__(self, op: Elemwise) -> None:
        self.op = op
        self.scalar_op: Any = op.scalar_op

    def __str__(self) -> str:
        return str(self.op)

    def _scalar_node(self, node: Apply) -> Apply:
        variables: list[Any] = [*node.inputs, *node.outputs]
        numbers = [get_scalar_type(v.type.numpy_dtype)() for v in variables]
        count = len(node.inputs)
        return Apply(self.scalar_op, numbers[:count], numbers[count:])

    def c_code(
        self,
        node: Apply,
        name: str,
        input_names: Sequence[str],
        output_names: Sequence[str],
        sub: dict[str, Any],
    ) -> str:
        """Return nested loops over the elements."""
        inputs: list[Any] = list(node.inputs)
        ndim = inputs[0].type.ndim
        lines = [f"npy_intp sizes[{max(ndim, 1)}];"]
        for axis in range(ndim):
            wide = [
                one for one, x in zip(input_names, inputs, strict=True) if x.type.shape[axis] != 1
            ]
            first = f"PyArray_DIM({wide[0]}, {axis})" if wide else "1"
            lines.append(f"sizes[{axis}] = {first};")
            lines += [
                f"if (PyArray_DIM({other}, {axis}) != sizes[{axis}]) {{ PyErr_Format("
                f'PyExc_ValueError, "%U: dimension {axis}: %zd and %zd", phintys_name, '
                f"sizes[{axis}], PyArray_DIM({other}, {axis})); {sub['fail']} }}"
                for other in wide[1:]
            ]
        for one, variable in zip(output_names, node.outputs, strict=True):
            number = c_names(variable.type.numpy_dtype)[1]  # pyright: ignore[reportAttributeAccessIssue]
            lines.append(
                f"{one} = (PyArrayObject *)PyArray_SimpleNew({ndim}, sizes, {number}); "
                f"if (!{one}) {sub['fail']}"
            )
        places: dict[str, str] = {}
        for one, x in zip(input_names, inputs, strict=True):
            terms = [
                f"i{axis} * PyArray_STRIDE({one}, {axis})"
                for axis in range(ndim)
                if x.type.shape[axis] != 1
            ]
            places[one] = " + ".join([f"(char *)PyArray_DATA({one})", *terms])
        lines += [f"for (npy_intp i{a} = 0; i{a} < sizes[{a}]; i{a}++) {{" for a in range(ndim)]
        ins = [f"x{at}" for at in range(len(input_names))]
        outs = [f"y{at}" for at in range(len(output_names))]
        lines += [
            f"const dtype_{one} {x} = *(dtype_{one} *)({places[one]});"
            for x, one in zip(ins, input_names, strict=True)
        ]
        index = "0"
        for axis in range(ndim):
            index = f"({index}) * sizes[{axis}] + i{axis}"
        lines += [
            f"dtype_{one} &{y} = ((dtype_{one} *)PyArray_DATA({one}))[{index}];"
            for y, one in zip(outs, output_names, strict=True)
        ]
        code = called(self.scalar_op, "c_code", self._scalar_node(node), name, ins, outs, sub)
        if code is None:
            raise NotImplementedError
        lines += ["{", code, "}", *["}"] * ndim]
        return "\n".join(lines)

    def c_support_code(self, **kwargs: Any) -> str:
        return called(self.scalar_op, "c_support_code") or ""

    def c_support_code_apply(self, node: Apply, name: str) -> str:
        return called(self.scalar_op, "c_support_code_apply", self._scalar_node(node), name) or ""

    def c_headers(self, **kwargs: Any) -> list[str]:
        return called(self.scalar_op, "c_headers") or []

    def c_header_dirs(self, **kwargs: Any) -> list[str]:
        return called(self.scalar_op, "c_header_dirs") or []

    def c_libraries(self, **kwargs: Any) -> list[str]:
        return called(self.scalar_op, "c_libraries") or []

    def c_lib_dirs(self, **kwargs: Any) -> list[str]:
        return called(self.scalar_op, "c_lib_dirs") or []

    def c_compile_args(self, **kwargs: Any) -> list[str]:
        return called(self.scalar_op, "c_compile_args") or []

    def c_no_compile_args(self, **kwargs: Any) -> list[str]:
        return called(self.scalar_op, "c_no_compile_args") or []

    def c_code_cache_version(self) -> tuple[Any, ...]:
        return called(self.scalar_op, "c_code_cache_version") or ()
