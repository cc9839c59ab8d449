// The `kpi` component: one line of figures, each with its formula.
function createFigures(root) {
  root.replaceChildren();
  const cells = {};
  const line = el('dl', { class: 'ds-kpi', 'aria-label': 'Figures of this session' });
  const help = el('dl', { class: 'ds-help', hidden: true });
  for (const { key, label, formula, plain } of FIGURES) {
    const value = el('dd', { 'aria-describedby': `ds-formula-${key}`, text: '—' });
    const extra = el('span', { class: 'ds-extra' });
    cells[key] = { value, extra };
    line.append(el('div', { class: 'ds-figure', 'data-figure': key, title: formula }, el('dt', {}, label, extra), value));
    help.append(el('dt', { text: label }), el('dd', { id: `ds-formula-${key}` },
      el('span', { class: 'for-student', text: `${plain} ` }), formula));
  }
  const meter = el('span', { class: 'ds-meter', 'aria-hidden': 'true' }, el('span'));
  cells.context.extra.after(meter);
  const toggle = el('button', { type: 'button', class: 'ds-button ds-help-toggle', 'aria-expanded': 'false', 'aria-label': 'What the figures mean', text: '?', onclick: () => {
    help.hidden = !help.hidden;
    toggle.setAttribute('aria-expanded', String(!help.hidden));
  } });
  root.append(el('div', { class: 'ds-line' }, line, toggle), help);

  let drawn = -1;
  const view = { element: root, draw() {
    const { f, s, stamp } = store.state;
    if (drawn === stamp.figures && !view.stale) return;
    drawn = stamp.figures;
    view.stale = false;
    for (const [key, { value, extra }] of Object.entries(cells)) {
      const [main, ...rest] = (f[key] ?? '—').split(' · ');
      setText(value, main);
      value.classList.toggle('ds-none', main === '—');
      setText(extra, rest.join(' · '));
    }
    const held = s.pending !== null && s.pending !== undefined;
    setText(cells.pending.extra, held ? `“${glyphs(tokenText(s.pending))}”` : '');
    const share = s.max_ctx ? Math.min(1, s.committed / s.max_ctx) : 0;
    meter.firstChild.style.width = `${(100 * share).toFixed(1)}%`;
    meter.classList.toggle('ds-nearly-full', share > 0.85);
  } };
  clock.add(view);
}
createFigures(element.querySelector('.ds-figures'));
