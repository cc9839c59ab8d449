"""The session's id and its trace, for a script or a later look: copy the one, download the other."""

from __future__ import annotations

from typing import Any

TEMPLATE = """
<div class="trace">
  <b>Trace</b>
  <span title="Whoever knows it can read this conversation and go on with it.">session <code></code></span>
  <button type="button" class="copy">Copy id</button>
  <button type="button" class="save"
    title="Every event of this session with the texts of its tokens, compressed. Replay opens it, here and elsewhere.">
    Download trace</button>
  <button type="button" class="plain" title="The same as plain text, for a script; rounds count from 0 there.">
    as .jsonl</button>
  <label title="Off, the file has of your messages only how long they were, and is made to be shown to others.">
    <input type="checkbox" class="messages"> with my messages</label>
  <span role="status" aria-live="polite"></span>
</div>
"""
SCRIPT = """
const parts = ["code", ".copy", ".save", ".plain", ".messages", "[role=status]"];
const [id, copy, save, plain, messages, note] = parts.map((part) => element.querySelector(part));
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
const download = async (unpack) => {
  let file = null;
  try {
    const told = await server.trace_file(JSON.stringify({ sid: id.textContent, messages: messages.checked }));
    if (!told) { say("Nothing is recorded yet; send a message first."); return; }
    file = JSON.parse(told);
    let blob = new Blob([Uint8Array.from(atob(file.data), (char) => char.charCodeAt(0))], { type: "application/gzip" });
    if (unpack) blob = await new Response(blob.stream().pipeThrough(new DecompressionStream("gzip"))).blob();
    const link = document.createElement("a");
    link.href = URL.createObjectURL(blob);
    link.download = unpack ? file.name.replace(/\\.gz$/, "") : file.name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  } catch (failed) {
    say(file ? "This browser cannot unpack it; download it compressed." : "The server did not answer; try again.");
  }
};
save.addEventListener("click", () => download(false));
plain.addEventListener("click", () => download(true));
"""


def options() -> dict[str, Any]:
    """Keyword arguments for `gr.HTML`; its value is the session id; `server_functions=[trace_file]` comes on top."""
    return {"elem_id": "trace", "html_template": TEMPLATE, "js_on_load": SCRIPT, "apply_default_css": False}
