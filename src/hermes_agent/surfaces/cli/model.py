"""`hermes model`: which models there are, which one answers, and how well it calls tools."""

from __future__ import annotations

import asyncio
import time
from typing import Any, Protocol, runtime_checkable

import click

from ...config.edit import set_value
from ...config.load import Environment, load_settings, read_environment
from ...config.settings import Settings
from ...models.access import access_to, options_for
from ...models.catalog import clients, provider_names, split_name
from ...models.client import ModelAnswer, ModelClient, ProviderOptions, TextListener
from ...models.facts import ModelFacts, aliases, facts_for, known_models, resolve
from ...models.probe import ProbeAnswer, ProbeScore, probe, probe_sheet
from ...models.request import ModelRequest
from ...types.base import Value
from ...types.errors import ConfigError, HermesError
from ...types.text import one_line
from .console import Console, print_json
from .options import json_option
from .privacy import without_password

_QUESTIONS = 20
_SAMPLES = {"apprentice": "", "local": ""}
_NEEDS_A_FILE = ("scripted",)


class Provider(Value, frozen=True, kw_only=True):
    """A provider and whether it could be asked now. `variables` hold its keys, `keys` is how many are there."""

    name: str
    ready: bool
    keys: int
    variables: tuple[str, ...]
    problem: str = ""
    remedy: str = ""


@click.group(short_help="Which models there are, which one answers, and how good it is.")
def command() -> None:
    """Models are named provider:model, such as openai:NAME. Facts and aliases of your own are in models.yaml."""


@command.command("list")
@json_option
def list_models(as_json: bool) -> None:
    """Providers and whether their keys and packages are there, the models we know facts of, and your aliases."""
    environment = read_environment()
    settings = load_settings(environment.home)
    providers = [_provider(name, environment, settings) for name in provider_names()]
    models = known_models(environment.home)
    named = aliases(environment.home)
    if as_json:
        print_json(
            {
                "model": environment.model or settings.model.name,
                "fallbacks": settings.model.fallbacks,
                "providers": providers,
                "models": models,
                "aliases": named,
            }
        )
        return
    _print_list(Console(), environment.model or settings.model.name, providers, models, named)


@command.command("set")
@click.argument("name")
@json_option
def set_model(name: str, as_json: bool) -> None:
    """Let NAME answer from now on. It is written as model.name after a check that its key or package is there."""
    environment = read_environment()
    settings = load_settings(environment.home)
    wanted = resolve(name, environment.home)
    _connected(wanted, environment, settings, configured=settings.model.base_url)
    path = set_value(environment.home, "model.name", wanted)
    if as_json:
        print_json({"model": wanted, "path": str(path), "facts": facts_for(wanted, environment.home)})
        return
    console = Console()
    console.note(f"model.name is now {wanted} in {path}")
    if settings.model.base_url:
        console.note(f"model.base_url is {without_password(settings.model.base_url)} and holds for it too", "yellow")
    if environment.model:
        console.note(f"HERMES_MODEL is {environment.model} and comes before it", "yellow")


@command.command("test")
@click.argument("name", default="")
@click.option("--base-url", default="", metavar="URL", help="Ask at this address.")
@click.option(
    "--calls", type=click.IntRange(1, _QUESTIONS), default=_QUESTIONS, show_default=True, help="How many questions."
)
@json_option
def test_model(name: str, base_url: str, calls: int, as_json: bool) -> int:
    """Ask a model for twenty tool calls and print its score as it is. Exits with 1 if the model cannot be reached."""
    environment = read_environment()
    settings = load_settings(environment.home)
    wanted = resolve(name or environment.model or settings.model.name, environment.home)
    if not wanted:
        raise ConfigError(
            "no model is named or configured", remedy="`hermes model test openai:NAME`, or set model.name"
        )
    metered = Metered(_connected(wanted, environment, settings, base_url=base_url, configured=settings.model.base_url))
    console = Console(quiet=as_json)
    score = asyncio.run(_probed(metered, calls, console))
    if as_json:
        print_json(_described(score, metered))
    else:
        _print_score(console, score, metered)
    return 0 if metered.answers else 1


@runtime_checkable
class _Timed(Protocol):
    """A client that knows how fast its model writes, without loading and reading."""

    @property
    def local_stats(self) -> Any: ...


class Metered:
    """A model that counts what it writes and how long that takes."""

    def __init__(self, client: ModelClient) -> None:
        self._client = client
        self.provider = client.provider
        self.model = client.model
        self.answers = 0
        self.tokens = 0
        self.seconds = 0.0

    @property
    def tokens_per_second(self) -> float | None:
        """Tokens written per second; None when the endpoint does not say how many there were."""
        return round(self.tokens / self.seconds, 1) if self.tokens and self.seconds else None

    async def answer(self, request: ModelRequest, on_text: TextListener) -> ModelAnswer:
        """The model's answer, counted."""
        started = time.perf_counter()
        answer = await self._client.answer(request, on_text)
        stats = self._client.local_stats if isinstance(self._client, _Timed) else None
        if stats is not None and stats.generated_per_second:
            self.seconds += stats.generated / stats.generated_per_second
        else:
            self.seconds += time.perf_counter() - started
        self.answers += 1
        self.tokens += answer.usage.output
        return answer

    async def close(self) -> None:
        """Let go of the model's connections."""
        await self._client.close()


