"""What the names of REST mean, for the OpenAPI document: a name means the same wherever it stands, or says where it does not."""

from typing import Any

MOMENT = "2026-11-18T09:00:00Z"
_DIGEST = "sha256:" + "0" * 64
_ULID = "01h5fskfsk4fpeqwnsyz5hj55t"

# Name, what it is, and an example where its type alone makes a poor one.
_WORDS = f"""
ackToken|Says that the pending step is done; it stands beside the state token in a reply|ack.v1.h4zq…
action|What was done, as a word of the audit log|team.renamed
activity|The activity in which it stands|plan
actor|Who did it, by id|key_{_ULID}
actorKind|What kind of actor it was
actorName|Who did it, by name|CI
after|How it stands afterwards
agentId|What the agent calls itself|orchestrator
alias|Another name of a workflow|team.brief
aliases|The other names that the team has given it
annotations|What clients ask before they let a model call it
answer|What was answered, when it was
answerAt|The address of the page at which a signed-in person answers|https://rails.example.com/studio/
answered|What a person answered just before this step
answers|By the id of a step or a checkpoint: what is handed in or chosen there
answersHuman|Whether the token may answer questions that ask for a person
archive|The archive, as a file of the form
archives|Whether a session is kept as a bundle before it goes
arguments|What the tool was called with, secrets hidden
artifactKind|The kind that an artifact names, empty for notes|wr.finding
artifacts|What is handed in beside the notes; each object names its `kind`
askedBy|Who asked for it|Alice
assessmentFollowup|What an assessment asks for next
at|When it happened
attachment|What it is called and where it comes from
attempts|The acknowledgements that were made there
author|Who saved it|Alice
authority|Whose word an answer is: `relayed` of an agent's user, `human` of a signed-in person
autonomy|How much the agent decides by itself
base|The revision that it is compared with or built upon; 0 is none|3
baseRevision|The latest revision as you know it; the change is refused when there is a newer one|3
before|What leads to older entries, or how it stood before
blockers|Why the step is not done, and what would mend it
body|Notes as Markdown, an artifact as canonical JSON|Did what the step says.
branch|That a new branch was begun, and from where; as a query, a git branch or how it begins|fix/SHOP-1
branches|How many branches begin there|2
bundle|The bundle as text|{{}}
bundled|Whether it comes with Workrail
busyUs|Microseconds in which calls were answered|1800
by|Who answered|person_{_ULID}
calls|How many calls were made|12
candidates|Runs to go on with, the likeliest first
capabilities|What is known of the agent's abilities
category|What kind of thing is missing
change|What became of it
channel|Whether these are notes or an artifact
checkpointId|The checkpoint, as the workflow names it|approve-plan
checkpointToken|Records notes at this step without finishing it|chk.v1.h4zq…
children|The nodes that follow it
claimedAt|When somebody took it upon themselves
claimedBy|Who has taken it upon themselves|person_{_ULID}
clarificationPrompts|What the workflow wants to know before it begins
closes|Whether this entry only closes another
code|Which one it is, of a closed set|VALIDATION_ERROR
completedAt|When the run ended
confidence|How sure it is that this is the one
context|Variables: keys are added or replaced, null removes one
created|Whether it is new
createdAt|When it was made
createdBy|Who made it|key_{_ULID}
definition|A workflow of steps as JSON
deliveredAt|When it was taken last
depth|How many forks lie above it|1
description|What it is for|Reviews a change before it is merged.
detail|What exactly, in words or as a word of a closed set|The runId is missing.
details|What belongs to it, as data
dialect|Through which contract of tools it is driven
diff|What has changed
digest|Of its bytes|{_DIGEST}
doneEvents|How many events are done|120
door|By which way it came
dueAt|When it should be answered
durationUs|How long it took, in microseconds|900
edgeCause|Why it came after its parent
edgeKind|How it came after its parent
endedAt|When it ended
endpoint|Where notices are sent
errorCode|The code of the refusal, empty when there was none|NOT_FOUND
errors|How many are errors|0
event|The event as it is stored
eventCount|How many events the log has|17
eventIndex|Its place in the session's log|5
example|One artifact that fits
expiresAt|When it ends; null where it does not
failedAt|When it was last not taken
failure|Why it failed; null when it did not
failures|How many failed on our side|0
family|Which of the two languages it is written in
file|The file, empty where there is one alone|workflow.json
filename|What the file is called|workflows.zip
files|Files by their paths
finishedAt|When it was done
forkedFrom|The workflow that it was forked from|wr.code-review
format|The form in which it is written
gaps|What is missing in the run
gitBranch|The git branch on which the work stands|fix/SHOP-1
gitHeadSha|The commit on which the work stands|4f2a9c1
goal|What is wanted, in the words of whoever began it|Release 1.4
headDigest|The digest of the last event|{_DIGEST}
heldAt|Since when it is kept
heldBy|Who wants it kept|Alice
history|The newest revisions
id|Its id
idStatus|Whether the id has today's form
idleDays|After how many days without activity|90
ignored|Files that nobody reads: of no workflow, or without a role in theirs
index|Its number
inputSchema|The JSON Schema of its arguments
instance|Which asking of it this is; of a refusal, the address that was called|/api/v1/runs
instructions|What a client tells its model of these tools
intent|Says aloud what the call is for
invitation|The invitation
invitedBy|Who invited them|Alice
isComplete|Whether nothing is to be done in the run any more
isCut|Whether older calls are left out
isOnWay|Whether it leads to the tip
isOverdue|Whether it is past its time
isSuperseded|Whether something newer stands in its place
isTip|Whether it is where the run stands
item|The item of the workflow|review
items|The entries
key|The key; of a walk, which item and round it is|review
keys|The variables whose value would let it go on
kind|What kind it is
kinds|Which notices are sent there
label|How it is shown to people|Approve
lanes|One lane for each run or agent
lastActivityAt|When it last moved
lastModifiedMs|When it last moved, in milliseconds since 1970|1795000000000
lastUsedAt|When it was last used
latestRevision|The number of the newest revision|4
line|The line of the file|12
lines|The entries of the tree, a parent before its children
link|The address that is shown this once|https://rails.example.com/join/…
matchExplanation|Why it was found, in words|The ticket is the same.
message|In words|Fits.
more|The lists of which only the first entries are here
movedElsewhere|That no acknowledgement moves the run, and what does
name|What it is called|CI
nextCall|The call to make next, ready but for what you hand in
nextCursor|Leads to the next page; null on the last one
nextIntent|What an agent is expected to do next
nextTryAt|When it is tried again
node|The node of the run|node_{_ULID}
notesMarkdown|What was done, as Markdown|Did what the step says.
notice|The notice, the same wherever it is sent
number|Its number|4
observations|Where the work stands
omitted|How many are left out|0
openGaps|How many gaps are open, by severity
option|The id of the option that is chosen|approve
optionId|The id of the option that was chosen|approve
options|What can be chosen
origin|Where the source comes from
outcome|How it ended
output|What is handed in for the step
outputs|Notes and artifacts that were handed in
owner|The workflow whose folder holds it|meta
params|The arguments
parent|What it came from
path|The place: of a file, in a document, or of the walk|steps[0].prompt
pending|What is at hand; null at the end of a run
pendingStepId|The step at hand|review
pendingTitle|The title of what is at hand|Review the change
permissions|What may be done
person|The person, by id|person_{_ULID}
preconditions|What should be so before the run begins
preferences|How the run is led
prefix|How its text begins, to tell it from others|wr_key_ab
presentedAt|When it was asked
preset|A pair of autonomy and risk policy by one name
problems|What is wrong with it, or how much
program|The compiled form
published|The revision that runs start with
publishedAt|When runs began to start with it
publishedRevision|The number of the revision that runs start with; null before|3
query|Words to look for|flaky checkout
reason|Why, in words of whoever did it|The numbers are missing.
recap|What the run has noted so far
recorded|What was recorded
recordedBefore|That these tokens were used before with other content, and what came now was not recorded
references|Documents to read beside it
refusals|How many calls were refused|0
rename|An id of your own for what comes in|team.review
renamedFrom|The id that it had in the file|review
repository|The repository in which the work stands|shop/web
requestId|The id of the request, under which its line stands in the log
requestedId|The id that was asked for|review
resolvedBy|The entry that closed it
result|What came of it
retry|Whether and when to try again
retryable|Whether the step can be handed in again
revision|The number of the revision|4
revokedAt|When it was taken back
riskPolicy|How careful the agent is to be
role|What somebody may do in the team
rounds|How many rounds of a loop are walked|1
routine|The routine that stands in the slot|team.check
rowId|The id of the row|wf_{_ULID}
run|The run|run_{_ULID}
runId|The run|run_{_ULID}
runs|How many runs there are, by status
schema|A JSON Schema, or the version of one
scopes|What a key or a token may do
secret|Signs every notice; shown this once|whsec_…
session|The session|sess_{_ULID}
sessionId|The session|sess_{_ULID}
sessionTitle|The title of the session|Flaky checkout
sessionToken|Records the next note of a session without a run|ses.v1.h4zq…
sessions|The sessions, or how many
setAt|When it was set
severity|How bad it is
sha256|Of the bytes of the body|{"0" * 64}
sizeBytes|How many bytes it has|20480
slot|The extension slot|review.checks
snapshot|The digest of the state at this node|{_DIGEST}
snippet|What was found, in its surroundings|the checkout times out
source|The source, when it is asked for
sourceDigest|The digest of the source|{_DIGEST}
spans|What was done, from when to when
startedAt|When it began
state|How it stands
stateToken|Names a step of a run|st.v1.h4zq…
status|How it stands; of a refusal, the status of HTTP
step|The step|review
stepContext|What the workflow says beside the step
stopped|That a person has paused or ended the run, and why
strictness|How strictly the source is read
suggestion|What to do about it|Send runId.
summary|In a line|Looks for what is missing.
supersedes|What it stands in the place of
switchedOffAt|Since when nothing is sent there
tags|Words to find it by
target|What it was done to|team_{_ULID}
team|The team|team_{_ULID}
text|The text itself; as a query, words to look for|checkout
ticket|The ticket that the work is for|SHOP-1
tip|The node to go on from
title|What it is called for people|Review a change
to|The node that it led to|node_{_ULID}
token|The token
tokensAnswerHuman|Whether a person's token answers questions that ask for a person
tool|The tool|continue_workflow
tools|The tools
totalEligible|How many runs were looked through|40
totalEligibleIsBounded|Whether there are more
foundNothing|That no run has what was asked for: the candidates are merely the latest
retryBy|With which tokens to try again
totalEvents|How many events there are|200
tries|How often it was tried|1
type|The kind of refusal, as a URN|urn:workrail:error:NOT_FOUND
updatedAt|When it last changed
url|The address|https://example.com/hook
username|The name to sign in with|alice
valid|Whether no problem is an error
validation|What was found wrong with what was handed in
variables|The variables of the run
version|Its version|1.0.0
waitsFor|The runs that it waits for|run_{_ULID}
waitsForPerson|The questions that only a signed-in person answers
waivedBy|Who said that nothing may stop the run
warnings|What to know, though nothing was stopped
watched|What the version is of
webhook|The address and how it does
why|Why the walk came there
whyMatched|By what it was found
workflow|The workflow|wr.code-review
workflowHash|The compiled form that the run is pinned to|{_DIGEST}
workflowId|The id of a workflow|wr.code-review
workflowTitle|The title of the workflow|Review a change
workflows|What came in
"""

