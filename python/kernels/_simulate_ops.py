# SPDX-License-Identifier: Apache-2.0
"""Ops registered through jax_op, made to run on CPU tensors."""

import collections.abc
import functools
import inspect
import sys
import types
import typing
from pathlib import Path

import torch

from kernels._simulate_modules import Array
from kernels._simulate_programs import Programs
from kernels._simulate_shapes import dense, key_of, placeholder, shape_texts

_FOLDERS_UP = 8  # how deep below its variant a file of a kernel may lie


def extend(real):
    """torch_tpu's jax_op, whose ops take CPU tensors as well."""

    @functools.wraps(real)
    def jax_op(name, fn=None, /, **options):
        folder = _variant_of(sys._getframe(1).f_code.co_filename)

        def register(fn):
            op = real(name, fn, **options)
            simulated = SimulatedOp(name, fn, folder, options.get("mesh"))
            op.register_kernel("cpu")(simulated.run)
            op.register_fake(simulated.fake)  # torch_tpu's refuses the symbolic sizes of torch.compile
            return op

        return register if fn is None else register(fn)

    return jax_op


def jax_op(name, fn=None, /, *, donate_argnums=None, mesh=None, input_partition_specs=None, output_partition_specs=None):
    """As torch.tpu.pallas.jax_op: registers a function of jax as an op of torch, here for CPU tensors alone.

    name is "namespace::op". Parameters and result of the function are annotated with jax.Array, tuples or lists of
    it; parameters also with int, float, bool, str. Gives a CustomOpDef, without a function a decorator. ValueError:
    this cannot be an op.
    """
    folder = _variant_of(sys._getframe(1).f_code.co_filename)

    def register(fn):
        simulated = SimulatedOp(name, fn, folder, mesh)
        op = torch.library.custom_op(name, simulated.run, mutates_args=(), schema=simulated.schema())
        op.register_fake(simulated.fake)
        return op

    return register if fn is None else register(fn)


def _variant_of(file: str) -> Path | None:
    """The folder of the variant that a file belongs to. The files of a cached kernel are symbolic links: not followed."""
    for folder in list(Path(file).absolute().parents)[:_FOLDERS_UP]:
        if (folder / "metadata.json").is_file():
            return folder
    return None


class SimulatedOp:
    """One op. Its arguments are flattened to tensors and a layout: for each parameter the number of its tensors, or
    its value.
    """

    def __init__(self, name: str, fn, folder: Path | None, mesh=None):
        if name.count("::") != 1:
            raise ValueError(f'jax_op: expected a name "namespace::op", given {name!r}')
        self.name = name
        self.fn = fn
        self.signature = _signature(name, fn)
        self._kinds = [_Kind(parameter.annotation) for parameter in self.signature.parameters.values()]
        self._all_tensors = all(kind.is_one for kind in self._kinds)  # the usual case: nothing to flatten
        self._result = _Kind(self.signature.return_annotation)
        self._mesh = mesh
        self._programs = Programs(name, fn, tuple(self.signature.parameters), folder)
        self._found: dict = {}
        self._programs.on_fork(self._found.clear)

    def run(self, *arguments, **options):
        """The implementation for CPU tensors."""
        if self._all_tensors and not options:
            tensors, layout = arguments, None
        else:
            tensors, layout = self._flatten(arguments, options)
        program = self._found.get((layout, *key_of(tensors))) or self._find(tensors, layout)
        return self._pack(program(*(dense(tensor, self.name) for tensor in tensors)))

    def fake(self, *arguments, **options):
        """Results without their numbers."""
        tensors, layout = self._flatten(arguments, options)
        shapes = self._programs.results(shape_texts(tensors, self.name), self._call(layout), self._is_plain(layout))
        return self._arrange([placeholder(text, tensors[0].device if tensors else "cpu") for text in shapes])

    def schema(self) -> str:
        """Of torch: "(Tensor x) -> Tensor"."""
        parameters = [
            parameter.replace(annotation=kind.torch_type(self.name, parameter.name))
            for parameter, kind in zip(self.signature.parameters.values(), self._kinds)
        ]

        def typed(*arguments, **options): ...

        result = self._result.torch_type(self.name, "its result")
        typed.__signature__ = self.signature.replace(parameters=parameters, return_annotation=result)
        return torch.library.infer_schema(typed, mutates_args=())

    # ---- arguments ----

    def _flatten(self, arguments, options) -> tuple[list, tuple]:
        bound = self.signature.bind(*arguments, **options)
        bound.apply_defaults()
        tensors, layout = [], []
        for kind, value in zip(self._kinds, bound.arguments.values()):
            if kind.is_value or value is None:
                layout.append((type(value), value))
            elif kind.sequence:
                tensors.extend(value)
                layout.append(len(value))
            else:
                tensors.append(value)
                layout.append(1)
        return tensors, tuple(layout)

    def _call(self, layout):
        """The function of the op, as one of arrays alone."""
        parameters = list(self.signature.parameters.values())

        def call(*arrays):
            rest, positional, named = iter(arrays), [], {}
            for parameter, kind, part in zip(parameters, self._kinds, layout):
                if isinstance(part, tuple):
                    value = part[1]
                elif kind.sequence:
                    value = kind.sequence(next(rest) for _ in range(part))
                else:
                    value = next(rest)
                if parameter.kind is parameter.KEYWORD_ONLY:
                    named[parameter.name] = value
                else:
                    positional.append(value)
            return self.fn(*positional, **named)

        return call

    def _is_plain(self, layout) -> bool:
        """Is this how a kernel is exported: one array for each parameter, or its default value?"""
        return all(
            part == 1 if isinstance(part, int) and not kind.sequence else part == (type(default), default)
            for part, kind, default in zip(layout, self._kinds, (p.default for p in self.signature.parameters.values()))
        )

    def _find(self, tensors, layout):
        if self._mesh is not None:
            raise NotImplementedError(f"{self.name} is made for several TPUs (mesh=...), which are not simulated")
        full = layout if layout is not None else (1,) * len(tensors)
        shapes = shape_texts(tensors, self.name)
        program = self._programs.find(shapes, self._call(full), self._is_plain(full), repr(full))
        self._found[(layout, *key_of(tensors))] = program
        return program

    # ---- results ----

    def _pack(self, results):
        """results: one array with __dlpack__, or a tuple of them."""
        if not isinstance(results, tuple):
            tensor = torch.from_dlpack(results)
            return tensor if self._result.sequence is None else self._result.sequence((tensor,))
        return self._arrange([torch.from_dlpack(result) for result in results])

    def _arrange(self, tensors: list):
        if self._result.sequence is not None:
            return self._result.sequence(tensors)
        return tensors[0] if tensors else None


