// The running model, whether its drafter pays here, and a load with its progress. Asks often while one runs.
const BADGES = {
  helping: ['▲', 'Helping'], losing: ['▼', 'Losing'], even: ['＝', 'Even'], off: ['○', 'Off'], unknown: ['…', 'Not known yet'],
};
const OFTEN = 400, SELDOM = 5000;

const model = el('h2', { id: 'models_running' });
const facts = el('dl', { class: 'mo-facts' });
const badge = el('span', { class: 'mo-badge' }), pays = el('span');
const speed = el('p', { class: 'mo-speed', id: 'models_speed' }, badge, pays);
const running = el('section', { class: 'dm-card dm-stack', 'aria-label': 'Running model' }, model, facts, speed);

const says = el('p', { class: 'dm-says', role: 'status', 'aria-live': 'polite', id: 'models_says' });
const fill = el('span'), bar = el('div', { class: 'dm-track mo-bar', role: 'progressbar', 'aria-label': 'Progress of the load', 'aria-valuemin': '0', 'aria-valuemax': '100' }, fill);
const share = el('b', { class: 'mo-share' }), clock = el('span', { class: 'dm-quiet mo-clock' });
const progress = el('div', { class: 'dm-row' }, bar, share, clock);
const load = el('section', { class: 'dm-card dm-stack', id: 'models_load_card', 'aria-label': 'Load', hidden: true }, says, progress);
root.replaceChildren(el('div', { class: 'dm-stack' }, load, running));

const shown = { sid: '', state: '', engines: -1 };
let idle = 0;

const span = (seconds) => (seconds < 60 ? `${Math.floor(seconds)} s` : `${Math.floor(seconds / 60)} min ${Math.floor(seconds % 60)} s`);

function showLoad(news) {
  const loading = news.state === 'loading';
  load.hidden = !news.sentence;
  setText(says, news.sentence + (loading && !/[.!?]$/.test(news.sentence) ? ' …' : ''));
  says.classList.toggle('dm-failed', !loading);
  progress.hidden = !loading;
  if (!loading) return;
  const known = news.fraction !== null;
  bar.classList.toggle('mo-busy', !known);
  if (known) bar.setAttribute('aria-valuenow', String(Math.round(100 * news.fraction)));
  else bar.removeAttribute('aria-valuenow');
  fill.style.width = known ? `${100 * news.fraction}%` : '';
  setText(share, known ? percent(news.fraction) : '');
  setText(clock, news.elapsed === null ? '' : span(news.elapsed));
}

function showRunning(news) {
  const now = news.running;
  setText(model, now ? now.model : 'No model is loaded');
  const rows = now ? [['Runs on', now.device], ['Context', now.context], ['Drafter', now.drafter], ...(now.memory.length ? [['Memory', now.memory.join(', ')]] : [])] : [];
  const key = JSON.stringify(rows);
  if (facts.dataset.key !== key) {
    facts.dataset.key = key;
    facts.replaceChildren(...rows.map(([name, value]) => el('div', {}, el('dt', { text: name }), el('dd', { text: value }))));
  }
  facts.hidden = speed.hidden = !now;
  const [glyph, word] = BADGES[news.speed.badge];
  if (badge.dataset.badge !== news.speed.badge) {
    badge.dataset.badge = news.speed.badge;
    badge.replaceChildren(el('span', { 'aria-hidden': 'true', text: glyph }), ` ${word}`);
  }
  setText(pays, news.speed.sentence);
}

function take(text) {
  if (!text) return false; // a session that nobody knows any more
  const news = JSON.parse(text);
  showLoad(news);
  showRunning(news);
  const changed = shown.engines !== -1 && (news.engines !== shown.engines || news.state !== shown.state);
  shown.engines = news.engines;
  shown.state = news.state;
  if (changed) trigger('change'); // buttons, drafters and the list follow
  clearTimeout(idle);
  if (news.state === 'loading') return true;
  idle = setTimeout(poll, SELDOM);
  return false;
}

const poll = createPoller(() => server.reading(JSON.stringify({ sid: shown.sid })), take,
  () => { load.hidden = false; setText(says, 'The link to the server is lost; trying again.'); }, OFTEN);
function follow() {
  const { sid } = given();
  if (!sid) return;
  shown.sid = sid;
  poll();
}
watch('value', follow);
follow();
