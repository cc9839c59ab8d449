// The pinned round, or the pinned token of none: what its reader looks into. It lives on the store, so that every component
// marks the same. `at` is { round, column } or { round: 0, turn, place }; column 1, 2, ... are drafts, 'own' is the trunk's.
function createPin() {
  const pin = { at: null, stream: null, watchers: new Map(), show: () => {}, inSight: () => true };
  const same = (a, b) => ['round', 'column', 'turn', 'place'].every((key) => (a[key] ?? null) === (b[key] ?? null));

  function set(at) {
    pin.at = at;
    pin.stream = store.state.e;
    for (const told of [...pin.watchers.values()]) told(at);
    store.clock.redraw();
  }
  pin.watch = (name, told) => pin.watchers.set(name, told); // a component that is mounted again takes its own place
  pin.release = () => { if (pin.at) set(null); };
  // A second click on what is pinned releases it. Without a column any click on the same round does.
  pin.toggle = (at) => {
    const again = pin.at && (at.column || at.round === 0 ? same(pin.at, at) : pin.at.round === at.round);
    set(again ? null : at);
  };
  pin.choose = (column) => { if (pin.at) set({ ...pin.at, column }); };
  pin.round = () => pin.at?.round || null;
  pin.row = () => { const { rounds } = store.state; return rounds[pin.round() - rounds[0]?.r] ?? null; };
  pin.step = (by) => {
    const { rounds } = store.state;
    if (!pin.at || !rounds.length) return;
    const start = pin.at.round || (by > 0 ? pin.at.after ?? 0 : (pin.at.after ?? 0) + 1);
    const round = Math.min(rounds.at(-1).r, Math.max(rounds[0].r, start + by));
    if (round === pin.at.round) return;
    set({ round });
    if (!pin.inSight(round)) pin.show(round);
  };
  // After a clear the rounds count anew: a pin into the old ones means nothing.
  pin.check = () => { if (pin.at && pin.stream !== store.state.e) pin.release(); };
  return pin;
}
const pin = (store.pin ??= createPin());

// Keys work anywhere but where they mean something else already.
const KEYS_TAKEN = 'input, textarea, select, summary, [contenteditable], [role=tab], [role=radio], [role=slider], [role=listbox], [role=menu], [role=dialog]';
if (!store.pinKeys) {
  store.pinKeys = true;
  document.addEventListener('keydown', (event) => {
    const taken = event.target instanceof Element && event.target.closest(KEYS_TAKEN);
    if (!store.pin.at || event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === 'Escape' && !(taken && taken.matches('input, textarea, select, [contenteditable], [role=menu], [role=dialog]'))) store.pin.release();
    else if ((event.key === 'ArrowLeft' || event.key === 'ArrowRight') && !taken) {
      event.preventDefault();
      store.pin.step(event.key === 'ArrowLeft' ? -1 : 1);
    }
  });
}