async def _probed(client: Metered, calls: int, console: Console) -> ProbeScore:
    questions = probe_sheet().questions[:calls]
    done = 0

    def progress(answer: ProbeAnswer) -> None:
        nonlocal done
        done += 1
        mark, style = ("✓", "green") if answer.right_arguments else ("✗", "yellow")
        console.note(f"{mark} {done}/{len(questions)}  {one_line(answer.question.request, 90)}", style)

    console.note(f"asking {client.provider}:{client.model} for {len(questions)} calls")
    try:
        return await probe(client, questions, progress)
    finally:
        await client.close()


def _connected(
    name: str, environment: Environment, settings: Settings, *, base_url: str = "", configured: str = ""
) -> ModelClient:
    """The first client for a model name: its key, its package and its spelling are there, or an error says what is
    not. Nothing is sent."""
    limits = settings.model
    base = ProviderOptions(model="", base_url=base_url, timeout=limits.timeout, connect_timeout=limits.connect_timeout)
    client = clients(name, environment.access, base, configured)[0]
    provider, model = split_name(name)
    access = access_to(provider)
    options = options_for(provider, model, environment.access, base, configured)[0]
    if not options.api_key and access.address.startswith("https:") and options.base_url == access.address:
        raise ConfigError(f"{provider}: needs a key", remedy=f"set {' or '.join(access.keys)}")
    return client


def _provider(name: str, environment: Environment, settings: Settings) -> Provider:
    access = access_to(name)
    options = options_for(name, "", environment.access, ProviderOptions(model=""))
    found = Provider(name=name, ready=True, keys=sum(bool(one.api_key) for one in options), variables=access.keys)
    if name in _NEEDS_A_FILE:
        return found
    try:
        configured = settings.model.base_url if settings.model.name.startswith(f"{name}:") else ""
        _connected(f"{name}:{_SAMPLES.get(name, 'x')}", environment, settings, configured=configured)
    except HermesError as error:
        return Provider(
            name=name,
            ready=False,
            keys=found.keys,
            variables=access.keys,
            problem=str(error).removeprefix(f"{name}: "),
            remedy=error.advice,
        )
    return found


def _print_list(
    console: Console,
    current: str,
    providers: list[Provider],
    models: dict[str, ModelFacts],
    named: dict[str, str],
) -> None:
    console.note(f"the model in force is {current}" if current else "no model is configured: `hermes model set NAME`")
    rows = [(one.name, "ready" if one.ready else one.problem, str(one.keys or ""), one.remedy) for one in providers]
    console.table(("provider", "state", "keys", "what to do"), rows)
    console.say("")
    console.table(
        ("model", "window", "writes", "$ in", "$ out", "$ cached", "as of", "efforts", "sees"),
        [_fact_row(name, facts) for name, facts in models.items()],
    )
    console.note("prices are in US dollars for a million tokens; ? is unknown")
    if named:
        console.say("")
        console.table(("alias", "model"), list(named.items()))
    console.note("facts and aliases of your own are in models.yaml: `hermes config path` names its folder")


def _fact_row(name: str, facts: ModelFacts) -> tuple[str, ...]:
    return (
        name,
        f"{facts.context_window:,}",
        f"{facts.max_output:,}",
        *("?" if price is None else f"{price:g}" for price in (facts.input_usd, facts.output_usd, facts.cached_usd)),
        facts.as_of,
        ", ".join(facts.efforts),
        "images" if facts.vision else "",
    )


def _described(score: ProbeScore, metered: Metered) -> dict[str, Any]:
    return {
        "model": score.model,
        "asked": score.asked,
        "right_tool": score.right_tool,
        "right_arguments": score.right_arguments,
        "seconds": round(score.seconds, 3),
        "tokens_per_second": metered.tokens_per_second,
        "answers": score.answers,
    }


def _print_score(console: Console, score: ProbeScore, metered: Metered) -> None:
    wrong = [answer for answer in score.answers if not answer.right_arguments]
    if wrong:
        console.table(("wanted", "got", "asked for"), [_wrong_row(answer) for answer in wrong])
    speed = metered.tokens_per_second
    rate = f", {speed:g} tokens/s" if speed is not None else ""
    console.say(
        f"{score.model}: {score.right_arguments} of {score.asked} calls right"
        f" (right tool: {score.right_tool}) in {score.seconds:.1f} s{rate}"
    )


def _wrong_row(answer: ProbeAnswer) -> tuple[str, str, str]:
    got = f"{answer.tool}({', '.join(f'{name}={value!r}' for name, value in answer.arguments.items())})"
    return answer.question.tool, one_line(answer.problem or got, 80), answer.question.request
