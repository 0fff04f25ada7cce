// Shows one data direction at a time and draws its curves. Without it, or without uPlot, the document holds the same
// numbers as tables.
"use strict";
(function () {
  const data = JSON.parse(document.getElementById("data").textContent);
  const sections = new Map();
  for (const section of document.querySelectorAll("details.direction")) {
    sections.set(section.id.slice(1), section);
  }
  if (sections.size === 0) return;

  const KIB = 1024;
  const sizeText = (bytes) => {
    let unit = 0;
    while (bytes >= KIB && unit < 4) { bytes /= KIB; unit += 1; }
    return Math.round(bytes * 100) / 100 + " " + ["B", "KiB", "MiB", "GiB", "TiB"][unit];
  };
  const three = (value) => String(Number(value.toPrecision(3)));
  const timeText = (s) => s >= 1 ? three(s) + " s" : s >= 1e-3 ? three(s * 1e3) + " ms" : three(s * 1e6) + " us";
  const rateText = (gbs) => three(gbs) + " GB/s";
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();

  let shown = null;
  let asRate = false;
  let plot = null;

  // Of one direction what is drawn: the chosen ways as one line below, then each kind of way.
  function series(direction) {
    const values = (seconds) => seconds.map((s, i) => s === null ? null : asRate ? data.sizes[i] / s / 1e9 : s);
    const chosen = direction.chosen.map((way, i) => way < 0 ? null : direction.ways[way].s[i]);
    return [{ name: "chosen", s: values(chosen) }].concat(direction.ways.map((way) => ({ name: way.name, s: values(way.s) })));
  }

  // Powers of ten; where they are few, twos and fives between them.
  function steps(least, most) {
    const decades = Math.log10(most / least);
    const marks = [];
    for (let power = Math.floor(Math.log10(least)); power <= Math.ceil(Math.log10(most)); power += 1) {
      for (const by of decades > 2.2 ? [1] : [1, 2, 5]) {
        const mark = by * 10 ** power;
        if (mark >= least * 0.999 && mark <= most * 1.001) marks.push(mark);
      }
    }
    return marks;
  }

  function draw() {
    const place = document.getElementById("chart");
    if (place === null || typeof uPlot === "undefined") return;
    if (plot !== null) plot.destroy();
    plot = null;
    const direction = data.directions[shown];
    if (direction === undefined || direction.ways.length === 0) {
      place.textContent = "No way may be used here: nothing to draw.";
      return;
    }
    place.textContent = "";
    const lines = series(direction);
    const words = asRate ? rateText : timeText;
    const narrow = place.clientWidth < 600;
    const grid = { stroke: colour("line"), width: 1 };
    const ink = colour("dim");
    const text = "12px system-ui, sans-serif";
    const marked = data.sizes.length > 12 ? 2 : 1;
    const marks = data.sizes.filter((size, i) => i % (narrow ? marked * 3 : marked) === 0);
    plot = new uPlot({
      width: place.clientWidth,
      height: narrow ? 280 : 340,
      legend: { live: true },
      cursor: { points: { size: 7 }, drag: { x: false, y: false } },
      scales: {
        x: { time: false, distr: 3, log: 2, range: () => [data.sizes[0], data.sizes[data.sizes.length - 1]] },
        y: { distr: 3, log: 10, range: (u, least, most) => [least / 1.25, most * 1.25] },
      },
      axes: [
        { stroke: ink, grid, ticks: grid, font: text, splits: () => marks, filter: (u, splits) => splits, values: (u, splits) => splits.map(sizeText) },
        { stroke: ink, grid, ticks: grid, font: text, size: narrow ? 62 : 74,
          splits: (u, axis, least, most) => steps(least, most), filter: (u, splits) => splits,
          values: (u, splits) => splits.map(words) },
      ],
      series: [{ label: "size", value: (u, size) => size === null ? "-" : sizeText(size) }].concat(lines.map((line) => ({
        label: line.name,
        stroke: colour(line.name),
        width: line.name === "chosen" ? 9 : 2,
        dash: { staged: [8, 4], relayed: [2, 3], split: [10, 3, 2, 3] }[line.name],
        points: { show: false },
        value: (u, value) => value === null ? "-" : words(value),
      }))),
    }, [data.sizes].concat(lines.map((line) => line.s)), place);
    plot.root.setAttribute("role", "img");
    plot.root.setAttribute("aria-label", (asRate ? "Predicted rate" : "Predicted time") + " over size from gpu" +
      shown.replace("-", " to gpu") + "; the same numbers are in the table below");
  }

  const picker = document.getElementById("picker");
  const choices = ["from", "to"].map((name) => {
    const label = document.createElement("label");
    const select = document.createElement("select");
    label.append(name + " ", select);
    picker.append(label);
    return select;
  });
  const devices = [...new Set([...sections.keys()].flatMap((key) => key.split("-")))].sort((a, b) => a - b);
  for (const select of choices) {
    for (const device of devices) select.append(new Option("gpu" + device, device));
    select.addEventListener("change", () => {
      // The same device twice is no direction: the other choice gives way.
      if (choices[0].value === choices[1].value) {
        const other = choices[select === choices[0] ? 1 : 0];
        other.value = devices.find((device) => device !== select.value);
      }
      show(choices[0].value + "-" + choices[1].value);
    });
  }
  picker.hidden = false;

  const caption = document.querySelector("#curves figcaption");
  if (caption !== null && document.getElementById("chart") !== null) {
    caption.textContent = "Predicted over size, the chosen plan underlaid: ";
    const buttons = ["time", "rate"].map((name) => {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = name;
      button.addEventListener("click", () => {
        asRate = name === "rate";
        press();
        draw();
      });
      caption.append(button, " ");
      return button;
    });
    const press = () => buttons.forEach((button, i) => button.setAttribute("aria-pressed", String(asRate === (i === 1))));
    press();
  }

  function show(key) {
    if (!sections.has(key)) return;
    shown = key;
    for (const [other, section] of sections) {
      section.hidden = other !== key;
      section.open = other === key;
    }
    for (const link of document.querySelectorAll(".matrix a")) {
      link.setAttribute("aria-current", String(link.getAttribute("href") === "#d" + key));
    }
    [choices[0].value, choices[1].value] = key.split("-");
    draw();
  }

  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[href^='#d']");
    if (link === null || !sections.has(link.getAttribute("href").slice(2))) return;
    event.preventDefault();
    show(link.getAttribute("href").slice(2));
    const place = document.getElementById("directions");
    if (place.getBoundingClientRect().top > window.innerHeight * 0.7) place.scrollIntoView({ behavior: "smooth" });
  });
  const asked = location.hash.startsWith("#d") ? location.hash.slice(2) : "";
  show(sections.has(asked) ? asked : sections.has(data.worst) ? data.worst : sections.keys().next().value);

  let width = window.innerWidth;
  window.addEventListener("resize", () => {
    if (window.innerWidth !== width) { width = window.innerWidth; draw(); }
  });
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
})();
