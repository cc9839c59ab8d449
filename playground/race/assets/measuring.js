// What the race and the sweep share: building nodes, the style sheet, asking for news, saving a file.
// Text of a model or a user only ever passes through `textContent`.
function el(tag, props = {}, ...children) {
  const node = document.createElement(tag);
  for (const [key, value] of Object.entries(props)) {
    if (key === 'class') node.className = value;
    else if (key === 'text') node.textContent = value;
    else if (key.startsWith('on')) node.addEventListener(key.slice(2), value);
    else if (value !== null && value !== undefined && value !== false) node.setAttribute(key, value === true ? '' : value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}
const setText = (node, text) => { if (node.textContent !== text) node.textContent = text; };
const setAttr = (node, name, value) => { if (node.getAttribute(name) !== value) node.setAttribute(name, value); };
const root = element.querySelector('.dm-root');
const calm = window.matchMedia('(prefers-reduced-motion: reduce)');

function addStyle() {
  const id = `draftscope-${VIEW}`, old = document.getElementById(id);
  if (old?.textContent === STYLE) return;
  old?.remove();
  document.head.append(el('style', { id, text: STYLE }));
}
addStyle();

const times = (x) => (x === null || x === undefined ? '—' : `${x.toFixed(2)}×`);
const fixed = (x, digits, unit = '') => (x === null || x === undefined ? '—' : `${x.toFixed(digits)}${unit}`);
const percent = (x) => (x === null || x === undefined ? '—' : `${(100 * x).toFixed(0)}%`);
const plural = (n, word) => `${n.toLocaleString('en')} ${word}${n === 1 ? '' : 's'}`;

// A table whose first column names its rows; numbers stand to the right.
function tableOf(caption, head, rows) {
  const line = (cells) => el('tr', {}, ...cells.map((cell, i) => (i ? el('td', { text: String(cell) }) : el('th', { scope: 'row', text: String(cell) }))));
  return el('div', { class: 'dm-scroll', tabindex: '0', role: 'region', 'aria-label': caption },
    el('table', { class: 'dm-table' }, el('caption', { class: 'dm-sr', text: caption }),
      el('thead', {}, el('tr', {}, ...head.map((text) => el('th', { scope: 'col', text })))), el('tbody', {}, ...rows.map(line))));
}

function saveFile(name, text) {
  const link = el('a', { href: URL.createObjectURL(new Blob([text], { type: 'application/json' })), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

// Asks while there is something to ask for: `ask` gives the next answer, `take` shows it and says whether to go on.
// A lost link is tried again, ever more slowly, and `lost` is told; what is shown stays.
function createPoller(ask, take, lost, every) {
  let timer = 0, running = false, again = false, failures = 0;
  async function turn() {
    timer = 0;
    if (!root.isConnected) return;
    running = true;
    again = false;
    let goOn = false;
    try {
      goOn = take(await ask());
      failures = 0;
    } catch (error) {
      failures += 1;
      lost();
      goOn = true;
    }
    running = false;
    if (again) turn();
    else if (goOn) timer = setTimeout(turn, (document.hidden ? 8 : 1) * every * Math.min(16, 2 ** failures));
  }
  return () => {
    if (running) { again = true; return; }
    clearTimeout(timer);
    turn();
  };
}

function given() {
  try { return JSON.parse(props.value || '{}'); } catch (error) { return {}; }
}
