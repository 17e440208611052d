// A box above every table in a `.filter`: rows that do not hold all its words are hidden.
for (const around of document.querySelectorAll(".filter")) {
  const rows = [...around.querySelectorAll("tbody tr")];
  const box = document.createElement("input");
  box.type = "search";
  box.placeholder = "Filter, by words";
  box.setAttribute("aria-label", "Filter the table");
  const count = document.createElement("output");
  const show = () => {
    const words = box.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const row of rows) {
      const text = row.textContent.toLowerCase();
      row.hidden = !words.every((word) => text.includes(word));
      shown += row.hidden ? 0 : 1;
    }
    count.textContent = `${shown} of ${rows.length}`;
  };
  box.addEventListener("input", show);
  const bar = document.createElement("div");
  bar.className = "filter-bar";
  bar.append(box, count);
  around.prepend(bar);
  show();
}
