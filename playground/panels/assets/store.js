// The one store of a page. Deltas come in through one component; every view reads `state` and draws on the clock's tick.
// On the wire rounds count from 0, as in the trace; here and in everything shown they count from 1.
// It lives on `window` because each gr.HTML runs its own script, and any of them may be mounted first or again.
function createStore() {
  const emptyState = () => ({
    sid: null, e: null, n: -1,
    rounds: [], marks: [], pending: [], states: new Map(), sources: new Map(),
    turn: -1, tokens: [], texts: Object.create(null),
    draws: [], tests: new Map(), // round -> p, q, u of each draft tested
    f: {}, s: {}, a: { n: 0, tested: [], accepted: [] }, c: {}, g: {}, y: {}, // figures, status, acceptance, transitions, moves between states, memory
    stamp: { panels: 0, tokens: 0, figures: 0 },
  });
  const KEEP = { rounds: 20000, marks: 4000 };
  // `state` is what is shown: its own, or for a while that of a guest, another store fed by a recorded trace. Deltas of
  // the live session go on arriving meanwhile, and are there when the guest has left.
  let own = emptyState();
  const store = { guest: null, applied: 0, resyncs: 0, onChange: () => {}, afterDelta: () => {}, another: createStore };
  Object.defineProperty(store, 'state', { get: () => (store.guest ? store.guest.state : own) });
  store.show = (guest) => {
    store.guest = guest;
    if (guest) Object.assign(guest, { onChange: (atOnce) => store.onChange(atOnce), afterDelta: () => store.afterDelta() });
    store.afterDelta();
    store.clock?.redraw();
  };
  let askServer = null, asking = false, waiting = [], heard = null; // `heard`: the session of the last delta

  const trim = (list, most) => { if (list.length > most) list.splice(0, list.length - most + (most >> 2)); };

  const shifted = (rows) => rows.map(([x, ...rest]) => [x + 1, ...rest]);

  function addRounds(state, rows) {
    for (const [r0, turn, burst, pos, pending, ids, bonus, fates, length, ms] of rows) {
      const last = state.rounds.at(-1), r = r0 + 1;
      if (last && r !== last.r + 1) state.rounds = [];
      state.rounds.push({ r, turn, burst, pos, pending, ids, bonus, fates, length, ms });
    }
    trim(state.rounds, KEEP.rounds);
  }

  function patchRounds(state, patches) {
    const first = state.rounds[0]?.r ?? 1;
    for (const [r, fates, length] of patches) {
      const row = state.rounds[r + 1 - first];
      if (row) Object.assign(row, { fates, length, hover: null });
    }
  }

  // What a trim let go was never given out, which the fates of its round alone do not say.
  function addMarks(state, marks) {
    const first = state.rounds[0]?.r ?? 1;
    for (const [x, kind, count, , action] of marks) {
      const row = kind === 'over' && action === 'trimmed' ? state.rounds[x - first] : null;
      if (row) row.trimmed = count;
    }
    state.marks.push(...marks);
  }

  function addDraws(state, rows) {
    for (const [x0, what, ...rest] of rows) {
      const x = x0 + 1;
      if (what === 'rule') { const [mode, seed, on] = rest; state.draws.push({ x, mode, seed, on }); continue; }
      const [used, uctr, tests] = rest;
      if (typeof used === 'string') { state.draws.push({ x, sctr: what, used: 1, cause: used }); continue; }
      state.draws.push({ x, sctr: what, used, uctr, tests: Array.isArray(tests) ? tests.length / 3 : tests });
      if (tests.length) state.tests.set(x, tests);
    }
    trim(state.draws, KEEP.marks);
    for (const x of state.tests.keys()) if (state.tests.size > KEEP.marks) state.tests.delete(x); else break;
  }

  function apply(d) {
    if (d.full) {
      const { stamp } = own;
      own = Object.assign(emptyState(), { stamp });
      const first = (d.r[0]?.[0] ?? 0) + 1 - d.old.length;
      d.old.forEach((fates, i) => own.rounds.push({ r: first + i, fates }));
    }
    const state = own;
    Object.assign(state, { sid: d.sid, e: d.e, n: d.n });
    for (const group of ['f', 's', 'a', 'c', 'g', 'y']) if (d[group]) Object.assign(state[group], d[group]);
    if (d.v) Object.assign(state.texts, d.v);
    if (d.r) addRounds(state, d.r);
    if (d.o) patchRounds(state, d.o);
    if (d.k) addDraws(state, d.k);
    if (d.m) { addMarks(state, shifted(d.m)); trim(state.marks, KEEP.marks); }
    if (d.p) { state.pending.push(...shifted(d.p)); trim(state.pending, KEEP.marks); }
    for (const [r, code] of d.z ?? []) {
      if (code < 0) state.sources.set(r + 1, -1 - code); else state.states.set(r + 1, code);
    }
    if (d.t) {
      const [turn, keep, added] = d.t;
      state.turn = turn;
      state.tokens.length = keep;
      for (const [id, origin, round, column, hidden] of added) state.tokens.push({ id, origin, round: round + 1, column, hidden });
    }
    state.stamp.figures += 1;
    if (d.t || d.s || d.full) state.stamp.tokens += 1;
    if (d.r || d.o || d.k || d.m || d.p || d.z || d.a || d.s || d.g || d.y || d.full) state.stamp.panels += 1;
    store.applied += 1;
  }

  // A delta fits when it follows the last one, or opens a stream on a page that has nothing of it.
  function fits(d) {
    const state = own;
    const same = d.sid === state.sid && d.e === state.e;
    if (d.full) return !same || d.n >= state.n ? 'apply' : 'skip';
    if (!same) {
      if (d.n !== 1) return 'resync';
      own = Object.assign(emptyState(), { stamp: state.stamp });
      return 'apply';
    }
    if (d.n <= state.n) return 'skip';
    return d.n === state.n + 1 ? 'apply' : 'resync';
  }

  async function resync(sid) {
    if (asking || !askServer) return;
    asking = true;
    store.resyncs += 1;
    let text = null;
    try { text = await askServer(sid); } catch (error) { text = null; }
    asking = false;
    const missed = waiting;
    waiting = [];
    if (heard !== sid) missed.forEach(store.ingest); // the page went on to another session, whose place this would take
    else if (text) [text, ...missed].forEach(store.ingest);
    else setTimeout(() => { if (!asking && heard === sid) resync(sid); }, 2000);
  }

  store.ingest = (text) => {
    if (!text) return;
    let d;
    try { d = JSON.parse(text); } catch (error) { return; }
    if (!d || typeof d.sid !== 'string') return;
    if (heard !== d.sid) { heard = d.sid; waiting = []; }
    const verdict = fits(d);
    if (verdict === 'apply') {
      const wasRunning = own.s.running;
      apply(d);
      store.afterDelta();
      store.onChange(wasRunning && !own.s.running); // the end of a turn is drawn at once, with the line that says so
    }
    if (verdict === 'resync') { waiting.push(text); trim(waiting, 400); resync(d.sid); }
  };
  store.serve = (ask) => { askServer = ask; };
  return store;
}
const STORE_VERSION = 4;
if (window.__draftscope?.version !== STORE_VERSION) window.__draftscope = Object.assign(createStore(), { version: STORE_VERSION });

const store = window.__draftscope;
