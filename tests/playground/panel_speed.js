// For test_panel_speed_page.py: fills the page's store, and times what the panels draw.
window.panelSpeed = {
  // A session of n rounds.
  fill(n) {
    let seed = 7, length = 40;
    const dice = (most) => {
      seed = (seed * 1103515245 + 12345) % 2147483648;
      return Math.floor((seed / 2147483648) * most);
    };
    const d = { sid: 'x', e: `e${n}`, n: 1, r: [], m: [], p: [], z: [], s: { running: true, max_ctx: 99999, rewind_points: [] }, f: { rounds: '1 · x' } };
    d.a = { n, tested: [9, 8, 7, 6, 5, 4, 3], accepted: [8, 7, 6, 5, 4, 3, 2] };
    for (let r = 0; r < n; r += 1) {
      const drafts = dice(8), kept = dice(drafts + 1);
      const fates = '1'.repeat(kept) + '2'.repeat(drafts - kept) + (kept === drafts ? '3' : '4');
      length += kept + 1;
      d.r.push([r, Math.floor(r / 50), Math.floor(r / 10), length, 1, Array(drafts).fill(3), 4, fates, length, [0.3, 20, 0.1, 0.4]]);
      if (r % 50 === 0) d.m.push([r - 0.5, 'turn', r / 50, 'extend', 90, 30, ''], [r - 0.4, 'point', length, 'prompt']);
      if (r % 10 === 9) d.p.push([r, 0, 5, 'round']);
      d.z.push([r, 1]);
    }
    window.__draftscope.ingest(JSON.stringify(d));
  },

  // The least of many draws in milliseconds, which is what one takes when nothing else has the processor: of each panel
  // named, and of as many bare charts with data that are new every time.
  async cost(names) {
    const least = (draw) => {
      let best = Infinity;
      for (let i = 0; i < 15; i += 1) {
        const begin = performance.now();
        draw(i);
        best = Math.min(best, performance.now() - begin);
      }
      return best;
    };
    const views = [...window.__draftscope.clock.views].filter((view) => names.includes(view.element.dataset.panel));
    const ours = views.map((view) => least(() => { view.stale = true; view.draw(); }));
    const host = document.createElement('div');
    document.body.append(host);
    const grid = (i) => ({ type: 'heatmap', z: Array.from({ length: 8 }, (_, y) => Array.from({ length: 160 }, (_, x) => (x * y + i) % 7)) });
    const line = (i) => ({ type: 'scatter', x: Array.from({ length: 1200 }, (_, x) => x), y: Array.from({ length: 1200 }, (_, x) => x + i) });
    const bars = (i) => ({ type: 'bar', x: [1, 2, 3, 4, 5, 6, 7], y: [7, 6, 5, 4, 3, 2, 1 + i] });
    const bare = [];
    for (const trace of [grid, line, bars, grid]) {
      const layout = () => ({ width: 700, height: 240, uirevision: 'keep' });
      await window.Plotly.newPlot(host, [trace(99)], layout());
      bare.push(least((i) => window.Plotly.react(host, [trace(i)], layout())));
      window.Plotly.purge(host);
    }
    host.remove();
    return { ours, bare };
  },

  // Twenty deltas: the longest draw of one panel, and the longest stretch of drawing without a pause, in milliseconds.
  async stretch() {
    const views = [...window.__draftscope.clock.views];
    let longest = 0, now = 0, worst = 0;
    for (const view of views) {
      const draw = view.draw;
      view.draw = () => {
        const begin = performance.now();
        draw();
        const took = performance.now() - begin;
        longest = Math.max(longest, took);
        now += took;
      };
    }
    const turn = new MessageChannel();
    turn.port1.onmessage = () => {
      worst = Math.max(worst, now);
      now = 0;
      turn.port2.postMessage(0);
    };
    turn.port2.postMessage(0);
    for (let i = 0; i < 20; i += 1) {
      for (const view of views) view.seen = true;
      const { sid, e, n, rounds } = window.__draftscope.state;
      const row = [rounds.at(-1).r, 1, 1, 9, 1, [3], 4, '14', 9, [0.1, 9, 0.1, 0.1]];
      window.__draftscope.ingest(JSON.stringify({ sid, e, n: n + 1, r: [row] }));
      await new Promise((go) => { setTimeout(go, 120); });
    }
    turn.port1.onmessage = null;
    return { longest, worst };
  },
};
