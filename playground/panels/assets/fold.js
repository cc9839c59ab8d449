// Panels that are not on the first screen: closed until asked for. Nothing in it is drawn while it is closed.
function createFold(root, title, names) {
  const body = el('div', { class: 'ds-fold-body' });
  const node = el('details', { class: 'ds-fold' }, el('summary', {}, el('b', { text: title }), el('span', { text: names.join(', ') })), body);
  root.append(node);
  node.addEventListener('toggle', () => { if (node.open) clock.redraw(); });
  return { body, isOpen: () => node.open };
}
