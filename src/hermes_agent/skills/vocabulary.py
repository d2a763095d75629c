"""Words that mean the same or belong to the same field of work, and words that say nothing about a task.

Two wordings of one job often share no word; what they share is the field ("stock", "shares") and the act ("sum",
"total"). These lists are general English, made once; nothing here is learned and nothing depends on the order.
"""

from __future__ import annotations

SILENT = """
a about above actually after again ahead all along also although always am an and another any anybody anyone anything
are around as ask at away back be because been before begin being below beside besides best better between both brief
briefly bring but by can cannot carefully could current currently day days did different directly do does doing done
double down due during each easily either else end ensure enough especially even ever every everyone everything exactly
few final finally find first five following for four friendly from full further get getting give given go goes going
good got great half hand happen has have having he hello help her here hers hey hi him his hour how however i if
immediately in indeed information inside instead into is it its itself just keep keen kind kindly know known last late
later latest least less let like likely list little look looking lot love made main make making many may maybe me mean
meanwhile might mind mine minute moment more most much must my myself name named near nearly necessary need needed needs
never new newest next nice no nobody none nor not nothing now number of off often ok okay old on once one ones only onto
open or other others our ours ourselves out over own particular perhaps please polite possible prepare present pretty
previous probably proceed provide put quick quickly quite rather ready really recent recently regarding report request
require required result right said same say second see seem set several shall she short should show similar simply since
single six small so some somebody someone something soon specific still subsequently such sure take taken tell ten than
thank thanks that the their them themselves then there these they thing things think third this those though three
through thus time to today together tomorrow tonight too toward try trying two under until up upcoming upon us use
used useful using usual various verify very via wait want wanted was way we week well went were what whatever when where
whether which while who whole whom whose why will wish with within without wonder work would yes yesterday yet you your
yours yourself assist assistance appreciate able ability check confirm curious interested inform information provide
exact precise complete completely entire entirely forward hope ideally idea imagine important issue manage matter notice
plan planning point purpose quickly recall share sort straight task whichever
"""
"""Words in which a request is wrapped."""

