"""Reads what a self-written tool declares from its syntax tree. Its code is not run to learn that."""

from __future__ import annotations

import ast
import inspect
import types
import typing
from collections.abc import Awaitable, Callable, Iterator
from typing import Annotated, Any, Literal, Union

import msgspec

from ...types.base import Value
from ...types.errors import UsageError
from ...types.text import visible
from ...types.tools import Capability, Effect, ToolContext, ToolSpec
from ..tool import ArgumentProblem, Tool

LARGEST_SOURCE = 64 << 10
FAMILY = "self-written"
EXAMPLE = "EXAMPLE"
SPARE_SECONDS = 15.0
_LONGEST_DESCRIPTION = 600
_LONGEST_RUN = 300.0
_MOST_PARAMETERS = 12
_NO_JSON = object()
_KEYWORDS = frozenset(("capabilities", "effect", "timeout", "needs", "rare", "destinations"))
_TYPES: dict[str, Any] = {
    "str": str,
    "int": int,
    "float": float,
    "bool": bool,
    "list": list[Any],
    "dict": dict[str, Any],
    "Any": Any,
    "None": None,
}

Run = Callable[[dict[str, Any], ToolContext], Awaitable[Any]]
Function = ast.FunctionDef | ast.AsyncFunctionDef


class Refused(UsageError):
    """The source is not a tool that may be kept. The message lists every reason."""


class Written(Value, frozen=True, kw_only=True):
    """A tool as its source declares it."""

    spec: ToolSpec
    signature: inspect.Signature
    hints: dict[str, Any]
    example: dict[str, Any]
    tree: ast.Module

    def tool(self, run: Run) -> Tool:
        """The tool for the registry. `run` gets the arguments as JSON values and the context of the call."""

        async def function(**arguments: Any) -> Any:
            context = arguments.pop("context")
            return await run(arguments, context)

        function.__dict__["__signature__"] = self.signature
        function.__annotations__ = self.hints
        made = Tool(self.spec.name, function, description=self.spec.description)
        declared = {name: getattr(self.spec, name) for name in self.spec.__struct_fields__ if name != "parameters"}
        return made.with_spec(**declared)


def read(name: str, source: str) -> Written:
    """What `source` declares. Raises Refused with every reason that could be found."""
    if len(source.encode("utf-8", "surrogatepass")) > LARGEST_SOURCE:
        raise Refused(f"the source has more than {LARGEST_SOURCE} bytes")
    if "\0" in source:
        raise Refused("the source holds a NUL character")
    try:
        source.encode()
        compile(source, "tool.py", "exec", dont_inherit=True)
        return _read(name, ast.parse(source))
    except UnicodeEncodeError as error:
        raise Refused("the source is not valid text") from error
    except SyntaxError as error:
        raise Refused(f"line {error.lineno or 1}: {error.msg}") from error
    except (ValueError, RecursionError, MemoryError) as error:
        raise Refused("the source is nested too deeply") from error


def _read(name: str, tree: ast.Module) -> Written:
    reasons = list(_top_level(tree))
    functions = [node for node in tree.body if isinstance(node, Function) and any(map(_is_tool, node.decorator_list))]
    if len(functions) != 1:
        raise Refused("; ".join([*reasons, f"exactly one @tool(…) function is needed, not {len(functions)}"]))
    (function,) = functions
    if function.name != name:
        reasons.append(f"the function is named {function.name}, the tool {name}: use one name")
    declared = _declaration(function, reasons)
    description = _description(function, reasons)
    parameters, hints = _parameters(function, reasons)
    example = _example(tree, reasons)
    if reasons:
        raise Refused("; ".join(reasons))
    spec = ToolSpec(name=name, description=description, parameters={}, family=FAMILY, **declared)
    written = Written(spec=spec, signature=inspect.Signature(parameters), hints=hints, example=example, tree=tree)
    try:
        probe = written.tool(_never)
        msgspec.json.encode([probe.spec, probe.bind(example)])
    except ArgumentProblem as error:
        raise Refused(f"{EXAMPLE} does not fit the parameters: {error}") from error
    except TypeError as error:
        raise Refused(f"the parameters have no place in a schema: {error}") from error
    return Written(spec=probe.spec, signature=written.signature, hints=written.hints, example=example, tree=tree)


