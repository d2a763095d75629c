"""A person's editor, in a process of its own, without any lock: each line of standard input is one save.

`rename` writes a new file and renames it over the old one; `truncate` empties the file and writes it anew; `held` keeps
the file open from the start and writes into it later."""

import json
import os
import sys
import time
from pathlib import Path


def save(path: Path, how: str, delay: float, text: str) -> None:
    data = text.encode()
    if how == "rename":
        fresh = path.with_name(f".{path.name}.swp")
        fresh.write_bytes(data)
        time.sleep(delay)
        os.replace(fresh, path)
    elif how == "truncate":
        time.sleep(delay)
        with path.open("wb", buffering=0) as file:
            half = len(data) // 2
            file.write(data[:half])
            time.sleep(delay / 4)
            file.write(data[half:])
    else:
        with path.open("r+b", buffering=0) as file:
            time.sleep(delay)
            file.write(data)
            file.truncate()


for line in sys.stdin:
    wish = json.loads(line)
    save(Path(wish["path"]), wish["how"], wish["delay"], wish["text"])
    print("saved", flush=True)
