// The table twin of a panel. Header buttons sort; a live panel keeps the order. `table_rows.js` has its rows.
const TABLE_ROWS = 100, SORTED_ROWS = 2000;
const collator = new Intl.Collator(undefined, { numeric: true });

// A cell that reads as `text`, and is sorted and saved as `value`; `node()` makes what stands in the table instead.
const tableCell = (text, value, node) => ({ text, value, node });
const shareCell = (part, whole) => tableCell(percent(part, whole), whole ? part / whole : null);
const isCell = (given) => given !== null && typeof given === 'object' && 'text' in given;
const cellText = (given) => String((isCell(given) ? given.text : given) ?? '');
const cellValue = (given) => (isCell(given) ? given.value : given) ?? null;

function createTable(title, redraw) {
  const heads = el('tr'), body = el('tbody');
  const note = el('p', { class: 'ds-about ds-count' });
  const node = el('div', { class: 'ds-table', hidden: true, tabindex: '0', role: 'region', 'aria-label': `${title}, as a table` },
    el('table', {}, el('thead', {}, heads), body), note);
  const rowsOf = createRows(node, body);
  let columns = '', shown = null, order = null; // order: the column and whether downwards

  function setHeads(names) {
    if (columns === names.join('\n')) return;
    columns = names.join('\n');
    if (order && order.column >= names.length) order = null;
    heads.replaceChildren(...names.map((name, column) => el('th', { scope: 'col', 'aria-sort': 'none' },
      el('button', { type: 'button', class: 'ds-sort', text: name, title: 'Sort by this column', onclick: () => sortBy(column) }))));
    markOrder();
  }
  // Upwards, downwards, and back to the order in which the panel gives its rows.
  function sortBy(column) {
    if (order?.column !== column) order = { column, down: false };
    else if (!order.down) order = { column, down: true };
    else order = null;
    markOrder();
    redraw();
  }
  function markOrder() {
    [...heads.children].forEach((head, column) => setAttr(head, 'aria-sort', order?.column !== column ? 'none' : order.down ? 'descending' : 'ascending'));
  }
  // `rows(most)` gives at most that many, those that matter most first.
  function fill(names, rows) {
    if (node.hidden) return;
    setHeads(names);
    const found = rows(order ? SORTED_ROWS : TABLE_ROWS + 1);
    const kept = (order ? sortedRows(found, order) : found).slice(0, TABLE_ROWS);
    setText(note, found.length <= TABLE_ROWS ? '' : order ? `The first ${TABLE_ROWS} of ${found.length} rows in this order. Save as JSON for all.` : `The first ${TABLE_ROWS} rows. Save as JSON for all.`);
    const texts = kept.map((row) => row.map(cellSays).join('\t')).join('\n');
    if (texts === shown) return;
    shown = texts;
    rowsOf.fill(kept);
  }
  // `choose(row)`: what a click on a row, or Enter on it, does; `hint` says so over the table.
  function choosable(choose, hint) {
    rowsOf.choosable(choose);
    node.prepend(el('p', { class: 'ds-about', text: hint }));
  }
  return { node, fill, choosable };
}

// Numbers before words, what is missing last in either direction; equals stay in the order in which they came.
function sortedRows(rows, { column, down }) {
  const keyed = rows.map((row) => {
    const value = cellValue(row[column]);
    const key = typeof value === 'object' && value !== null ? cellText(row[column]) : value;
    return { row, key, rank: key === null || key === '' || key === '—' ? 2 : typeof key === 'number' ? 0 : 1 };
  });
  const compare = (a, b) => (a.rank === 0 ? a.key - b.key : a.rank === 1 ? collator.compare(a.key, b.key) : 0);
  keyed.sort((a, b) => a.rank - b.rank || (down ? -1 : 1) * compare(a, b));
  return keyed.map(({ row }) => row);
}

// What a table says, as JSON: one record a row, under the names of the columns.
const recordsOf = (names, rows) => rows.map((row) => Object.fromEntries(names.map((name, i) => [name, cellValue(row[i])])));
