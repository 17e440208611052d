
"use strict";
(() => {
  const box = document.getElementById("filter");
  const shown = document.getElementById("shown");
  const none = document.querySelector(".none");
  const files = [...document.querySelectorAll(".file")].map((section) => ({
    section,
    cards: [...section.querySelectorAll(".finding")].map((card) => ({
      card,
      text: card.textContent.toLowerCase(),
      link: document.querySelectorAll(`.rule a[href="#${card.id}"]`),
    })),
    row: document.querySelector(`.files a[href="#${section.id}"]`).parentElement,
  }));
  const rules = [...document.querySelectorAll(".rule")];
  const total = files.reduce((sum, file) => sum + file.cards.length, 0);

  const apply = () => {
    const words = box.value.toLowerCase().split(/\s+/).filter(Boolean);
    let left = 0;
    for (const { section, cards, row } of files) {
      let here = 0;
      for (const { card, text, link } of cards) {
        const fits = words.every((word) => text.includes(word));
        card.hidden = !fits;
        for (const one of link) one.parentElement.hidden = !fits;
        here += fits;
      }
      section.hidden = row.hidden = here === 0;
      for (const place of [section, row]) place.querySelector(".count").textContent = here;
      left += here;
    }
    for (const rule of rules) {
      const here = rule.querySelectorAll("li:not([hidden])").length;
      rule.hidden = here === 0;
      rule.querySelector(".count").textContent = here;
    }
    none.hidden = left > 0;
    shown.textContent = words.length ? `${left} of ${total}` : "";
  };

  box.addEventListener("input", apply);
  document.addEventListener("keydown", (event) => {
    if (event.key === "/" && document.activeElement !== box) {
      event.preventDefault();
      box.focus();
      box.select();
    } else if (event.key === "Escape" && document.activeElement === box) {
      box.value = "";
      apply();
    }
  });
  // words in the address make a link to what was filtered
  const given = new URLSearchParams(location.search).get("q");
  box.closest("[hidden]").hidden = false;
  if (given) box.value = given;
  apply();
})();
