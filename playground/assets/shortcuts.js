// Keys of the whole page. Every key is left to whatever has the focus first: a field, an open list, a dialog, a chart.
const OFF = 'draftscope.keys';
const FIELDS = 'input, textarea, select, [contenteditable=""], [contenteditable=true], [role=textbox], [role=combobox]';
// What Esc closes before it stops an answer.
const OPEN = 'dialog[open], details.ds-save[open], form.dm-row:focus-within, ul[role=listbox], [aria-haspopup][aria-expanded=true]';

const make = (tag, props = {}, ...children) => {
  const node = Object.assign(document.createElement(tag), props);
  node.append(...children);
  return node;
};
const seen = (node) => Boolean(node && node.getClientRects().length);
const find = (id) => document.getElementById(id);
const isOff = () => { try { return localStorage.getItem(OFF) === 'off'; } catch (blocked) { return false; } };
const setOff = (off) => { try { localStorage.setItem(OFF, off ? 'off' : 'on'); } catch (blocked) { /* for this visit only */ } };

const root = element.querySelector('.keys');
const single = make('input', { type: 'checkbox', checked: !isOff(), onchange: () => { off = !single.checked; setOff(off); } });
let off = isOff();
const dialog = make('dialog', { className: 'keys-dialog' },
  make('h2', { textContent: 'Keyboard', id: 'keys-title' }),
  make('dl', {}, ...KEYS.flatMap(([keys, does]) => [
    make('dt', {}, ...keys.split(' ').map((key) => make('kbd', { textContent: key }))), make('dd', { textContent: does }),
  ])),
  make('label', {}, single, ` Use the single keys ${SINGLE.join(' and ')}`),
  make('form', { method: 'dialog' }, make('button', { textContent: 'Close', className: 'keys-close' })));
dialog.setAttribute('aria-labelledby', 'keys-title');
// A press beside the dialog closes it.
dialog.addEventListener('click', (event) => { if (event.target === dialog) dialog.close(); });
const button = make('button', { type: 'button', className: 'keys-open', textContent: 'Keyboard', onclick: () => dialog.showModal() });
button.setAttribute('aria-haspopup', 'dialog');
root.replaceChildren(button, dialog);

// The tab that a component stands in may be another than the one that is shown.
function show(node) {
  const panel = node.closest('[role=tabpanel]');
  if (panel && !seen(node)) document.querySelector(`[role=tab][aria-controls="${panel.id}"]`)?.click();
}

function goToMessage() {
  const box = find('message')?.querySelector('textarea');
  if (!box) return;
  show(box);
  requestAnimationFrame(() => { box.scrollIntoView({ block: 'nearest' }); box.focus(); });
}

function press(id) {
  const target = find(id);
  if (!seen(target) || target.disabled) return false;
  target.click();
  return true;
}

function onKey(event) {
  if (event.defaultPrevented || event.isComposing || event.repeat || dialog.open) return;
  const field = event.target.closest?.(FIELDS) ?? null;
  const ours = field && find('message')?.contains(field);
  const plain = !event.ctrlKey && !event.metaKey && !event.altKey;
  if (event.key === 'Enter' && (event.ctrlKey || event.metaKey) && (!field || ours)) {
    event.preventDefault(); // the box would send too
    press('send');
  } else if (event.key === 'Escape' && plain && !wasOpen) {
    // The pin answers to Esc itself, but not while a field has the focus.
    if (wasPinned) window.__draftscope.pin.release();
    else if (press('stop')) event.preventDefault();
  } else if (plain && !field && !off && SINGLE.includes(event.key)) {
    event.preventDefault();
    if (event.key === '/') goToMessage(); else dialog.showModal();
  }
}

// Seen before anybody else acts on the key: what was open when it was pressed is what it was meant for.
let wasOpen = false, wasPinned = false;
function notice() {
  wasOpen = [...document.querySelectorAll(OPEN)].some(seen);
  wasPinned = Boolean(window.__draftscope?.pin?.at);
}
window.__draftscopeKeys?.abort();
const { signal } = (window.__draftscopeKeys = new AbortController());
window.addEventListener('keydown', notice, { capture: true, signal });
window.addEventListener('keydown', onKey, { signal });
