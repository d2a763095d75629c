"""Ways in which private data leaves: uploads, names looked up, images loaded, links completed, remotes pushed to."""

from __future__ import annotations

from .patterns import page

_SECRET_NAMES = (
    r"\.ssh/|id_(?:rsa|ed25519|ecdsa|dsa)\b(?!\.pub)|\.aws/|\.env\b|\.netrc|\.git-credentials|\.npmrc|\.pypirc"
    r"|\.kube/config|\.docker/config|\.gnupg|/etc/(?:shadow|passwd)|credentials?\b|\.config\b|\.hermes\b"
    r"|\.claude\b|\.codex\b|keychain|login data|cookies?\b|\.mozilla|wallet\.dat|\.bash_history|\bprintenv\b"
    r"|\benv\b(?!\w)|\bset\b\s{0,2}\||os\.environ|process\.env|\$\{?\w{0,30}(?:key|token|secret|passw\w{0,4}"
    r"|credential)\w{0,20}|api[_-]?keys?|secrets?\b|private[_ ]key|memory\.md|history\b|/proc/self/environ"
    r"|tfstate|\.pem\b|\.p12\b|\.kdbx"
)
_COLLECTS = (
    r"(?:\bcat|\btar|\bzip|\benv|\bprintenv|\bhistory|\bbase64|\bgzip|\bfind|\bgrep|\bhead|\bstrings|\bxxd|\bps"
    r"|\bid|\bwhoami|\buname|\bls|\bsqlite3|\bsecurity|\bgpg|\bset|\bdump|\bmysqldump|\bpg_dump"
    r"|\bgit\s{1,3}config)\b"
)
_DROPS = (
    r"(?:webhook\.site|requestbin|pipedream\.net|pastebin\.com|transfer\.sh|ngrok|interact\.sh|oast\.\w"
    r"|burpcollaborator|0x0\.st|termbin|file\.io|ix\.io|hastebin|dpaste|anonfiles|gofile|bashupload"
    r"|api\.telegram\.org/bot|discord(?:app)?\.com/api/webhooks)"
)

