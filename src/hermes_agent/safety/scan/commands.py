"""Commands that destroy, that run what somebody else wrote, or that open the machine to somebody else."""

from __future__ import annotations

import re

from .patterns import page

_ROOTS = (
    r"(?:/(?:\s|$|\*|;|&|\||\"|'|\))|/(?:etc|usr|var|home|root|boot|bin|lib|opt|srv|sys|dev|proc|users|system32"
    r"|library)\b/?\*?(?:\s|$|[;&|\"'])|~/?\*?(?:\s|$|[;&|\"'/.])|\$\{?home\}?/?\*?(?:\s|$|[;&|\"']|/\.)|\*(?:\s"
    r"|$)|\.(?:\s|$)|--no-preserve-root|[a-z]:\\)"
)
_TRICK = re.compile(r"(?<=\w)(?:\"\"|''|\\)(?=\w)|\$\{?ifs|['\"]\s{0,3}\+\s{0,3}['\"]|\$\((?:printf|echo) ")
_QUOTES = re.compile(r"\"\"|''|\\(?=[a-z])|\$\{ifs\}|\$ifs(?:\$\d)?|['\"]\s{0,3}\+\s{0,3}['\"]")
_ECHOED = re.compile(
    r"\$\((?:printf|echo)(?: -[ne]{1,2})? ['\"]?((?:\\\\?(?:x[0-9a-f]{2}|[0-3][0-7]{2})|[\w/.-]){1,60})['\"]?\)"
)

