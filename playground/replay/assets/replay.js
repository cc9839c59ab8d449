// One replay of this page: what was asked of the server last, what it answered, and who shows it. One question at a time:
// while one is under way the newest waits, and steps in the same direction add up.
const TICK_MS = 125, BEAT_MS = 45000, RETRY_MS = 1500;
const open = { id: null, sid: '', file: null, at: 0 }; // `sid`: of the session that opened it, which the page may have left for another
let busy = false, waiting = null, playing = false, timer = 0, attempt = 0;

const here = () => props.value || window.draftscope?.sid || '';

async function ask(what) {
  let text;
  try {
    text = await server.replay(JSON.stringify({ sid: what.id && open.sid ? open.sid : here(), ...what }));
  } catch (error) {
    throw new Error('lost');
  }
  if (!text) throw new Sentence('This page’s session has ended; reload the page to begin a new one.');
  const line = text.indexOf('\n');
  const answer = JSON.parse(line < 0 ? text : text.slice(0, line));
  if (answer.error) throw new Sentence(answer.error);
  return line < 0 ? answer : { ...answer, delta: text.slice(line + 1) };
}

function take(answer) {
  open.at = answer.at;
  playing = answer.playing;
  const first = stage.take(answer.delta);
  talk.show(answer.keep, answer.talk);
  bar.show(answer);
  if (first) bar.focus();
}

function want(what) {
  if (!open.id) return;
  const adds = waiting?.do === 'step' && what.do === 'step' && waiting.over === what.over;
  waiting = adds ? { ...what, by: waiting.by + what.by } : what.do === 'tick' && waiting ? waiting : what;
  if (!busy) next();
}

async function next() {
  clearTimeout(timer);
  const what = waiting, { id } = open;
  if (!what || !id) return;
  waiting = null;
  busy = true;
  let pause = 0;
  try {
    const answer = await ask({ id, ...what });
    if (open.id === id) {
      if (answer.over) await reopen(id, what);
      else { take(answer); bar.say(''); }
    }
  } catch (error) {
    const lost = !(error instanceof Sentence);
    if (open.id === id) bar.say(lost ? 'The link to the server is lost; trying again.' : error.message);
    if (open.id === id && lost) waiting ??= what.do === 'tick' ? { do: 'look' } : what;
    playing &&= lost;
    pause = RETRY_MS;
  }
  busy = false;
  if (!open.id) return;
  if (waiting) timer = setTimeout(next, pause);
  else timer = setTimeout(() => want({ do: 'tick' }), playing ? TICK_MS : BEAT_MS);
}

// Its lease ended on the server, after a long sleep for example. The page still has the file.
async function reopen(id, what) {
  bar.say('The replay had ended on the server; opening the file again.');
  const answer = await upload(open.file, ask, () => {});
  if (open.id !== id) { ask({ sid: here(), do: 'close', id: answer.id }).catch(() => {}); return; }
  Object.assign(open, { id: answer.id, sid: here() });
  waiting ??= what.do === 'go' ? what : { do: 'go', to: open.at };
}

async function begin(file) {
  const mine = (attempt += 1);
  leave();
  card.busy(0);
  try {
    const answer = await upload(file, ask, card.busy);
    if (mine !== attempt) { ask({ sid: here(), do: 'close', id: answer.id }).catch(() => {}); return; }
    Object.assign(open, { id: answer.id, sid: here(), file, at: answer.facts.events });
    stage.enter(async () => { const all = await ask({ id: open.id, do: 'look' }); talk.show(all.keep, all.talk); return all.delta; });
    talk.begin(answer.facts);
    bar.begin(file.name, answer.facts);
    card.holds(file.name, answer.facts);
    card.shown(true);
    stage.bringUp();
    want({ do: 'look' });
  } catch (error) {
    card.refuse(error instanceof Sentence ? error.message : 'The server did not answer; try again.');
  } finally {
    if (mine === attempt) card.busy();
  }
}

function leave() {
  if (!open.id) return;
  const { id, sid } = open;
  open.id = waiting = null;
  playing = false;
  clearTimeout(timer);
  stage.leave();
  talk.end();
  bar.end();
  card.shown(false);
  ask({ sid, do: 'close', id }).catch(() => {});
}

const placeOf = (id) => document.querySelector(`#${id} .dm-root`);
const stage = createStage();
const bar = createBar(placeOf('replay_bar'), want, () => { leave(); stage.bringUp(); }, stage.round);
const talk = createTalk(placeOf('replay_talk'));
const card = createCard(begin, () => (open.id ? leave() : open.file && begin(open.file)));
