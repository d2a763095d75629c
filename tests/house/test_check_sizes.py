import subprocess
import sys
from pathlib import Path

from scripts.check_sizes import Offender, offenders

ROOT = Path(__file__).resolve().parents[2]


def write(root: Path, path: str, text: str) -> None:
    file = root / "src" / "hermes_agent" / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")


def function(name: str, lines: int, indent: str = "") -> str:
    body = f"{indent}    value = 0\n" * (lines - 1)
    return f"{indent}def {name}():\n{body}"


def constructor(name: str, parameters: str) -> str:
    return f"class {name}:\n    def __init__(self, {parameters}):\n        ...\n"


def test_what_is_within_the_limits_is_not_named(tmp_path: Path) -> None:
    write(tmp_path, "a.py", "x = 0\n" * 400)
    write(tmp_path, "b.py", "@decorated\n" + function("exact", 60))
    write(tmp_path, "c.py", constructor("Exact", "a, b, /, c, *more, d, e, f, **rest"))
    write(tmp_path, "d.py", "class Values(Struct):\n" + "".join(f"    field_{n}: int\n" for n in range(9)))
    write(tmp_path, "harness.py", "class Harness:\n" + "".join(f"    field_{n}: int\n" for n in range(8)))
    for n in range(3):
        write(tmp_path, f"types/t{n}.py", "x = 0\n" * (399 + n // 2))
    assert offenders(tmp_path) == [], "399 + 399 + 400 lines of types are fewer than 1,200"


def test_every_limit_is_held(tmp_path: Path) -> None:
    write(tmp_path, "a.py", "x = 0\n" * 401)
    write(tmp_path, "b.py", "class Outer:\n" + function("method", 61, "    ") + "\nif True:\n" + function("f", 61, " "))
    write(tmp_path, "c.py", "\n" + constructor("Wide", "a, b, /, c, *more, d, e, f, g, **rest"))
    write(tmp_path, "harness.py", "class Harness:\n" + "".join(f"    field_{n}: int\n" for n in range(9)))
    for n in range(3):
        write(tmp_path, f"types/t{n}.py", "x = 0\n" * 400)
    package = "src/hermes_agent"
    expected = [
        Offender(path=f"{package}/a.py", line=1, name="file", size=401, limit=400),
        Offender(path=f"{package}/b.py", line=2, name="Outer.method", size=61, limit=60),
        Offender(path=f"{package}/b.py", line=65, name="f", size=61, limit=60),
        Offender(path=f"{package}/c.py", line=3, name="Wide.__init__", size=9, limit=8),
        Offender(path=f"{package}/harness.py", line=1, name="Harness", size=9, limit=8),
        Offender(path=f"{package}/types", line=1, name="package", size=1200, limit=1199),
    ]
    assert offenders(tmp_path) == expected

    done = subprocess.run(
        [sys.executable, "-m", "scripts.check_sizes", tmp_path], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout.splitlines()[1]) == (1, "src/hermes_agent/b.py:2 Outer.method 61 60")
