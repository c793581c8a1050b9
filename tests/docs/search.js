// Asks the search of a built documentation: its own scripts, without a browser.
// node search.js DIRECTORY QUERY...   prints, for each query, the pages in the order of the results.
const fs = require("fs");
const path = require("path");
const vm = require("vm");

const [directory, ...queries] = process.argv.slice(2);
const scripts = ["_static/searchtools.js", "_static/language_data.js", "searchindex.js"];

function results(query) {
  const element = { removeChild() {}, lastChild: null };
  const found = {
    document: { getElementById: () => element, addEventListener() {} },
    location: { search: `?q=${encodeURIComponent(query)}` },
    URLSearchParams,
    SPHINX_HIGHLIGHT_ENABLED: false,
    _ready() {},
    query,
  };
  found.window = found;
  vm.createContext(found);
  for (const name of scripts)
    vm.runInContext(fs.readFileSync(path.join(directory, name), "utf8"), found);
  const rows = vm.runInContext("Search._performSearch(...Search._parseQuery(query))", found);
  // The last is shown first.
  return rows.map(([page, , anchor]) => page + (anchor || "")).reverse();
}

console.log(JSON.stringify(queries.map(results)));
