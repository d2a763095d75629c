"""Ways in which somebody stays: keys and accounts added, things started later, orders planted for the next session."""

from __future__ import annotations

from .patterns import Together, page

_KEY = "lets somebody else log in"
_ADMIN = "makes somebody an administrator"
_LATER = "starts something later, out of sight"
_STRANGERS = (
    r"--yolo|--dangerously|"
    r"curl|wget|\bnc\b|ncat|bash -[ic]|python\d? -c|base64|/tmp/|/dev/shm|/dev/tcp|nohup|https?://|\beval|perl -e"
    r"|\.onion|socat|\bsh -c|setsid|disown"
)
_TURNED = r"(?:alias\s{1,3}(?:sudo|ssh|ls|git|cd|su)=|prompt_command=(?!['\"]?history)|ld_preload=|trap\s)"
_WRITES = (
    r"(?:>>?|\btee\b|\bsed\s{1,3}-i|\bcat\s{1,3}>|\bprintf\b|\becho\b|\binstall\s{1,3}-|\bcp\b|\bmv\b|\bln\s"
    r"|\bappend\b|\badd\b|\bwrite\b|\binsert\b|\bput\b|\bopen\(|\bscp\b|\brsync\b)"
)
_RC = (
    ".bashrc",
    ".zshrc",
    ".profile",
    ".bash_profile",
    ".zprofile",
    ".zshenv",
    ".bash_login",
    ".bash_logout",
    ".kshrc",
    ".cshrc",
    ".tcshrc",
    ".xprofile",
    ".xinitrc",
    ".xsessionrc",
    ".inputrc",
    ".vimrc",
    ".envrc",
    "config.fish",
    "/etc/profile",
    "bash.bashrc",
    "/etc/environment",
    "rc.local",
    "profile.d/",
    "$profile",
)

PLANTED: tuple[Together, ...] = (
    Together(
        "ssh_backdoor",
        100,
        ("authorized_keys", "authorized-keys"),
        (_WRITES[:-1] + r"|\bcurl\b|\bwget\b|\bcreate\b|\bmodify\b|\bssh-\w{3,8}\s{1,3}aaaa)",),
        _KEY,
    ),
    Together("ssh_backdoor", 100, ("/etc/sudoers", "/etc/pam.d"), (_WRITES,), _ADMIN),
    Together(
        "ssh_backdoor",
        80,
        ("proxycommand", "localcommand", ".ssh/rc"),
        (_WRITES,),
        "runs something whenever SSH is used",
    ),
    Together("persistence", 100, ("/etc/cron", "/var/spool/cron"), (_WRITES,), _LATER),
    Together("persistence", 100, _RC, (_WRITES, f"(?:{_STRANGERS})|{_TURNED}"), _LATER),
    Together("persistence", 100, (".git/hooks",), (_WRITES, f"(?:{_STRANGERS})"), _LATER),
    Together(
        "persistence",
        100,
        (
            "launchagents",
            "launchdaemons",
            "/etc/systemd/system",
            "systemd/user/",
            "/etc/init.d",
            "/etc/rc.local",
            ".config/autostart",
            "update-motd.d",
            "udev/rules.d",
        ),
        (_WRITES[:-1] + r"|\bcreate\b)",),
        _LATER,
    ),
    Together(
        "persistence",
        100,
        ("/etc/ld.so.preload", "sitecustomize.py", "usercustomize.py", ".pth"),
        (_WRITES, r"/etc/ld\.so\.preload|(?:site|user)customize\.py|site-packages/\S{1,40}\.pth"),
        _LATER,
    ),
)

