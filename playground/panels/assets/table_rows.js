// The rows of a table. A row stays the same node for as long as it is in it, so that a live table keeps the focus, what is
// selected and what is scrolled to. Where rows can be chosen, they are one stop for the keyboard: arrows move, Enter chooses.
const PAGE_ROWS = 8;
const cellSays = (given) => (isCell(given) && given.node ? `${cellText(given)}\u0001` : cellText(given));

function createRows(node, body) {
  const rows = { choose: null };
  let shown = new Map(), active = null;

  // What is now in each row, under its first cell and how often that came before.
  rows.fill = (kept) => {
    const had = body.contains(document.activeElement) ? document.activeElement : null;
    const place = active ? [...body.children].indexOf(active) : -1, above = active && active === had ? offsetOf(active) : null;
    const next = new Map(), count = new Map();
    for (const cells of kept) {
      const head = cellText(cells[0]), nth = count.get(head) ?? 0, key = `${head}\n${nth}`;
      count.set(head, nth + 1);
      next.set(key, written(shown.get(key) ?? el('tr'), cells));
    }
    for (const [key, row] of shown) if (!next.has(key)) row.remove();
    let at = body.firstChild;
    for (const row of next.values()) if (row === at) at = at.nextSibling; else body.insertBefore(row, at);
    shown = next;
    const gone = active && !active.isConnected;
    if (gone) active = null;
    markActive(active ?? body.children[gone ? Math.min(place, body.children.length - 1) : 0] ?? null);
    if (had && document.activeElement !== had) (had.isConnected ? had : active)?.focus({ preventScroll: true });
    if (above !== null && active) keepInSight(above);
  };
  function written(row, cells) {
    while (row.cells.length > cells.length) row.deleteCell(-1);
    cells.forEach((given, i) => {
      const cell = row.cells[i] ?? row.insertCell();
      if (cell.dataset.says === cellSays(given)) return;
      cell.dataset.says = cellSays(given);
      cell.replaceChildren(isCell(given) && given.node ? given.node() : cellText(given));
    });
    return row;
  }
  function markActive(row) {
    if (!rows.choose) return;
    if (active && active !== row) active.tabIndex = -1;
    active = row;
    if (row) row.tabIndex = 0;
  }
  const offsetOf = (row) => row.getBoundingClientRect().top - node.getBoundingClientRect().top;
  // New rows come in above: who reads in the middle, or by keyboard, stays there.
  function keepInSight(above) {
    const moved = offsetOf(active) - above;
    if (Math.abs(moved) > 1 && above >= 0 && above < node.clientHeight) node.scrollTop += moved;
  }
  function go(row) {
    if (!row) return;
    markActive(row);
    row.focus({ preventScroll: true });
    const head = node.querySelector('thead').offsetHeight, top = offsetOf(row);
    if (top < head) node.scrollTop += top - head;
    else if (top + row.offsetHeight > node.clientHeight) node.scrollTop += top + row.offsetHeight - node.clientHeight;
  }

  rows.choosable = (choose) => {
    rows.choose = choose;
    node.removeAttribute('tabindex'); // its rows are the stop now
    body.addEventListener('click', ({ target }) => {
      const row = target.closest('tr');
      if (!row || target.closest('button, a') || String(window.getSelection())) return; // who marks text wants to copy it
      markActive(row);
      choose(row);
    });
    body.addEventListener('keydown', (event) => {
      const row = event.target;
      if (row.parentElement !== body || event.ctrlKey || event.metaKey || event.altKey) return;
      const all = body.children, at = [...all].indexOf(row), last = all.length - 1;
      const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: last, PageDown: Math.min(last, at + PAGE_ROWS), PageUp: Math.max(0, at - PAGE_ROWS) }[event.key];
      if (to !== undefined) go(all[to]);
      else if (event.key === 'Enter' || event.key === ' ') choose(row);
      else return;
      event.preventDefault();
    });
  };
  return rows;
}
