// A table drafter x K whose cells have a colour, a sign and a number: any one of the three is enough to read it.
function heatTable(caption, { drafters, lengths }, cellOf) {
  const body = drafters.map(([name, label]) => el('tr', {}, el('th', { scope: 'row', text: label }), ...lengths.map((k) => {
    const cell = cellOf(name, k);
    if (!cell) return el('td', {}, el('span', { class: 'dm-heat dm-heat-none', text: '—' }));
    const box = el('span', { class: `dm-heat${cell.mark ? ' dm-heat-best' : ''}`, title: cell.title ?? null, style: `--dm-heat: ${cell.colour}; --dm-share: ${cell.share.toFixed(3)}` },
      el('b', { text: cell.text }), el('small', { text: cell.small ?? '' }));
    return el('td', {}, box);
  })));
  return el('div', { class: 'dm-scroll', tabindex: '0', role: 'region', 'aria-label': caption },
    el('table', { class: 'dm-heats' }, el('caption', { text: caption }),
      el('thead', {}, el('tr', {}, el('td', { text: '' }), ...lengths.map((k) => el('th', { scope: 'col', text: `K = ${k}` })))), el('tbody', {}, ...body)));
}

// Faster than plain decoding is blue and ▲, slower is orange and ▼; the colour is full at twice or half the speed.
function speedCell(value, more = {}) {
  const away = Math.min(1, Math.abs(Math.log2(value)));
  return { text: `${value >= 1 ? '▲' : '▼'} ${times(value)}`, colour: value >= 1 ? 'var(--dm-faster)' : 'var(--dm-slower)', share: away, ...more };
}

const shareCell = (value) => ({ text: percent(value), colour: 'var(--dm-share-colour)', share: value });

function changeCell({ before, after, difference, apart }) {
  const sign = difference >= 0 ? '+' : '−';
  return {
    text: `${sign}${Math.abs(difference).toFixed(2)}`, small: `${times(before)} → ${times(after)}${apart ? ' *' : ''}`, title: apart ? 'More than the spread of the repeats.' : 'Within the spread of the repeats.',
    colour: difference >= 0 ? 'var(--dm-faster)' : 'var(--dm-slower)', share: Math.min(1, Math.abs(difference)),
  };
}
