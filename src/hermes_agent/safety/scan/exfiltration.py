"""Ways in which private data leaves: uploads, names looked up, images loaded, links completed, remotes pushed to."""

from __future__ import annotations

from .patterns import Pattern

_LEAVES = "sends private data away"
_LINK = "carries data out in a link"
SECRETS = (
    r"(?:\.ssh/|id_(?:rsa|ed25519|ecdsa|dsa)\b(?!\.pub)|\.aws/|\.env\b|\.netrc|\.git-credentials|\.npmrc|\.pypirc|\.kube/config|\.docker/config|\.gnupg|"
    r"/etc/(?:shadow|passwd)|credentials?\b|\.config\b|\.hermes\b|\.claude\b|\.codex\b|keychain|login data|cookies?\b|\.mozilla|wallet\.dat|\.bash_history|"
    r"\bprintenv\b|\benv\b(?!\w)|\bset\b\s{0,2}\||os\.environ|process\.env|\$\{?\w{0,30}(?:key|token|secret|passw\w{0,4}|credential)\w{0,20}|api[_-]?keys?|secrets?\b|private[_ ]key|memory\.md|history\b|/proc/self/environ|tfstate|\.pem\b|\.p12\b|\.kdbx)"
)
_AWAY = r"(?:\bcurl|\bwget|\bnc|\bncat|\bnetcat|\bsocat|\btelnet|\bopenssl\s{1,3}s_client|\bmail|\bsendmail|\bmutt|\bdig|\bnslookup|\bhost|\bftp|\bhttp|\bssh|\brclone|\btorify)\b"
_COLLECTS = r"(?:\bcat|\btar|\bzip|\benv|\bprintenv|\bhistory|\bbase64|\bgzip|\bfind|\bgrep|\bhead|\bstrings|\bxxd|\bps|\bid|\bwhoami|\buname|\bls|\bsqlite3|\bsecurity|\bgpg|\bset|\bdump|\bmysqldump|\bpg_dump|\bgit\s{1,3}config)\b"
DROPS = r"(?:webhook\.site|requestbin|pipedream\.net|pastebin\.com|transfer\.sh|ngrok|interact\.sh|oast\.\w|burpcollaborator|0x0\.st|termbin|file\.io|ix\.io|hastebin|dpaste|anonfiles|gofile|bashupload|api\.telegram\.org/bot|discord(?:app)?\.com/api/webhooks)"

