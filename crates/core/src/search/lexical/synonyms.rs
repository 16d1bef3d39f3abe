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

/// The table, in the terms of one vocabulary.
#[derive(Debug, Default)]
pub(super) struct Synonyms {
    /// Term to its lines in `groups`.
    of: HashMap<TermId, Vec<u16>>,
    /// Terms of each line, in the line's order.
    groups: Vec<Vec<TermId>>,
    /// An abbreviation to what it is short for: the terms of each line.
    expansions: HashMap<TermId, Vec<Vec<TermId>>>,
    /// First term of a spelt-out form to all its terms and the abbreviation's.
    contractions: HashMap<TermId, Vec<(Vec<TermId>, TermId)>>,
}

/// How a word stands for another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stand {
    Abbreviation,
    Synonym,
}

impl Synonyms {
    /// Makes the table's words terms of the vocabulary.
    pub(super) fn new(vocabulary: &mut Vocabulary) -> Self {
        let mut table = Self::default();
        let mut terms = |line: &str| -> Vec<TermId> {
            let stems: Vec<String> = line.split_whitespace().map(|word| vocabulary.stem(word).into_owned()).collect();
            stems.iter().map(|stem| vocabulary.intern_stem(stem)).collect()
        };
        for (number, line) in GROUPS.trim().lines().enumerate() {
            let terms = terms(line);
            for &term in &terms {
                table.of.entry(term).or_default().push(number as u16);
            }
            table.groups.push(terms);
        }
        for line in ABBREVIATIONS.trim().lines() {
            let mut long = terms(line);
            let short = long.remove(0);
            table.contractions.entry(long[0]).or_default().push((long.clone(), short));
            table.expansions.entry(short).or_default().push(long);
        }
        table
    }

    /// Calls `f` with each term that `term`, one of those `said`, may stand for, and its weight.
    pub(super) fn each(
        &self,
        term: TermId,
        said: &[Option<TermId>],
        held: impl Fn(TermId) -> bool,
        mut f: impl FnMut(TermId, f32, Stand),
    ) {
        let lines = self.expansions.get(&term).into_iter().flatten();
        let long: Vec<TermId> = lines.flatten().copied().filter(|&term| held(term)).collect();
        for &term in &long {
            f(term, ABBREVIATION_WEIGHT / (long.len() as f32).sqrt(), Stand::Abbreviation);
        }
        for (long, short) in self.contractions.get(&term).into_iter().flatten() {
            if held(*short) && long.iter().all(|part| said.contains(&Some(*part))) {
                f(*short, ABBREVIATION_WEIGHT, Stand::Abbreviation);
            }
        }
        for &group in self.of.get(&term).into_iter().flatten() {
            for &term in self.groups[group as usize].iter().filter(|&&term| held(term)) {
                f(term, SYNONYM_WEIGHT, Stand::Synonym);
            }
        }
    }
}
