// The `panels` component: the wire, where deltas arrive, the legend, and the charts.
const LEGEND = [['accepted', 'accepted'], ['rejected', 'rejected'], ['bonus', 'bonus'], ['correction', 'correction'], ['plain', 'plain'], ['overshoot', 'overshoot'], ['dropped', 'dropped'],
  ['after-stop', 'after a stop'], ['carry', 'carried'], ['rewind', 'rewind'], ['point', 'rewind point'], ['turn', 'turn begins']];
const LEGEND_NOTES = {
  accepted: 'a draft the trunk agreed with', rejected: 'a draft the trunk did not agree with, or one behind it', bonus: 'the trunk’s own token after all drafts were accepted',
  correction: 'the trunk’s own token in place of a rejected draft', plain: 'the trunk’s own token of a round without drafts: plain decoding', overshoot: 'emitted past the budget: in the caches, not shown', dropped: 'past the budget and let go again',
  'after-stop': 'drafted behind an accepted stop token', carry: 'a token emitted before it has a row', rewind: 'rows dropped by going back', point: 'where the session can go back to', turn: 'a new message',
};

function createPanels(root) {
  root.replaceChildren();
  const shared = legend('', 'Legend of all panels', LEGEND.map(([key, name]) => [key, name, LEGEND_NOTES[key]]));
  const grid = el('div', { class: 'ds-grid' });
  const say = el('p', { class: 'ds-sr', role: 'status', 'aria-live': 'polite' });
  root.append(shared, grid, say);
  const fold = createFold(root, 'More panels', ['memory and context', 'random counters']);
  const view = createWindow();
  const panels = [createFatePanel(grid, view), createLengthPanel(grid, view), createAcceptancePanel(grid), createPendingPanel(grid, view),
    createSpeedPanel(grid, view), createOvershootPanel(grid, view), createMemoryPanel(fold.body, fold.isOpen), createCountersPanel(fold.body, view, fold.isOpen)];
  for (const panel of panels) {
    const markRows = makePinnable(panel.frame);
    let drawn = -1;
    const drawing = {
      element: panel.frame.element,
      dispose: panel.frame.plot.dispose,
      draw() {
        if (drawn === store.state.stamp.panels && !drawing.stale) return;
        drawn = store.state.stamp.panels;
        drawing.stale = false;
        panel.draw(readPalette(root));
        markRows();
      },
    };
    panel.frame.redraw = () => { drawing.stale = true; drawing.draw(); };
    clock.add(drawing);
  }
  linkPinTo(view, () => panels[0].frame.host.clientWidth);
  // The page says on its own that it generates; what a listener cannot see here is how the drafts did.
  let running = false, stream = null;
  store.afterDelta = () => {
    const { s, f, e } = store.state;
    if (stream !== e) { // a new page of history: a zoom into the old one means nothing in it
      stream = e;
      panels[1].begin();
      view.goTo(null);
    }
    if (running && !s.running) setText(say, `Done: ${f.rounds.split(' · ')[0]} rounds so far, ${f.draft_acceptance_rate} of drafts accepted.`);
    running = s.running;
  };
}

createPanels(element.querySelector('.ds-panels'));
if (server && typeof server.resync === 'function') store.serve((sid) => server.resync(sid));
store.ingest(props.value);
watch('value', () => store.ingest(props.value));
