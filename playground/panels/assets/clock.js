// One drawing clock for all views: at most 8 draws a second, a quarter of the main thread, none while the page is hidden,
// and once a second for what is scrolled out of sight.
function createClock() {
  const views = new Set();
  const GAP = 125, UNSEEN_GAP = 1000;
  let timer = 0, due = 0, unseenDue = 0, late = 0;

  function drawAll() {
    timer = 0;
    if (document.hidden) return; // `visibilitychange` asks again
    const start = performance.now();
    const withUnseen = start >= unseenDue;
    if (withUnseen) unseenDue = start + UNSEEN_GAP;
    let skipped = false;
    for (const view of [...views]) {
      if (!view.element.isConnected) { views.delete(view); view.dispose?.(); }
      else if (view.seen !== false || withUnseen) view.draw();
      else skipped = true;
    }
    const cost = performance.now() - start;
    due = start + Math.max(GAP, 4 * cost);
    if (skipped && !late) late = setTimeout(() => { late = 0; request(); }, UNSEEN_GAP);
  }
  function request(atOnce) {
    if (document.hidden) return;
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
  const theme = new MutationObserver(redraw); // Gradio switches themes by a class on body
  theme.observe(document.body, { attributes: true, attributeFilter: ['class'] });
  theme.observe(document.documentElement, { attributes: true, attributeFilter: ['class'] });
  return { add, request, redraw, views };
}
const clock = (store.clock ??= createClock());
store.onChange = clock.request;
