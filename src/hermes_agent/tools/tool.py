"""A tool: a function with a declaration of what it reaches and what it does to the world."""

from __future__ import annotations

import asyncio
import contextvars
import functools
import inspect
import queue
import threading
import typing
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

import msgspec

from ..types.errors import UsageError
from ..types.tools import Capability, Effect, Label, ToolContext, ToolSpec

Function = TypeVar("Function", bound=Callable[..., Any])
_CONTEXT = "context"


class ArgumentProblem(UsageError):
    """The model's arguments do not fit the function."""


class Tool:
    """A callable tool. Undeclared capabilities mean that a person is asked before each call."""

    def __init__(
        self,
        name: str,
        function: Callable[..., Any],
        description: str = "",
        capabilities: Iterable[str] | None = None,
        effect: str | None = None,
        needs: Iterable[str] = (),
        timeout: float = 60.0,
        parameters: dict[str, Any] | None = None,
    ) -> None:
        self._arguments = _arguments_type(function) if parameters is None else None
        self.spec = ToolSpec(
            name=_checked_name(name),
            description=description or inspect.getdoc(function) or "",
            parameters=_schema(self._arguments) if self._arguments else (parameters or {}),
            capabilities=None if capabilities is None else frozenset(map(_capability, capabilities)),
            effect=Effect.ONCE if effect is None else Effect(effect),
            needs=tuple(needs),
            timeout=timeout,
        )
        self.function = function
        self._wants_context = _CONTEXT in inspect.signature(function).parameters

    def with_spec(self, **changes: Any) -> Tool:
        """The same function under a changed declaration."""
        twin = Tool.__new__(Tool)
        twin.__dict__.update(self.__dict__)
        twin.spec = msgspec.structs.replace(self.spec, **changes)
        return twin

    def bind(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """The keyword arguments for the function, converted to its types. Raises ArgumentProblem with the reason."""
        if self._arguments is None:
            missing = [name for name in self.spec.parameters.get("required", ()) if name not in arguments]
            if missing:
                raise ArgumentProblem(f"missing argument {missing[0]!r}")
            return dict(arguments)
        try:
            bound = msgspec.convert(arguments, self._arguments, strict=False)
        except msgspec.ValidationError as error:
            raise ArgumentProblem(f"{self.spec.name}: {error}") from error
        return {field: getattr(bound, field) for field in self._arguments.__struct_fields__}

    async def run(self, bound: dict[str, Any], context: ToolContext) -> Any:
        """Call the function: on the loop if it is a coroutine function, else in a thread of its own.

        A thread that hangs cannot be ended, so it is a daemon: it neither blocks the loop nor the exit.
        """
        arguments = {**bound, _CONTEXT: context} if self._wants_context else bound
        if inspect.iscoroutinefunction(self.function):
            return await self.function(**arguments)
        value = await in_thread(lambda: self.function(**arguments))
        return await value if inspect.isawaitable(value) else value


class _Threads:
    """Daemon threads that wait for the next function. One that hangs is simply not there when the next is needed."""

    def __init__(self) -> None:
        self._idle: list[queue.SimpleQueue[Callable[[], None]]] = []

    def start(self, work: Callable[[], None]) -> None:
        """Run `work` in an idle thread, or in a new one."""
        try:
            self._idle.pop().put(work)
        except IndexError:
            threading.Thread(target=self._serve, args=(work,), name="hermes-tool", daemon=True).start()

    def _serve(self, work: Callable[[], None]) -> None:
        waiting: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        while True:
            work()
            del work
            self._idle.append(waiting)
            work = waiting.get()


_threads = _Threads()


async def in_thread(function: Callable[[], Any]) -> Any:
    """Run `function` in a daemon thread with this task's context variables."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Any] = loop.create_future()
    copied = contextvars.copy_context()

    def settle(value: Any, error: BaseException | None) -> None:
        if future.done():
            return
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(value)

    def work() -> None:
        value, failure = None, None
        try:
            value = copied.run(function)
        except BaseException as error:  # noqa: BLE001 - the tool boundary: whatever a tool raises is data
            failure = error if isinstance(error, Exception) and not isinstance(error, StopIteration) else _told(error)
        try:
            loop.call_soon_threadsafe(settle, value, failure)
        except RuntimeError:  # the loop ended before the tool did
            return

    _threads.start(work)
    return await future


def _told(error: BaseException) -> RuntimeError:
    """What must not travel through a future, such as SystemExit, as an error that may."""
    return RuntimeError(f"{type(error).__name__}: {error}")


def tool(
    *,
    capabilities: Iterable[str] | None = None,
    effect: str | None = None,
    needs: Iterable[str] = (),
    timeout: float = 60.0,
    replaces: Iterable[str] = (),
    name: str = "",
    labels: Iterable[str] | None = None,
    destinations: Iterable[str] = (),
    unlocks: Mapping[str, str] | None = None,
    rare: bool = False,
) -> Callable[[Function], Function]:
    """Declare a function to be a tool. Its docstring is the description, its signature the schema.

    Parameters are described by `Annotated[type, "what it is"]`. A parameter named `context` is not shown to the
    model and receives the ToolContext. The other declarations are those of ToolSpec.
    """

    def declare(function: Function) -> Function:
        declared = Tool(
            name or function.__name__,
            function,
            capabilities=capabilities,
            effect=effect,
            needs=needs,
            timeout=timeout,
        )
        family = function.__module__.rpartition(".")[2]
        function.__hermes_tool__ = declared.with_spec(  # type: ignore[attr-defined]
            replaces=tuple(replaces),
            family=family,
            labels=None if labels is None else frozenset(map(Label, labels)),
            destinations=tuple(destinations),
            unlocks={parameter: _capability(name) for parameter, name in (unlocks or {}).items()},
            rare=rare,
        )
        return function

    return declare


def declared_tool(function: object) -> Tool | None:
    """The tool that `@tool` made of a function, if it did."""
    found = getattr(function, "__hermes_tool__", None)
    return found if isinstance(found, Tool) else None


def _checked_name(name: str) -> str:
    if not name or len(name) > 64 or not all(char.isalnum() or char in "_-" for char in name) or not name.isascii():
        raise UsageError(f"{name!r} is no tool name", remedy="use up to 64 letters, digits, '_' and '-'")
    return name


def _capability(name: str) -> Capability:
    try:
        return Capability(name)
    except ValueError as error:
        known = ", ".join(sorted(Capability))
        raise UsageError(f"there is no capability {name!r}", remedy=f"known are: {known}") from error


def _arguments_type(function: Callable[..., Any]) -> type[msgspec.Struct]:
    """A struct with the function's parameters: the schema for the model and the check for its arguments."""
    if isinstance(function, functools.partial):
        raise UsageError("a partial has no signature of its own", remedy="wrap it in a function with typed parameters")
    hinted = function if inspect.isroutine(function) else type(function).__call__
    hints = typing.get_type_hints(hinted, include_extras=True)
    fields: list[Any] = []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.name == _CONTEXT or parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        kind = _described(hints.get(parameter.name, Any))
        fields.append(
            (parameter.name, kind)
            if parameter.default is parameter.empty
            else (parameter.name, kind, _default(parameter.default))
        )
    return msgspec.defstruct("Arguments", fields, kw_only=True, forbid_unknown_fields=True)


def _default(value: Any) -> Any:
    return msgspec.field(default_factory=lambda: value) if isinstance(value, list | dict | set) else value


def _described(hint: Any) -> Any:
    """`Annotated[T, "text"]` as msgspec's own description."""
    if typing.get_origin(hint) is not typing.Annotated:
        return hint
    kind, *notes = typing.get_args(hint)
    texts = [note for note in notes if isinstance(note, str)]
    return typing.Annotated[kind, msgspec.Meta(description=texts[0])] if texts else hint


def _schema(arguments: type[msgspec.Struct]) -> dict[str, Any]:
    """A compact JSON schema: no titles, no references, no defaults that say nothing."""
    (_, definitions) = msgspec.json.schema_components([arguments], ref_template="#/$defs/{name}")
    schema = dict(definitions.pop("Arguments"))
    properties = {name: _compact(part, definitions, ()) for name, part in schema.get("properties", {}).items()}
    compact: dict[str, Any] = {"type": "object", "properties": properties}
    if schema.get("required"):
        compact["required"] = schema["required"]
    return compact


_NOTHING: tuple[Any, ...] = (None, "", [], {}, ())


def _compact(part: Any, definitions: dict[str, Any], inside: tuple[str, ...]) -> Any:
    """One node of a schema. References are written out, because not every provider follows them."""
    if isinstance(part, list):
        return [_compact(one, definitions, inside) for one in part]
    if not isinstance(part, dict):
        return part
    name = part.get("$ref", "").rpartition("/")[2]
    if name:
        if name in inside:
            raise UsageError(f"the type {name!r} refers to itself", remedy="pass `parameters` with a schema of yours")
        part = {**definitions[name], **{key: value for key, value in part.items() if key != "$ref"}}
        inside = (*inside, name)
    kept: dict[str, Any] = {}
    for key, value in part.items():
        match key:
            case "title":
                continue
            case "additionalProperties" if value is False:
                continue
            case "default":
                if value not in _NOTHING:
                    kept[key] = value
            case "properties":
                kept[key] = {name: _compact(one, definitions, inside) for name, one in value.items()}
            case _:
                kept[key] = _compact(value, definitions, inside)
    if "enum" in kept and all(isinstance(value, str) for value in kept["enum"]):
        kept.setdefault("type", "string")
    options = kept.get("anyOf")
    if options and len(options) == 2 and {"type": "null"} in options:
        kept.pop("anyOf")
        kept.update(next(option for option in options if option != {"type": "null"}))
    return kept
