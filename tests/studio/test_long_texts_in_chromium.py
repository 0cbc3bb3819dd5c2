"""Names and texts as long as they may be, in one word, from right to left and in emoji: nothing sticks out, lies upon another or hides."""

import os
from pathlib import Path

import pytest

from tests import long_texts, run_doors
from tests.chromium import CHROMIUM, browse
from tests.run_cast import run_id, session_id

pytestmark = [
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine"),
]

LISTS, WORKFLOWS, TEAMS = "/studio/sessions_app", "/studio/workflows_app", "/studio/teams_app"

# What a reader sees of a page that is too full. Pieces of text are the boxes that are left of them within whatever cuts them off.
CROWDED = """() => {
  const wide = document.documentElement.clientWidth, found = [];
  const said = (node) => (node.textContent || node.value || node.title || '').trim().slice(0, 30);
  const place = (node) => { const up = node.closest('[class]'); return node.tagName + '.' + (up ? up.className.baseVal ?? up.className : '') };
  if (document.documentElement.scrollWidth > wide) found.push('the page is too wide by ' + (document.documentElement.scrollWidth - wide));
  const cutters = (node) => { const all = []; for (let up = node; up && up !== document.body; up = up.parentElement) {
    const style = getComputedStyle(up); if (style.overflowX !== 'visible') all.push([up.getBoundingClientRect(), style.overflowX]) } return all };
  const left = (box, node) => { let [x0, y0, x1, y1] = [box.left, box.top, box.right, box.bottom];
    for (const [cut] of cutters(node)) { x0 = Math.max(x0, cut.left); y0 = Math.max(y0, cut.top); x1 = Math.min(x1, cut.right); y1 = Math.min(y1, cut.bottom) }
    return [x0, y0, x1, y1] };
  const shown = (node) => node.checkVisibility({checkOpacity: true, checkVisibilityCSS: true}) && !node.closest('.visually-hidden, svg, dialog:not([open]), .skip');
  const pieces = [], walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) { const text = walker.currentNode, node = text.parentElement;
    if (!text.data.trim() || !node || !shown(node) || ['SCRIPT', 'STYLE', 'OPTION', 'TEXTAREA'].includes(node.tagName)) continue;
    const range = document.createRange(); range.selectNodeContents(text);
    for (const box of range.getClientRects()) { const [x0, y0, x1, y1] = left(box, node);
      if (x1 - x0 < 2 || y1 - y0 < 2) continue;
      if (x1 > wide + 1 || x0 < -1) found.push('sticks out: ' + place(node) + ' ' + said(text));
      pieces.push({x0, y0, x1, y1, node, text}) } }
  const floats = (node) => node.closest('.tabbar, .toasts, .top, .bottom, .sheet, .editor, .side, .drawer');
  pieces.sort((a, b) => a.y0 - b.y0);
  for (let i = 0; i < pieces.length; i++) for (let j = i + 1; j < pieces.length && pieces[j].y0 < pieces[i].y1 - 3; j++) {
    const [a, b] = [pieces[i], pieces[j]];
    if (a.text === b.text || floats(a.node) !== floats(b.node)) continue;
    const over = Math.min(a.x1, b.x1) - Math.max(a.x0, b.x0), down = Math.min(a.y1, b.y1) - Math.max(a.y0, b.y0);
    if (over > 3 && down > 4) found.push('overlap: ' + place(a.node) + ' ' + said(a.text) + ' | ' + place(b.node) + ' ' + said(b.text)) }
  for (const node of document.querySelectorAll('main .button, main button, main select, main input:not([type=hidden]), header .button, summary, .tabs a')) {
    if (!shown(node)) continue;
    let box = node.getBoundingClientRect();
    if (box.width < 2) continue;
    if (cutters(node.parentElement).some(([, kind]) => kind === 'auto' || kind === 'scroll')) continue;
    if (box.right > wide + 1 || box.left < -1) { found.push('out of reach: ' + place(node) + ' ' + said(node)); continue }
    node.scrollIntoView({block: 'center', inline: 'nearest', behavior: 'instant'}); box = node.getBoundingClientRect();
    const at = document.elementFromPoint(box.left + box.width / 2, box.top + Math.min(box.height / 2, 20));
    if (at && !node.contains(at) && !at.contains(node) && !at.closest('label')) found.push('covered: ' + place(node) + ' ' + said(node) + ' by ' + place(at)) }
  scrollTo(0, 0);
  return [...new Set(found)] }"""


