/* SPDX-License-Identifier: MIT */
/*
 * Draws the page from the data that stand in it. Text from a target goes into text nodes only, so
 * nothing of it can become markup. A chart is drawn when its section is opened, since a suite has
 * hundreds of them; the body counts charts that were wanted and drawn, and errors.
 *
 *   data: { title, version, seed, wall_s, cases: [...], comparisons: [...], sweeps: [...] }
 *   case: verdict.json of a run, and rss, lazyfree: [[ms, MiB]...], faults: [[ms, rule, call,
 *         result]...], latency: { call or call.window: [[share, ns]...] }
 */
"use strict";
(function () {
	const data = JSON.parse(document.getElementById("data").textContent);
	const body = document.body;
	const colors = ["#33658a", "#c8553d", "#2a9d8f", "#9b5de5", "#e09f3e", "#6c757d"];

	body.dataset.wanted = body.dataset.drawn = body.dataset.errors = 0;
	window.addEventListener("error", () => body.dataset.errors++);

	/* make("td", "number", "3") or make("p", "", child, child) */
	function make(tag, style, ...children) {
		const node = document.createElement(tag);

		if (style)
			node.className = style;
		for (const child of children)
			node.append(child instanceof Node ? child : String(child));
		return node;
	}

	function table(heads, rows) {
		const head = make("tr", "", ...heads.map((text) => make("th", "", text)));

		return make("div", "scroll", make("table", "", make("thead", "", head),
						  make("tbody", "", ...rows)));
	}

	/* ---- values ---- */

	const steps = {
		bytes: [[2 ** 30, " GiB"], [2 ** 20, " MiB"], [2 ** 10, " KiB"], [1, " B"]],
		ns: [[1e9, " s"], [1e6, " ms"], [1e3, " us"], [1, " ns"]],
	};

	function digits(value) {
		return Math.abs(value) >= 9999.5 ? value.toFixed(0) : String(+value.toPrecision(4));
	}

	function show(value, unit) {
		if (value === null || value === undefined)
			return "";
		if (unit === "share")
			return digits(100 * value) + " %";
		if (unit === "per_second")
			return digits(value) + "/s";
		if (unit === "bytes_per_second")
			return show(value, "bytes") + "/s";
		for (const [size, suffix] of steps[unit] || [])
			if (Math.abs(value) >= size || size === 1)
				return digits(value / size) + suffix;
		return digits(value);
	}

	/* A metric of verdict.json has its unit in the name of its value. */
	function showMetric(metric) {
		const key = Object.keys(metric).find((name) => name.startsWith("value_"));

		return show(metric[key], key.slice("value_".length));
	}

	function percent(share) {
		if (share === null || share === undefined)
			return "";
		return (share >= 0 ? "+" : "") + digits(100 * share) + " %";
	}

	/* ---- charts ---- */

	function style(name) {
		return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
	}

	function axis(title, more) {
		return Object.assign({
			title: { display: true, text: title, color: style("--soft") },
			ticks: { color: style("--soft"), maxTicksLimit: 8 },
			grid: { color: style("--line") },
		}, more);
	}

	function line(label, points, index, more) {
		return Object.assign({
			label, data: points.map(([x, y]) => ({ x, y })), showLine: true, pointRadius: 0,
			borderWidth: 1.5, borderColor: colors[index % colors.length],
			backgroundColor: colors[index % colors.length] + "40",
		}, more);
	}

	function chart(title, datasets, x, y, tooltip) {
		const canvas = make("canvas", "");
		const box = make("div", "chart", canvas);

		body.dataset.wanted++;
		canvas.setAttribute("role", "img");
		canvas.setAttribute("aria-label", title);
		if (typeof Chart === "undefined") {
			box.append(make("p", "soft", "no charts: built without Chart.js"));
			return box;
		}
		const options = {
			animation: { duration: 0, onComplete: once(() => { body.dataset.drawn -= -hasInk(canvas, datasets); }) },
			maintainAspectRatio: false, parsing: false, normalized: true,
			interaction: { mode: "nearest", intersect: false },
			scales: { x, y },
			plugins: {
				title: { display: true, text: title, color: style("--ink") },
				legend: { labels: { color: style("--ink"), boxWidth: 14 } },
				tooltip: { callbacks: tooltip || {} },
			},
		};

		/* In the document first: a chart takes its size from there. */
		requestAnimationFrame(() => new Chart(canvas, { type: "scatter", data: { datasets }, options }));
		return box;
	}

	/* Something to draw, and something that was drawn. */
	function hasInk(canvas, datasets) {
		const pixels = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;

		return datasets.some((set) => set.data.length) && pixels.some((value) => value);
	}

	function once(action) {
		let done = false;

		return () => {
			if (!done)
				action();
			done = true;
		};
	}

	/* What a limit was set to, in MiB: measures of injectors that are called so. */
	function limitOf(run) {
		const metric = (run.metrics || []).find(
			(one) => /^inject\..*\.limit$/.test(one.name) && one.value_bytes !== undefined);

		return metric ? metric.value_bytes / 2 ** 20 : null;
	}

	function memoryChart(run) {
		const end = run.rss[run.rss.length - 1][0];
		const top = Math.max(...run.rss.map(([, mib]) => mib));
		const sets = [line("resident", run.rss, 0, { fill: true })];
		const limit = limitOf(run);
		const faults = (run.faults || []).filter(([ms]) => ms <= end);

		if (run.lazyfree)
			sets.push(line("of it LazyFree", run.lazyfree, 2, { fill: true }));
		if (limit !== null)
			sets.push(line("limit", [[0, limit], [end, limit]], 1, { borderDash: [6, 4] }));
		if (faults.length)
			sets.push({
				label: "faults", pointRadius: 3, pointStyle: "triangle",
				backgroundColor: colors[1], borderColor: colors[1],
				data: faults.map(([ms, ...what]) => ({ x: ms, y: top * 1.04, what })),
			});
		return chart("resident memory", sets, axis("ms", { type: "linear", min: 0 }),
			axis("MiB", { type: "linear", min: 0 }), {
			label: (item) => item.raw.what
				? `${item.raw.what.join(" ")} at ${digits(item.raw.x)} ms`
				: `${item.dataset.label}: ${digits(item.raw.y)} MiB at ${digits(item.raw.x)} ms`,
		});
	}

	/* Nines on the axis: 0.9 at 1, 0.99 at 2, 0.999 at 3. */
	function nines(share) {
		return -Math.log10(1 - share);
	}

	/* Both curves of a call that is shown apart have its colour; that of faults is dashed. */
	function latencyChart(curves, title) {
		const calls = [...new Set(Object.keys(curves).map((name) => name.split(".")[0]))];
		const sets = Object.entries(curves).map(([name, points]) => line(name,
			points.filter(([share, ns]) => share < 1 && ns > 0).map(([share, ns]) => [nines(share), ns]),
			calls.indexOf(name.split(".")[0]), /\.faulted$/.test(name) ? { borderDash: [5, 3] } : {}));

		return chart(title, sets,
			axis("share of calls", { type: "linear", min: 0, ticks: {
				color: style("--soft"), stepSize: 1,
				callback: (at) => at === 0 ? "0" : `${+(100 * (1 - 10 ** -at)).toFixed(6)} %`,
			} }),
			axis("at most", { type: "logarithmic", ticks: {
				color: style("--soft"), callback: (ns) => /^1/.test(String(ns)) ? show(ns, "ns") : "",
			} }), {
			label: (item) => `${item.dataset.label}: ${show(item.raw.y, "ns")} for ` +
				`${+(100 * (1 - 10 ** -item.raw.x)).toPrecision(7)} %`,
		});
	}

	/* ---- cases ---- */

	function nameOf(run) {
		return `${run.scenario} on ${run.allocator}${run.allocator_version ? " " + run.allocator_version : ""}`;
	}

	function findings(run) {
		return (run.findings || []).map((one) => {
			const times = one.count > 1 ? ` (${one.count} times)` : "";
			const box = make("div", "", make("p", one.kind === "gap" ? "open" : "broken",
				`${one.checker}: ${one.text}${times}`));

			if (one.evidence)
				box.append(make("pre", "", one.evidence));
			return box;
		});
	}

	function fillCase(run, box) {
		const charts = make("div", "charts");

		box.append(make("p", "", run.question || ""));
		if (run.reason)
			box.append(make("p", "soft", run.reason));
		box.append(...findings(run));
		for (const rule of run.rules || [])
			box.append(make("p", "soft", `rule ${rule.name}: ${rule.fired} faults in ${rule.eligible} ` +
				`eligible calls, of ${rule.seen} seen`));
		if (run.rss)
			charts.append(memoryChart(run));
		if (run.latency) {
			const curves = Object.entries(run.latency);
			const apart = curves.filter(([name]) => name.includes("."));

			charts.append(latencyChart(Object.fromEntries(curves.filter(([name]) => !name.includes("."))),
				"latency"));
			if (apart.length)
				charts.append(latencyChart(Object.fromEntries(apart),
					"latency in the wake of faults, and outside"));
		}
		box.append(charts);
		if ((run.metrics || []).length)
			box.append(table(["metric", "value"], run.metrics.map((metric) => make("tr", "",
				make("td", "", metric.name), make("td", "number", showMetric(metric))))));
		if (run.repro)
			box.append(make("h3", "", "Reproduce"), make("pre", "", run.repro));
	}

	/* A section whose content is made when it is opened for the first time. */
	function section(title, id, open, fill) {
		const box = make("div", "");
		const node = make("details", "", make("summary", "", ...title), box);
		const fillOnce = once(() => fill(box));

		node.id = id;
		node.addEventListener("toggle", () => node.open && fillOnce());
		node.open = open;
		return node;
	}

	function caseSection(run, index, open) {
		return section([make("span", "verdict " + run.verdict, run.verdict), ` ${nameOf(run)}, seed ${run.seed}`],
			"case" + index, open, (box) => fillCase(run, box));
	}

	const severity = ["PASS", "XFAIL", "SKIP", "INCONCLUSIVE", "XPASS", "FAIL", "ERROR"];

	/* One row a scenario, one column an allocator; of several seeds the worst counts. */
	function matrix(cases) {
		const allocators = [...new Set(cases.map((run) => run.allocator))];
		const rows = new Map();

		cases.forEach((run, index) => {
			const row = rows.get(run.scenario) || { question: run.question, cells: {} };
			const old = row.cells[run.allocator];

			if (!old || severity.indexOf(run.verdict) > severity.indexOf(old.verdict))
				row.cells[run.allocator] = { verdict: run.verdict, index };
			rows.set(run.scenario, row);
		});
		return table(["scenario", ...allocators, "question"], [...rows].map(([name, row]) => make("tr", "",
			make("td", "", name), ...allocators.map((allocator) => cell(row.cells[allocator])),
			make("td", "soft", row.question || ""))));
	}

	function cell(one) {
		if (!one)
			return make("td", "");
		const link = make("a", "", one.verdict);

		link.href = "#case" + one.index;
		link.addEventListener("click", () => { document.getElementById("case" + one.index).open = true; });
		return make("td", "verdict " + one.verdict, link);
	}

	function showCases(page, cases) {
		const bad = (run) => severity.indexOf(run.verdict) >= severity.indexOf("INCONCLUSIVE");
		const few = cases.length <= 6;

		page.append(make("h2", "", "Scenarios and allocators"), matrix(cases), make("h2", "", "Runs"));
		cases.map((run, index) => ({ run, index }))
			.sort((a, b) => bad(b.run) - bad(a.run) || a.index - b.index)
			.forEach(({ run, index }, place) =>
				page.append(caseSection(run, index, few || (bad(run) && place < 6))));
	}

	/* ---- comparisons ---- */

	function seriesRow(one) {
		return make("tr", "", make("td", "", one.metric), make("td", "number", show(one.location_a, one.unit)),
			make("td", "number", show(one.location_b, one.unit)), make("td", "number", percent(one.change)),
			make("td", "number", `${percent(one.low)} to ${percent(one.high)}`),
			make("td", "number", one.p === null ? "" : one.p.toFixed(4)),
			make("td", "number", one.q === null ? "" : one.q.toFixed(4)), make("td", one.verdict, one.verdict));
	}

	/* Curves that rise from 0 to 1 over sorted values. */
	function cumulative(values) {
		return values.map((value, index) => [100 * value, (index + 1) / values.length]);
	}

	function spread(values) {
		const sorted = [...values].sort((a, b) => a - b);
		const middle = sorted[sorted.length >> 1];

		return middle ? (sorted[sorted.length - 1] - sorted[0]) / Math.abs(middle) : 0;
	}

	function partCharts(series) {
		const byMetric = new Map();

		for (const one of series.filter((one) => one.part))
			byMetric.set(one.metric, [...(byMetric.get(one.metric) || []), one]);
		const finite = [...byMetric].filter(([, list]) => list.length > 2);
		const sets = (of) => finite.map(([metric, list], index) => line(metric,
			cumulative(list.map(of).filter((value) => value !== null).sort((a, b) => a - b)), index,
			{ stepped: true }));

		if (!finite.length)
			return [];
		return [chart("changes of all queries, cumulative", sets((one) => one.change),
			axis("change, %", { type: "linear" }), axis("share of queries", { type: "linear", min: 0, max: 1 })),
		chart("stability: spread of each query's runs on side A", sets((one) => spread(one.a)),
			axis("(largest - smallest) / median, %", { type: "linear", min: 0 }),
			axis("share of queries", { type: "linear", min: 0, max: 1 }))];
	}

	function sidesChart(sides) {
		const sets = sides.filter((side) => side && side.rss).map((side, index) =>
			line(index ? "B" : "A", side.rss, index));

		return sets.length < 2 ? [] : [chart("resident memory of both sides", sets,
			axis("ms", { type: "linear", min: 0 }), axis("MiB", { type: "linear", min: 0 }))];
	}

	/* Sides beside the two, each against A. */
	function besideTable(one, whole) {
		const rooms = /^(cpu|faults|hardware|perf|switches|syscalls|time|rss)\./;
		const sides = one.beside.map((side) => new Map(side.series.map((series) => [series.metric, series])));
		const cell = (series) => make("td", "number" + (series && /lower|higher/.test(series.verdict) ? " higher" : ""),
			series ? `${show(series.location_b, series.unit)} (${percent(series.change)})` : "");

		return table(["beside them", "A", "B", ...one.beside.map((side) => side.name)],
			whole.filter((series) => rooms.test(series.metric)).map((series) => make("tr", "",
				make("td", "", series.metric), make("td", "number", show(series.location_a, series.unit)),
				make("td", "number", show(series.location_b, series.unit)),
				...sides.map((side) => cell(side.get(series.metric))))));
	}

	function fillComparison(one, box) {
		const whole = one.series.filter((series) => !series.part);
		const charts = make("div", "charts");

		box.append(make("p", "", `A: ${one.a}`), make("p", "", `B: ${one.b}`));
		for (const claim of one.claims || [])
			box.append(make("p", claim.verdict, `${claim.verdict}: ${claim.claim}: ${claim.measured}`));
		if ((one.published || []).length)
			box.append(table(["", "published", "measured"], one.published.map((row) => make("tr", "",
				make("td", "", row.metric), make("td", "number", row.published),
				make("td", "number", row.measured === null ? "not seen" : percent(row.measured))))),
				make("p", "soft", `published: ${one.source}`));
		charts.append(...sidesChart(one.sides || []), ...partCharts(one.series));
		box.append(charts, table(["metric", "A", "B", "change", "95 % interval", "p", "q", ""], whole.map(seriesRow)));
		if ((one.beside || []).length)
			box.append(besideTable(one, whole), make("p", "soft", "changes are against A; bold: a change that is no chance"),
				...one.beside.filter((side) => side.trouble).map((side) =>
					make("p", "broken", `${side.name} has no figures: ${side.trouble}`)));
	}

	function showComparisons(page, comparisons) {
		page.append(make("h2", "", "Comparisons"));
		comparisons.forEach((one, index) => page.append(section([`${one.scenario}: A against B, ${one.pairs} pairs`],
			"comparison" + index, true, (box) => fillComparison(one, box))));
	}

	/* ---- sweeps ---- */

	const unitOf = (metric) => /^(latency|time|cpu)\./.test(metric) && !/migrations|count/.test(metric) ? "ns"
		: /^(rss|mapped|space|stats)\./.test(metric) ? "bytes" : "count";

	function sweepChart(sweep, x, y) {
		const place = (point) => ({ x: point.metrics[x].median, y: point.metrics[y].median, name: point.settings });
		const sets = [true, false].map((best, index) => ({
			label: best ? "on the frontier" : "others", pointRadius: best ? 6 : 4,
			backgroundColor: colors[index ? 5 : 0],
			data: sweep.points.filter((point) => point.frontier === best && !point.failed).map(place),
		}));
		const scale = (metric) => axis(metric, { type: "linear", ticks: { color: style("--soft"), maxTicksLimit: 6,
			callback: (value) => show(value, unitOf(metric)) } });

		return chart(`${y} against ${x}`, sets, scale(x), scale(y), {
			label: (item) => `${item.raw.name}: ${show(item.raw.x, unitOf(x))}, ${show(item.raw.y, unitOf(y))}`,
		});
	}

	function fillSweep(sweep, box) {
		const charts = make("div", "charts");

		for (let i = 1; i < sweep.metrics.length; i++)
			charts.append(sweepChart(sweep, sweep.metrics[0], sweep.metrics[i]));
		box.append(charts, table(["", "settings", ...sweep.metrics], sweep.points.map((point) => make("tr", "",
			make("td", "verdict", point.frontier ? "*" : ""), make("td", "", point.settings),
			...sweep.metrics.map((metric) => make("td", "number", show(point.metrics[metric].median, unitOf(metric)))),
			make("td", "broken", point.failed)))));
	}

	function showSweeps(page, sweeps) {
		page.append(make("h2", "", "Settings"));
		sweeps.forEach((one, index) => page.append(section([`${one.scenario}: ${one.points.length} combinations`],
			"sweep" + index, true, (box) => fillSweep(one, box))));
	}

	/* ---- the page ---- */

	function summary() {
		const cases = data.cases || [];
		const counts = severity.map((verdict) => [verdict, cases.filter((run) => run.verdict === verdict).length])
			.filter(([, count]) => count).map(([verdict, count]) => `${count} ${verdict.toLowerCase()}`);

		return [data.version && `heapquake ${data.version}`, data.seed && `seed ${data.seed}`,
			data.wall_s && `${data.wall_s.toFixed(1)} s`, counts.join(", ")].filter(Boolean).join(" · ");
	}

	const page = document.getElementById("page");

	if (data.title)
		document.title = data.title;
	page.append(make("h1", "", data.title || "heapquake"), make("p", "soft", summary()));
	if ((data.comparisons || []).length)
		showComparisons(page, data.comparisons);
	if ((data.sweeps || []).length)
		showSweeps(page, data.sweeps);
	if ((data.cases || []).length)
		showCases(page, data.cases);
	body.dataset.ready = "yes";
})();
