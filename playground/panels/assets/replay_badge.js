// Whether a replay gives the same tokens: what the latest exactness check found, and what came after it.
function replayBadge({ marks, rounds }) {
  const check = marks.findLast((mark) => mark[1] === 'check');
  if (!rounds.length) return '';
  if (!check) return 'Replay exact: not checked yet; Check exactness, under the chat, decodes the answers again.';
  const [x, , found, tokens, drawn] = check;
  const compared = `${tokens.toLocaleString('en')} token${tokens === 1 ? '' : 's'}`;
  const passed = drawn ? `; ${drawn.toLocaleString('en')} drawn in rejection mode, which keeps the odds and not the tokens` : '';
  const after = rounds.filter(({ r }) => r > x).length;
  const since = after ? ` ${after} round${after === 1 ? '' : 's'} since then ${after === 1 ? 'is' : 'are'} not checked.` : '';
  if (found === 'different') return `✕ Replay exact: no, after ${compared} plain decoding gives another one.${since}`;
  if (found === 'stopped') return `Replay exact: ${compared} so far, then the check was stopped${passed}.${since}`;
  return tokens ? `✓ Replay exact: yes, ${compared} compared${passed}.${since}` : `Replay exact: nothing to compare${passed}.${since}`;
}
