"""The words by which the rubric reads a task. General English, made once; `*` stands for any ending, `_` joins the
words of a phrase."""

from __future__ import annotations

RECURRING = """
daily weekly monthly quarterly yearly annually hourly nightly biweekly fortnightly each_day each_week each_month
each_morning each_evening each_night each_hour each_quarter each_year each_time every_day every_week every_month
every_morning every_evening every_night every_hour every_quarter every_year every_time every_minute every_monday
every_tuesday every_wednesday every_thursday every_friday every_saturday every_sunday every_weekday on_mondays
on_tuesdays on_wednesdays on_thursdays on_fridays on_weekdays on_weekends per_day per_week per_month whenever regularly
recurring periodically cron schedule* month_end end_of_month for_each for_every
"""
ONE_OFF = "one_time one_off just_once only_once once_only just_this_once this_once ad_hoc never_again single_time"
ACTS = """
add aggregat* analys* analyz* append archiv* audit back_up build calculat* categori* chart check clean clone collect
combin* compar* compil* comput* convert copy count crawl creat* debug dedup* delet* deploy detect download draft email
encrypt estimat* export extract fetch filter find fix forecast format generat* group import index install join label
list load log look_up merge migrat* monitor move normali* notif* parse pars* patch plot post process* profil* publish
pull push query read rebuild reconcil* refactor remov* rename render renew replace report resiz* restart restor* review
rotat* run save scan schedul* scrap* search send sort split store summari* sync* tag test transcrib* transform translat*
trim unzip updat* upload validat* verif* write zip
"""
TALK = "explain explains describe tell_me what_is what_are who_is why how_are how_do_you hello hi hey thanks joke poem"
VAGUE = """
help_me organi* something somehow stuff things anything creative idea ideas inspir* improve better nice nicely cool fun
interesting good_looking whatever some_kind sort_of kind_of look_into deal_with take_care
"""
ARTEFACTS = """
report* summar* chart* graph* plot* table* dashboard* spreadsheet* document* presentation slide* file* email* alert*
message* invoice* changelog notes pull_request patch branch release backup* list model* forecast* index thumbnail*
digest newsletter ticket* branch commit page test* statement* database
"""
FORMATS = """
pdf csv tsv json yaml xml xlsx xls excel html markdown docx word png svg jpg parquet sqlite zip txt latex pptx
powerpoint
"""
SOURCES = """
s3 bucket postgres* mysql sqlite database api endpoint csv json log logs spreadsheet folder directory repository repo
inbox mailbox website url page pages table file files feed kafka queue warehouse bigquery export exports statement
statements dataset data_set sales_data invoices receipts transactions
"""
CONDITIONS = "if otherwise unless when else except in_case until whenever only_if"
CRITERIA = """
must should_equal exactly at_least at_most no_more_than so_that pass passes passing match matches equal equals within
verify verified tests check criteria criterion correct accurate
"""
TOOL_KINDS = {
    "files": """file files folder directory csv json yaml xml log logs read copy rename move zip archive pdf* image*
        picture* path spreadsheet document*""",
    "network": """download upload s3 bucket fetch http https api endpoint url crawl scrap* website web online webhook
        ftp rest""",
    "database": "postgres* mysql sqlite sql database query queries table warehouse bigquery duckdb mongo* redis",
    "computing": """calculat* comput* python pandas script statistic* model* regression rate ratio sum average mean
        median aggregat* forecast* anomal* trend* growth analy* cluster* classif* count dedup* reconcil*""",
    "messages": "email* mail send notify notif* alert* slack message* telegram discord sms post ticket*",
    "documents": """report* excel xlsx word docx pdf slide* presentation chart* plot* graph* dashboard markdown html
        summary summari* export* invoice* newsletter""",
    "code": """code git repository repo branch commit pull_request test tests pytest compil* refactor debug* lint bug
        bugs function module package release patch""",
    "systems": """server service docker container kubernetes deploy* restart install disk process processes cron
        backup* certificate* nginx systemd ssh host""",
    "search": "search research browse google look_up sources articles papers",
    "calendar": "calendar meeting* appointment* invite reschedule",
}
"""Kinds of tools, and the words that speak of each."""
TROUBLE_KINDS = ("network", "database", "messages", "systems", "search")
"""Kinds that depend on something outside, which may not answer."""
TROUBLE = """
fail* error errors exception timeout timeouts timed_out retry retries fallback fall_back cached
missing not_exist doesn't_exist unavailable unreachable offline corrupt* invalid malformed broken incomplete duplicate*
rate_limit rate_limited denied refused empty not_found unless_it conflict* interrupted partial
"""
