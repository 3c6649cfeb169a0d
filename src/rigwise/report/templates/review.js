// Keeps the answers of a review in the browser and exports them; copies commands. Reads #embedded, asks no network.
"use strict";
(() => {
  const embedded = JSON.parse(document.getElementById("embedded").textContent);
  const fill = (sentence, values) => sentence.replace(/\{(\w+)\}/g, (_, name) => values[name]);
  const storageKey = `rigwise.review.${embedded.run}`;
  const cards = [...document.querySelectorAll(".card")];

  function storedAnswers() {
    const kept = Object.create(null);
    try { return Object.assign(kept, JSON.parse(localStorage.getItem(storageKey))); } catch { return kept; }
  }

  function keepAnswers() {
    try { localStorage.setItem(storageKey, JSON.stringify(answers)); } catch {
      const note = document.getElementById("not-kept");
      note.textContent = embedded.sentences.not_kept;
      note.hidden = false;
    }
  }

  const answers = storedAnswers();
  const keyOf = (index) => [embedded.cards[index].kind, embedded.cards[index].path].filter(Boolean).join(" ");
  const answerOf = (index) => answers[keyOf(index)] || "";

  function showAnswers() {
    for (const [index, card] of cards.entries()) {
      card.dataset.state = answerOf(index);
      for (const box of card.querySelectorAll("[data-answer]")) box.checked = box.dataset.answer === answerOf(index);
    }
    const given = cards.map((_, index) => answerOf(index)).filter(Boolean);
    const counts = { done: given.length, total: cards.length, wrong: given.filter((each) => each === "wrong").length };
    document.getElementById("review-count").textContent = fill(embedded.sentences.reviewed, counts);
  }

  function answer(index, box) {
    if (box.checked) answers[keyOf(index)] = box.dataset.answer;
    else delete answers[keyOf(index)];
    keepAnswers();
    showAnswers();
  }

  /** The card an arrow key leads to; up and down go by the columns the grid has now. */
  function neighbour(index, key) {
    const columns = cards.filter((card) => card.offsetTop === cards[0].offsetTop).length;
    const offset = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -columns, ArrowDown: columns }[key];
    return offset === undefined ? undefined : cards[index + offset];
  }

  function move(event, index) {
    const next = neighbour(index, event.key);
    if (!next) return;
    event.preventDefault();
    next.querySelector(`[data-answer="${event.target.dataset.answer}"]`).focus();
  }

  const rows = () => embedded.cards.map((each, index) => ({ ...each, answer: answerOf(index) }));
  const quoted = (value) => `"${String(value).replaceAll('"', '""')}"`;
  const asCsv = () => [Object.keys(rows()[0]), ...rows().map(Object.values)].map((row) => row.map(quoted).join(",")).join("\r\n");
  const asJson = () => JSON.stringify({ schema: "rigwise.review/1", run: embedded.name, answers: [...embedded.earlier, ...rows()] }, null, 2);

  function download(text, type, extension) {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type }));
    link.download = `${embedded.name}-review.${extension}`;
    link.click();
    URL.revokeObjectURL(link.href);
  }

  if (cards.length) {
    for (const [index, card] of cards.entries()) {
      card.addEventListener("change", (event) => answer(index, event.target));
      card.addEventListener("keydown", (event) => move(event, index));
    }
    document.getElementById("export-csv").addEventListener("click", () => download(asCsv(), "text/csv", "csv"));
    document.getElementById("export-json").addEventListener("click", () => download(asJson(), "application/json", "json"));
    showAnswers();
  }

  // --- copy buttons, where the browser can copy ---

  for (const button of document.querySelectorAll("[data-copy]")) {
    if (!navigator.clipboard) continue;
    button.hidden = false;
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(button.dataset.copy);
      button.textContent = embedded.sentences.copied;
    });
  }
})();
