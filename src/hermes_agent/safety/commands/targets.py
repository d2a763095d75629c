"""What a path or an address in a command stands for."""

from __future__ import annotations

import posixpath
import re

from .words import Word, names

_SYSTEM = names(
    "bin boot dev etc home lib lib32 lib64 media mnt opt proc root run sbin srv sys usr var Users System Library "
    "Applications Volumes private"
)
_HOME = re.compile(r"^(?:~\w*|\$HOME|\$\{HOME\}|/root|/(?:home|Users)/[^/]+)(?=/|$)")
_SECRETS = re.compile(
    r"""(?:^|[/=@:\s])(?:
        \.ssh(?:/|$)(?!.*(?:\.pub|known_hosts|authorized_keys)$) | id_(?:rsa|dsa|ecdsa|ed25519)(?!\.pub)\b
        | \.aws(?:/|$) | \.azure(?:/|$) | \.gnupg(?:/|$) | \.kube/config | \.docker/config\.json | \.config/gcloud
        | \.env(?:\.(?!(?:example|sample|template|dist)\b)[\w.-]+)?$ | \.envrc$
        | \.netrc | \.pgpass | \.my\.cnf | \.npmrc | \.pypirc | \.git-credentials | \.vault-token | \.terraformrc
        | \.config/(?:gh|hub|op)(?:/|$) | \.password-store | \.mozilla | \.thunderbird
        | \.config/(?:google-chrome|chromium)
        | etc/(?:shadow|gshadow|sudoers|ssl/private|krb5\.keytab) | \.bash_history | \.zsh_history | \.python_history
        | credentials(?:\.\w+)?$ | secrets?(?:\.(?:ya?ml|json|toml|env|txt|ini))?$
        | \.hermes/(?:.*keys|.*secrets|.*credentials)
        | proc/[^/]+/(?:environ|mem|maps|root) | var/run/secrets | run/secrets
        | [^/\s]*\.(?:pem|p12|pfx|keystore|jks|kdbx)$
        | docker\.sock | Login\ Data | logins\.json | keychain
    )""",
    re.VERBOSE | re.IGNORECASE,
)
_PERSISTENT = re.compile(
    r"""(?:^|[/=:\s>])(?:
        \.(?:bash|zsh|ksh|csh|tcsh|mksh)rc | \.bash_(?:profile|login|logout|aliases) | \.z(?:profile|login|logout|shenv)
        | \.profile$ | \.config/fish | \.xinitrc | \.xprofile | \.xsession | \.inputrc | \.vimrc
        | \.config/nvim | \.emacs
        | \.ssh/(?:authorized_keys|config|rc|environment) | authorized_keys
        | \.config/(?:autostart|systemd|environment\.d)
        | \.git/(?:hooks|config)(?:/|$) | \.husky/ | \.gitconfig | \.config/git/ | \.pam_environment | \.pythonrc
        | etc/(?:profile|bash|zsh|cron|systemd|init|rc|ld\.so|sudoers|
            pam|ssh|environment|passwd|group|hosts|xdg|udev|modules)
        | var/spool/cron | (?:lib|local/lib)/systemd | LaunchAgents | LaunchDaemons
        | usercustomize\.py | sitecustomize\.py
        | [^/\s]*\.(?:service|timer|desktop|plist)$
    )""",
    re.VERBOSE,
)
_SECRET_NAME = re.compile(r"(?:KEY|TOKEN|SECRET|PASSW(?:OR)?D|PASSWD|CREDENTIAL|PRIVATE)S?(?:_|\b)", re.IGNORECASE)
_EXPANDED = re.compile(r"\$\{?!?([A-Za-z_]\w*)")
_DEVICE = re.compile(r"^/dev/(?:[sv]d[a-z]|nvme|hd[a-z]|disk|mmcblk|xvd|loop|mapper/|md\d|mem|kmem|port)")


def normal(path: str) -> str:
    """`path` without `.`, `//` and what `..` takes back."""
    if not path:
        return path
    made = posixpath.normpath(path)
    return made[1:] if made.startswith("//") else made


def broad(word: Word) -> str:
    """Why removing this would remove more than one piece of work; empty if it would not."""
    text = word.text
    if not word.known and text == "…":
        return "what it names is not known before it runs"
    if not word.known:
        kept = re.sub(r"\$\w+|\$\{[^}]*\}|\$\(.*\)|`.*`", "", text).strip("/.* ")
        return "" if kept and not word.dashable and not word.splits else "what it names is not known before it runs"
    home = _HOME.match(text)
    if home:
        rest = [part for part in normal(text[home.end() :] or "/").split("/") if part]
        return "it names a home folder or what is directly in it" if len(rest) < 2 else ""
    path = normal(text)
    parts = [part for part in path.split("/") if part not in ("", ".")]
    if text.startswith("/"):
        if not parts or parts[0] in _SYSTEM or loose(parts[0]) or (len(parts) > 1 and loose(parts[1]) and word.glob):
            return "it names a folder of the system"
        return "it names a folder at the root" if len(parts) < 2 else ""
    if not parts:
        return "it names the whole folder"
    if parts[0] == "..":
        return "it names something outside this folder"
    if parts[0] == ".git":
        return "it names the history of the repository"
    return "it names everything in a folder" if len(parts) == 1 and word.glob and loose(parts[0]) else ""


def loose(name: str) -> bool:
    """A pattern that matches nearly everything."""
    return bool(name) and not re.sub(r"[*?.\[\]!^a-zA-Z0-9-]*\]|[*?.]", "", name)


def secret(text: str) -> bool:
    """Whether a word names a file that holds secrets."""
    return bool(_SECRETS.search(text)) if len(text) < 4096 else True


def persistent(text: str) -> bool:
    """Whether a word names a file that makes something run later."""
    return bool(_PERSISTENT.search(text)) if len(text) < 4096 else False


def secret_variable(text: str) -> str:
    """The variable in the text that sounds like a secret, if there is one."""
    return next((name for name in _EXPANDED.findall(text) if _SECRET_NAME.search(name)), "")


def device(text: str) -> bool:
    """Whether a path names a disk or the memory."""
    return bool(_DEVICE.match(normal(text)))
