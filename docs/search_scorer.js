// The order of what the search finds: pages with the words in their titles, then what is to be done.
const asked = (new URLSearchParams(window.location.search).get("q") || "").toLowerCase().match(/\w+/g) || [];
const KINDS = { "how-to": 4, tutorial: 3, explanation: 2, reference: 1 };
const GENERATED = ["reference/all-resources", "reference/commands"];

var Scorer = {
  score: ([page, title, , , score]) => {
    // The sections of references are named after calls and settings.
    const told = page.startsWith("reference/") ? title.split(" > ")[0] : title;
    const words = told.toLowerCase().match(/\w+/g) || [];
    const named = asked.filter((each) => words.includes(each)).length;
    const kind = GENERATED.includes(page) ? -10 : KINDS[page.split("/")[0]] || 0;
    return score + kind + (named ? (20 * named) / asked.length : 0);
  },
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
