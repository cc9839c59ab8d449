// The line under each answer: how fast, how long, and how the drafts did. It is written into an attribute that the style
// sheet shows, so that the chat's own nodes stay untouched. The last answer is the turn the store holds; earlier ones are
// asked for once, when a page comes back to a conversation.
const LETTERS = 16, ASKED = 12;

function createFeet(ask) {
  let feet = [], stream = null, was = '', again = 0;
  const bots = () => [...document.querySelectorAll('#chat .bot.message')];
  const letters = (text) => text.replace(/[^\p{L}]/gu, '').slice(0, LETTERS);
  // A branch or a rewind may have put another answer there than the one these tokens are of.
  const isOf = (message, tokens, texts) => letters(message.textContent) === letters(tokens.filter((token) => !token.hidden).slice(0, 60).map(({ id }) => texts[id] ?? '').join(''));

  async function askForEarlier(messages) {
    const { e, tokens } = store.state;
    let number = null;
    for (let i = 0; i < ASKED && ask.can(); i += 1) {
      const past = await ask.now('turn', { number, step: -1 });
      if (!past || past.number === null || e !== store.state.e) return;
      number = past.number;
      const place = messages.length - 1 - past.later - (tokens.length ? 1 : 0), message = messages[place];
      const own = past.tokens.map(([id, origin, round, , hidden]) => ({ id, origin, round: round + 1, hidden }));
      if (!past.gone && message?.isConnected && !feet[place] && isOf(message, own, past.texts)) feet[place] = footOf(message, own, '');
      if (!past.older) break;
    }
    show(bots());
  }
  function show(messages) {
    messages.forEach((message, place) => {
      const row = message.closest('.message-row')?.nextElementSibling, foot = feet[place];
      if (!row?.classList.contains('message-buttons')) return;
      const fits = foot && foot.text === message.textContent;
      setAttr(row, 'data-foot', fits ? foot.engineer : '');
      setAttr(row, 'data-foot-plain', fits ? foot.student : '');
    });
  }
  // The chat follows the panels by a moment, on a busy machine by a longer one.
  function lookAgain(wait) {
    clearTimeout(again);
    again = setTimeout(() => {
      draw();
      const messages = bots(), missing = store.state.tokens.length && feet[messages.length - 1]?.text !== messages.at(-1)?.textContent;
      if (missing && wait < 8000) lookAgain(2 * wait);
    }, wait);
  }
  function draw() {
    const { s, f, e, tokens, texts } = store.state;
    if (store.guest || !s) return;
    const messages = bots(), last = messages.at(-1);
    if (stream !== e) {
      stream = e;
      feet = [];
      if (messages.length > 1) askForEarlier(messages);
    }
    const runs = s.running && last && last.closest('.message-row') === [...document.querySelectorAll('#chat .message-row')].at(-1);
    if (runs) feet.length = messages.length - 1;
    else if (!s.running && !s.elsewhere && last && tokens.length && isOf(last, tokens, texts)) feet[messages.length - 1] = footOf(last, tokens, f.tokens_per_second);
    show(messages);
    const now = `${s.running} ${tokens.length}`;
    if (was !== now) {
      was = now;
      lookAgain(400);
    }
  }
  return draw;
}

function footOf(message, tokens, speed) {
  const { rounds } = store.state, first = rounds[0]?.r ?? 1;
  const own = [...new Set(tokens.map(({ round }) => round))].map((round) => rounds[round - first]).filter(Boolean);
  const drafted = sum(own.map(({ fates }) => fates.length - 1)), kept = tokens.filter(({ origin }) => origin === 1).length;
  const count = tokens.filter(({ hidden }) => !hidden).length, many = `${count} token${count === 1 ? '' : 's'}`;
  const drafts = drafted ? `${percent(kept, drafted)} of ${drafted} drafts kept` : 'no drafts';
  return {
    text: message.textContent,
    engineer: [speed && speed !== '—' ? `${speed} tokens/s` : '', many, drafts].filter(Boolean).join(' · '),
    student: `${many}: ${kept ? `${kept} guessed ahead and kept, the rest the model’s own` : 'all of them the model’s own'}`,
  };
}
