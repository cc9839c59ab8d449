// The race's view: what the server says of the visitor's latest race, drawn as it comes.
const says = el('p', { class: 'dm-says', role: 'status', 'aria-live': 'polite', id: 'race_status' });
const about = el('p', { class: 'dm-quiet', id: 'race_about' });
const save = el('button', { type: 'button', class: 'dm-button', text: 'Download JSON', title: 'Settings, every token with its time, and the outcome.', onclick: async () => {
  const text = await server.download(JSON.stringify({ sid: shown.sid }));
  if (text) saveFile(`draftscope-race-${shown.number}.json`, text);
} });
const stage = el('div', { class: 'dm-stack' });
const empty = el('div', { class: 'dm-empty', text: 'Start a race: both lanes will fill here as fast as their clocks say, and the outcome follows.' });
const body = el('div', { class: 'dm-stack', hidden: true }, el('div', { class: 'dm-row' }, el('div', { style: 'flex: 1 1 240px; min-width: 0' }, says, about), save), stage);
root.replaceChildren(empty, body);
const lanes = createLanes(stage), outcome = createOutcome(stage);
const shown = { sid: '', number: 0, ended: true };

function take(text) {
  if (!text) { // no race, or a session nobody knows any more
    if (shown.number) setText(says, 'This page’s session has ended; reload the page to begin a new one.');
    return false;
  }
  const news = JSON.parse(text);
  const fresh = news.number !== shown.number;
  if (fresh) {
    Object.assign(shown, { number: news.number, ended: false });
    lanes.begin();
    outcome.hide();
  }
  empty.hidden = true;
  body.hidden = false;
  setText(says, news.says);
  says.classList.toggle('dm-failed', news.phase === 'failed');
  setText(about, news.title);
  save.disabled = !news.ended;
  lanes.take(news.lanes, news.ended, fresh && news.ended);
  if (news.ended) outcome.show(news.outcome, news.lanes.map((lane) => lane.name));
  if (news.phase === 'done' && news.outcome?.plain.rate) tellPanels({ race: news.number, model: news.model, rate: news.outcome.plain.rate });
  if (news.ended && !shown.ended) { // both buttons follow
    shown.ended = true;
    trigger('change');
  }
  return !news.ended;
}

// The speed panel draws what plain decoding of this model was measured to give, and nothing that was not measured.
function tellPanels(plain) {
  const panels = window.__draftscope;
  if (!panels) return;
  panels.plain = plain;
  panels.clock?.redraw();
}

const ask = () => server.reading(JSON.stringify({ sid: shown.sid, number: shown.number, seen: lanes.seen() }));
const poll = createPoller(ask, take, () => setText(says, 'The link to the server is lost; trying again. The race goes on there.'), 150);
function follow() {
  const { sid, number } = given();
  if (!sid) return;
  shown.sid = sid;
  if (number && number !== shown.number) poll();
}
watch('value', follow);
follow();
