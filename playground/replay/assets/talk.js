// The answers of the trace, in place of the chat, as far as they have come.
function createTalk(place) {
  const list = el('div', { class: 'rp-turns', tabindex: '0', role: 'region', 'aria-label': 'Answers of the trace' });
  const note = el('p', { class: 'dm-quiet' });
  const node = el('section', { class: 'rp-talk', hidden: true }, note, list);
  place.replaceChildren(node);

  function turn([number, began, text, notes, message]) {
    return el('article', { class: 'rp-turn' },
      el('header', {}, el('b', { text: `Turn ${number}` }), ` ${began}`),
      message ? el('div', { class: 'rp-said rp-asked', text: message, dir: 'auto' }) : null,
      el('div', { class: 'rp-said', text: text || '…', dir: 'auto' }), notes ? el('p', { class: 'dm-quiet', text: notes }) : null);
  }
  return {
    begin({ messages }) {
      list.replaceChildren();
      setText(note, `The answers as the trace has them, in the order in which they were made${messages ? ', each under the message that it answers.' : '. Of the messages a trace holds only how long they were.'}`);
      node.hidden = false;
    },
    show(keep, lines) {
      if (!lines.length && list.children.length === keep) return;
      const follow = list.scrollHeight - list.scrollTop - list.clientHeight < 40 || !list.children.length;
      while (list.children.length > keep) list.lastChild.remove();
      list.append(...lines.map(turn));
      if (!list.children.length) list.append(el('p', { class: 'dm-quiet rp-none', text: 'No turn has begun yet at this position.' }));
      else list.querySelector('.rp-none')?.remove();
      if (follow) list.scrollTop = list.scrollHeight;
    },
    end() { node.hidden = true; list.replaceChildren(); },
  };
}