@pytest.fixture
def to(tmp_path):
    return Path(os.environ.get("WORKRAIL_PICTURES", tmp_path))


def crowded(page, paths, to):
    faults = []
    for width, height, suffix in ((1440, 900, ""), (390, 844, "-phone")):
        page.set_viewport_size({"width": width, "height": height})
        for name, path in paths.items():
            faults += [f"{path} answers {status}"] if (status := page.goto(path).status) != 200 else []
            faults += [f"{name}{suffix}: {fault}" for fault in page.evaluate(CROWDED)[:12]]
            page.screenshot(path=to / f"long-{name}{suffix}.png", full_page=True)
    return faults


def pages_of(told):
    from sessions_app.models import CheckpointRequest, Node
    from teams_app.engine.ids import Prefix, to_text
    from teams_app.models import AgentKey, Membership, PersonalToken
    from traces_app.models import TraceEvent
    from workflows_app.models import Workflow

    pages = {
        "home": "/studio/",
        "inbox": f"{LISTS}/checkpointrequest/",
        "runs": f"{LISTS}/run/",
        "sessions": f"{LISTS}/worksession/",
        "workflows": f"{WORKFLOWS}/workflow/",
        "traces": "/studio/traces_app/traceevent/",
        "call": f"/studio/traces_app/traceevent/{TraceEvent.objects.latest('id').pk}/change/",
        "members": f"{TEAMS}/membership/",
        "keys": f"{TEAMS}/agentkey/",
        "key": f"{TEAMS}/agentkey/{AgentKey.objects.filter(name__startswith='Abr').get().pk}/change/",
        "tokens": f"{TEAMS}/personaltoken/",
        "audit": f"{TEAMS}/auditentry/",
        "settings": f"{TEAMS}/team/",
        "more": "/studio/more/",
        "role": f"{TEAMS}/membership/{Membership.objects.latest('id').pk}/role/",
        "token-end": f"{TEAMS}/personaltoken/{PersonalToken.objects.get().pk}/revoke/",
        "missed": f"{LISTS}/run/?q={'w' * 150}",
    }
    for name, of in told.items():
        run = f"{LISTS}/run/{run_id(of['waiting'])}/change/"
        node = to_text(Prefix.NODE, Node.objects.filter(run_id=run_id(of["waiting"])).order_by("event_index")[1].pk)
        questions = CheckpointRequest.objects.filter(run_id__in=[run_id(of["waiting"]), run_id(of["asked"])])
        workflow = f"{WORKFLOWS}/workflow/{Workflow.objects.get(workflow_id=of['workflow']).pk}"
        pages |= {
            f"run-{name}": run,
            f"run-node-{name}": f"{run}?node={node}",
            f"run-variables-{name}": f"{run}?node={node}&part=variables",
            f"run-events-{name}": f"{run}?tab=events",
            f"run-blocked-{name}": f"{LISTS}/run/{run_id(of['blocked'])}/change/",
            f"session-{name}": f"{LISTS}/worksession/{session_id(of['waiting'])}/change/",
            **{
                f"question-{name}-{n}": f"{LISTS}/checkpointrequest/{row.pk}/change/" for n, row in enumerate(questions)
            },
            f"workflow-{name}": f"{workflow}/change/",
        }
        if name == "word":
            pages |= {f"workflow-{part}": f"{workflow}/{part}/" for part in ("edit", "start", "fork", "retire")}
            pages |= {f"workflow-{part}": f"{workflow}/change/?tab={part}" for part in ("source", "revisions")}
            pages["cancel"] = run.replace("change/", "cancel/")
            pages["run-timeline"] = f"{run}?tab=timeline"
            pages["run-calls"] = f"{run}?tab=calls"
    return pages


def test_pages_hold_names_as_long_as_they_may_be(live_server, to):
    doors, told = long_texts.tell()
    long_texts.crowd(doors.desk)
    paths = pages_of(told)

    faults, complaints = browse(
        live_server.url, run_doors.enrol(doors.desk.owner), lambda page: crowded(page, paths, to)
    )

    assert complaints == []
    assert faults == []
