// Keeps an open page up to date: the server says that something is new, and the page is read again and compared.
"use strict";

(() => {
  const PAUSE = 300; // milliseconds between two readings
  const live = document.getElementById("live");
  const address = document.body.dataset.live;

  // `form.id` would be the form's field of that name.
  const keyOf = (node) => (node.nodeType === 1 ? node.getAttribute("id") || node.getAttribute("data-key") : null);
  const alike = (a, b) => a.nodeType === b.nodeType && a.nodeName === b.nodeName && keyOf(a) === keyOf(b);

  // Makes `old` look like `fresh`, and leaves alone what a person has opened, chosen or begun to write.
  const morph = (old, fresh) => {
    if (old.nodeType !== 1) {
      if (old.nodeValue !== fresh.nodeValue) old.nodeValue = fresh.nodeValue;
      return;
    }
    // A text that a person may approve stays the one that they have read: its form is for that text.
    if (old.hasAttribute("data-digest") && old.getAttribute("data-digest") !== fresh.getAttribute("data-digest")) {
      old.classList.add("outdated");
      return;
    }
    const kept = old.nodeName === "DETAILS" ? "open" : null;
    for (const { name } of [...old.attributes]) if (!fresh.hasAttribute(name) && name !== kept) old.removeAttribute(name);
    for (const { name, value } of fresh.attributes) {
      if (old.getAttribute(name) !== value && name !== kept) old.setAttribute(name, value);
    }
    if (["INPUT", "TEXTAREA", "SELECT"].includes(old.nodeName)) {
      if (old.type === "hidden") old.value = fresh.value;
      return;
    }
    // What is gone goes first: a node that is moved loses the focus, and what is behind it need not move then.
    const wanted = new Set([...fresh.childNodes].map(keyOf));
    const keyed = new Map();
    for (const child of [...old.childNodes]) {
      const key = keyOf(child);
      if (key && wanted.has(key)) keyed.set(key, child);
      else if (key) child.remove();
    }
    let place = old.firstChild;
    for (const child of [...fresh.childNodes]) {
      const key = keyOf(child);
      const match = key ? keyed.get(key) : next(place, child);
      if (!match || !alike(match, child)) {
        old.insertBefore(document.importNode(child, true), place);
        continue;
      }
      place = drop(place, match);
      if (match === place) place = place.nextSibling;
      else old.insertBefore(match, place);
      morph(match, child);
    }
    drop(place, null);
  };

  // The next node like this one that has no key; a text is taken only where it stands.
  const next = (place, child) => {
    if (child.nodeType !== 1) return place;
    while (place && (keyOf(place) || !alike(place, child))) place = place.nextSibling;
    return place;
  };

  // Removes what has no key from here to that node, or to the end. What has one is still to be placed.
  const drop = (place, end) => {
    let first = null;
    while (place && place !== end) {
      const following = place.nextSibling;
      if (keyOf(place) && end) first = first || place;
      else place.remove();
      place = following;
    }
    return first || end;
  };

  window.prloom = { morph };

  // The server knows the session no more: it was started again, or nobody has used the page for long.
  const signedOut = () => {
    close();
    if (document.getElementById("signed-out")) return;
    const line = document.createElement("p");
    line.id = "signed-out";
    line.className = "notice bad";
    line.setAttribute("role", "alert");
    line.textContent = "Your session is over; open the link that `prloom web` prints. This page stays as it is until then.";
    document.getElementById("main").prepend(line);
  };

  let reading = false;
  let again = false;
  const refresh = async () => {
    if (reading) {
      again = true;
      return;
    }
    reading = true;
    try {
      const answer = await fetch(location.href, { headers: { accept: "text/html", "x-prloom-refresh": "1" }, cache: "no-store" });
      if (answer.ok) {
        const page = new DOMParser().parseFromString(await answer.text(), "text/html");
        const notice = document.getElementById("notice");
        const fresh = page.getElementById("main");
        if (notice && !page.getElementById("notice")) fresh.prepend(document.importNode(notice, true));
        morph(document.getElementById("main"), fresh);
        document.body.dataset.csrf = page.body.dataset.csrf;
      } else if (answer.status === 401) signedOut();
    } catch {
      // the stream says when the server is there again
    }
    setTimeout(() => {
      reading = false;
      if (again) {
        again = false;
        refresh();
      }
    }, PAUSE);
  };

  const show = (on) => {
    live.classList.toggle("on", on);
    document.getElementById("live-text").textContent = on ? "live" : "not live";
  };

  let stream = null;
  const open = () => {
    if (!address || !live || stream) return;
    stream = new EventSource(address);
    let before = false;
    stream.onopen = () => {
      show(true);
      if (before) refresh();
      before = true;
    };
    stream.onerror = () => {
      show(false);
      if (stream && stream.readyState === EventSource.CLOSED) {
        stream = null;
        refresh();
        setTimeout(open, 10000);
      }
    };
    stream.addEventListener("change", refresh);
  };
  const close = () => {
    if (stream) stream.close();
    stream = null;
    if (live) show(false);
  };

  // Times go on by themselves, in the words of the server: what is to come in two units, and what was in one.
  const UNITS = [["d", 86400], ["h", 3600], ["min", 60], ["s", 1]];
  const words = (seconds, units) => {
    const first = UNITS.findIndex(([, length]) => seconds >= length);
    const told = UNITS.slice(first, first + units).map(([unit, length]) => {
      const count = Math.floor(seconds / length);
      seconds -= count * length;
      return count ? `${count} ${unit}` : "";
    });
    return told.filter(Boolean).join(" ");
  };
  const tick = () => {
    const now = Date.now();
    for (const each of document.querySelectorAll("time[data-ago]")) {
      const span = (now - Date.parse(each.dateTime)) / 1000;
      const distance = Math.abs(span);
      let text = "now";
      if (distance >= 1) text = span < 0 ? `in ${words(distance, 2)}` : `${words(distance, 1)} ago`;
      if (each.textContent !== text) each.textContent = text;
    }
  };

  // A page that nobody sees needs no stream; it is read again when it is looked at.
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) close();
    else if (address) {
      open();
      refresh();
    }
  });
  // On a narrow screen, the name of the page may be beside what is seen of the others.
  const here = document.querySelector(".top nav [aria-current]");
  if (here) here.parentNode.scrollLeft = here.offsetLeft - here.parentNode.offsetLeft - (here.parentNode.clientWidth - here.offsetWidth) / 2;
  setInterval(tick, 1000);
  if (!document.hidden) open();
})();
