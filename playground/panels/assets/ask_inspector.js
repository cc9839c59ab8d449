// Questions to the server about what was looked into. Answers are remembered for a while, newest last; null: no answer.
const ANSWERS_KEPT = 40;

function createAsk() {
  const known = new Map();
  async function ask(what, question) {
    if (typeof server !== 'object' || typeof server?.[what] !== 'function' || !store.state.sid) return null;
    try {
      const text = await server[what]({ sid: store.state.sid, e: store.state.e, ...question });
      return text ? JSON.parse(text) : null;
    } catch (error) { return null; }
  }
  return {
    can: () => typeof server === 'object' && typeof server?.inspect === 'function',
    now: ask,
    async once(what, question) {
      const key = JSON.stringify([store.state.e, what, question]);
      if (known.has(key)) return known.get(key);
      const answer = await ask(what, question);
      if (answer && !answer.gone) known.set(key, answer);
      for (const old of known.keys()) if (known.size > ANSWERS_KEPT) known.delete(old); else break;
      return answer;
    },
  };
}
