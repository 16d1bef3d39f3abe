//! The table: what software, office work and everyday errands call by several words. General vocabulary only: no product but
//! the very common, nothing taken from a test set.

/// Every word of a line may stand for the others, weakly: the query's own word always weighs more.
pub(super) const GROUPS: &str = "
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
weather forecast temperature outside outdoor
temperature hot cold warm
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
undo revert reset rollback
define definition meaning dictionary
explain describe clarify
illness disease sickness symptom
doctor physician
medicine medication drug prescription
exercise workout fitness
nutrition calorie diet nutrient
restaurant dining eatery
product item goods merchandise
cart basket
shop store retailer
discount coupon promotion voucher deal
shipping delivery shipment parcel
inventory stock availability
seller vendor supplier merchant
employee staff worker personnel
salary wage payroll
loan mortgage credit
invest investment portfolio
crypto cryptocurrency coin bitcoin
revenue sales turnover
profit earnings income
house home property apartment
rent lease rental
car vehicle automobile
train rail railway
transit bus subway
hotel stay
trip travel journey tour vacation itinerary
attraction sightseeing landmark
museum gallery exhibition
country nation
city town
holiday festival
nearby near closest surrounding
map geography
coordinates geolocation geocode
pollution emission
word vocabulary term
synonym thesaurus
quotation quote saying
joke humor funny
fact trivia
book novel
author writer
paper article publication study
research study
library package dependency module
function method procedure
graph chart plot diagram visualization
average mean
equation formula expression
solve calculate
probability chance likelihood
predict forecast prediction
classify categorize classification
detect recognize identify
extract parse scrape
crawl scrape
generate produce create
voice speech audio sound
speak talk pronounce
transcribe transcription transcript subtitle caption
watch stream
player athlete
game match
score result
league tournament competition championship
episode series show
tv television
actor cast crew actress
poster cover artwork
album discography
artist singer musician band performer
follow subscribe
unfollow unsubscribe
favorite bookmark star like
block ban
friend follower connection
post tweet
feed timeline
avatar photo
remind reminder
remember memorize memory store
forget delete remove
grep search find
timer alarm countdown
appointment booking reservation
attendee participant guest invitee
invite invitation
reject decline deny
accept approve agree
vote poll survey questionnaire
feedback review rating opinion
complaint grievance
contract agreement
law legal legislation
lawsuit court
crime police
encrypt encryption cipher
hash checksum digest
compress zip
decompress unzip unpack
debug troubleshoot diagnose
error exception failure crash
monitor observe track
health heartbeat
performance speed latency
memory ram
disk storage drive
cpu processor
firewall security
vulnerability cve exploit
threat malware virus attack
scan inspect
analyze examine inspect analysis
optimize improve tune
increase raise
decrease reduce lower
resize crop shrink
enable activate
disable deactivate
light lamp bulb
device gadget
print printer
draw sketch paint
color colour
goal objective target
deadline due milestone
project workspace
assignee owner
priority severity urgency
login signin authenticate
logout signout
signup register enroll
restore recover
grant allow permit
recommend suggest recommendation suggestion
similar related
popular trending top
latest newest recent
previous past historical
detail information
count quantity amount
percent percentage ratio
school university college
student pupil learner
teacher instructor professor
course class lesson lecture tutorial
exam quiz test
horoscope zodiac astrology
pet animal
plant flower
clothes clothing outfit fashion
drink beverage
recipe cook bake ingredient
write compose draft
see view
end finish
fix repair
browser tab
click press tap
scroll swipe
schema structure
formula calculation
paragraph section heading
font style format
template boilerplate
report summary
deal opportunity
client customer
expense spending
budget spending
transaction transfer
wallet balance
domain hostname dns
certificate ssl tls
webhook callback
queue topic
volume disk
replica copy
region zone
function lambda
bucket storage
experiment variant
survey form
campaign newsletter
audience segment
ad advertisement
ranking rank
traffic visit visitor
outline structure
think reason reflect
sentiment emotion mood feeling
toxic offensive abusive hate
embedding vector
person human face
manager supervisor boss
colleague coworker teammate
hire recruit
candidate applicant
vacation leave absence
bigger enlarge upscale
smaller shrink
choose select pick
save store persist
oldest earliest
eat restaurant food
internet web online
computer machine host
broken failing
shell terminal console bash command
script program
snippet gist
endpoint route
cookie session
visit navigate open
thumbnail preview
hike trail
gym workout
sleep rest
pulse heart
vaccine vaccination immunization
hospital clinic
compliance regulation
fraud scam
donate donation charity
concert event
theater cinema theatre
podcast episode
dice random
barcode qr
gps location coordinates
rocket spaceflight
sea ocean
bike bicycle cycling
taxi cab ride
parking garage
fuel gas petrol gasoline
electric charging ev
furniture decor
garden gardening
sport football soccer
basketball nba
gift present
party celebration
wedding marriage
relationship dating
advice tip guidance
translation interpreter
accent pronunciation
essay writing
rewrite rephrase paraphrase
headline title
slogan tagline
brand logo
marketing promotion advertising
competitor rival
trend popularity
startup company
founder ceo
patent invention
science scientific
experiment trial
clinical medical
gene genetic dna
protein molecule
chemical chemistry
physics physical
math mathematics mathematical
geometry shape
circle radius circumference
triangle rectangle polygon
length distance
size dimension
width height
area surface
volume capacity
weight mass
speed velocity
force acceleration
energy power
electricity voltage electrical
interest loan
compound growth
president leader king ruler
war battle
history historical
religion religious bible
god deity
ancient antique
culture cultural
painting artwork art
sculpture statue
";

/// `short long words`: an abbreviation and what it is short for. Strong both ways; several long words count as one.
pub(super) const ABBREVIATIONS: &str = "
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