async def _never(arguments: dict[str, Any], context: ToolContext) -> Any:
    raise AssertionError("only its signature is used")


def _top_level(tree: ast.Module) -> Iterator[str]:
    """A module of definitions only: what it does, it does when it is called."""
    for number, node in enumerate(tree.body):
        docstring = number == 0 and isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if not docstring and not isinstance(
            node, ast.Import | ast.ImportFrom | Function | ast.ClassDef | ast.Assign | ast.AnnAssign
        ):
            yield f"line {node.lineno}: only imports, definitions and constants may stand outside of functions"


def _is_tool(decorator: ast.expr) -> bool:
    called = decorator.func if isinstance(decorator, ast.Call) else decorator
    return isinstance(called, ast.Name) and called.id == "tool"


def _declaration(function: Function, reasons: list[str]) -> dict[str, Any]:
    """The keywords of the decorator, all literal."""
    given: dict[str, Any] = {}
    if len(function.decorator_list) > 1:
        reasons.append("no other decorators beside @tool")
    (decorator,) = [one for one in function.decorator_list if _is_tool(one)][:1]
    for keyword in decorator.keywords if isinstance(decorator, ast.Call) else ():
        if keyword.arg not in _KEYWORDS:
            reasons.append(f"@tool here knows only {', '.join(sorted(_KEYWORDS))}, not {keyword.arg}")
            continue
        try:
            given[keyword.arg] = ast.literal_eval(keyword.value)
        except (ValueError, TypeError):
            reasons.append(f"{keyword.arg} must be written out as a literal")
    if isinstance(decorator, ast.Call) and decorator.args:
        reasons.append("@tool takes keywords only")
    return _declared(given, reasons)


def _declared(given: dict[str, Any], reasons: list[str]) -> dict[str, Any]:
    capabilities = frozenset[Capability]()
    try:
        capabilities = frozenset(map(Capability, _words(given["capabilities"])))
    except KeyError:
        reasons.append("declare the capabilities, if only as capabilities=()")
    except (TypeError, ValueError):
        reasons.append(f"capabilities is a tuple of: {', '.join(sorted(Capability))}")
    effect, timeout = given.get("effect", Effect.ONCE), given.get("timeout", 60)
    if effect not in tuple(Effect):
        reasons.append(f"effect is one of {', '.join(Effect)}")
        effect = Effect.ONCE
    if effect == Effect.NONE and capabilities & {Capability.FILES_WRITE, Capability.MESSAGES}:
        reasons.append("a tool that writes has an effect: idempotent or once")
    if type(timeout) not in (int, float) or not 0 < timeout <= _LONGEST_RUN:
        reasons.append(f"timeout is a number of seconds up to {_LONGEST_RUN:g}")
        timeout = 60
    lists: dict[str, tuple[str, ...]] = {}
    for name in ("needs", "destinations"):
        try:
            lists[name] = _words(given.get(name, ()))
        except TypeError:
            reasons.append(f"{name} is a tuple of names")
    rare = given.get("rare", True) is not False
    return {
        "capabilities": capabilities,
        "effect": Effect(effect),
        "timeout": float(timeout) + SPARE_SECONDS,
        "rare": rare,
        **lists,
    }


def _words(value: Any) -> tuple[str, ...]:
    if not isinstance(value, tuple | list | set) or not all(isinstance(one, str) for one in value):
        raise TypeError
    return tuple(sorted(value) if isinstance(value, set) else value)


def _description(function: Function, reasons: list[str]) -> str:
    text = ast.get_docstring(function) or ""
    if not text.strip():
        reasons.append("the function needs a docstring: it is the description")
    if len(text) > _LONGEST_DESCRIPTION:
        reasons.append(f"the docstring is longer than {_LONGEST_DESCRIPTION} characters")
    if visible(text) != text:
        reasons.append("the docstring holds control or invisible characters")
    return text


