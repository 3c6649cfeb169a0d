// Draws the charts in the colours of the page. Reads #embedded, asks no network.
"use strict";
(() => {
  const embedded = JSON.parse(document.getElementById("embedded").textContent);
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const printing = matchMedia("print");
  const PRINT_WIDTH_PX = 680;
  const hiddenTrials = new Set();

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
})();
