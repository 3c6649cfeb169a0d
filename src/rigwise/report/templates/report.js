// Draws the charts in the colours of the page, and keeps the answers of a review. Reads #embedded, asks no network.
"use strict";
(() => {
  const embedded = JSON.parse(document.getElementById("embedded").textContent);
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const printing = matchMedia("print");
  const PRINT_WIDTH_PX = 680;
  const hiddenTrials = new Set();

  const fill = (sentence, values) => sentence.replace(/\{(\w+)\}/g, (_, name) => values[name]);

  // --- charts ---

  /** The figure with each `--name` replaced by that CSS variable's present value. */
  function resolveColours(part, style) {
    if (typeof part === "string") return part.startsWith("--") ? style.getPropertyValue(part).trim() : part;
    if (Array.isArray(part)) return typeof part[0] === "number" ? part : part.map((each) => resolveColours(each, style));
    if (part === null || typeof part !== "object") return part;
    return Object.fromEntries(Object.entries(part).map(([key, value]) => [key, resolveColours(value, style)]));
  }

  const axisLook = {
    gridcolor: "--rule", linecolor: "--rule-strong", zeroline: true, zerolinecolor: "--rule", showline: false, separatethousands: true, automargin: true,
    tickfont: { color: "--muted" }, ticks: "", nticks: 6,
    title: { font: { color: "--muted", size: 12 }, standoff: 8 },
  };

  const horizontalLook = { showgrid: false, zeroline: false, showline: true, spikecolor: "--muted", spikethickness: 1, spikedash: "solid" };

  function lookOf(layout) {
    const look = {
      autosize: true, showlegend: false, paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
      font: { family: getComputedStyle(document.body).fontFamily, size: 12, color: "--ink" },
      margin: { l: 52, r: 12, t: 8, b: 44 }, hovermode: "x unified",
      dragmode: matchMedia("(pointer: fine)").matches ? "zoom" : false,
      hoverlabel: { namelength: -1, bgcolor: "--page", bordercolor: "--rule-strong", font: { color: "--ink", size: 12 } },
    };
    for (const [key, value] of Object.entries(layout)) {
      if (!/^[xy]axis\d*$/.test(key)) look[key] = value;
      else {
        const own = { ...axisLook, ...value, title: { ...axisLook.title, ...value.title } };
        look[key] = key.startsWith("x") ? { ...own, ...horizontalLook } : { ...own, fixedrange: true };
      }
    }
    return look;
  }

  function draw() {
    const style = getComputedStyle(document.documentElement);
    for (const plot of document.querySelectorAll("[data-figure]")) {
      const figure = embedded.figures[plot.dataset.figure];
      const layout = lookOf(figure.layout);
      if (plot.clientHeight > 500) for (const key of Object.keys(layout)) if (/^yaxis/.test(key)) layout[key].nticks = 4;
      if (printing.matches) Object.assign(layout, { autosize: false, width: PRINT_WIDTH_PX, height: plot.clientHeight });
      layout.shapes = (layout.shapes || []).filter((shape) => !hiddenTrials.has(shape.name));
      const traces = figure.data.map((trace) => ({ ...trace, visible: !(trace.meta && hiddenTrials.has(trace.meta.trial)) }));
      Plotly.react(plot, resolveColours(traces, style), resolveColours(layout, style), { displayModeBar: false, responsive: true });
    }
  }

  function toggleTrial(box) {
    hiddenTrials[box.checked ? "delete" : "add"](box.dataset.trial);
    for (const each of document.querySelectorAll("[data-trial]")) each.checked = !hiddenTrials.has(each.dataset.trial);
    draw();
  }

  for (const box of document.querySelectorAll("[data-trial]")) {
    box.checked = true;
    box.addEventListener("change", () => toggleTrial(box));
  }
  for (const query of [dark, printing]) query.addEventListener("change", draw);
  draw();

  // --- review of predictions ---

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
  const answerOf = (index) => answers[embedded.predictions[index].path] || "";

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
    const path = embedded.predictions[index].path;
    if (box.checked) answers[path] = box.dataset.answer;
    else delete answers[path];
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

  const HEAD = ["path", "truth", "predicted", "probability", "answer"];
  const rows = () => embedded.predictions.map((each, index) => ({ ...each, answer: answerOf(index) }));
  const quoted = (value) => `"${String(value).replaceAll('"', '""')}"`;
  const asCsv = () => [HEAD, ...rows().map((row) => HEAD.map((name) => row[name]))].map((row) => row.map(quoted).join(",")).join("\r\n");
  const asJson = () => JSON.stringify({ schema: "rigwise.review/1", run: embedded.name, answers: rows() }, null, 2);

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
