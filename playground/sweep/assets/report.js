// One sweep, measured so far or saved: the answer in words, two heatmaps, the cost model, the kinds of prompts.
function createReport(host) {
  const title = el('h2', { id: 'sweep_title' }), facts = el('p', { class: 'dm-quiet' });
  const words = el('div', { class: 'dm-sentences', id: 'sweep_verdict' });
  const heats = el('div', { class: 'dm-two' });
  const cost = el('div'), models = el('div', { class: 'dm-sentences', id: 'sweep_forecasts' }), kinds = el('div'), plain = el('p', { class: 'dm-quiet' });
  const costBox = el('details', { open: true }, el('summary', { text: 'The cost model behind it, and all numbers' }),
    el('p', { class: 'dm-quiet', text: 'Speed-up = tokens per round × plain step ÷ round. Above break even a setting gains. Times are medians over rounds. Foretold: what a model fitted to the drafter’s other settings alone says of this one.' }), plain, cost, models);
  const kindsBox = el('details', {}, el('summary', { text: 'Speed-up by kind of prompt' }), kinds);
  const box = el('section', { class: 'dm-card dm-stack', id: 'sweep_report', hidden: true, 'aria-labelledby': 'sweep_title' }, el('div', {}, title, facts), words, heats, costBox, kindsBox);
  host.append(box);
  return {
    hide() { box.hidden = true; },
    show(report, label) {
      box.hidden = false;
      setText(title, `${label} ${report.title}`);
      setText(facts, report.facts);
      words.replaceChildren(...report.verdict.map((text, i) => el('p', { class: i ? 'dm-quiet' : 'dm-answer', text })));
      const at = (name, k) => report.cells.find((cell) => cell.drafter === name && cell.k === k);
      heats.replaceChildren(
        heatTable('Speed-up over plain decoding', report, (name, k) => {
          const cell = at(name, k);
          if (!cell?.speed_up) return null;
          const [middle, low, high] = cell.speed_up;
          return speedCell(middle, { small: low === high ? '' : `${low.toFixed(2)}–${high.toFixed(2)}`, mark: cell.best, title: cell.best ? 'The fastest setting.' : null });
        }),
        heatTable('Drafts accepted', report, (name, k) => {
          const cell = at(name, k);
          return cell && cell.acceptance !== null ? shareCell(cell.acceptance) : null;
        }));
      const { rate, step_ms } = report.plain;
      setText(plain, rate ? `Plain decoding: ${rate[0].toFixed(1)} tokens/s${rate[1] === rate[2] ? '' : ` (${rate[1].toFixed(1)} to ${rate[2].toFixed(1)})`}, ${fixed(step_ms, 1)} ms a step.` : 'Plain decoding has not been measured yet.');
      const named = Object.fromEntries(report.drafters);
      const rows = report.cells.filter((cell) => cell.rate);
      cost.replaceChildren(tableOf('The cost model', ['setting', 'tokens per round', 'ms a round', 'break even', 'foretold', 'measured', 'tokens/s', 'accepted', 'same text'], rows.map((cell) => [
        `${named[cell.drafter]}, K = ${cell.k}`, fixed(cell.tokens_per_round, 2), fixed(cell.round_ms, 1), fixed(cell.break_even, 2), times(cell.foretold), times(cell.speed_up?.[0]),
        fixed(cell.rate[0], 1), percent(cell.acceptance), `${cell.same} of ${cell.compared}`])));
      models.replaceChildren(...(report.forecasts ?? []).map((text) => el('p', { class: 'dm-quiet', text })));
      kindsBox.hidden = report.categories.length < 2;
      kinds.replaceChildren(tableOf('Speed-up by kind of prompt', ['setting', ...report.categories], rows.map((cell) => [`${named[cell.drafter]}, K = ${cell.k}`, ...report.categories.map((kind) => times(cell.categories[kind]))])));
    },
  };
}

function createComparison(host) {
  const title = el('h2'), heat = el('div'), notes = el('div', { class: 'dm-sentences', id: 'sweep_notes' });
  const close = el('button', { type: 'button', class: 'dm-button', text: 'Close', onclick: () => { box.hidden = true; } });
  const box = el('section', { class: 'dm-card dm-stack', id: 'sweep_comparison', hidden: true },
    el('div', { class: 'dm-row' }, el('div', { style: 'flex: 1 1 240px; min-width: 0' }, title), close), notes, heat,
    el('p', { class: 'dm-quiet', text: 'Differences of the median speed-ups. A star: more than the spread of the repeats.' }));
  host.append(box);
  return {
    show(comparison) {
      box.hidden = false;
      setText(title, `${comparison.after} against ${comparison.before}`);
      notes.replaceChildren(...comparison.notes.map((text) => el('p', { text: `⚠ ${text}` })));
      heat.replaceChildren(comparison.changes.length ? heatTable('Change of the speed-up', comparison, (name, k) => {
        const change = comparison.changes.find((one) => one.drafter === name && one.k === k);
        return change ? changeCell(change) : null;
      }) : '');
      box.scrollIntoView({ block: 'nearest' });
    },
  };
}
