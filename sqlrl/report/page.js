"use strict";
// The tables of a report, its theme and its charts. Every text of the data is written as text (`textContent`), never as HTML.
(async () => {
  if (!("DecompressionStream" in window)) {
    document.getElementById("trouble").hidden = false;
    return;
  }

  /** Unpack the text of an element: zlib in base64. */
  function unpack(id) {
    const text = atob(document.getElementById(id).textContent);
    const bytes = new Uint8Array(text.length);
    for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
    const stream = new DecompressionStream("deflate");
    const writer = stream.writable.getWriter();
    writer.write(bytes);
    writer.close();
    return new Response(stream.readable).text();
  }

  const parts = JSON.parse(await unpack("data"));
  const narrow = matchMedia("(max-width: 46rem)");
  const darkness = matchMedia("(prefers-color-scheme: dark)");
  const ROW = { wide: 36, narrow: 84 };
  const whole = new Intl.NumberFormat("en-US");

  /** Make an element with classes, a text, and children. */
  function make(tag, { name = "", text, children = [], ...attributes } = {}) {
    const element = document.createElement(tag);
    if (name) element.className = name;
    if (text !== undefined) element.textContent = text;
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    element.append(...children);
    return element;
  }

  /** Write a value: whole numbers in groups of three, others with six digits at most, nothing for null. */
  function shown(value) {
    if (value === null || value === undefined) return "";
    if (typeof value === "boolean") return String(value);
    if (typeof value !== "number") return value;
    return Number.isInteger(value) ? whole.format(value) : String(Number(value.toPrecision(6)));
  }

  // ---- tables ------------------------------------------------------------------------------------------

  let numbered = 0;

  /** A table of which only the rows in view are in the page; `pick(row)` is called when one is chosen. */
  class Grid {
    constructor(root, listing, { pick, label }) {
      this.listing = listing;
      this.pick = pick;
      this.id = `grid${numbered++}`;
      this.size = listing.rows.length ? listing.rows[0].length : 0;
      this.base = null;
      this.accepts = null;
      this.ranks = new Map();
      this.texts = null;
      this.key = listing.columns.findIndex((column) => column.key === listing.sort);
      this.descending = listing.descending;
      this.active = -1;
      this.pool = [];
      this.build(root, label);
      this.refresh();
    }

    build(root, label) {
      const { columns, things } = this.listing;
      const template = columns.map((column, place) => (place === 0 ? "minmax(0, 6fr)" : "minmax(5rem, 1fr)")).join(" ");
      this.template = template;
      this.input = make("input", { type: "search", placeholder: "filter", "aria-label": `Filter ${things}` });
      const hint = columns.find((column) => column.kind === "number");
      if (hint) this.input.title = `Words that a row has, -words that it has not, and comparisons such as ${hint.key}>1`;
      let due;
      this.input.addEventListener("input", () => {
        clearTimeout(due);
        due = setTimeout(() => this.refresh(), 120);
      });
      this.count = make("output", { "aria-live": "polite" });
      this.select = make("select", { "aria-label": `Sort ${things} by` });
      columns.forEach((column, place) => this.select.append(make("option", { value: place, text: column.label })));
      this.select.addEventListener("change", () => this.sort(Number(this.select.value), columns[Number(this.select.value)].kind !== "text"));
      this.turn = make("button", { type: "button" });
      this.turn.addEventListener("click", () => this.sort(this.key, !this.descending));
      const sorting = make("div", { name: "sorting", children: [make("span", { text: "sort by" }), this.select, this.turn] });
      this.tools = make("div", { name: "tools", children: [this.input, sorting, this.count] });
      const head = make("div", { name: "row head", role: "row" });
      head.style.gridTemplateColumns = template;
      this.heads = columns.map((column, place) => {
        const button = make("button", { type: "button", text: column.label, title: column.meaning });
        button.addEventListener("click", () => this.sort(place, this.key === place ? !this.descending : column.kind !== "text"));
        const cell = make("div", { name: `cell ${column.kind}`, role: "columnheader", children: [button] });
        head.append(cell);
        return cell;
      });
      this.body = make("div", { name: "body", role: "rowgroup" });
      this.grid = make("div", { name: "grid", role: "grid", tabindex: "0", "aria-label": `${label}: arrow keys move, Enter opens`, "aria-colcount": columns.length, children: [head, this.body] });
      this.head = head;
      let asked = false;
      this.grid.addEventListener("scroll", () => {
        if (asked) return;
        asked = true;
        requestAnimationFrame(() => {
          asked = false;
          this.draw();
        });
      });
      this.grid.addEventListener("keydown", (event) => {
        if (event.target === this.grid) this.press(event);
      });
      this.body.addEventListener("click", (event) => {
        const row = event.target.closest(".row");
        if (row) this.choose(Number(row.dataset.place));
      });
      narrow.addEventListener("change", () => this.draw());
      new ResizeObserver(() => this.draw()).observe(this.grid);
      root.append(this.tools, this.grid);
    }

    /** Show only some rows, by their numbers; null for all. */
    only(rows) {
      this.base = rows;
      this.refresh();
    }

    sort(place, descending) {
      this.key = place;
      this.descending = descending;
      this.refresh();
    }

    /** Return numbers by which the rows of a column are sorted, NaN for nothing. */
    rank(place) {
      if (this.ranks.has(place)) return this.ranks.get(place);
      const values = this.listing.rows[place];
      const ranks = new Float64Array(values.length).fill(NaN);
      if (this.listing.columns[place].kind === "text") {
        const order = [];
        for (let i = 0; i < values.length; i++) if (values[i] !== null) order.push(i);
        order.sort((a, b) => (values[a] < values[b] ? -1 : values[a] > values[b] ? 1 : 0));
        let rank = -1;
        order.forEach((i, k) => {
          if (k === 0 || values[order[k - 1]] !== values[i]) rank++;
          ranks[i] = rank;
        });
      } else {
        for (let i = 0; i < values.length; i++) if (values[i] !== null) ranks[i] = Number(values[i]);
      }
      this.ranks.set(place, ranks);
      return ranks;
    }

    /** Return a test of rows from the words of the filter. */
    test() {
      const { columns, rows } = this.listing;
      const tests = [];
      for (const word of this.input.value.trim().split(/\s+/).filter(Boolean)) {
        const compared = /^([A-Za-z_]+)(>=|<=|>|<|=)(-?[\d.]+(?:e-?\d+)?)$/.exec(word);
        const place = compared ? columns.findIndex((column) => column.key === compared[1] && column.kind === "number") : -1;
        if (place >= 0) {
          const values = this.rank(place);
          const bound = Number(compared[3]);
          const holds = { ">": (x) => x > bound, "<": (x) => x < bound, ">=": (x) => x >= bound, "<=": (x) => x <= bound, "=": (x) => x === bound };
          tests.push((row) => holds[compared[2]](values[row]));
          continue;
        }
        if (!this.texts) {
          const some = columns.map((column, k) => (column.kind === "text" ? k : -1)).filter((k) => k >= 0);
          this.texts = rows[0].map((_, row) => some.map((k) => rows[k][row] ?? "").join("\n").toLowerCase());
        }
        const texts = this.texts;
        const negated = word.length > 1 && word.startsWith("-");
        const wanted = (negated ? word.slice(1) : word).toLowerCase();
        tests.push((row) => texts[row].includes(wanted) !== negated);
      }
      if (this.accepts) tests.push(this.accepts);
      return tests.length ? (row) => tests.every((each) => each(row)) : null;
    }

    /** Filter and sort the rows again. */
    refresh() {
      const test = this.test();
      const rows = this.base ?? Array.from({ length: this.size }, (_, i) => i);
      const found = test ? rows.filter(test) : rows.slice();
      const ranks = this.rank(this.key);
      const sign = this.descending ? -1 : 1;
      found.sort((a, b) => {
        const x = ranks[a];
        const y = ranks[b];
        if (x === y) return a - b;
        if (x !== x) return y !== y ? a - b : 1;
        return y !== y ? -1 : sign * (x - y);
      });
      this.order = Uint32Array.from(found);
      this.active = -1;
      this.grid.removeAttribute("aria-activedescendant");
      this.grid.setAttribute("aria-rowcount", this.order.length + 1);
      const all = rows.length;
      this.count.textContent = found.length === all ? `${whole.format(all)} ${this.listing.things}` : `${whole.format(found.length)} of ${whole.format(all)} ${this.listing.things}`;
      this.heads.forEach((head, place) => {
        if (place === this.key) head.setAttribute("aria-sort", this.descending ? "descending" : "ascending");
        else head.removeAttribute("aria-sort");
      });
      this.select.value = this.key;
      this.turn.textContent = this.descending ? "↓ descending" : "↑ ascending";
      this.grid.scrollTop = 0;
      this.draw();
    }

    get height() {
      return narrow.matches ? ROW.narrow : ROW.wide;
    }

    /** The height that rows have below the head, which stays in view. */
    get room() {
      return this.grid.clientHeight - this.head.offsetHeight;
    }

    /** Put the rows in view into the page. */
    draw() {
      const { columns, rows } = this.listing;
      const height = this.height;
      this.body.style.height = `${this.order.length * height}px`;
      const first = Math.max(0, Math.floor(this.grid.scrollTop / height) - 2);
      const last = Math.min(this.order.length, Math.ceil((this.grid.scrollTop + this.room) / height) + 2);
      while (this.pool.length < last - first) {
        const cells = columns.map((column) => make("div", { role: "gridcell", children: [make("span", { name: "label", text: `${column.label} ` }), document.createTextNode("")] }));
        const row = make("div", { name: "row", role: "row", children: cells });
        row.style.gridTemplateColumns = this.template;
        this.pool.push(row);
        this.body.append(row);
      }
      this.pool.forEach((element, k) => {
        const place = first + k;
        element.hidden = place >= last;
        element.style.display = element.hidden ? "none" : "";
        if (element.hidden) return;
        const row = this.order[place];
        element.dataset.place = place;
        element.id = `${this.id}-${place}`;
        element.setAttribute("aria-rowindex", place + 2);
        element.classList.toggle("active", place === this.active);
        element.setAttribute("aria-selected", place === this.active);
        element.style.transform = `translateY(${place * height}px)`;
        columns.forEach((column, i) => {
          const cell = element.children[i];
          const value = shown(rows[i][row]);
          cell.lastChild.data = value;
          cell.title = column.kind === "text" ? value : "";
          const state = column.key === "outcome" ? (value === "right" ? " right" : " wrong") : "";
          cell.className = `cell ${column.kind}${column.narrow ? " narrow" : ""}${i === this.key ? " sorted" : ""}${state}`;
        });
      });
    }

    move(place) {
      const height = this.height;
      this.active = Math.min(Math.max(place, 0), this.order.length - 1);
      if (this.active < 0) return;
      const top = this.active * height;
      if (top < this.grid.scrollTop) this.grid.scrollTop = top;
      if (top + height > this.grid.scrollTop + this.room) this.grid.scrollTop = top + height - this.room;
      this.draw();
      this.grid.setAttribute("aria-activedescendant", `${this.id}-${this.active}`);
    }

    choose(place) {
      this.move(place);
      if (this.active >= 0) this.pick(this.order[this.active]);
    }

    press(event) {
      const page = Math.max(1, Math.floor(this.room / this.height) - 1);
      const moves = { ArrowDown: this.active + 1, ArrowUp: this.active - 1, PageDown: Math.max(this.active, 0) + page, PageUp: this.active - page, Home: 0, End: this.order.length - 1 };
      if (event.key in moves) this.move(moves[event.key]);
      else if ((event.key === "Enter" || event.key === " ") && this.active >= 0) this.pick(this.order[this.active]);
      else return;
      event.preventDefault();
    }
  }

  /** Return the values of a row by name. */
  function facts(listing, row) {
    const list = make("dl");
    listing.columns.forEach((column, k) => {
      const value = listing.rows[k][row];
      if (k === 0 || value === null) return;
      list.append(make("dt", { text: column.label, title: column.meaning }), make("dd", { text: shown(value) }));
    });
    return list;
  }

  function showListing(root, part) {
    const detail = make("div", { name: "detail", "aria-live": "polite" });
    const meanings = make("dl");
    for (const column of part.columns) meanings.append(make("dt", { text: column.kind === "number" ? `${column.label} [${column.key}]` : column.label }), make("dd", { text: column.meaning }));
    const words = make("p", { name: "hint", text: "The filter takes words that a row has, -words that it has not, and comparisons such as weight>1 or support>=10, by the names in brackets." });
    const grid = new Grid(root, part, {
      label: part.things,
      pick: (row) => detail.replaceChildren(make("h3", { text: part.rows[0][row] }), facts(part, row)),
    });
    root.append(detail, make("details", { name: "meanings", children: [make("summary", { text: "What the columns and the filter mean" }), meanings, words] }));
    return grid;
  }

  // ---- examples and atoms ------------------------------------------------------------------------------

  function showAtoms(root, part) {
    const names = part.atoms.columns.map((column) => column.key);
    const cell = (row, key) => part.atoms.rows[names.indexOf(key)][row];
    const detail = make("div", { name: "detail", "aria-live": "polite", tabindex: "-1" });
    const rowsOf = part.examples.rows[0].map(() => []);
    part.of.forEach((example, row) => rowsOf[example].push(row));
    const left = make("div");
    const right = make("div");
    const several = rowsOf.length > 1;
    const labelled = names.includes("label");
    const title = make("h3");
    right.append(title);
    const atoms = new Grid(right, part.atoms, { label: "atoms", pick: (row) => explain(row) });
    const choice = make("select", { "aria-label": "Which atoms" });
    for (const [value, text] of [["some", "wrong, or true"], ["wrong", "wrong"], ["all", "all"]]) choice.append(make("option", { value, text }));
    const accepts = {
      all: null,
      wrong: (row) => cell(row, "outcome") !== "right",
      some: (row) => cell(row, "outcome") !== "right" || cell(row, "label") || cell(row, "predicted"),
    };
    const apply = () => {
      atoms.accepts = labelled ? accepts[choice.value] : null;
      atoms.refresh();
    };
    choice.addEventListener("change", apply);
    if (labelled) atoms.tools.prepend(choice);
    const open = (example) => {
      title.textContent = several ? `Atoms of ${part.examples.rows[0][example]}` : "Atoms";
      detail.replaceChildren();
      atoms.base = rowsOf[example];
      apply();
    };
    if (several) {
      left.append(make("h3", { text: labelled ? "Examples, those with most wrong atoms first" : "Examples" }));
      const examples = new Grid(left, part.examples, { label: "examples", pick: open });
      root.append(make("div", { name: "pair", children: [left, right] }), detail);
      if (examples.order.length) {
        examples.move(0);
        open(examples.order[0]);
      }
    } else {
      root.append(right, detail);
      if (rowsOf.length) open(0);
    }
    const notes = new Map();
    part.notes.atom.forEach((row, k) => notes.set(row, [...(notes.get(row) ?? []), part.notes.text[k]]));

    function explain(row) {
      const value = cell(row, "predicted") ? "true" : "false";
      const children = [make("h3", { text: cell(row, "atom") })];
      const head = make("p");
      if (labelled) {
        head.append(`Predicted ${value}, labelled ${cell(row, "label") ? "true" : "false"}: `);
        head.append(make("span", { name: cell(row, "outcome") === "right" ? "right" : "wrong", text: cell(row, "outcome") }), ".");
      } else head.append(`Predicted ${value}; it was not compared with labels.`);
      children.push(head, facts(part.atoms, row));
      for (const note of notes.get(row) ?? []) children.push(make("p", { text: note }));
      if (part.missing) children.push(make("p", { text: part.missing }));
      else {
        const list = make("ul", { name: "reasons" });
        for (let k = part.start[row]; k < part.start[row + 1]; k++) {
          const clause = part.said.clause[k];
          const worth = part.said.worth[k];
          const change = Number(part.said.change[k]);
          const weight = part.clauses.weight[clause];
          const speaks = worth === null ? change > 0 : worth > 0;
          const amount = worth === null ? "hard" : `${worth > 0 ? "+" : ""}${shown(worth)}`;
          const how = `${speaks ? "for" : "against"} ${value}: ${weight === null ? "hard" : `weight ${shown(weight)}`}, ${whole.format(Math.abs(change))} ${Math.abs(change) === 1 ? "grounding" : "groundings"} ${change > 0 ? "hold" : "fail"}${Math.abs(change) === 1 ? "s" : ""} only as predicted`;
          list.append(make("li", { children: [make("span", { name: `worth ${speaks ? "right" : "wrong"}`, text: amount }), make("span", { name: "clause", text: part.clauses.text[clause] }), make("span", { name: "how", text: how })] }));
        }
        if (list.children.length) children.push(make("p", { name: "hint", text: `What each clause says for the predicted value, in log-odds, all other atoms being as predicted:` }), list);
        else children.push(make("p", { text: "No clause says anything about this atom alone, the others being as predicted." }));
      }
      detail.replaceChildren(...children);
      detail.scrollIntoView({ block: "nearest" });
    }
  }

  // ---- theme and charts --------------------------------------------------------------------------------

  const html = document.documentElement;
  const button = document.getElementById("theme");
  const isDark = () => (html.dataset.theme ? html.dataset.theme === "dark" : darkness.matches);
  const drawn = new Map();

  function configuration() {
    const style = getComputedStyle(html);
    const [ink, line] = ["--ink", "--line"].map((name) => style.getPropertyValue(name).trim());
    return {
      background: "transparent",
      font: "system-ui, sans-serif",
      view: { stroke: line },
      axis: { labelColor: ink, titleColor: ink, gridColor: line, domainColor: line, tickColor: line, labelFontSize: 12, titleFontSize: 12 },
      legend: { labelColor: ink, titleColor: ink, labelFontSize: 12 },
      text: { color: ink },
    };
  }

  async function draw(element) {
    const before = drawn.get(element);
    drawn.set(element, null);
    if (before) before.finalize();
    const spec = parts[Number(element.dataset.part)].spec;
    drawn.set(element, await window.vegaEmbed(element, spec, { actions: false, ast: true, renderer: "svg", config: configuration(), tooltip: { theme: isDark() ? "dark" : "light" } }));
  }

  function retheme() {
    button.textContent = isDark() ? "Light" : "Dark";
    button.setAttribute("aria-label", isDark() ? "Show in light colours" : "Show in dark colours");
    for (const element of drawn.keys()) draw(element);
  }

  button.hidden = false;
  button.addEventListener("click", () => {
    html.dataset.theme = isDark() ? "light" : "dark";
    retheme();
  });
  darkness.addEventListener("change", retheme);

  for (const root of document.querySelectorAll("div[data-part]:not(.chart)")) {
    const part = parts[Number(root.dataset.part)];
    (part.kind === "listing" ? showListing : showAtoms)(root, part);
  }
  retheme();
  html.dataset.tables = "ready";

  // Vega is read once the tables are there to work with: that holds the page up for as long as all the rest does.
  await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  if (!document.querySelector(".chart")) {
    html.dataset.charts = "ready";
    return;
  }
  window.addEventListener("vega", async () => {
    // Charts in view come first, the others one by one while nothing else is to do: who prints the page, or searches it, has not scrolled.
    const waiting = new Set(document.querySelectorAll(".chart"));
    const show = async (element) => {
      if (!waiting.delete(element)) return;
      seen.unobserve(element);
      await draw(element);
    };
    const seen = new IntersectionObserver((entries) => {
      for (const entry of entries) if (entry.isIntersecting) show(entry.target);
    }, { rootMargin: "200px" });
    waiting.forEach((element) => seen.observe(element));
    window.addEventListener("beforeprint", () => waiting.forEach(show));
    html.dataset.charts = "ready";
    const idle = window.requestIdleCallback || ((call) => setTimeout(call, 50));
    for (const element of [...waiting]) {
      await new Promise((done) => idle(done));
      await show(element);
    }
  });
  document.body.append(make("script", { type: "module", text: await unpack("vega") }));
})();
