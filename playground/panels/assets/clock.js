// One drawing clock for all views: at most 8 draws a second, a quarter of the main thread, none while the page is hidden,
// and once a second for what is scrolled out of sight.
function createClock() {
  const views = new Set();
  const GAP = 125, UNSEEN_GAP = 1000, SLICE = 40;
  let timer = 0, due = 0, unseenDue = 0, late = 0, drawing = false, again = null;

  function drawAll() {
    timer = 0;
    if (document.hidden || drawing) return; // `visibilitychange` asks again
    const start = performance.now();
    const withUnseen = start >= unseenDue;
    if (withUnseen) unseenDue = start + UNSEEN_GAP;
    drawing = true;
    drawSome([...views], { start, withUnseen, skipped: false, cost: 0 });
  }
  // Long drawing is cut between two views, so that the page answers in between.
  function drawSome(rest, pass) {
    const begin = performance.now();
    while (rest.length && performance.now() - begin < SLICE) {
      const view = rest.shift();
      if (!view.element.isConnected) { views.delete(view); view.dispose?.(); }
      else if (view.seen !== false || pass.withUnseen) drawOne(view);
      else pass.skipped = true;
    }
    pass.cost += performance.now() - begin;
    if (rest.length) { setTimeout(() => drawSome(rest, pass)); return; }
    drawing = false;
    due = pass.start + Math.max(GAP, 4 * pass.cost);
    if (pass.skipped && !late) late = setTimeout(() => { late = 0; request(); }, UNSEEN_GAP);
    const wanted = again;
    again = null;
    if (wanted) request(wanted.atOnce);
  }
  // A fault in one view is reported as ever, and the others are drawn.
  function drawOne(view) {
    try { view.draw(); } catch (error) { setTimeout(() => { throw error; }); }
  }
  function request(atOnce) {
    if (document.hidden) return;
    if (drawing) { again = { atOnce: atOnce === true || again?.atOnce === true }; return; }
    if (atOnce === true) { // even what is out of sight, and whatever the last draw cost
      clearTimeout(timer);
      timer = due = unseenDue = 0;
    }
    if (timer) return;
    timer = setTimeout(() => requestAnimationFrame(drawAll), Math.max(0, due - performance.now()));
  }
  function add(view) {
    const observer = new IntersectionObserver((entries) => {
      view.seen = entries.at(-1).isIntersecting;
      if (view.seen) request();
    });
    observer.observe(view.element);
    const own = view.dispose;
    view.dispose = () => { observer.disconnect(); own?.(); };
    views.add(view);
    request();
  }
  document.addEventListener('visibilitychange', request);
  const redraw = () => { for (const view of views) view.stale = true; request(); };
  const theme = new MutationObserver(redraw); // Gradio switches themes by a class on body; the reading level is an attribute of it
  theme.observe(document.body, { attributes: true, attributeFilter: ['class', 'data-level'] });
  theme.observe(document.documentElement, { attributes: true, attributeFilter: ['class'] });
  return { add, request, redraw, views };
}
const clock = (store.clock ??= createClock());
store.onChange = clock.request;