_PARAMETERS = f"""
activeSince|Those that moved at this moment or later|{MOMENT}
activeUntil|Those that moved before this moment|{MOMENT}
askedSince|Questions that were asked at this moment or later|{MOMENT}
askedUntil|Questions that were asked before this moment|{MOMENT}
checkpoint|The id of a question|ckpt_{_ULID}
claimed|Whether anybody has taken it upon themselves
contract|The id of an output contract|team.contracts.finding
cursor|Leads to the page: `nextCursor` of the one before
delivery|The id of a delivery|del_{_ULID}
form|The form of the report
gap|The id of a gap|gap_{"0" * 32}
held|`skills`, `resources` or `templates`|skills
include|What is told besides, separated by commas|source,history
job|The id of a job|job_{_ULID}
limit|How many are told at once
member|The id of a member|mem_{_ULID}
mine|Whether only those that you have taken upon yourself
name|Its name, or its number where it has one|code-review
schemas|In which form the schemas of arguments are told
overdue|Whether only those that are past their time
"""


def _read(text: str) -> dict[str, tuple[str, str]]:
    rows = (line.split("|") for line in text.strip().splitlines())
    return {row[0]: (row[1], row[2] if len(row) > 2 else "") for row in rows}


WORDS = _read(_WORDS)
PARAMETERS = {**WORDS, **_read(_PARAMETERS)}