COMMANDS = page(
    r"""
safeguards_off 60: switches off what protects the user
?  approval  sandbox  permission  confirm  --yolo  --dangerously
    \b(?:set|sed|echo|change|edit|replace|export|write|yq|jq)\b[^\n]{0,60}\b(?:approvals?|sandbox|permissions?
    |confirm\w{0,8})
    (?:[._]\w{2,12})?[\"'` ]{0,2}[:= ][\"'` ]{0,3}(?:off|none|never|false|no|disabled?|yolo|bypass\w{0,12})\b
    |\b(?:hermes|claude|codex|gemini|agent)\b[^\n]{0,40}--(?:yolo|dangerously)
destructive 100: destroys files, disks or processes
?  rm·
    \brm\s{1,4}(?:-{1,2}[\w-]{1,20}\s{1,4}){0,4}-{1,2}(?:[a-z]*[rf][a-z]*|recursive
    |force)\s{1,4}(?:-{1,2}[\w-]{1,20}\s{1,4}){0,4}[\"']?<<roots>>
destructive 100: destroys files, disks or processes
?  /dev/  \\.\
    \bdd\b[^\n]{0,80}\bof=/dev/(?:sd|nvme|hd|vd|xvd|disk|mmcblk|mapper)|>\s{0,2}/dev/(?:sd[a-z]|nvme\d|hd[a-z]
    |vd[a-z]|disk\d|mem)|\bcat\s[^\n]{0,60}>\s{0,2}/dev/sd
destructive 90: destroys files, disks or processes
?  mkfs  wipefs  blkdiscard  sgdisk  cryptsetup  diskutil
    \bmkfs(?:\.\w{2,6})?\s[^\n]{0,60}/dev/\w|\bwipefs\s[^\n]{0,30}/dev/|\bblkdiscard\s{1,3}/dev/|\bsgdisk\s{1,3}(?:-z
    |--zap-all)|\bdiskutil erasedisk
destructive 100: destroys files, disks or processes
?  :|:  fork
    :\s?\(\)\s?\{\s?:\s?\|\s?:\s?&\s?\}\s?;\s?:|\b(\w{1,8})\(\)\s?\{\s?\1\s?\|\s?\1\s?&\s?\}
destructive 100: destroys files, disks or processes
?  chmod  chown
    \bch(?:mod|own)\s{1,3}(?:-[\w-]{1,12}\s{1,3}){0,3}(?:-r\s|--recursive\s)\s{0,2}[\w:+,=.-]{1,30}\s{1,3}(?:/(?:\s|$
    |\*|\")|/(?:etc|usr|bin|var|home|root)/?(?:\s|$)|~/?(?:\s|$))
    |\bchmod\s{1,3}(?:-\w{1,4}\s{1,3})?(?:0?[0-7]?[67]{3}|[augo]*\+[rw]{1,2})\s{1,3}/etc/(?:shadow|passwd|sudoers)
destructive 100: destroys files, disks or processes
?  shred  -delete  srm·
    \bfind\s{1,3}(?:/|~|\$home)(?:\s|/\s)[^\n]{0,120}(?:-delete|-exec\s{1,3}(?:shred|rm|srm)\b)
    |\bshred\s[^\n]{0,40}(?:/dev/|/etc/|~|\$home)
destructive 100: destroys files, disks or processes
?  > /etc/  >/etc/  > /boot/  truncate  /dev/null  crontab -r  kill -  killall5
    (?:^|[;&|`(]\s{0,3}|\b(?:run|execute|task|step 1)\s{1,2}|\n):?\s{0,3}>\s{0,2}/(?:etc|boot)/\w
    |\btruncate\s[^\n]{0,20}/etc/|\bmv\s{1,3}(?:~|/home|/etc|\$home|/\*)/?\S{0,20}\s{1,3}/dev/null
    |\bcrontab\s{1,3}-r\b|\bkill\s{1,3}(?:-9|-kill|-s (?:sig)?kill)\s{1,3}(?:-1\b|1\b)|\b(?:killall5
    |pkill)\s{1,3}-9\s{1,3}(?:-u root|\.)
destructive 70: destroys files, disks or processes
?  drop database  drop schema  drop table  dropdb  flushall  dropdatabase  truncate table
    \b(?:psql|mysql|mariadb|sqlite3|sqlcmd|mongo(?:sh)?|redis-cli
    |clickhouse-client)\b[^\n]{0,120}(?:drop\s{1,3}(?:database|schema|table)|flushall|dropdatabase|truncate)
    |\bdropdb\s{1,3}(?:--\w+\s)?\w*prod\w*|;\s{0,3}drop\s{1,3}(?:database|table)\s
destructive 60: rewrites or removes shared history
?  push  --delete
    \bgit\s{1,3}push\s[^\n]{0,40}(?:--force|-f)\b(?!-)[^\n]{0,30}(?:\s:|\s\+?(?:main|master|prod\w*|release)\b)
    |\bgit\s{1,3}push\s[^\n]{0,40}(?:\s:(?:main|master|prod\w*)\b|--delete\s{1,3}(?:main|master)|--mirror)
destructive 60: destroys files, disks or processes
?  terraform destroy  kubectl delete  docker system prune  docker volume  s3 rb  s3 rm  az group delete
?  gcloud projects delete  vssadmin  format c  cipher /w  remove-item
    \bterraform destroy\b[^\n]{0,40}-auto-approve|\bkubectl delete (?:ns|namespaces?|all|pvc
    |deployments?)\b[^\n]{0,30}--all|\baws s3 (?:rb|rm)\b[^\n]{0,60}(?:--force|--recursive)
    |\baz group delete\b[^\n]{0,40}--yes|\bgcloud projects delete\b|\bvssadmin delete shadows|\bformat c:
    |\bremove-item\b[^\n]{0,60}-recurse[^\n]{0,40}(?:c:\\|\$home|\$env:)
remote_code 60: runs code fetched from elsewhere
?  curl  wget  fetch  iwr  invoke-webrequest  lwp-
    \b(?:curl|wget|fetch|lwp-request|http|aria2c)\s[^\n|;]{0,200}(?:\|\s{0,3}|-o\s{0,2}-\s{0,3}\|\s{0,3}
    |>\s{0,2}\S{1,60}\s{0,2}(?:&&|;)\s{0,3}(?:sudo\s{1,3})?)(?:(?:sudo|env|nohup
    |exec)\s{1,3}(?:-\w{1,8}\s{1,3}){0,3}){0,2}(?:/\S{0,20}/)?(?:ba|z|da|k|c|fi)?sh\b|\b(?:curl|wget)\s[^\n
    |;]{0,200}\|\s{0,3}(?:sudo\s{1,3})?(?:python[\d.]{0,4}|perl|ruby|node|php|tclsh|source|\. )
remote_code 90: runs code fetched from elsewhere
?  curl  wget  downloadstring  iex  invoke-expression  mshta  regsvr32  certutil  bitsadmin
    \b(?:eval|source|exec|\.)\s{1,3}[\"']?(?:\$\(|`|<\()\s{0,3}(?:curl|wget|fetch)\b|\b(?:ba|z
    |da)?sh\s{1,3}(?:-c\s{1,3})?[\"']?(?:\$\(|`|<\(|<<<)[\"' ]{0,3}(?:\$\()?\s{0,3}(?:curl|wget)\b|\b(?:iex
    |invoke-expression)\b[^\n]{0,80}(?:downloadstring|iwr|invoke-webrequest|invoke-restmethod|irm)|(?:downloadstring
    |iwr|irm)\b[^\n]{0,120}\|\s{0,3}iex|\b(?:mshta|regsvr32)\b[^\n]{0,40}https?:|\bcertutil\b[^\n]{0,40}-urlcache
    |\bbitsadmin\b[^\n]{0,40}/transfer
remote_code 80: runs code fetched from elsewhere
?  exec(  eval(  __import__  pickle  subprocess  os.system  child_process
    \b(?:exec|eval)\s?\(\s?(?:compile\()?[^\n]{0,60}(?:urlopen|requests\.get|httpx\.get|b64decode|fromhex|decompress
    |marshal\.loads|urllib)|\bos\.system\s?\(\s?[f\"']{1,2}[^\n]{0,60}(?:curl|wget|nc |bash -i|/dev/tcp)
    |\bsubprocess\.\w{2,12}\s?\([^\n]{0,80}(?:curl|wget|/dev/tcp|base64 -d|rm -rf)
    |\brequire\(['\"]child_process['\"]\)[^\n]{0,60}exec[^\n]{0,60}(?:curl|wget|bash)
obscured_code 100: hides what it runs
?  base64  openssl  xxd  b64decode  -enc  frombase64  atob  rev
    \b(?:base64\s{1,3}(?:-d|-di|--decode|-D)|openssl\s{1,3}(?:enc\s{1,3}-base64|base64)\s[^\n|]{0,20}-d
    |xxd\s{1,3}-r\S{0,4}(?:\s{1,3}-p)?|rev)\b[^\n|]{0,80}\|\s{0,3}(?:sudo\s{1,3})?(?:(?:ba|z|da|k)?sh
    |python[\d.]{0,4}|perl|node|source|eval)\b|\b(?:ba|z|da)?sh\s{1,3}(?:-c\s{1,3})?[\"']?(?:<<<\s{0,2}[\"']?)?(?:\$\(
    |`|<\()[^\n)]{0,120}\bbase64\s{1,3}(?:-d|--decode)|\beval\s{1,3}[\"']?(?:\$\(|`)[^\n)]{0,160}base64\s{1,3}(?:-d
    |--decode)|\bpowershell\b[^\n]{0,60}\s-e(?:nc(?:odedcommand)?)?\s{1,3}[a-z0-9+/=]{16,}|\b(?:eval
    |function)\s?\(\s?atob\s?\(
reverse_shell 100: opens a shell to somebody else
?  /dev/tcp/  /dev/udp/
    /dev/(?:tcp|udp)/[\w.$\{\[-]
reverse_shell 100: opens a shell to somebody else
?  nc·  ncat  netcat  socat  mkfifo
    \b(?:nc|ncat|netcat|nc\.\w{4,12})\b[^\n]{0,60}\s(?:-\w{0,4}[ec]\w{0,2}|--exec|--sh-exec)\s{1,3}['\"]?(?:/bin/
    |/usr/bin/|cmd|powershell|ba|sh)|\bsocat\b[^\n]{0,100}\bexec:|\bmkfifo\b[^\n]{0,120}\b(?:nc|ncat|netcat|telnet
    |openssl)\b
reverse_shell 100: opens a shell to somebody else
?  socket  tcpclient  fsockopen  pty.spawn
    \bsocket\b[^\n]{0,200}(?:dup2|subprocess|pty\.spawn|exec\(|/bin/(?:ba)?sh|cmd\.exe)|\bpty\.spawn\s?\(
    |\btcpclient\b[^\n]{0,200}(?:getstream|iex)|\bfsockopen\b[^\n]{0,80}(?:exec|proc_open|/bin/)
tamper 60: covers tracks or lowers defences
?  histfile  history -c  bash_history  setenforce  iptables -f  ufw disable  auditctl  /var/log  set-mppreference
?  csrutil  spctl  wtmp
    \bunset\s{1,3}histfile|\bhistfile=/dev/null|\bhistory\s{1,3}-c\b|\brm\s[^\n]{0,20}\.bash_history
    |>\s{0,2}~?/?\S{0,20}\.bash_history|\bsetenforce\s{1,3}0\b|\biptables\s{1,3}-f\b|\bufw\s{1,3}disable\b
    |\bauditctl\s{1,3}-e\s{1,3}0|\brm\s{1,3}-\w{1,4}\s{1,3}/var/log|\bset-mppreference\b[^\n]{0,40}-disable
    |\bspctl\s{1,3}--master-disable|\bcsrutil disable
miner 90: mines coins at the user's cost
?  xmrig  stratum+tcp  minerd  coinhive
    \bxmrig\b|stratum\+(?:tcp|ssl)://|\bminerd\b|\bcoinhive\b
traversal 60: climbs out of its folder
?  ../  ..\  ..%  ..2f  %2e  ..;/  ..﹨
    (?:\.\.[/\\]){6,}|(?:\.\.[/\\]){2,}(?:etc|proc|var|usr|root|boot|bin|windows|winnt|[\w/]{0,20}(?:passwd|shadow
    |\.ini|\.log|_log|\.conf))|(?:\.{2,4}(?:\\/|//|\\\\|%2f|%5c|%c0%af|2f|%ef%b9%a8|;/)){2,}|(?:%2e){2}(?:%2f|/)
    |(?:\.\./){2,}(?:etc|proc|var|root|boot|windows|\w{0,8}\.ini)
traversal 35: points at the system's secrets
?  /etc/passwd  /etc/shadow  /proc/self  master.passwd  boot.ini  /etc/sudoers
    /etc/(?:passwd|shadow|sudoers|master\.passwd)\b|/proc/self/environ|\bmaster\.passwd\b|\bboot\.ini\b
active_markup 70: carries script that runs in a viewer
?  javascript:  vbscript:  onerror  onload  onmouse  onfocus  onclick  data:text/html  <script  expression(
    \b(?:java|vb)script:\s{0,3}(?:\w+\.)?(?:alert|prompt|confirm|eval|window|document|fetch|new|javascript|location
    |void|throw|on\w+|string|import)|<[a-z!][^>\n]{0,120}\son(?:error|load|mouse\w{2,6}|focus|click|toggle|begin
    |start|pageshow)\s{0,3}=[^>\n]{0,60}(?:alert|javascript|fetch|eval|prompt|confirm|document\.|location)
    |[\"'`]\s{0,2}on(?:error|load|focus)\s{0,2}=\s{0,2}[\"']?(?:alert|prompt|confirm|eval|fetch)|\bdata:text/html[;,]
    |<script[^>\n]{0,80}>\s{0,4}\S{0,24}(?:alert|javascript|eval\(|document\.(?:cookie|location|write)|fetch\(
    |new image)|<script\s{1,3}src\s{0,2}=\s{0,2}[\"']?//|expression\(\s?javascript
""",
    roots=_ROOTS,
)


def shell_plain(folded: str) -> str:
    """`folded` with the quotes, backslashes and printf tricks resolved that break up a command's words."""
    if not _TRICK.search(folded):
        return folded
    plain = _ECHOED.sub(lambda match: _echoed(match[1]), folded)
    return _QUOTES.sub(lambda match: " " if "ifs" in match[0] else "", plain)


def _echoed(body: str) -> str:
    return re.sub(
        r"\\{1,2}(?:x([0-9a-f]{2})|([0-3][0-7]{2}))",
        lambda match: chr(int(match[1], 16) if match[1] else int(match[2], 8)),
        body,
    )
