/* Charts with uPlot, in the colours of the page, with dashed lines at the moments of learning. */

import { h } from "./dom.js";

let loading = null;
const drawn = new Set();

function library() {
  loading ??= new Promise((resolve, reject) => {
    const script = h("script", { src: "/static/vendor/uPlot.iife.min.js" });
    script.onload = () => resolve(window.uPlot);
    script.onerror = () => reject(new Error("the charts could not be loaded"));
    document.head.append(script);
  });
  return loading;
}

function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

function markers(marks) {
  return {
    hooks: {
      draw: (plot) => {
        const { ctx, bbox } = plot;
        ctx.save();
        ctx.lineWidth = 1.5 * devicePixelRatio;
        ctx.setLineDash([4 * devicePixelRatio, 3 * devicePixelRatio]);
        for (const mark of marks) {
          const x = Math.round(plot.valToPos(mark.x, "x", true));
          if (x < bbox.left || x > bbox.left + bbox.width) continue;
          ctx.strokeStyle = colour(mark.bad ? "bad" : "mark");
          ctx.beginPath();
          ctx.moveTo(x, bbox.top);
          ctx.lineTo(x, bbox.top + bbox.height);
          ctx.stroke();
        }
        ctx.restore();
      },
    },
  };
}

function options(uPlot, spec, width) {
  const axis = { stroke: colour("dim"), grid: { stroke: colour("grid"), width: 1 }, ticks: { stroke: colour("grid"), width: 1 } };
  const paths = { bars: (one) => uPlot.paths.bars({ size: [0.26, 18], align: one.align }), steps: () => undefined };
  const series = spec.series.map((one) => ({
    label: one.label,
    stroke: colour(one.colour),
    width: one.line === false ? 0 : one.width || 2,
    dash: one.dash,
    fill: one.bars ? colour(one.colour) : undefined,
    paths: one.bars ? paths.bars(one) : one.line === false ? () => null : undefined,
    points: { show: one.points ?? (spec.data[0].length < 40 && !one.dash), size: 6, fill: colour(one.colour) },
    spanGaps: one.gaps !== true,
    value: (plot, value) => (value === null || value === undefined ? "–" : spec.format(value)),
  }));
  return {
    width,
    height: spec.height || 220,
    padding: [8, 8, 0, 0],
    tzDate: spec.time ? (at) => uPlot.tzDate(new Date(at * 1000), "Etc/UTC") : undefined,
    scales: {
      x: { time: Boolean(spec.time), range: spec.x ? () => spec.x : undefined },
      y: { range: spec.y ? () => spec.y : (plot, low, high) => [Math.min(0, low ?? 0), high > 0 ? high * 1.1 : 1] },
    },
    axes: [{ ...axis, values: spec.time ? undefined : (plot, values) => values.map((value) => (Number.isInteger(value) ? value : "")) },
      { ...axis, size: 58, values: (plot, values) => values.map((value) => spec.format(value)) }],
    series: [{ label: spec.label || (spec.time ? "day" : "run"), value: spec.time ? "{YYYY}-{MM}-{DD}" : (plot, value) => value ?? "–" }, ...series],
    plugins: spec.marks?.length ? [markers(spec.marks)] : [],
    cursor: { drag: { x: false, y: false } },
    legend: { live: true },
  };
}

class Chart {
  constructor(place, spec) {
    this.place = place;
    this.spec = spec;
    this.plot = null;
    this.watcher = new ResizeObserver(() => this.fit());
    this.watcher.observe(place);
  }

  async draw() {
    const uPlot = await library();
    if (!this.place.isConnected || !this.place.clientWidth) return;
    this.plot?.destroy();
    this.plot = new uPlot(options(uPlot, this.spec, this.place.clientWidth), this.spec.data, this.place);
    this.place.querySelector("canvas").setAttribute("aria-hidden", "true");
    this.place.dataset.drawn = "yes";
  }

  fit() {
    if (!this.place.isConnected) return this.end();
    if (!this.plot) return void this.draw();
    const width = this.place.clientWidth;
    if (width && Math.abs(width - this.plot.width) > 1) this.plot.setSize({ width, height: this.spec.height || 220 });
  }

  end() {
    this.watcher.disconnect();
    this.plot?.destroy();
    drawn.delete(this);
  }
}

/* A chart with its title and, for those who cannot see it, its figures in words. */
export function chart(title, summary, spec) {
  const place = h("div", { class: "chart", role: "img", "aria-label": `${title}. ${summary}` });
  const one = new Chart(place, spec);
  drawn.add(one);
  return h("figure", { class: "card" },
    h("figcaption", {}, h("h3", {}, title), h("span", { class: "key" }, spec.marks?.length ? [h("i"), `${spec.marks.length} learning events`] : "")),
    place);
}

export function redraw() {
  for (const one of drawn) one.place.isConnected ? one.draw() : one.end();
}

export function endAll() {
  for (const one of drawn) one.end();
}