def explain(name: str, schema: dict[str, Any], components: dict[str, Any]) -> dict[str, Any]:
    """The schema of a property with what it means and an example of it."""
    words, given = WORDS.get(name, ("", ""))
    said = {"description": words} if words and "description" not in schema else {}
    example = example_of(schema, given=given, components=components)
    return {**schema, **said, **({} if example is None else {"examples": [example]})}


def example_of(schema: dict[str, Any], *, given: str, components: dict[str, Any]) -> Any:
    """None for what is made of parts, each of which has its own, and for what may be anything."""
    if "default" in schema and schema["default"] not in (None, "", [], {}):
        return schema["default"]
    for choice in schema.get("anyOf", ()):
        found = example_of(choice, given=given, components=components)
        if found is not None:
            return found
    if "$ref" in schema:
        named = components.get(schema["$ref"].rpartition("/")[2], {})
        return next(iter(named.get("enum", ())), None)
    return _plain_example(schema, given)


def _plain_example(schema: dict[str, Any], given: str) -> Any:
    match schema:
        case {"enum": [first, *_]}:
            return first
        case {"type": "boolean"}:
            return True
        case {"type": "integer"}:
            return int(given) if given.isdigit() else max(1, schema.get("minimum", 1))
        case {"type": "string", "format": "date-time"}:
            return MOMENT
        case {"type": "string", "format": "uuid"}:
            return "01890f9d-9f30-7000-8000-000000000000"
        case {"type": "string"}:
            return given or "text"
        case _:
            return None