def _parameters(function: Function, reasons: list[str]) -> tuple[list[inspect.Parameter], dict[str, Any]]:
    """The signature, every parameter by keyword, with `context` at its end, which is not shown to the model."""
    given, hints = function.args, dict[str, Any]()
    if given.vararg or given.kwarg or given.posonlyargs:
        reasons.append("the function takes no *args, **kwargs or positional-only parameters")
    plain = [*given.args, *given.kwonlyargs]
    missing = [None] * (len(given.args) - len(given.defaults))
    parameters = []
    for argument, default in zip(plain, [*missing, *given.defaults, *given.kw_defaults], strict=True):
        if argument.arg == "context":
            continue
        hint = hints[argument.arg] = _hint(argument, reasons)
        value: Any = inspect.Parameter.empty
        if default is not None:
            try:
                value = ast.literal_eval(default)
            except (ValueError, TypeError):
                value = _NO_JSON
            if not _is_json(value):
                reasons.append(f"the default of {argument.arg} must be a literal, as in JSON")
        parameters.append(
            inspect.Parameter(argument.arg, inspect.Parameter.KEYWORD_ONLY, default=value, annotation=hint)
        )
    if len(parameters) > _MOST_PARAMETERS:
        reasons.append(f"at most {_MOST_PARAMETERS} parameters")
    parameters.append(inspect.Parameter("context", inspect.Parameter.KEYWORD_ONLY, annotation=Any))
    return parameters, hints


def _hint(argument: ast.arg, reasons: list[str]) -> Any:
    if argument.annotation is None:
        reasons.append(f"the parameter {argument.arg} needs a type")
        return Any
    try:
        return _type(argument.annotation)
    except (TypeError, KeyError, ValueError):
        known = "str, int, float, bool, list[…], dict[str, …], Literal[…], Annotated[…, 'text'], … | None"
        reasons.append(f"the type of {argument.arg} must be made of {known}")
        return Any


def _type(node: ast.expr) -> Any:
    """A type made of the few that have a place in a schema."""
    match node:
        case ast.Constant(value=None):
            return types.NoneType
        case ast.Name(id=name):
            return _TYPES[name]
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            return Union[_type(left), _type(right)]  # noqa: UP007 - made at run time
        case ast.Subscript(value=ast.Name(id=name) | ast.Attribute(attr=name), slice=inner):
            parts = inner.elts if isinstance(inner, ast.Tuple) else [inner]
            return _generic(name, parts)
        case _:
            raise TypeError


def _generic(name: str, parts: list[ast.expr]) -> Any:
    match name, parts:
        case "list", [item]:
            return list[_type(item)]  # type: ignore[misc]
        case "tuple", [item, ast.Constant(value=value)] if value is Ellipsis:
            return list[_type(item)]  # type: ignore[misc]
        case "dict", [ast.Name(id="str"), item]:
            return dict[str, _type(item)]  # type: ignore[misc]
        case "Optional", [item]:
            return typing.Optional[_type(item)]  # noqa: UP045 - made at run time
        case "Literal", values:
            return Literal[tuple(_literal(value) for value in values)]
        case "Annotated", [item, ast.Constant(value=str(text)), *_]:
            return Annotated[_type(item), text]
        case _:
            raise TypeError


def _literal(node: ast.expr) -> str | int:
    if isinstance(node, ast.Constant) and type(node.value) in (str, int):
        return node.value  # type: ignore[return-value]
    raise TypeError


def _is_json(value: Any) -> bool:
    """Whether a literal can be written as JSON; tuples count as lists."""
    match value:
        case None | bool() | int() | float() | str():
            return True
        case list() | tuple():
            return all(map(_is_json, value))
        case dict():
            return all(isinstance(key, str) and _is_json(item) for key, item in value.items())
        case _:
            return False


def _example(tree: ast.Module, reasons: list[str]) -> dict[str, Any]:
    """The arguments of the trial."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and [ast.unparse(target) for target in node.targets] == [EXAMPLE]:
            try:
                value = ast.literal_eval(node.value)
            except (ValueError, TypeError):
                value = None
            if _is_json(value) and isinstance(value, dict):
                return value
            reasons.append(f"{EXAMPLE} must be a literal dict of arguments, as in JSON")
            return {}
    reasons.append(f"{EXAMPLE} = {{…}} is missing: the arguments of a trial run")
    return {}
