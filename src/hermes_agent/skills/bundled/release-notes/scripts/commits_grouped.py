"""Draft release notes from the commits between two points, grouped by what they are.

    commits_grouped.py FROM [TO] [--folder PATH]

Reads the type of each commit from its subject (feat, fix, perf, docs, …; else from its first word), marks breaking
changes, and keeps short hashes and numbers of requests so that every line can be traced. Exit code 1 when there is
nothing between the two points.
"""

import argparse
import re
import subprocess
import sys

SUBJECT = re.compile(r"^(?P<type>[a-z]+)(?:\((?P<scope>[^)]*)\))?(?P<bang>!)?:\s*(?P<text>.+)$")
TYPES = {
    "feat": "Added",
    "feature": "Added",
    "add": "Added",
    "adds": "Added",
    "fix": "Fixed",
    "fixes": "Fixed",
    "bugfix": "Fixed",
    "perf": "Faster",
    "remove": "Removed",
    "removes": "Removed",
    "drop": "Removed",
    "revert": "Reverted",
    "security": "Security",
    "docs": "Documentation",
}
ORDER = ("Breaking", "Security", "Added", "Changed", "Fixed", "Faster", "Removed", "Reverted", "Documentation")
INSIDE = frozenset({"chore", "ci", "build", "test", "tests", "style", "refactor", "merge", "wip"})


def git(*words: str) -> str:
    """What git answers."""
    done = subprocess.run(["git", *words], capture_output=True, text=True, errors="replace", check=False)
    if done.returncode:
        raise SystemExit(done.stderr.strip() or f"git {words[0]} failed")
    return done.stdout


def sorted_in(subject: str, body: str) -> tuple[str, str]:
    """The heading a commit belongs under (empty for inside work) and its line."""
    found = SUBJECT.match(subject)
    word = (found["type"] if found else subject.split(" ", 1)[0]).lower()
    text = found["text"] if found else subject
    if found and found["scope"]:
        text = f"{found['scope']}: {text}"
    breaking = re.search(r"^BREAKING[ -]CHANGE:\s*(.+)", body, re.MULTILINE)
    if breaking or (found and found["bang"]):
        return "Breaking", f"{text} ({breaking[1]})" if breaking else text
    return ("" if word in INSIDE else TYPES.get(word, "Changed")), text


def main() -> int:
    """Read the arguments."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("start")
    parser.add_argument("end", nargs="?", default="HEAD")
    parser.add_argument("--folder", default="")
    given = parser.parse_args()
    span = f"{given.start}..{given.end}"
    if given.start.startswith("-") or given.end.startswith("-"):
        parser.error("a point cannot begin with a dash")
    where = [span, "--", given.folder] if given.folder else [span, "--"]
    log = git("log", "--no-merges", "--format=%h%x1f%s%x1f%b%x1e", *where)
    groups: dict[str, list[str]] = {}
    commits = [entry.strip("\n").split("\x1f") for entry in log.split("\x1e") if entry.strip()]
    for short, subject, body in commits:
        heading, text = sorted_in(subject, body)
        groups.setdefault(heading, []).append(f"- {text} ({short})")
    if not commits:
        print(f"there is no commit in {span}")
        return 1
    print(f"# Draft for {span}: {len(commits)} commits, {len(groups.pop('', []))} inside work left out")
    for heading in ORDER:
        if lines := groups.get(heading):
            print(f"\n## {heading}")
            print("\n".join(lines))
    people = {line for line in git("log", "--no-merges", "--format=%an", *where).splitlines() if line}
    print(f"\nThanks to {', '.join(sorted(people))}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
