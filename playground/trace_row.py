"""The session's id and its trace, for a script or a later look: copy the one, download the other."""

from __future__ import annotations

from typing import Any

TEMPLATE = """
<div class="trace">
  <b>Trace</b>
  <span title="Whoever knows it can read this conversation and go on with it.">session <code></code></span>
  <button type="button" class="copy">Copy id</button>
  <button type="button" class="save" title="Every event of this session as JSON Lines; rounds count from 0 there.">
    Download trace</button>
  <span role="status" aria-live="polite"></span>
</div>
"""
SCRIPT = """
const [id, copy, save, note] = ["code", ".copy", ".save", "[role=status]"].map((part) => element.querySelector(part));
const show = () => { id.textContent = props.value || ""; };
watch("value", show);
show();
const say = (text) => {
  note.textContent = text;
  setTimeout(() => { if (note.textContent === text) note.textContent = ""; }, 5000);
};
copy.addEventListener("click", async () => {
  try {
    await navigator.clipboard.writeText(id.textContent);
    say("Copied.");
  } catch (refused) { // only a secure origin has a clipboard
    window.getSelection().selectAllChildren(id);
    say(document.execCommand("copy") ? "Copied." : "Selected; copy it with the keyboard.");
  }
});
save.addEventListener("click", async () => {
  const lines = await server.trace_lines(id.textContent);
  if (!lines) { say("Nothing is recorded yet; send a message first."); return; }
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([lines], { type: "application/x-ndjson" }));
  link.download = "draftscope-" + id.textContent.slice(0, 8) + ".jsonl";
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
});
"""


def options() -> dict[str, Any]:
    """Keyword arguments for `gr.HTML`; its value is the session id; `server_functions=[trace_lines]` comes on top."""
    return {"elem_id": "trace", "html_template": TEMPLATE, "js_on_load": SCRIPT, "apply_default_css": False}