PERSISTENCE = page(
    r"""
persistence 60: starts something later, out of sight
?  cron job  cronjob  scheduled task  startup script  login item
    \b(?:cron ?job|scheduled task|startup script|login item)\b[^\n]{0,80}(?:https?://|curl|wget|downloads?)
planted_orders 60: plants orders for later sessions
?  skill.md  agents.md  claude.md  memory.md  soul.md  hermes.md
    \b(?:update|modify|change|edit|rewrite) (?:your |the )?(?:skill|agents|claude|memory|soul
    |hermes)\.md\b[^\n]{0,40}\b
    (?:every|each|all|always|future)\b
ssh_backdoor 100: lets somebody else log in
?  authorized_keys  authorizedkeys
    authorized_keys2?['\"]?\s{0,2}\)?,\s{0,2}['\"][aw]|authorizedkeys(?:file
    |command)\s{1,4}(?!\.ssh/authorized_keys\s{0,3}$|%h)\S
ssh_backdoor 60: lets somebody else log in
?  ssh-copy-id
    \bssh-copy-id\b[^\n]{0,60}(?:-i|@)
ssh_backdoor 100: weakens the SSH server
?  permitrootlogin  passwordauthentication  permitemptypasswords  gatewayports
    \b(?:sed|echo|printf|tee|cat|perl|set|change|add|append|put)\b[^\n]{0,100}(?:permitrootlogin
    |passwordauthentication|permitemptypasswords|gatewayports)\b(?![^\n]{0,24}\bno\b)|(?:permitrootlogin
    |permitemptypasswords)\s{1,3}yes\b
ssh_backdoor 100: opens a way in from outside
?  ssh·  autossh  chisel  ngrok  cloudflared  frpc
    \b(?:auto)?ssh\b[^\n]{0,60}\s-\w{0,6}r\s{0,2}(?:\S{1,40}:)?\d{1,5}:[\w.\[\]-]{1,60}:\d{1,5}\b|\bautossh\s
    |\bchisel\s{1,3}client\b|\bngrok\s{1,3}tcp\s{1,3}22\b|\bcloudflared\s{1,3}(?:access|tunnel)\b[^\n]{0,40}ssh
    |\bfrpc\s{1,3}-c\b
ssh_backdoor 100: makes somebody an administrator
?  useradd  adduser  usermod  passwd  net user  net localgroup  dscl  /etc/shadow
    \b(?:useradd|adduser|usermod)\b[^\n]{0,80}(?:-u\s{0,2}0\b|--uid[ =]0\b|-ag\s{1,3}(?:sudo|wheel|root|admin)\b
    |-g\s{1,3}(?:sudo|wheel|root)\b|--(?:groups?|ingroup)[ =](?:sudo|wheel|root)|-p\s{1,3}\S)|\bpasswd\s{1,3}(?:-d
    |--delete
    |-u)\s{1,3}root|\b(?:echo|printf)\b[^\n]{0,60}\|\s{0,3}(?:sudo\s{1,3})?(?:chpasswd|passwd)\b|\b(?:echo
    |printf)\b[^\n]{0,100}>>\s{0,2}/etc/(?:passwd|shadow)|\bnet\s{1,3}(?:user|localgroup)\s[^\n]{0,60}/add
    |\bdscl\b[^\n]{0,40}-create\s{1,3}/users
ssh_backdoor 100: makes somebody an administrator
?  nopasswd  chmod  setcap  pam_permit
    \ball\s{0,2}=\s{0,2}\(all(?::all)?\)\s{0,2}nopasswd\s{0,2}:\s{0,2}all\b|\bchmod\s{1,3}(?:u?\+s
    |[46]7?[57]55)\s{1,3}\S{0,30}(?:bash|sh|python|find|vim|cp|root)|\bsetcap\s{1,3}cap_setuid|\bpam_permit\.so
ssh_key_access 90: reads a private key
?  id_rsa  id_ed25519  id_ecdsa  id_dsa  .ssh/
    \b(?:cat|less|more|head|cp|scp|base64|xxd|tar|zip|curl|send|read|print|upload|copy|show|output|include|paste
    |display|fetch)\b[^\n]{0,60}(?:\.ssh/(?!config\b|known_hosts|\S{0,30}\.pub)[\w*.]{0,20}(?!\S{0,20}\.pub)
    |\bid_(?:rsa|ed25519|ecdsa|dsa)\b(?!\.pub))
persistence 100: starts something later, out of sight
?  crontab  cron.  /cron  @reboot  * * *
    \|\s{0,3}(?:sudo\s{1,3})?crontab\b|\bcrontab\s{1,3}(?:-u\s{1,3}\S{1,20}\s{1,3})?(?:-\s|-$|-\"|/tmp|\S{1,40}<|<)
    |(?:@reboot|(?:[*\d/,-]{1,8} ){4}[*\d/,-]{1,8})\s{1,3}(?:root\s{1,3})?[^\n]{0,60}<<strange>>
    |\bcrontab\b[^\n\"`,]{0,100}<<strange>>
persistence 60: starts something later, out of sight
?  systemctl  loginctl  launchctl
    \bsystemctl\s{1,3}(?:--\w{3,8}\s{1,3}){0,2}(?:--user\s{1,3})?enable\s{1,3}(?:--\w{3,8}\s{1,3}){0,2}(?!(?:docker
    |nginx|apache2?|httpd|postgresql|mysql|mariadb|redis|ssh|sshd|ufw|firewalld|cron|containerd|kubelet|fail2ban
    |chronyd|systemd-\w+)\b)\w[\w@.-]{1,60}|\bloginctl\s{1,3}enable-linger|\blaunchctl\s{1,3}(?:load|bootstrap
    |enable)\b
persistence 100: starts something later, out of sight
?  execstart
    \bexecstart(?:pre|post)?\s{0,2}=[^\n]{0,80}<<strange>>
persistence 100: starts something later, out of sight
?  hookspath  core.pager  core.editor  fsmonitor  insteadof  credential.helper  sshcommand
    \bgit\s{1,3}config\b[^\n]{0,20}(?:--global|--system)\s{1,3}(?:core\.(?:hookspath|pager|editor|fsmonitor
    |sshcommand)|url\.\S{4,80}\.insteadof|credential\.helper\s{1,3}['\"]?!)[^\n]{0,80}(?:<<strangers>>|/|~|!)
    |\bcore\.(?:hookspath|fsmonitor|sshcommand)\s{0,2}=?\s{0,2}[^\n]{0,60}<<strange>>
persistence 100: starts something later, out of sight
?  schtasks  currentversion\  programs\startup  programs\\startup  new-service  sc create  sc.exe create
?  register-scheduledtask
    \bschtasks\b[^\n]{0,40}/create|\breg\s{1,3}add\b[^\n]{0,80}currentversion\\+run|\b(?:new-service
    |register-scheduledtask)\b|\bsc(?:\.exe)?\s{1,3}create\s[^\n]{0,40}binpath|start menu\\+programs\\+startup
persistence 100: starts something later, out of sight
?  ld_preload  pythonstartup
    \bld_preload=/tmp|\bexport\s{1,3}(?:ld_preload|pythonstartup)=[^\n]{0,60}>>
persistence 90: starts something later, out of sight
?  nohup  setsid  | at·  |at·  systemd-run  --restart  /:/
    \b(?:nohup|setsid|systemd-run)\b[^\n]{0,120}(?:curl|wget|nc |/tmp/|/dev/shm|/dev/tcp|https?://|base64)
    |\becho\b[^\n]{0,120}(?:curl|wget|nc |/tmp/)[^\n]{0,80}\|\s{0,3}at\s
    |\bdocker\s{1,3}run\b[^\n]{0,160}--restart[ =]always[^\n]{0,160}(?:-v\s{1,3}/:/|--privileged)
    |\bdocker\s{1,3}run\b[^\n]{0,160}-v\s{1,3}/:/\w
persistence 80: starts something later, out of sight
?  postinstall  preinstall  folderopen
    [\"'](?:post|pre)install[\"']\s{0,2}:\s{0,2}[\"'][^\n\"']{0,120}<<strange>>
    |\brunon[\"']?\s{0,2}:\s{0,2}[\"']folderopen
supply_chain 80: takes packages from a stranger
?  index-url  registry  trusted-host
    \b(?:pip3?|uv|poetry|pdm)\b[^\n]{0,80}--(?:extra-)?index-url[ =]{1,3}(?!https://(?:pypi\.org|test\.pypi\.org
    |download\.pytorch\.org|pypi\.nvidia\.com|\S{0,40}\.pkg\.dev|pypi\.anaconda\.org|wheels\.\w))\S{4,}
    |\bpip3?\s{1,3}config\s{1,3}set\s{1,3}\S{0,20}index-url|\b(?:npm|yarn|pnpm)\b[^\n]{0,40}(?:--registry[ =]
    |config\s{1,3}set\s{1,3}registry\s{1,3})(?!https://(?:registry\.npmjs\.org|registry\.yarnpkg\.com
    |npm\.pkg\.github\.com))\S{4,}|--trusted-host\s{1,3}\S
planted_orders 90: plants orders for later sessions
?  agents.md  claude.md  memory.md  soul.md  hermes.md  .cursorrules  gemini.md  copilot-instructions  your memory
?  long-term memory  mcp.json
    \b(?:append|add|write|insert|put|save|store|prepend|inject|copy|record|persist)\b[^.\n]{0,60}\b(?:to|in
    |into)\b[^\n]{0,20}(?:agents\.md|claude\.md|memory\.md|soul\.md|hermes\.md|\.cursorrules|gemini\.md
    |copilot-instructions|(?:your|its|the) (?:long-term |persistent )?memory|mcp\.json)[^\n]{0,120}\b(?:all future
    |every (?:future )?(?:session|agent|task|conversation|time|response)|future (?:sessions|agents|conversations)
    |must (?:fetch|run|send|always|first)|always (?:run|send|fetch|include|execute|forward|recommend)|https?://
    |from now on)
planted_orders 90: plants orders for later sessions
?  skill  tool  plugin  extension  mcp server  hook
    \b(?:create|install|make|add|register|write)\b[^.\n]{0,20}\b(?:skill|tool|plugin|extension|mcp server
    |hook)\b[^\n]{0,100}\b(?:runs? https?://|fetch\w{0,3} https?://|at start-?up|every (?:session|task)
    |without (?:asking|telling)|silently|do not mention)
planted_orders 70: plants orders for later sessions
?  before every  before each  before any  every session  each session  every request  each request  every response
?  every conversation  before anything else  ·from http
    \b(?:before (?:every|each|any) (?:task|response|answer|request|session|other)|(?:at the start of |o
    n |in )?(?:every|each) (?:session|request|conversation|response|message)
    |before anything else)\b[^\n]{0,60}\b(?:fetch|download|send|post|curl|wget|upload|visit|forward
    |http)\b[^\n]{0,80}|\b(?:fetch|download|get|read) (?:\w+ ){0,3}(?:tasks?|instructions?|commands?
    |orders) from https?://
""",
    strange=f"(?:{_STRANGERS})",
    strangers=_STRANGERS,
)
