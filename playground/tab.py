"""What the browser does on its own: keeps a tab's session id, and follows the conversation while it is looked at."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

OPEN = """
async (given) => {
  const key = "draftscope.sid";
  const asked = new URLSearchParams(window.location.search).get("s");
  let kept = "";
  try { kept = window.sessionStorage.getItem(key) || ""; } catch (blocked) { /* a frame without storage */ }
  const state = (window.draftscope = { sid: "" });
  let channel = null;
  try { channel = new BroadcastChannel("draftscope"); } catch (missing) { return asked || kept; }
  const me = Math.random().toString(36).slice(2);
  let taken = false;
  channel.onmessage = ({ data }) => {
    if (data.ask && data.from !== me && data.ask === state.sid) channel.postMessage({ held: data.ask, to: data.from });
    if (data.held && data.to === me) taken = true;
  };
  if (asked || !kept) { state.sid = asked || ""; return state.sid; }
  // A duplicated tab starts with a copy of the other's storage: if that tab answers, this one begins its own session.
  channel.postMessage({ ask: kept, from: me });
  await new Promise((resolve) => setTimeout(resolve, 120));
  state.sid = taken ? "" : kept;
  return state.sid;
}
"""
"""Runs before the page is opened; returns the id to ask the server for, or '' for a new session."""

KEEP = """
(sid) => {
  window.draftscope = Object.assign(window.draftscope || {}, { sid });
  try { window.sessionStorage.setItem("draftscope.sid", sid); } catch (blocked) { /* then a reload begins anew */ }
  const address = new URL(window.location.href);
  if (address.searchParams.has("s") && address.searchParams.get("s") !== sid) {
    address.searchParams.set("s", sid);
    window.history.replaceState(window.history.state, "", address);
  }
}
"""
"""Runs once the server has named the session. An address that asked for one nobody knows is put right."""

SENTENCE = """
const line = element.querySelector(".says");
// An amount that moves in a sentence that stays is there to be looked at, not to be read aloud ten times a second.
const spoken = (text) => text.replace(/[\\d.,]+ (?:of [\\d.,]+ )?(?=(?:tokens\\/s|tokens|s|min)\\b)/g, "");
const live = line.getAttribute("aria-live"), alert = line.getAttribute("role") === "alert";
const say = () => {
  const text = props.value || "";
  if (line.textContent === text) return;
  if (!alert) line.setAttribute("aria-live", spoken(line.textContent) === spoken(text) ? "off" : live || "polite");
  line.textContent = text;
};
watch("value", say);
say();
"""
"""Shows a value as text, in a node that stays: a screen reader only follows a region that is not replaced."""

FOLLOW = "(sid) => [sid, window.draftscopeLinks ? window.draftscopeLinks.begin() : 'on']"
"""Runs before the page follows its conversation: whether it does so to the end ('on'), or looks at it once ('once')."""

FOLLOWED = "(...given) => { window.draftscopeLinks?.end(); return given; }"
"""Runs when a call that followed has ended, however it did."""


def links() -> dict[str, Any]:
    """Keyword arguments for `gr.HTML`: what watches over the page's connections.

    Its `change` fires when the conversation has changed elsewhere, when the tab is looked at again, and when it begins
    or ceases to be one of those that may follow.
    """
    script = (files("playground") / "assets" / "links.js").read_text(encoding="utf-8")
    return {"elem_id": "back", "html_template": "<span></span>", "js_on_load": script}
