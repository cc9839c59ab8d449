// A browser opens six connections to one server for all its tabs, and a tab that follows an answer holds one of them. So
// a few tabs follow, those used last; the other ones in sight look now and then; a hidden one holds none.
const MOST = 3; // tabs that follow: as many connections are left for what a press of a button asks
const LOOK_MS = 2000, HIDDEN_MS = 60000, LEAVE_MS = 3000;

const me = Math.random().toString(36).slice(2);
const others = new Map(); // of the other tabs in sight: when each was last used
let used = Date.now(), follows = 0, could = true;
let channel = null;
try { channel = new BroadcastChannel('draftscope.links'); } catch (missing) { /* then it counts as the only one */ }

const later = (tab, time) => time > used || (time === used && tab > me);
const before = () => [...others].filter(([tab, time]) => later(tab, time)).length;
const may = () => !document.hidden && before() < MOST;
const tell = (asks = false) => channel?.postMessage({ tab: me, used, seen: !document.hidden, asks });

// Following begins anew when it may again. When it no more may, a short call takes over from the one that has the stream.
function weigh() {
  const can = may();
  if (can === could) return;
  could = can;
  if (can || follows) trigger('change');
}

function use() {
  const first = !before();
  used = Date.now();
  if (first) return;
  tell();
  weigh();
}

if (channel) {
  channel.onmessage = ({ data }) => {
    if (data.seen) others.set(data.tab, data.used); else others.delete(data.tab);
    if (data.asks) tell();
    if (!document.hidden) weigh();
  };
  tell(true);
  window.addEventListener('pagehide', () => channel.postMessage({ tab: me, seen: false }));
}
for (const kind of ['pointerdown', 'keydown', 'focus']) window.addEventListener(kind, use, true);

// What the page asks for when it follows, and that a call for it has ended.
window.draftscopeLinks = {
  begin: () => { could = may(); follows += 1; return could ? 'on' : 'once'; },
  end: () => { follows = Math.max(0, follows - 1); },
};

let hidden = document.hidden;
document.addEventListener('visibilitychange', () => {
  const now = document.hidden;
  if (now === hidden) return;
  hidden = now;
  if (now) {
    tell();
    setTimeout(() => { if (document.hidden) weigh(); }, LEAVE_MS); // whoever only looks elsewhere for a moment misses nothing
    return;
  }
  used = Date.now();
  tell(true);
  trigger('change');
});

// Another tab may go on with this session, and a tab that only looks has to ask. While deltas arrive there is nothing to
// ask for. A hidden tab asks once a minute, so that its conversation is kept for it.
let asked, applied = -1, asking = false, lastAsked = Date.now();
setInterval(async () => {
  const store = window.__draftscope, sid = (window.draftscope || {}).sid;
  if (asking || !store || !sid) return;
  if (document.hidden && Date.now() - lastAsked < HIDDEN_MS) return;
  if (!document.hidden && could && store.applied !== applied) { applied = store.applied; return; }
  asking = true;
  lastAsked = Date.now();
  let version; // null: there is no such conversation any more, which the page then says
  try { version = await server.news(sid); } catch (offline) { /* the next look may find it again */ }
  asking = false;
  if (document.hidden || version === undefined || version === store.state.s.version || version === asked) return;
  asked = version;
  trigger('change');
}, LOOK_MS);
