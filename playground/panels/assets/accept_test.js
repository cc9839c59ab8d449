// The accept test of a round's draft, drafts counted from 1, in words; '' where there was none. Both views of a token use it.
function acceptTest(round, draft) {
  const [p, q, u] = store.state.tests.get(round)?.slice(3 * draft - 3, 3 * draft) ?? [];
  if (p === undefined) return '';
  const passed = u * q < p;
  return `accept test: p = ${p}, q = ${q}, u = ${u}; u·q ${passed ? '<' : '≥'} p, so ${passed ? 'accepted' : 'rejected'}`;
}