EXFILTRATION = page(
    r"""
exfiltration_words 70: carries private data out in an address
?  parameter  query  image url  dns  subdomain  user-agent
    \b(?:conversation|transcript|history|contents?|memory|secrets?|keys?|passwords?|database|rows|messages?|files?)\b
    [^\n]{0,60}\b(?:send|post|pass|put|append|encod|embed|includ|add|smuggl)\w{0,4}\b[^\n]{0,40}\b(?:get|query
    |url) parameter
    |\b(?:append|encod|put|embed|smuggl)\w{0,4}\b[^\n]{0,60}\b(?:to|in|into) (?:the |an? )?(?:image url|dns|subdomain
    |user-agent)
exfiltration_words 60: speaks of carrying data out
?  exfiltrate
    \bexfiltrate (?:the|all|any|data|user|every|my|their|its|your|secrets|credentials|files)\b
exfiltration_link 80: carries data out in a link
?  http
    https?://[^\s)\"'>]{0,120}[?&][\w.-]{1,20}=[<\[{]{1,2}[^>\]}\n]{0,30}(?:user's|last message|conversation
    |history|secret
    |password|summary|contents)
exfiltration 100: sends what the browser keeps
?  document.cookie  localstorage  sessionstorage
    (?:\.src|location(?:\.href)?)\s?=\s?[^\n]{0,60}https?://[^\n]{0,60}(?:document\.cookie|localstorage
    |sessionstorage)
exfiltration 60: uploads a file
?  curl  wget  http·
    (?<=\s)(?:-f|--form)[ =]{0,2}[\"']?[\w-]{1,30}=@|(?<=\s)(?:-t|--upload-file)[ =]{1,2}[\"']?[~/.\w$-][^\n]{0,100}
    (?:ftps?|https?|sftp|scp)://|(?<=\s)(?:-d|--data(?:-\w{3,10})?)[ =]{0,2}[\"']?@-
exfiltration 70: sends what another command prints
?  |
    \|\s{0,3}(?:nc|ncat|netcat|telnet)\s{1,3}(?:-\w{1,6}\s{1,3}){0,3}[\w.-]{3,80}\s{1,3}\d{1,5}\b|
    \|\s{0,3}curl\b[^\n|]{0,100}
    (?:@-|-t\s{1,2}-|--upload-file\s{1,2}-)
exfiltration 100: sends private data away
?  s_client  http·  nc·  ncat  curl  telnet  socat  ftp  sendmail
    \b(?:openssl\s{1,3}s_client|http|nc|ncat|curl|telnet|socat|ftp|sendmail)\b[^\n
    |]{0,80}<\s{0,2}[~/$\w]{0,12}/?<<secrets>>
exfiltration_words 70: puts private data where it can be read
?  include  pass  paste  put·  embed  insert  attach
    \b(?:include|pass|paste|put|embed|insert|attach)\b[^\n]{0,40}(?:\.env\b|environment variables|id_rsa|private keys?
    |chat history|conversation history|full conversation|\bpasswords\b|\bcredentials\b|contents? of (?:~|/|\.env
    |the file)
    |its values|their secrets)[^\n]{0,40}\b(?:in|as|into|to) (?:the|your|every|each|a|any|all) (?:\w+ ){0,3}
    (?:message|parameter|argument|call|url|request|response|reply|comment|answer|commit|issue|title|field)
exfiltration_words 90: sends private data to an address
?  http
    \b(?:send|add|make|call|post|ping|fetch|request|visit|open)\b[^\n]{0,60}https?://\S{1,80}[^\n]{0,30}
    \b(?:with|including|containing|carrying)\b[^\n]{0,24}(?:user's|environment|secrets|credentials|conversation
    |passwords
    |history|private)|\b(?:send|forward|post|mail)\b[^\n]{0,12}\bcop(?:y|ies) of (?:every|each|all|the|your
    |any)\b[^\n]{0,60}
    (?:https?://|@[\w-]{1,40}\.)
exfiltration_words 60: hands over the conversation
?  chat history  conversation history  full conversation  full transcript
    \bwith (?:the )?(?:user's |full |entire |complete |whole ){1,3}(?:chat|conversation|transcript
    |message) ?(?:history)?\b
exfiltration 100: sends private data away
?  curl  wget  httpie  http·  invoke-restmethod  invoke-webrequest  iwr
    (?<=\s)(?:-d|--data(?:-\w{3,10})?|-f|--form|-t|--upload-file|--post-(?:data|file)|--body-file|-body|-infile)
    (?![a-z-])[ =]{0,2}
    [\"'@$({<`]{0,6}[\w ./~=@-]{0,24}?<<secrets>>|(?<=\s)@[\"']?(?:~|/home|/root)?/?<<secrets>>
exfiltration 100: sends private data away
?  curl  wget  dig  nslookup  host·  ping
    \b(?:curl|wget|ping|dig|nslookup|host)\b[^\n]{0,120}(?:\$\(|`)[^\n)`]{0,80}<<collects>>
exfiltration 100: sends private data away
?  |
    <<collects>>[^\n|]{0,120}(?:\|[^\n|]{0,60}){0,3}\|\s{0,3}(?:xargs\s[^\n|]{0,30}|while read[^\n
    |]{0,40})?(?:\bcurl\b[^\n|]{0,120}(?:-d|--data|-f|-t|--upload|@|\{\}|\$)|\bwget\b[^\n|]{0,80}(?:post|\{\}|\$)
    |(?:\bnc|\bncat|\bnetcat|\bsocat|\btelnet|\bopenssl\s{1,3}s_client|\bsendmail|\bmail|\bmutt|\bftp)\s)
exfiltration 100: sends private data away
?  ssh
    <<collects>>[^\n|]{0,120}\|\s{0,3}ssh\s[^\n]{0,60}(?:cat|tee|dd)\b[^\n]{0,10}>|\btar\s[^\n|]{0,80}\|\s{0,3}ssh\s
exfiltration 100: carries data out in names that are looked up
?  dig  nslookup  host  ping  getent  resolve
    \b(?:dig|nslookup|host|ping|getent\s{1,3}hosts|resolvectl)\b[^\n]{0,40}\s[\"']?(?:\$\{?\w{1,20}\}?
    |\$\([^\n)]{0,80}\)|`[^\n`]{0,80}`)\.[a-z0-9-]{1,60}\.[a-z]
exfiltration 100: sends private data away
?  scp  rsync  sftp  rclone  s3 cp  s3 sync  gsutil  azcopy  croc  wormhole
    \b(?:scp|rsync|sftp|rclone|gsutil|azcopy|croc|aws\s{1,3}s3\s{1,3}(?:cp|sync|mv))\b[^\n]{0,80}(?:<<secret_names>>
    |\s~/?\s|\s~/\.\w|\s/home/?\s|\s/etc/?\s|\$home\b)[^\n]{0,80}(?:\w@[\w.-]{1,60}:|[\w.-]{2,40}:[/\w~]|s3://|gs://
    |https?://|\bsend\b)
exfiltration 90: pushes the repository to somebody else
?  git remote  git push  git bundle  set-url
    \bgit\s{1,3}remote\s{1,3}(?:add|set-url)\s[^\n]{0,120}(?:&&|;|\n)\s{0,3}git\s{1,3}push\s[^\n]{0,30}(?:--all
    |--mirror|-f|--force|\w)|\bgit\s{1,3}push\s{1,3}(?:-\S{1,12}\s{1,3}){0,2}(?:https?|git|ssh)://[^\n]{0,80}(?:--all
    |--mirror)
exfiltration 100: sends private data away
?  urlopen  requests.  httpx.  fetch(  http.client  axios  socket  smtplib  xmlhttprequest  sendbeacon  new image
    (?:urlopen|requests\.(?:post|get|put)|httpx\.(?:post|get|put)|fetch|axios\.\w{3,5}|smtplib|sendbeacon
    |http\.client|xmlhttprequest)\b[^\n]{0,200}(?:os\.environ|environ\b|process\.env\b(?!\.\w{0,30}(?:url|host|port))
    |open\(['\"][^'\"\n]{0,60}(?:\.env|\.ssh|id_rsa|credentials|passwd|shadow)|document\.cookie|localstorage|\.ssh/
    |id_rsa|\.aws/)|(?:os\.environ|process\.env|document\.cookie|\.ssh/id_|\.aws/credentials)[^\n]{0,160}(?:urlopen
    |requests\.(?:post|put)|httpx\.(?:post|put)|fetch\(|axios\.post|sendbeacon|new image)
exfiltration 70: sends private data away
?  curl  wget
    \b(?:curl|wget)\b[^\n]{0,60}(?:-h|--header)[ =]{0,2}[\"'](?!authorization|x-api-key|api-key|x-goog-api-key
    |private-token|x-auth|apikey|x-\w{2,20}-(?:key|token|api)|cookie)[^\n\"']{0,40}\$\{?\w{0,30}(?:key|token|secret
    |passw|credential)
exfiltration 70: sends private data away
?  curl  wget
    \b(?:curl|wget)\b[^\n]{0,80}https?://[^\s\"']{1,100}[?&/=][^\s\"']{0,40}\$\{?\w{0,30}(?:key|token|secret|passw
    |credential)
exfiltration 80: sends data to an anonymous drop
?  webhook  requestbin  pipedream  pastebin  transfer.sh  ngrok  interact.sh  oast  burpcollab  0x0.st  termbin
?  file.io  ix.io  telegram  discord
    (?:<<secrets>>|\bcat\b|\bconversation|\bcontents?\b|\bupload|\bsend\b|\bpost\b)[^\n]{0,160}<<drops>>|\b(?:curl
    |wget|fetch|post|send|upload)\b[^\n]{0,80}<<drops>>
exfiltration 90: reads the machine's cloud credentials
?  169.254.169.254  metadata.google  100.100.100.200
    \b(?:curl|wget|fetch|get|requests\.get|urlopen)\b[^\n]{0,60}(?:169\.254\.169\.254|metadata\.google\.internal
    |100\.100\.100\.200)/?[^\n]{0,60}(?:security-credentials|token|iam|meta-data|computemetadata)
exfiltration 90: reads stored passwords
?  find-generic-password  login data  logins.json  dump-keychain  lsass  mimikatz  sam save  secretsdump
?  gcloud auth print  sts get-session  pass show  op item get
    \bsecurity\s{1,3}(?:find-generic-password|dump-keychain|find-internet-password)[^\n]{0,40}(?:-w|-d|\||$)
    |\bmimikatz|\bsecretsdump|\breg\s{1,3}save\s{1,3}hklm\\sam|\bprocdump\b[^\n]{0,30}lsass|\b(?:cp|cat|sqlite3|curl
    |scp)\b[^\n]{0,80}(?:login data|logins\.json|key4\.db)
exfiltration_link 100: carries data out in a link
?  ![  <img  ](
    (?:\]\(|<img[^>\n]{0,60}src\s?=\s?[\"']?)\s{0,2}https?://[^\s)\"'>{<\[]{0,200}(?:\{\{|\$\{|\$\(|<|%7b|\[|\{)
    [^)\"'>\n]{0,40}?(?:conversation|history|secret|token|key|password|chat|context|memory|prompt|data|message|summary
    |content|user|email|env|session|file|encoded|base64|stolen|exfil)
exfiltration_link 90: carries data out in a link
?  query string  query parameter  url parameter  the link  the url  image url  as an image  markdown image
?  image tag  in the url
    \b(?:append|add|put|encode|include|insert|embed|attach|place|concatenat)\w{0,4}\b[^.\n]{0,120}\b(?:keys?|tokens?
    |secrets?|passwords?|credentials?|conversation|messages?|contents?|history|data|summary|emails?|prompt|answers?
    |memory|information|names?)\b[^.\n]{0,80}\b(?:query (?:string|param\w{0,6})|url param\w{0,6}|to the (?:link|url)
    |in the url|image (?:url|tag|link)|markdown (?:image|link))[^\n]{0,60}(?:https?:|$|url|link|image|domain)
    |\b(?:render|display|show|load|include|output|embed|add|insert
    |end)\w{0,4}\b[^.\n]{0,60}\b(?:markdown )?image\b[^\n]{0,120}https?://[^\n]{0,120}(?:conversation|history|secret
    |token|keys?|password|chat|context|memory|data|message|summary)
exfiltration_words 90: sends private data away
?  send  forward  email  transmit  submit  recipient  include
    \b(?:send|forward|e-?mail|transmit|submit|copy|report)\b[^\n]{0,120}\b(?:ssn|social security|card numbers?
    |account (?:details|numbers?|statements?)|passport|(?:complete|full|entire|customer(?:'s)?|their
    |personal) (?:\w+ )?(?:records?|data|details|information|history)|contacts?|customer (?:data|list
    |records?))\b[^\n]{0,120}\b[\w.+-]{1,40}@[\w-]{1,40}\.|\"recipient\"\s?:\s?\"[^\"\n]{1,60}@[^\n]{0,120}(?:ssn
    |account|card|password|token|secret)
exfiltration_words 70: sends private data away
?  send  post  upload  forward  email  transmit  exfiltrate  leak  submit  copy
    \b(?:send|post|upload|forward|e-?mail|transmit|exfiltrate|submit|leak|report|copy
    |deliver)\b[^.\n]{0,60}\b(?:contents? of|all (?:of )?(?:the |your |my |their )?(?:files|messages|emails?|data
    |conversations?|secrets|keys|passwords|credentials|history|notes|contacts|unread)|api keys?|conversation
    |chat history|last \w{1,6} messages|memory\.md|system prompt|environment variables|\.env|private keys?|ssh keys?
    |passwords?|credentials|credit card|security code|session (?:token|cookie)s?
    |source code)\b[^\n]{0,80}(?:https?://|www\.|\b[\w.+-]{1,40}@[\w-]{1,40}\.|\bto (?:the )?(?:server|endpoint
    |webhook|attacker|address|website|url|following)\b|\b\w{2,30}\.(?:example|com|net|org|io|xyz|ru|dev)/)
""",
    secrets=f"(?:{_SECRET_NAMES})",
    secret_names=_SECRET_NAMES,
    collects=_COLLECTS,
    drops=_DROPS,
)