def _signature(name: str, fn) -> inspect.Signature:
    """With annotations that are objects. ValueError where one is missing."""
    signature = inspect.signature(inspect.unwrap(fn), eval_str=True)
    for parameter in signature.parameters.values():
        if parameter.annotation is parameter.empty:
            raise ValueError(f"jax_op: {name}: parameter {parameter.name} has no annotation")
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise ValueError(f"jax_op: {name}: expected named parameters, given {parameter}")
    if signature.return_annotation is signature.empty:
        raise ValueError(f"jax_op: {name}: its result has no annotation")
    return signature


class _Kind:
    """What an annotation allows: an array, a sequence of arrays, or a value that is part of the program."""

    def __init__(self, annotation):
        self.annotation = annotation
        inner, self._is_optional = _without_none(annotation)
        origin = typing.get_origin(inner)
        parts = [part for part in typing.get_args(inner) if part is not Ellipsis]
        is_sequence = origin in (list, tuple, collections.abc.Sequence) and all(map(_is_array, parts))
        self.sequence = (list if origin is list else tuple) if is_sequence else None
        self._count = None if Ellipsis in typing.get_args(inner) or origin is not tuple else len(parts)
        self.is_value = self.sequence is None and not _is_array(inner)
        self.is_one = _is_array(inner) and not self._is_optional
        self._inner = inner

    def torch_type(self, op: str, where: str):
        """As torch.library spells it. ValueError: it has no such type."""
        if self.annotation in (None, types.NoneType):
            return None
        if self.sequence is None:
            kind = torch.Tensor if not self.is_value else self._inner
        elif where == "its result" and self._count is not None:
            kind = tuple[(torch.Tensor,) * self._count]
        else:
            kind = list[torch.Tensor]
        if self.is_value and kind not in (int, float, bool, str):
            raise ValueError(
                f"jax_op: {op}: {where}: expected jax.Array, tuples or lists of it, int, float, bool or str, "
                f"given {self.annotation}"
            )
        return kind | None if self._is_optional else kind


def _without_none(annotation) -> tuple:
    """(X, True) for X | None, else (annotation, False)"""
    if typing.get_origin(annotation) in (typing.Union, types.UnionType):
        parts = [part for part in typing.get_args(annotation) if part is not types.NoneType]
        if len(parts) == 1:
            return parts[0], True
    return annotation, False


def _is_array(annotation) -> bool:
    jax = sys.modules.get("jax")
    return annotation in (torch.Tensor, Array) or (jax is not None and annotation is getattr(jax, "Array", None))
