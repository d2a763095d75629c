"""Look at what is staged before it is committed.

    staged_check.py [--largest BYTES] [--protected NAME,NAME]

Finds conflict markers, whitespace errors, very large files, lines that look like a key or a left-over breakpoint, and
a commit straight to a protected branch. Exit code 1 when there is something to look at, 2 when nothing is staged.
"""

import argparse
import re
import subprocess
import sys

LEFT_OVER = re.compile(r"^\+.*(?:\bbreakpoint\(\)|\bpdb\.set_trace\(|\bdebugger;|\bbinding\.pry\b)")
KEY = re.compile(
    r"^\+.*(?:-----BEGIN [A-Z ]*PRIVATE KEY|\bAKIA[0-9A-Z]{16}\b|\bgh[pousr]_\w{30,}"
    r"|(?:password|secret|token|api_?key)\w*\s*[:=]\s*[\"'][^\"'\s]{12,}[\"'])",
    re.IGNORECASE,
)
MARKER = re.compile(r"^\+(?:<{7} |>{7} |={7}$|\|{7} )")


def git(*words: str) -> str:
    """What git answers."""
    done = subprocess.run(["git", *words], capture_output=True, text=True, errors="replace", check=False)
    if done.returncode and "--check" not in words:
        raise SystemExit(done.stderr.strip() or f"git {words[0]} failed")
    return done.stdout


def lines() -> list[str]:
    """What is wrong with lines that would be added, without showing what looks like a key."""
    found, file, number = [], "", 0
    for line in git("diff", "--cached", "--unified=0", "--no-color", "--no-ext-diff").splitlines():
        if line.startswith("+++ "):
            file = line[4:].removeprefix("b/")
        elif line.startswith("@@"):
            number = int(line.split("+")[1].split(" ")[0].split(",")[0])
        elif line.startswith("+"):
            for pattern, what in ((MARKER, "conflict marker"), (KEY, "looks like a key"), (LEFT_OVER, "breakpoint")):
                if pattern.search(line):
                    found.append(f"{file}:{number}: {what}")
            number += 1
    return found


def large(limit: int) -> list[str]:
    """Staged files above the limit."""
    found = []
    for entry in git("diff", "--cached", "--raw", "--abbrev=40", "-z", "--no-renames", "--diff-filter=d").split("\0:"):
        head, _, name = entry.lstrip(":").rstrip("\0").partition("\0")
        fields = head.split()
        if len(fields) >= 4 and fields[1] != "160000" and int(git("cat-file", "-s", fields[3])) > limit:
            found.append(f"{name}: larger than {limit} bytes")
    return found


def main() -> int:
    """Read the arguments."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--largest", type=int, default=1_000_000)
    parser.add_argument("--protected", default="main,master")
    given = parser.parse_args()
    names = git("diff", "--cached", "--name-only").splitlines()
    if not names:
        print("nothing is staged")
        return 2
    branch = git("branch", "--show-current").strip()
    found = [*lines(), *large(given.largest)]
    found += [line for line in git("diff", "--cached", "--check").splitlines() if line.endswith("whitespace.")]
    if branch in given.protected.split(","):
        found.append(f"you are on {branch}: make a branch first")
    print(f"{len(names)} files staged on {branch or 'a detached head'}")
    for each in found:
        print("-", each)
    print("nothing to complain of" if not found else f"{len(found)} to look at")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
