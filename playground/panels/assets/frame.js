// The frame around each panel: title, one sentence, tools, chart, table, and the sentence shown while it is empty.
function createFrame(root, { name, title, about, empty, height }) {
  const host = el('div', { class: 'ds-plot' });
  const emptyNote = el('p', { class: 'ds-empty', text: empty });
  const image = el('div', { class: 'ds-chart', role: 'img', 'aria-label': `${title}. ${empty}` }, host, emptyNote);
  const table = el('div', { class: 'ds-table', hidden: true, tabindex: '0', role: 'region', 'aria-label': `${title}, as a table` });
  const tools = el('div', { class: 'ds-tools' });
  const toggle = el('button', { type: 'button', class: 'ds-button', 'aria-pressed': 'false', text: 'Table', onclick: () => {
    table.hidden = !table.hidden;
    toggle.setAttribute('aria-pressed', String(!table.hidden));
    frame.redraw();
  } });
  tools.append(toggle);
  const node = el('section', { class: 'ds-panel', 'data-panel': name },
    el('header', {}, el('h3', { text: title }), tools), el('p', { class: 'ds-about', text: about }), image, table);
  root.append(node);
  const plot = createPlot(host, height);
  const frame = {
    redraw: clock.redraw, element: node, host, plot, tools, toggle,
    setEmpty(isEmpty) { emptyNote.hidden = !isEmpty; image.classList.toggle('ds-is-empty', isEmpty); },
    describe(sentence) { setAttr(image, 'aria-label', `${title}. ${sentence}`); },
    fillTable(head, rows) { if (!table.hidden) table.replaceChildren(tableOf(head, rows())); },
  };
  return frame;
}

// A list of marks and what they mean; `entries` are [swatch, name, longer note].
function legend(kind, label, entries) {
  return el('ul', { class: `ds-legend ${kind}`, 'aria-label': label }, ...entries.map(([swatch, name, note]) => (
    el('li', { title: note ?? null }, el('span', { class: `ds-swatch ds-sw-${swatch}`, 'aria-hidden': 'true' }), name))));
}

function tableOf(head, rows) {
  const line = (cells, tag) => el('tr', {}, ...cells.map((text) => el(tag, { text: String(text), ...(tag === 'th' ? { scope: 'col' } : {}) })));
  return el('table', {}, el('thead', {}, line(head, 'th')), el('tbody', {}, ...rows.map((row) => line(row, 'td'))));
}

function choice(tools, before, label, options, onPick) {
  const group = el('div', { class: 'ds-choice', role: 'group', 'aria-label': label });
  const buttons = options.map(([value, text]) => el('button', { type: 'button', class: 'ds-button', text, 'aria-pressed': 'false', onclick: () => pick(value) }));
  const pick = (value) => {
    buttons.forEach((button, i) => button.setAttribute('aria-pressed', String(options[i][0] === value)));
    onPick(value);
  };
  group.append(...buttons);
  tools.insertBefore(group, before);
  return pick;
}
