// The sweep's view: how far it is, what it shows so far, and below it the runs of before.
const says = el('p', { class: 'dm-says', role: 'status', 'aria-live': 'polite', id: 'sweep_status' });
const count = el('p', { class: 'dm-quiet', id: 'sweep_count' });
const bar = el('span');
const track = el('div', { class: 'dm-track', role: 'progressbar', 'aria-label': 'Progress of the sweep', 'aria-valuemin': '0', 'aria-valuemax': '100', style: 'flex: 1 1 100%' }, bar);
const live = el('div', { class: 'dm-stack', hidden: true, style: 'gap: 6px' }, says, track, count);
const empty = el('div', { class: 'dm-empty', text: 'Start a sweep, or open one of before: the speed of every setting will stand here, and which is best.' });
const stage = el('div', { class: 'dm-stack' });
root.replaceChildren(el('div', { class: 'dm-stack' }, live, empty, stage));
const report = createReport(stage), comparison = createComparison(stage);
const shown = { sid: '', number: 0, ended: true, opened: false, drawn: '' };
const library = createLibrary(stage, {
  sid: () => shown.sid,
  open(saved) {
    shown.opened = true; // what is opened stays in view; a running sweep goes on in its own line above
    show(saved, 'Opened:');
    if (shown.ended) live.hidden = true;
    document.getElementById('sweep_report')?.scrollIntoView({ block: 'nearest' });
  },
  compare: (result) => comparison.show(result),
});

function show(result, label) {
  empty.hidden = true;
  report.show(result, label);
  library.shows(result.id);
}

function minutes(seconds) {
  return seconds < 60 ? `about ${plural(Math.max(1, seconds), 'second')}` : `about ${plural(Math.round(seconds / 60), 'minute')}`;
}

function take(text) {
  if (!text) {
    if (shown.number) setText(says, 'This page’s session has ended; reload the page to begin a new one.');
    return false;
  }
  const news = JSON.parse(text);
  if (news.number !== shown.number) {
    Object.assign(shown, { number: news.number, ended: false, opened: false, drawn: '' });
    report.hide();
  }
  live.hidden = false;
  empty.hidden = true;
  setText(says, [news.says, news.kept].filter(Boolean).join(' '));
  says.classList.toggle('dm-failed', news.failed);
  const share = news.total ? (100 * news.done) / news.total : 0;
  bar.style.width = `${share}%`;
  setAttr(track, 'aria-valuenow', share.toFixed(0));
  setText(count, `${news.done.toLocaleString('en')} of ${plural(news.total, 'decode')}${news.left === null ? '' : `, ${minutes(news.left)} left if nobody else decodes`}`);
  const drawn = JSON.stringify([news.ended, news.report]); // what has not changed is left alone, and whoever reads it with it
  if (news.report && !shown.opened && drawn !== shown.drawn) {
    shown.drawn = drawn;
    show(news.report, news.ended ? 'Measured:' : 'So far:');
  }
  if (news.ended && !shown.ended) { // both buttons and the list follow
    shown.ended = true;
    trigger('change');
    library.refresh();
  }
  return !news.ended;
}

const ask = () => server.reading(JSON.stringify({ sid: shown.sid }));
const poll = createPoller(ask, take, () => setText(says, 'The link to the server is lost; trying again. The sweep goes on there.'), 500);
function follow() {
  const { sid, number } = given();
  if (!sid) return;
  if (sid !== shown.sid) {
    shown.sid = sid;
    library.refresh();
  }
  if (number && number !== shown.number) poll();
}
watch('value', follow);
follow();
