// Which rounds the round-by-round panels show: the newest while following, else where the user went. Shared by two panels.
function createWindow() {
  const MOST = 160, LEAST = 24, CELL = 12; // pixels: in a narrower column a hatch or a cross is noise
  const view = { follow: true, range: null, dragmode: 'zoom' };
  const pills = [];
  view.first = () => store.state.rounds[0]?.r ?? 1;
  view.last = () => store.state.rounds.at(-1)?.r ?? 1;
  view.span = (width) => {
    const room = Math.max(LEAST, Math.min(MOST, Math.floor(width / CELL)));
    return Math.max(LEAST, Math.min(room, store.state.rounds.length + 4));
  };
  view.current = (width) => {
    if (!view.follow && view.range) return view.range;
    const span = view.span(width);
    const start = Math.max(view.first() - 0.5, view.last() - span + 1.5);
    return [start, start + span];
  };
  // The rounds inside a range, with a margin so that a small pan shows no blank.
  view.rows = ([low, high]) => {
    const { rounds } = store.state, first = view.first();
    const margin = (high - low) / 4;
    return rounds.slice(Math.max(0, Math.floor(low - margin - first)), Math.max(0, Math.ceil(high + margin - first) + 1));
  };
  view.goTo = (range) => {
    view.follow = range === null;
    view.range = range;
    for (const pill of pills) pill.hidden = view.follow;
    clock.redraw();
  };
  // The way back to the newest round, in a panel that shows this window.
  view.addPill = (frame) => { pills.push(followPill(frame, () => view.goTo(null))); };
  view.endAt = (end, width) => {
    const span = view.range && !view.follow ? view.range[1] - view.range[0] : view.span(width);
    view.goTo([Math.max(view.first() - 0.5, end - span + 0.5), Math.max(view.first() - 0.5, end - span + 0.5) + span]);
  };
  view.onZoom = (change) => {
    if (change.dragmode) view.dragmode = change.dragmode;
    const range = zoomOf(change);
    if (range !== undefined) view.goTo(range);
  };
  return view;
}

// Only there while a panel does not follow; its focus goes to the button beside it when it goes.
function followPill({ tools, toggle }, follow) {
  const pill = el('button', { type: 'button', class: 'ds-button ds-newest', text: 'Follow', hidden: true, onclick: () => { follow(); toggle.focus({ preventScroll: true }); } });
  tools.prepend(pill);
  return pill;
}
