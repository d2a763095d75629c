"""The import contracts of pyproject.toml, on packages that break them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LAYERS = "A layer imports only those below it; siblings do not import each other"
TRUNK = "The harness does not know learning, skills or memory"
TYPES = "types imports nothing of ours"


def broken_contracts(folder: Path, files: dict[str, str]) -> set[str]:
    package = folder / "hermes_agent"
    for name, text in {"__init__.py": "", "version.py": "", **files}.items():
        file = package / name
        file.parent.mkdir(parents=True, exist_ok=True)
        (file.parent / "__init__.py").touch()
        file.write_text(text, encoding="utf-8")
    done = subprocess.run(
        [Path(sys.executable).parent / "lint-imports", "--no-cache", "--config", ROOT / "pyproject.toml"],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(folder), "COLUMNS": "200"},
        capture_output=True,
        text=True,
        check=False,
    )
    lines = done.stdout.splitlines()
    broken = {line.removesuffix(" BROKEN") for line in lines if line.endswith(" BROKEN")}
    kept = {line.removesuffix(" KEPT") for line in lines if line.endswith(" KEPT")}
    assert (broken | kept, done.returncode) == ({LAYERS, TRUNK, TYPES}, 1 if broken else 0), done.stdout
    return broken


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        (
            {
                "app.py": "from hermes_agent import learning, harness, runtime, version",
                "learning/a.py": "import hermes_agent.skills",
                "skills/a.py": "import hermes_agent.harness",
                "harness/a.py": "import hermes_agent.tools",
                "runtime/a.py": "import hermes_agent.harness",
                "tools/a.py": "",
            },
            set(),
        ),
        ({"harness/a.py": "def f():\n    import hermes_agent.learning", "learning/a.py": ""}, {LAYERS, TRUNK}),
        ({"harness/a.py": "from ..memory import a", "memory/a.py": ""}, {LAYERS, TRUNK}),
        ({"types/a.py": "from hermes_agent.config import a", "config/a.py": ""}, {LAYERS, TYPES}),
        ({"tools/a.py": "import hermes_agent.models.a", "models/a.py": ""}, {LAYERS}),
        ({"runtime/a.py": "from hermes_agent import app", "app.py": ""}, {LAYERS}),
        ({"config/a.py": "from hermes_agent.safety import a", "safety/a.py": ""}, {LAYERS}),
        ({"belongs_nowhere/a.py": ""}, {LAYERS}),
    ],
    ids=[
        "allowed",
        "harness-learning",
        "harness-memory",
        "types-config",
        "siblings",
        "below-app",
        "upwards",
        "unlisted",
    ],
)
def test_contracts(tmp_path: Path, files: dict[str, str], expected: set[str]) -> None:
    assert broken_contracts(tmp_path, files) == expected
