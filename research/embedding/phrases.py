"""Short made-up requests in the vocabulary of software and office work, so that the table learns how such words go together."""

import numpy as np

VERBS = """create add make open register generate delete remove erase clear update edit modify change set rename get fetch read
show view list enumerate browse search find look_up locate send post publish notify run execute start launch trigger stop
cancel pause resume restart convert transform translate calculate estimate compare check verify validate test analyze
summarize extract parse format upload download import export sync copy move archive restore back_up share assign approve
reject merge close reopen schedule book reserve order buy pay refund track monitor subscribe unsubscribe enable disable
install deploy roll_back scale build compile debug log_in invite block follow like rate review comment_on reply_to forward
tag label sort filter group count aggregate plot draw render resize crop record play transcribe encrypt decrypt sign scan
click type scroll navigate_to take predict classify recommend""".split()

NOUNS = """issue pull_request branch commit repository release tag workflow pipeline build job log file folder directory document
page wiki note spreadsheet row column cell chart report dashboard slide presentation image photo picture screenshot video
clip song playlist audio podcast movie book email inbox draft attachment message channel thread chat contact person team
group user account profile role permission password secret token certificate api_key calendar event meeting appointment
reminder task todo_list project board card sprint milestone ticket customer lead deal company invoice payment subscription
order product cart coupon price stock_quote exchange_rate currency portfolio transaction balance bank_account tax budget
weather forecast temperature air_quality map address location route distance restaurant hotel flight train ticket
car_rental recipe meal workout heart_rate medication doctor patient job_posting candidate resume employee salary course
lesson quiz student grade news article headline paper citation patent website web_page link url form button browser_tab
cookie database table record query schema index collection key cache queue topic stream server virtual_machine container
pod deployment namespace cluster node service load_balancer network firewall dns_record domain bucket volume snapshot
function script command process package dependency library class variable test code_review error exception alert incident
metric trace event_log user_story feature_flag template webhook api endpoint request response json csv pdf markdown html
text language translation sentiment keyword summary embedding model dataset prompt agent memory tool time_zone date clock
holiday random_number equation unit color font icon qr_code barcode game score player match league quote joke word
definition synonym country city population law license vehicle parcel shipment sensor light thermostat camera door_lock
wallet blockchain smart_contract gas_fee poll survey review comment post story follower hashtag""".split()

FRAMES = ["{v} {n}", "{v} a {n}", "{v} the {n}", "{v} {n} by id", "{v} all {n}s for a user", "how do I {v} a {n}",
          "I want to {v} my {n}", "{v} a {n} in {m}", "{n} {v}", "can you {v} the {n} for me", "{v} {n} and {m}",
          "{v} the latest {n} from {m}", "tool to {v} {n}s", "{v} a {n} with {m}"]


def make(count, seed):
    """Phrases, each different; the plain words come first."""
    rng = np.random.default_rng(seed)
    out = dict.fromkeys(w.replace("_", " ") for w in VERBS + NOUNS)
    while len(out) < count:
        frame = FRAMES[rng.integers(len(FRAMES))]
        verb, noun, more = VERBS[rng.integers(len(VERBS))], NOUNS[rng.integers(len(NOUNS))], NOUNS[rng.integers(len(NOUNS))]
        out[frame.format(v=verb, n=noun, m=more).replace("_", " ")] = None
    return list(out)[:count]