EXFILTRATION: tuple[Pattern, ...] = (
    Pattern(
        "exfiltration",
        100,
        ("curl", "wget", "httpie", "http ", "invoke-restmethod", "invoke-webrequest", "iwr"),
        r"\b(?:curl|wget|http|https|iwr|invoke-(?:restmethod|webrequest))\b[^\n]{0,160}(?:-d|--data(?:-\w{3,10})?|-f|--form|-t|--upload-file|--post-(?:data|file)|--body-file|-body|-infile|@)[ =]{0,2}[\"'@$({<`]{0,6}[^\n]{0,60}?"
        + SECRETS,
        _LEAVES,
    ),
    Pattern(
        "exfiltration",
        100,
        ("curl", "wget", "dig", "nslookup", "host ", "ping"),
        r"\b(?:curl|wget|ping|dig|nslookup|host)\b[^\n]{0,120}(?:\$\(|`)[^\n)`]{0,80}(?:" + _COLLECTS[3:-3] + r")\b",
        _LEAVES,
    ),
    Pattern(
        "exfiltration",
        100,
        ("|",),
        _COLLECTS
        + r"[^\n|]{0,120}(?:\|[^\n|]{0,60}){0,3}\|\s{0,3}(?:xargs\s[^\n|]{0,30}|while read[^\n|]{0,40})?(?:\bcurl\b[^\n|]{0,120}(?:-d|--data|-f|-t|--upload|@|\{\}|\$)|\bwget\b[^\n|]{0,80}(?:post|\{\}|\$)|(?:\bnc|\bncat|\bnetcat|\bsocat|\btelnet|\bopenssl\s{1,3}s_client|\bsendmail|\bmail|\bmutt|\bftp)\s)",
        _LEAVES,
    ),
    Pattern(
        "exfiltration",
        100,
        ("ssh",),
        _COLLECTS
        + r"[^\n|]{0,120}\|\s{0,3}ssh\s[^\n]{0,60}(?:cat|tee|dd)\b[^\n]{0,10}>|\btar\s[^\n|]{0,80}\|\s{0,3}ssh\s",
        _LEAVES,
    ),
    Pattern(
        "exfiltration",
        100,
        ("dig", "nslookup", "host", "ping", "getent", "resolve"),
        r"\b(?:dig|nslookup|host|ping|getent\s{1,3}hosts|resolvectl)\b[^\n]{0,40}\s[\"']?(?:\$\{?\w{1,20}\}?|\$\([^\n)]{0,80}\)|`[^\n`]{0,80}`)\.[a-z0-9-]{1,60}\.[a-z]",
        "carries data out in names that are looked up",
    ),
    Pattern(
        "exfiltration",
        100,
        ("scp", "rsync", "sftp", "rclone", "s3 cp", "s3 sync", "gsutil", "azcopy", "croc", "wormhole"),
        r"\b(?:scp|rsync|sftp|rclone|gsutil|azcopy|croc|aws\s{1,3}s3\s{1,3}(?:cp|sync|mv))\b[^\n]{0,80}(?:"
        + SECRETS[3:-1]
        + r"|\s~/?\s|\s~/\.\w|\s/home/?\s|\s/etc/?\s|\$home\b)[^\n]{0,80}(?:\w@[\w.-]{1,60}:|[\w.-]{2,40}:[/\w~]|s3://|gs://|https?://|\bsend\b)",
        _LEAVES,
    ),
    Pattern(
        "exfiltration",
        90,
        ("git remote", "git push", "git bundle", "set-url"),
        r"\bgit\s{1,3}remote\s{1,3}(?:add|set-url)\s[^\n]{0,120}(?:&&|;|\n)\s{0,3}git\s{1,3}push\s[^\n]{0,30}(?:--all|--mirror|-f|--force|\w)|\bgit\s{1,3}push\s{1,3}(?:-\S{1,12}\s{1,3}){0,2}(?:https?|git|ssh)://[^\n]{0,80}(?:--all|--mirror)",
        "pushes the repository to somebody else",
    ),
    Pattern(
        "exfiltration",
        100,
        (
            "urlopen",
            "requests.",
            "httpx.",
            "fetch(",
            "http.client",
            "axios",
            "socket",
            "smtplib",
            "xmlhttprequest",
            "sendbeacon",
            "new image",
        ),
        r"(?:urlopen|requests\.(?:post|get|put)|httpx\.(?:post|get|put)|fetch|axios\.\w{3,5}|smtplib|sendbeacon|http\.client|xmlhttprequest)\b[^\n]{0,200}(?:os\.environ|environ\b|process\.env\b(?!\.\w{0,30}(?:url|host|port))|open\(['\"][^'\"\n]{0,60}(?:\.env|\.ssh|id_rsa|credentials|passwd|shadow)|document\.cookie|localstorage|\.ssh/|id_rsa|\.aws/)|(?:os\.environ|process\.env|document\.cookie|\.ssh/id_|\.aws/credentials)[^\n]{0,160}(?:urlopen|requests\.(?:post|put)|httpx\.(?:post|put)|fetch\(|axios\.post|sendbeacon|new image)",
        _LEAVES,
    ),
    Pattern(
        "exfiltration",
        70,
        ("curl", "wget"),
        r"\b(?:curl|wget)\b[^\n]{0,60}(?:-h|--header)[ =]{0,2}[\"'](?!authorization|x-api-key|api-key|x-goog-api-key|private-token|x-auth|apikey|x-\w{2,20}-(?:key|token|api)|cookie)[^\n\"']{0,40}\$\{?\w{0,30}(?:key|token|secret|passw|credential)",
        _LEAVES,
    ),
    Pattern(
        "exfiltration",
        70,
        ("curl", "wget"),
        r"\b(?:curl|wget)\b[^\n]{0,80}https?://[^\s\"']{1,100}[?&/=][^\s\"']{0,40}\$\{?\w{0,30}(?:key|token|secret|passw|credential)",
        _LEAVES,
    ),
    Pattern(
        "exfiltration",
        80,
        (
            "webhook",
            "requestbin",
            "pipedream",
            "pastebin",
            "transfer.sh",
            "ngrok",
            "interact.sh",
            "oast",
            "burpcollab",
            "0x0.st",
            "termbin",
            "file.io",
            "ix.io",
            "telegram",
            "discord",
        ),
        r"(?:"
        + SECRETS
        + r"|\bcat\b|\bconversation|\bcontents?\b|\bupload|\bsend\b|\bpost\b)[^\n]{0,160}"
        + DROPS
        + r"|\b(?:curl|wget|fetch|post|send|upload)\b[^\n]{0,80}"
        + DROPS,
        "sends data to an anonymous drop",
    ),
    Pattern(
        "exfiltration",
        90,
        ("169.254.169.254", "metadata.google", "100.100.100.200"),
        r"\b(?:curl|wget|fetch|get|requests\.get|urlopen)\b[^\n]{0,60}(?:169\.254\.169\.254|metadata\.google\.internal|100\.100\.100\.200)/?[^\n]{0,60}(?:security-credentials|token|iam|meta-data|computemetadata)",
        "reads the machine's cloud credentials",
    ),
    Pattern(
        "exfiltration",
        90,
        (
            "find-generic-password",
            "login data",
            "logins.json",
            "dump-keychain",
            "lsass",
            "mimikatz",
            "sam save",
            "secretsdump",
            "gcloud auth print",
            "sts get-session",
            "pass show",
            "op item get",
        ),
        r"\bsecurity\s{1,3}(?:find-generic-password|dump-keychain|find-internet-password)[^\n]{0,40}(?:-w|-d|\||$)|\bmimikatz|\bsecretsdump|\breg\s{1,3}save\s{1,3}hklm\\sam|\bprocdump\b[^\n]{0,30}lsass|\b(?:cp|cat|sqlite3|curl|scp)\b[^\n]{0,80}(?:login data|logins\.json|key4\.db)",
        "reads stored passwords",
    ),
    Pattern(
        "exfiltration_link",
        100,
        ("![", "<img", "]("),
        r"(?:!?\[[^\]\n]{0,80}\]\(|<img[^>\n]{0,60}src\s?=\s?[\"']?)\s{0,2}https?://[^\s)\"'>]{0,200}[?&/=#](?:[\w.-]{0,30}=)?[^\s)\"'>]{0,30}(?:\{\{|\$\{|\$\(|<|%7b|\[|\{)[^)\"'>\n]{0,40}(?:conversation|history|secret|token|key|password|chat|context|memory|prompt|data|message|summary|content|user|email|env|session|file|encoded|base64|stolen|exfil)",
        _LINK,
    ),
    Pattern(
        "exfiltration_link",
        90,
        (
            "query string",
            "query parameter",
            "url parameter",
            "the link",
            "the url",
            "image url",
            "as an image",
            "markdown image",
            "image tag",
            "in the url",
        ),
        r"\b(?:append|add|put|encode|include|insert|embed|attach|place|concatenat)\w{0,4}\b[^.\n]{0,120}\b(?:keys?|tokens?|secrets?|passwords?|credentials?|conversation|messages?|contents?|history|data|summary|emails?|prompt|answers?|memory|information|names?)\b[^.\n]{0,80}\b(?:query (?:string|param\w{0,6})|url param\w{0,6}|to the (?:link|url)|in the url|image (?:url|tag|link)|markdown (?:image|link))[^\n]{0,60}(?:https?:|$|url|link|image|domain)"
        r"|\b(?:render|display|show|load|include|output|embed|add|insert|end)\w{0,4}\b[^.\n]{0,60}\b(?:markdown )?image\b[^\n]{0,120}https?://[^\n]{0,120}(?:conversation|history|secret|token|keys?|password|chat|context|memory|data|message|summary)",
        _LINK,
    ),
    Pattern("exfiltration_words", 90, ("send", "forward", "email", "transmit", "submit", "recipient", "include"),
            r"\b(?:send|forward|e-?mail|transmit|submit|copy|report)\b[^\n]{0,120}\b(?:ssn|social security|card numbers?|account (?:details|numbers?|statements?)|passport|(?:complete|full|entire|customer(?:'s)?|their|personal) (?:\w+ )?(?:records?|data|details|information|history)|contacts?|customer (?:data|list|records?))\b[^\n]{0,120}\b[\w.+-]{1,40}@[\w-]{1,40}\.|\"recipient\"\s?:\s?\"[^\"\n]{1,60}@[^\n]{0,120}(?:ssn|account|card|password|token|secret)", _LEAVES),
    Pattern(
        "exfiltration_words",
        70,
        ("send", "post", "upload", "forward", "email", "transmit", "exfiltrate", "leak", "submit", "copy"),
        r"\b(?:send|post|upload|forward|e-?mail|transmit|exfiltrate|submit|leak|report|copy|deliver)\b[^.\n]{0,60}\b(?:contents? of|all (?:of )?(?:the |your |my |their )?(?:files|messages|emails?|data|conversations?|secrets|keys|passwords|credentials|history|notes|contacts|unread)|api keys?|conversation|chat history|last \w{1,6} messages|memory\.md|system prompt|environment variables|\.env|private keys?|ssh keys?|passwords?|credentials|credit card|security code|session (?:token|cookie)s?|source code)\b[^\n]{0,80}(?:https?://|www\.|\b[\w.+-]{1,40}@[\w-]{1,40}\.|\bto (?:the )?(?:server|endpoint|webhook|attacker|address|website|url|following)\b|\b\w{2,30}\.(?:example|com|net|org|io|xyz|ru|dev)/)",
        _LEAVES,
    ),
)
