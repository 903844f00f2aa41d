'use strict';
// The page is whole without this: a row is a link to its snapshot. This marks the row that
// is shown, and lets keys go from row to row.
const rows = [...document.querySelectorAll('nav a')];
const shown = () => rows.findIndex(row => row.hash === (location.hash || document.body.dataset.first));
const mark = () => {
  rows.forEach(row => row.removeAttribute('aria-current'));
  const row = rows[shown()];
  if (row) {
    row.setAttribute('aria-current', 'true');
    row.scrollIntoView({block: 'nearest'});
  }
};
const go = at => {
  rows[Math.max(0, Math.min(rows.length - 1, at))]?.click();
  mark();
};
addEventListener('hashchange', () => {
  mark();
  document.getElementById('shown').scrollTop = 0;
});
addEventListener('keydown', event => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  switch (event.key) {
    case 'j': go(shown() + 1); break;
    case 'k': go(shown() - 1); break;
    case 'g': go(0); break;
    case 'G': go(rows.length - 1); break;
    case '@': go(rows.findIndex(row => row.classList.contains('head'))); break;
    default: return;
  }
  event.preventDefault();
});
mark();
