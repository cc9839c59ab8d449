// The frame around each panel: title, one sentence, tools, chart, table, and the sentence shown while it is empty.
// `key(colours)` is the key of a saved picture: entries of name, shape and colour.
function createFrame(root, { name, title, about, empty, height, key = () => [] }) {
  const host = el('div', { class: 'ds-plot' });
  const emptyNote = el('p', { class: 'ds-empty', text: empty });
  const image = el('div', { class: 'ds-chart', role: 'figure', 'aria-label': `${title}. ${empty}` }, host, emptyNote);
  const table = createTable(title, () => frame.redraw());
  const tools = el('div', { class: 'ds-tools' });
  const toggle = el('button', { type: 'button', class: 'ds-button', 'aria-pressed': 'false', text: 'Table', onclick: () => {
    table.node.hidden = !table.node.hidden;
    toggle.setAttribute('aria-pressed', String(!table.node.hidden));
    frame.redraw();
  } });
  const plot = createPlot(host, height);
  let says = '', latest = { head: [], rows: () => [] };
  const save = createSaveMenu({
    name, title,
    data: () => ({ panel: name, title, about, says, saved: new Date().toISOString(), ...frame.also(), rows: recordsOf(latest.head, latest.rows(Infinity)) }),
    async picture() {
      const drawings = [await plot.picture(), ...frame.pictures.map((make) => make())].filter(Boolean);
      const colours = readPalette(node);
      return { colours, says, drawings, key: key(colours), width: Math.max(320, ...drawings.map((drawing) => drawing.width)) };
    },
  });
  tools.append(toggle, save);
  const node = el('section', { class: 'ds-panel', 'data-panel': name },
    el('header', {}, el('h2', { text: title }), tools), el('p', { class: 'ds-about for-engineer', text: about }),
    el('p', { class: 'ds-about for-student', text: PLAIN[name] ?? about }), image, table.node);
  root.append(node);
  const frame = {
    redraw: clock.redraw, element: node, host, plot, tools, toggle, table,
    pictures: [], // what else belongs on a saved picture: functions that give an address, a width and a height
    also: () => ({}), // more for the saved data
    beside(other) {
      const pair = el('div', { class: 'ds-pair' });
      image.replaceWith(pair);
      pair.append(image, other);
    },
    add(...nodes) { table.node.before(...nodes); },
    setEmpty(isEmpty) { emptyNote.hidden = !isEmpty; save.hidden = isEmpty; image.classList.toggle('ds-is-empty', isEmpty); },
    describe(sentence) { says = sentence; setAttr(image, 'aria-label', `${title}. ${sentence}`); },
    // `rows(most)`: at most that many, those that matter most first; without end for the saved data.
    fillTable(head, rows) { latest = { head, rows }; table.fill(head, rows); },
  };
  return frame;
}

// A list of marks and what they mean; `entries` are [swatch, name, longer note].
function legend(kind, label, entries) {
  return el('ul', { class: `ds-legend ${kind}`, 'aria-label': label }, ...entries.map(([swatch, name, note]) => (
    el('li', { title: note ?? null }, el('span', { class: `ds-swatch ds-sw-${swatch}`, 'aria-hidden': 'true' }), name))));
}
