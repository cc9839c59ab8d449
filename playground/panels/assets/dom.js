// Small helpers for building the page. Text from a model only ever passes through `textContent` or `escapeText`.
function el(tag, props = {}, ...children) {
  const node = document.createElement(tag);
  for (const [key, value] of Object.entries(props)) {
    if (key === 'class') node.className = value;
    else if (key === 'text') node.textContent = value;
    else if (key.startsWith('on')) node.addEventListener(key.slice(2), value);
    else if (value !== null && value !== false) node.setAttribute(key, value === true ? '' : value);
  }
  node.append(...children);
  return node;
}
const setText = (node, text) => { if (node.textContent !== text) node.textContent = text; };
const setAttr = (node, name, value) => { if (node.getAttribute(name) !== value) node.setAttribute(name, value); };
// Plotly reads a subset of HTML in labels.
const escapeText = (text) => text.replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);
const glyphs = (text) => text.replace(/ /g, '␣').replace(/\n/g, '⏎').replace(/\t/g, '⇥');
const tokenText = (id) => store.state.texts[id] ?? `⟨${id}⟩`;
const sum = (values) => values.reduce((a, b) => a + b, 0);
const percent = (part, whole) => (whole ? `${((100 * part) / whole).toFixed(0)}%` : '—');

function addStyle() {
  const old = document.getElementById('draftscope-style');
  if (old?.textContent === STYLE) return;
  old?.remove();
  document.head.append(el('style', { id: 'draftscope-style', text: STYLE }));
}
addStyle();

// Colours come from the style sheet, so that light, dark and forced colours are decided in one place.
function readPalette(element) {
  const css = getComputedStyle(element);
  const names = ['accepted', 'rejected', 'bonus', 'correction', 'overshoot', 'dropped', 'idle', 'carry', 'rewind', 'line', 'grid', 'paper'];
  const palette = Object.fromEntries(names.map((name) => [name, css.getPropertyValue(`--ds-${name}`).trim()]));
  return { ...palette, text: css.color, font: css.fontFamily };
}
