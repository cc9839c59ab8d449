// The answers of the trace, in place of the chat, as far as they have come.
function createTalk(place) {
  const list = el('div', { class: 'rp-turns', tabindex: '0', role: 'region', 'aria-label': 'Answers of the trace' });
  const note = el('p', { class: 'dm-quiet', text: 'The answers as the trace has them, in the order in which they were made. Of the messages a trace holds only how long they were.' });
  const node = el('section', { class: 'rp-talk', hidden: true }, note, list);
  place.replaceChildren(node);

  function turn([number, began, text, notes]) {
    return el('article', { class: 'rp-turn' },
      el('header', {}, el('b', { text: `Turn ${number}` }), ` ${began}`),
      el('div', { class: 'rp-said', text: text || '…', dir: 'auto' }), notes ? el('p', { class: 'dm-quiet', text: notes }) : null);
  }
  return {
    begin() { list.replaceChildren(); node.hidden = false; },
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
