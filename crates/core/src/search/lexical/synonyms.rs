//! A small closed table of words that software and office work use for one another. General vocabulary only: no product
//! but the very common, nothing taken from a test set.

use std::collections::HashMap;

use super::vocabulary::{TermId, Vocabulary};

/// Every word of a line may stand for the others, weakly: the query's own word always weighs more.
const GROUPS: &str = "
get fetch retrieve read show view display obtain lookup
list enumerate browse
search find query lookup discover locate
create add make new insert register generate open
delete remove erase drop clear destroy unregister discard
update edit modify change set alter patch rename adjust
send post publish notify message
execute run invoke launch perform start trigger
stop cancel terminate kill abort halt
pause suspend
resume continue
restart reboot rerun retry
silence mute snooze downtime
convert transform translate
compute calculate evaluate
book reserve schedule
buy purchase order checkout
price cost rate quote fare
invoice bill billing
refund chargeback dispute
payment pay charge
picture image photo
movie film
song track music
file document
folder directory
email mail inbox
user account profile member customer
contact person people
team group
weather forecast temperature
currency exchange money
stock share ticker equity
sql query statement
website webpage page url web site
link url hyperlink
screenshot capture snapshot
log logs logging
message chat dm
conversation thread
channel room
ticket issue bug task todo
comment reply note remark
event calendar meeting appointment agenda
alert alarm notification pager
metric measurement statistics analytics
dashboard panel
incident outage
location place address
route directions navigation
company business organization org
job career vacancy position
news article headline
video clip
lyrics song
recipe dish meal food
hotel accommodation lodging
flight airline plane
download save export
upload import attach
attachment file
verify check validate confirm
summarize summary
compare difference diff
copy duplicate clone
move transfer relocate
merge combine join
assign delegate allocate
close resolve complete finish
archive backup
permission access role privilege
password secret credential
container pod docker
server host machine instance
cluster node
deploy release rollout
build pipeline ci workflow
branch fork
commit revision changeset
table spreadsheet sheet
column field
row record entry
slide presentation deck
label tag category
status state
history log audit
schedule cron
phone telephone call
text sms
answer reply respond
";

/// `short long words`: an abbreviation and what it is short for. Strong both ways; several long words count as one.
const ABBREVIATIONS: &str = "
pr pull request
mr merge request
repo repository
env environment
config configuration
auth authentication
authn authentication
authz authorization
db database
k8s kubernetes
doc document
docs documentation
app application
info information
msg message
img image
pic picture
dir directory
admin administrator
org organization
params parameters
param parameter
arg argument
args arguments
spec specification
stats statistics
temp temperature
calc calculate
del delete
rm remove
ls list
mkdir create directory
exec execute
cmd command
prod production
dev development
qa test
ci continuous integration
cd continuous deployment
vm virtual machine
lb load balancer
sg security group
acl access control list
iam identity access management
dns domain name
ip address
cert certificate
pwd password
id identifier
num number
qty quantity
max maximum
min minimum
avg average
lang language
geo location
loc location
lat latitude
lng longitude
lon longitude
tz timezone
cal calendar
gcal calendar
appt appointment
mtg meeting
addr address
tel telephone
sms text message
dm direct message
hr employee
crm customer contact
faq question
kb knowledge base
wiki page
pdf document
csv spreadsheet
xls spreadsheet
ppt presentation
ui interface
js javascript
ts typescript
py python
pg postgres
postgresql postgres
mongo mongodb
gh github
gl gitlab
gdrive google drive
gsheet google sheet
gdoc google doc
yt youtube
ai model
llm language model
ml machine learning
tx transaction
acct account
sub subscription
vpc network
fn function
func function
var variable
regex pattern
diff difference
sync synchronize
";

/// Weight of another word of a group.
pub(super) const SYNONYM_WEIGHT: f32 = 0.3;
/// Weight of what an abbreviation is short for, and of the abbreviation of what was spelt out.
pub(super) const ABBREVIATION_WEIGHT: f32 = 0.7;

/// The table, in the stems of one vocabulary.
#[derive(Debug, Default)]
pub(super) struct Synonyms {
    /// Stem to its lines in `groups`.
    of: HashMap<String, Vec<u16>>,
    /// Terms of the catalog in each line, in the line's order, with their stems for the ones it lacks left out.
    groups: Vec<Vec<TermId>>,
    /// Stem of an abbreviation to what it is short for.
    expansions: HashMap<String, Vec<TermId>>,
    /// First stem of a spelt-out form to all its stems and the abbreviation's term.
    contractions: HashMap<String, Vec<(Vec<String>, TermId)>>,
}

impl Synonyms {
    pub(super) fn new(vocabulary: &Vocabulary) -> Self {
        let mut table = Self::default();
        let stems = |line: &str| -> Vec<String> {
            line.split_whitespace().map(|word| vocabulary.stem(word).into_owned()).collect()
        };
        for (number, line) in GROUPS.trim().lines().enumerate() {
            let stems = stems(line);
            table.groups.push(stems.iter().filter_map(|stem| vocabulary.term(stem)).collect());
            for stem in stems {
                table.of.entry(stem).or_default().push(number as u16);
            }
        }
        for line in ABBREVIATIONS.trim().lines() {
            let mut stems = stems(line);
            let short = stems.remove(0);
            if let Some(term) = vocabulary.term(&short) {
                table.contractions.entry(stems[0].clone()).or_default().push((stems.clone(), term));
            }
            let long: Vec<TermId> = stems.iter().filter_map(|stem| vocabulary.term(stem)).collect();
            table.expansions.entry(short).or_default().extend(long);
        }
        table
    }

    /// Calls `f` with each catalog term that `stem`, one of the query's `stems`, may stand for, and its weight.
    pub(super) fn each(&self, stem: &str, stems: &[&str], mut f: impl FnMut(TermId, f32, bool)) {
        if let Some(long) = self.expansions.get(stem) {
            for &term in long {
                f(term, ABBREVIATION_WEIGHT / (long.len() as f32).sqrt(), true);
            }
        }
        for (long, short) in self.contractions.get(stem).into_iter().flatten() {
            if long.iter().all(|part| stems.contains(&part.as_str())) {
                f(*short, ABBREVIATION_WEIGHT, true);
            }
        }
        for &group in self.of.get(stem).into_iter().flatten() {
            for &term in &self.groups[group as usize] {
                f(term, SYNONYM_WEIGHT, false);
            }
        }
    }
}
