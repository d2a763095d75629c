"""Loads an exported file in the real training tools: `datasets`, `transformers`, TRL. No part of the suite.

    uv venv /tmp/trl && uv pip install --python /tmp/trl/bin/python jinja2 datasets transformers tokenizers trl
    hermes export trajectories --out FILE
    PYTHONPATH=. /tmp/trl/bin/python tests/training/prove_with_trl.py FILE

Every step is checked against the lines as they are in the file; the first that differs ends it with an error.
"""

import json
import sys
import tempfile
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

from tests.training.templates import TEMPLATES, rendered

WITH_STRINGS = ("deepseek",)
"""Templates that add `arguments` to a text, and so want it as one."""


def main(file: Path) -> None:
    """Prove all of it, and say what was proven."""
    names = ("datasets", "transformers", "tokenizers", "trl", "torch", "jinja2")
    print({name: version(name) for name in names})
    rows = [json.loads(line) for line in file.read_bytes().splitlines()]
    with tempfile.TemporaryDirectory() as folder:
        table = loaded(file, rows, folder)
        tokenizer = tokenizer_for(rows)
        own_templates(tokenizer, rows)
        shipped_templates(tokenizer, rows)
        trained(tokenizer, table, rows, folder)


def loaded(file: Path, rows: list[Any], folder: str) -> Any:
    """The file through the JSON loader, with types inferred and with types given: each row as it was written."""
    datasets = import_module("datasets")
    asis = datasets.load_dataset("json", data_files=str(file), split="train", cache_dir=f"{folder}/a")
    assert [close(row) for row in asis] == [close(row) for row in rows], "inferred types change rows"
    kinds = datasets.Features(
        {
            "messages": datasets.List(datasets.Json()),
            "tools": datasets.List(datasets.Json()),
            "metadata": datasets.Json(),
        }
    )
    given = datasets.load_dataset("json", data_files=str(file), split="train", features=kinds, cache_dir=f"{folder}/b")
    assert [close(row) for row in given] == [close(row) for row in rows], "given types change rows"
    streamed = datasets.load_dataset("json", data_files=str(file), split="train", streaming=True)
    assert [close(row) for row in streamed] == [close(row) for row in rows], "streaming changes rows"
    print(f"datasets: {len(rows)} rows load as they are; inferred {asis.features['messages']}")
    return asis


def close(value: Any) -> Any:
    """A JSON value with its fractions cut to 12 digits: the reader behind the loader is exact only so far."""
    match value:
        case float():
            return float(f"{value:.12g}")
        case dict():
            return {key: close(item) for key, item in value.items()}
        case list():
            return [close(item) for item in value]
        case _:
            return value


def tokenizer_for(rows: list[Any]) -> Any:
    """A small tokenizer of bytes, made here: nothing is downloaded."""
    tokenizers, transformers = import_module("tokenizers"), import_module("transformers")
    made = tokenizers.ByteLevelBPETokenizer()
    made.train_from_iterator((json.dumps(row)[:5000] for row in rows[:200]), vocab_size=600, show_progress=False)
    made.add_special_tokens(["<|end|>", "<|pad|>"])
    inner = tokenizers.Tokenizer.from_str(made.to_str())
    return transformers.PreTrainedTokenizerFast(tokenizer_object=inner, eos_token="<|end|>", pad_token="<|pad|>")


def own_templates(tokenizer: Any, rows: list[Any]) -> None:
    """`transformers` renders what our own renderer renders, and TRL too."""
    data_utils = import_module("trl.data_utils")
    for name, template in TEMPLATES.items():
        tokenizer.chat_template = template
        for row in rows:
            ours = rendered(template, row["messages"], row["tools"])
            tools = row["tools"] or None
            assert tokenizer.apply_chat_template(row["messages"], tools=tools, tokenize=False) == ours, name
            assert data_utils.is_conversational(row)
            assert data_utils.apply_chat_template(row, tokenizer, tools=row["tools"]) == {"text": ours}, name
    print(f"transformers and trl: {len(TEMPLATES)} templates of ours, {len(rows)} rows each, the same text")


def shipped_templates(tokenizer: Any, rows: list[Any]) -> None:
    """The models' own templates, as TRL ships them. Not every one takes several calls at once, or tools at all."""
    folder = Path(str(import_module("trl").__file__)).parent / "chat_templates"
    took, refused = [], {}
    for path in sorted(folder.glob("*.jinja")):
        template = path.read_text()
        if "tool_calls" not in template:
            continue
        tokenizer.chat_template = template
        try:
            for row in rows:
                text = shown(tokenizer, row, strings=path.name.startswith(WITH_STRINGS))
                assert all(name in text for name in called(row)), f"{path.name} drops calls"
            took.append(path.stem)
        except Exception as error:  # noqa: BLE001 - a template may raise anything, and is listed with it
            refused[path.stem] = f"{type(error).__name__}: {error}"[:160]
    print(f"trl's chat templates with tool calls: {len(took)} take every row: {', '.join(took)}")
    for name, why in refused.items():
        print(f"  not {name}: {why}")
    assert took


def shown(tokenizer: Any, row: Any, *, strings: bool) -> str:
    """One row in the template in force, arguments as text where that is asked for."""
    messages = json.loads(json.dumps(row["messages"]))
    for call in (call for message in messages for call in message.get("tool_calls", ())):
        if strings:
            call["function"]["arguments"] = json.dumps(call["function"]["arguments"])
    return str(tokenizer.apply_chat_template(messages, tools=row["tools"] or None, tokenize=False))


def called(row: Any) -> list[str]:
    """The tools that a row's messages call."""
    return [call["function"]["name"] for message in row["messages"] for call in message.get("tool_calls", ())]


def trained(tokenizer: Any, table: Any, rows: list[Any], folder: str) -> None:
    """TRL's trainer prepares the rows and takes two steps on a model of a few thousand weights."""
    transformers, trl = import_module("transformers"), import_module("trl")
    tokenizer.chat_template = TEMPLATES["hermes"]
    shape = transformers.Qwen2Config(
        vocab_size=len(tokenizer),
        hidden_size=16,
        intermediate_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        num_key_value_heads=2,
    )
    options = trl.SFTConfig(
        output_dir=f"{folder}/out",
        max_steps=2,
        per_device_train_batch_size=1,
        max_length=256,
        report_to=[],
        save_strategy="no",
        use_cpu=True,
        bf16=False,
    )
    model = transformers.Qwen2ForCausalLM(shape)
    trainer = trl.SFTTrainer(model=model, args=options, train_dataset=table, processing_class=tokenizer)
    first = trainer.train_dataset[0]["input_ids"]
    text = rendered(TEMPLATES["hermes"], rows[0]["messages"], rows[0]["tools"])
    assert text.startswith(tokenizer.decode(first)), "the trainer tokenised another text"
    done = trainer.train()
    print(
        f"trl.SFTTrainer: prepared {len(trainer.train_dataset)} rows, {done.global_step} steps, no change to the file"
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
