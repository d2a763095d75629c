from pathlib import Path

from scripts.check_environment import Access, accesses


def test_only_the_loader_may_read_the_environment(tmp_path: Path) -> None:
    config = tmp_path / "src" / "hermes_agent" / "config"
    config.mkdir(parents=True)
    (config / "load.py").write_text("import os\nhome = os.environ['HERMES_HOME']\n", encoding="utf-8")
    (config / "paths.py").write_text(
        "import os\nimport os as system\nfrom os import getenv, path\n"
        "a = os.environ.get('A')\nb = system.getenv('B')\nc = os.path.join('a', 'b')\nd = settings.environ\n",
        encoding="utf-8",
    )
    file = "src/hermes_agent/config/paths.py"
    assert accesses(tmp_path) == [
        Access(path=file, line=3, name="os.getenv"),
        Access(path=file, line=4, name="os.environ"),
        Access(path=file, line=5, name="os.getenv"),
    ]
