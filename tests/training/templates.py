"""Chat templates in the manner of four families of models, small, and strict about what the real ones are strict
about; and a renderer with the settings of `transformers`."""

import json
from typing import Any

from jinja2.exceptions import TemplateError
from jinja2.sandbox import ImmutableSandboxedEnvironment

CHATML = """
{%- for message in messages %}
{{- '<|im_start|>' + message['role'] + '\\n' + message['content'] }}
{%- for call in message.tool_calls or [] %}
{{- '\\n<call ' + call.id + '>' + call.function.name + call.function.arguments | tojson }}
{%- endfor %}
{{- '<|im_end|>\\n' }}
{%- endfor %}"""

HERMES = """
{%- if tools %}
    {{- '<|im_start|>system\\n<tools>\\n' }}
    {%- for tool in tools %}
        {{- tool | tojson + '\\n' }}
    {%- endfor %}
    {{- '</tools><|im_end|>\\n' }}
{%- endif %}
{%- for message in messages %}
    {%- if message.role == 'tool' %}
        {{- '<|im_start|>tool\\n<tool_response>\\n' + message.content + '\\n</tool_response><|im_end|>\\n' }}
    {%- elif message.role == 'assistant' and message.tool_calls is defined %}
        {{- '<|im_start|>assistant\\n' + message.content }}
        {%- for call in message.tool_calls %}
            {%- set call = call.function if call.function is defined else call %}
            {{- '\\n<tool_call>\\n' + {'name': call.name, 'arguments': call.arguments} | tojson + '\\n</tool_call>' }}
        {%- endfor %}
        {{- '<|im_end|>\\n' }}
    {%- else %}
        {{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' }}
    {%- endif %}
{%- endfor %}"""

LLAMA = """
{%- if tools is not none and tools is defined %}
    {%- for tool in tools %}{{- tool | tojson(indent=4) + '\\n\\n' }}{%- endfor %}
{%- endif %}
{%- for message in messages %}
    {%- if 'tool_calls' in message %}
        {%- if not message.tool_calls | length %}{{- raise_exception('tool_calls is there and empty') }}{%- endif %}
        {%- for call in message.tool_calls %}
            {{- '<|python_tag|>{"name": "' + call.function.name + '", "parameters": ' }}
            {{- call.function.arguments | tojson + '}<|eot_id|>' }}
        {%- endfor %}
    {%- elif message.role == 'tool' %}
        {{- '<|start_header_id|>ipython<|end_header_id|>\\n\\n' + message.content | trim + '<|eot_id|>' }}
    {%- else %}
        {{- '<|start_header_id|>' + message.role + '<|end_header_id|>\\n\\n' + message.content | trim + '<|eot_id|>' }}
    {%- endif %}
{%- endfor %}"""

QWEN = """
{%- for message in messages %}
    {%- if message.role == 'system' and not loop.first %}{{- raise_exception('system is not first') }}{%- endif %}
    {%- if message.role == 'user' and loop.previtem and loop.previtem.role == 'user' %}
        {{- raise_exception('the user spoke twice') }}
    {%- endif %}
    {{- '<|im_start|>' + message.role + '\\n' + message.content }}
    {%- if message.tool_calls %}
        {%- for call in message.tool_calls %}
            {{- '\\n<function=' + call.function.name + '>' }}
            {%- for name, value in call.function.arguments | items %}
                {%- set value = value if value is string else value | tojson %}
                {{- '\\n<parameter=' + name + '>' + value }}
            {%- endfor %}
        {%- endfor %}
    {%- endif %}
    {{- '<|im_end|>\\n' }}
{%- endfor %}"""

TEMPLATES = {"chatml": CHATML, "hermes": HERMES, "llama": LLAMA, "qwen": QWEN}


def rendered(template: str, messages: list[Any], tools: list[Any]) -> str:
    """A conversation as `tokenizer.apply_chat_template(messages, tools=tools, tokenize=False)` would write it."""
    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"]
    )
    environment.filters["tojson"] = _tojson
    environment.globals["raise_exception"] = _refuse
    return environment.from_string(template).render(messages=messages, tools=tools or None)


def _tojson(value: Any, ensure_ascii: bool = False, indent: int | None = None) -> str:
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent)


def _refuse(message: str) -> None:
    raise TemplateError(message)
