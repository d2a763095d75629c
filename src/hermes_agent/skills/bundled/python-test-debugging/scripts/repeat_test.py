"""Run one test command several times, to tell a test that fails from one that fails now and then.

    repeat_test.py TIMES COMMAND...

Each run gets another hash seed, so that an order of a set that a test leans on shows. Exit code 0: always passed,
1: always failed, 3: both (flaky).
"""

import subprocess
import sys


def main() -> int:
    """Run and count."""
    if len(sys.argv) < 3 or not sys.argv[1].isdigit() or int(sys.argv[1]) < 1:
        raise SystemExit(__doc__)
    times, command = int(sys.argv[1]), sys.argv[2:]
    failed: list[str] = []
    last = ""
    for seed in range(times):
        argv = ["env", f"PYTHONHASHSEED={seed}", *command]
        done = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        if done.returncode:
            failed.append(str(seed))
            last = done.stdout.decode(errors="replace")[-2000:]
    verdict = "always passes" if not failed else "always fails" if len(failed) == times else "flaky"
    print(f"{verdict}: {len(failed)} of {times} failed" + (f" (PYTHONHASHSEED {', '.join(failed)})" if failed else ""))
    if last:
        print("the end of the last failure:")
        print(last)
    return 0 if not failed else 1 if len(failed) == times else 3


if __name__ == "__main__":
    sys.exit(main())