FIELDS = {
    "files": """file folder directory subdirectory filename path disk archive zip tar copy move rename symlink
        terminal shell ls cd mkdir grep touch cat tail permission hidden workspace txt pdf backup duplicate""",
    "text": "text line word paragraph sentence content character string sort diff compare difference draft wc",
    "tables": "csv spreadsheet column row table excel xlsx header tsv pivot sheet dataframe parquet",
    "markup": "json yaml xml toml html markdown schema serialise serialize parse",
    "trading": """stock share portfolio trade trading trader invest investment investor watchlist broker brokerage
        market equity ticker dividend nasdaq holding symbol sector bull bear bond etf crypto bitcoin""",
    "banking": "bank account deposit withdraw withdrawal fund transfer loan mortgage savings iban wire transaction",
    "billing": """invoice bill payment pay paid unpaid overdue dunning owe owes creditor debtor receipt refund
        outstanding""",
    "travel": """flight fly airline airport travel trip booking ticket passport luggage itinerary hotel vacation holiday
        departure arrival airfare seat cabin economy voyage insurance destination visa tourist cruise traveler
        traveller reservation passenger""",
    "vehicle": """car vehicle engine fuel gas gasoline petrol tank tire tyre brake drive driving driver road
        battery headlight door lock unlock ignition parking mileage gear odometer truck motor climate fan gallon liter
        litre refuel mile steering cruise highway pedal garage""",
    "messages": "message chat inbox contact sms dm texting sender recipient reply unread",
    "mail": "mail email letter newsletter mailbox attachment smtp imap subject",
    "social": "tweet twitter post hashtag follower retweet mention social timeline caption comment",
    "support": "ticket support complaint helpdesk escalate priority resolve customer issue",
    "maths": "mean average logarithm square root percentage deviation median equation maths mathematics sine cosine",
    "calendar": "calendar meeting appointment schedule slot invite invitation event reschedule availability agenda",
    "notes": "minutes notes recap decision topic discussion transcript standup bullet",
    "images": """image picture photo photograph thumbnail pixel px png jpg jpeg gif svg resize crop resolution
        camera wallpaper banner""",
    "audio": "audio song music podcast voice sound mp3 wav playlist album singer",
    "video": "video clip film movie subtitle mp4 frame footage stream",
    "deployment": """deploy deployment redeploy rollout release container docker kubernetes pod cluster staging
        production service restart systemd helm replica rolling server""",
    "logs": "log logs trace stacktrace exception crash warning error traceback incident",
    "testing": "test pytest unittest suite assertion coverage ci fixture jest red green",
    "code": "code function class refactor bug compile compiler lint typing module api implement method variable",
    "versions": "git commit branch merge rebase repository repo pull diff tag clone push",
    "packages": """dependency package version upgrade outdated bump lockfile library npm pip release advisory
        requirements""",
    "databases": "database sql postgres mysql sqlite query dump pg_dump restore migration index replica mysqldump",
    "network": "dns ip port firewall proxy http https certificate tls ssl vpn router ping latency bandwidth subnet",
    "security": "password credential vulnerability encrypt decrypt secret token permission audit malware phishing",
    "web": "website web page browser url link scrape crawl seo search site html",
    "language": "translate translation language english german spanish french japanese chinese italian grammar",
    "weather": "weather forecast rain temperature snow wind sunny storm humidity celsius",
    "shopping": "buy purchase cart price product shop order discount coupon shipping delivery amazon",
    "food": "recipe cook meal restaurant ingredient dinner lunch breakfast menu bake cuisine",
    "health": "doctor symptom medicine exercise diet sleep calorie hospital patient fitness",
    "homes": "house apartment rent landlord lease property estate bedroom furniture heating thermostat",
    "jobs": "resume cv job application interview salary recruiter hire vacancy candidate employee",
    "school": "essay homework student lecture exam course teacher university thesis quiz",
    "law": "contract clause law lawyer legal compliance gdpr licence license regulation",
    "statistics": "chart graph plot histogram regression correlation visualise visualize dashboard metric",
    "learning": "train model dataset classifier neural epoch gradient embedding prediction",
    "maps": "route map distance navigate address location city zipcode postcode",
}
"""Fields of work. A word may belong to several."""

ACTS = {
    "sum": "sum total add aggregate tally totals overall",
    "convert": "convert conversion transform turn export change rewrite reformat",
    "repair": "fix repair solve correct debug resolve mend pass",
    "summarise": "summarise summarize summary condense recap tldr digest shorten",
    "resize": "resize scale shrink downscale reduce enlarge thumbnail smaller",
    "restart": "restart redeploy reboot relaunch start stop",
    "deploy": "deploy ship rollout release publish",
    "search": "search grep scan locate seek look",
    "remind": "remind reminder chase nudge overdue late unpaid",
    "schedule": "schedule arrange book appointment invite slot",
    "translate": "translate translation",
    "save": "backup dump archive snapshot",
    "upgrade": "upgrade update bump outdated",
    "delete": "delete remove erase drop purge discard",
    "create": "create generate build produce",
    "compare": "compare difference diff contrast versus",
    "count": "count often frequent frequency",
    "explain": "explain describe clarify cause reason",
    "review": "review inspect assess evaluate critique",
    "send": "send forward deliver mail email",
    "download": "download fetch retrieve pull",
    "write": "write draft compose author",
    "move": "move relocate transfer",
    "buy": "buy purchase acquire order",
    "sell": "sell liquidate divest",
    "cancel": "cancel abort revoke undo",
    "install": "install setup configure configuration",
    "monitor": "monitor watch track observe",
    "sort": "sort order rank arrange",
    "merge": "merge join combine concatenate unite",
}
"""What is done. A word may belong to several."""
