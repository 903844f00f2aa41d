'use strict';
// The page is whole without this: a row is a link, and the browser finds texts in folds. This adds keys and a search
// field that counts its hits.
const rows = [...document.querySelectorAll('nav a')];
const sections = [...document.querySelectorAll('section')];
const field = document.querySelector('input');
const told = document.querySelector('output');
const reveal = element => {
  for (let at = element; at; at = at.parentElement) if (at.localName === 'details') at.open = true;
};
const order = new Map(sections.map((section, at) => [section, at]));
const row = new Map(rows.map(a => [a.hash.slice(1), a]));
let here = null;
// rowOf is the row of a section: that of a call may be the row of its result, which is the next one.
const rowOf = section => section && (row.get(section.id) ?? row.get(sections[order.get(section) + 1]?.id));
const mark = section => {
  rowOf(here)?.removeAttribute('aria-current');
  here = section;
  const a = rowOf(section);
  a?.setAttribute('aria-current', 'true');
  if (a && getComputedStyle(a.closest('nav')).overflowY === 'auto') {
    const nav = a.closest('nav');
    const at = a.getBoundingClientRect(), box = nav.getBoundingClientRect();
    if (at.top < box.top || at.bottom > box.bottom) nav.scrollTop += at.top - box.top - box.height / 2;
  }
};
const show = section => {
  if (!section) return;
  reveal(section);
  section.scrollIntoView({block: 'start'});
  history.replaceState(null, '', '#' + section.id);
  mark(section);
};
const step = (by, fits) => {
  let at = (here ? order.get(here) : -1) + by;
  while (at >= 0 && at < sections.length && !fits(sections[at])) at += by;
  show(sections[at]);
};
const open = section => !section.closest('details:not([open])') || section.parentElement.localName !== 'details';
const branches = new Set([...document.querySelectorAll('details.left')].map(d => d.querySelector('section')));

// texts are the texts of the talk once something is searched, in small letters and each line break as a space: of a
// paragraph, a cell or a piece of code, whose words may be in several nodes.
const most = 5000;
const block = 'p,li,pre,h1,h2,h3,h4,h5,h6,td,th,summary,div,article,section,blockquote';
const fold = text => text.toLowerCase().replace(/\s/g, ' ');
let hits = [], hit = -1, words = '', texts = null;
const readTexts = () => {
  const walk = document.createTreeWalker(document.getElementById('talk'), NodeFilter.SHOW_TEXT), list = [];
  let last = null, pieces = [];
  const end = () => {
    if (pieces.length) list.push({pieces, low: pieces.map(piece => piece.low).join('')});
  };
  while (walk.nextNode()) {
    const node = walk.currentNode, around = node.parentElement.closest(block);
    if (around !== last) {
      end();
      last = around;
      pieces = [];
    }
    const before = pieces.at(-1);
    pieces.push({node, low: fold(node.data), at: before ? before.at + before.low.length : 0});
  }
  end();
  return list;
};
// place is where a letter of a text is; the last letter of a node is before the first of the next one.
const place = (pieces, at) => {
  const piece = pieces.find(piece => at <= piece.at + piece.low.length);
  return [piece.node, Math.min(at - piece.at, piece.node.length)];
};
const find = text => {
  words = fold(text);
  hits = [];
  hit = -1;
  CSS.highlights?.clear();
  if (!words) {
    told.value = '';
    return;
  }
  texts ??= readTexts();
  for (const {pieces, low} of texts) {
    for (let at = low.indexOf(words); at >= 0 && hits.length < most; at = low.indexOf(words, at + words.length)) {
      const [startContainer, startOffset] = place(pieces, at), [endContainer, endOffset] = place(pieces, at + words.length);
      hits.push(new StaticRange({startContainer, startOffset, endContainer, endOffset}));
    }
    if (hits.length === most) break;
  }
  if (globalThis.Highlight) CSS.highlights.set('hits', new Highlight(...hits));
  told.value = hits.length === most ? 'more than ' + most + ' hits' : hits.length ? hits.length + ' hits' : 'nothing';
};
const turn = by => {
  if (!hits.length) return;
  hit = (hit + by + hits.length) % hits.length;
  const at = hits[hit].startContainer.parentElement;
  reveal(at);
  at.scrollIntoView({block: 'center'});
  if (globalThis.Highlight) CSS.highlights.set('hit', new Highlight(hits[hit]));
  mark(at.closest('section'));
  told.value = (hit + 1) + ' of ' + hits.length;
};
field.addEventListener('input', () => find(field.value));
document.querySelector('form').addEventListener('submit', event => {
  event.preventDefault();
  if (fold(field.value) !== words) find(field.value);
  turn(1);
});
addEventListener('click', event => {
  const hash = event.target.closest('nav a, h2 a')?.hash;
  if (!hash || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  show(document.getElementById(hash.slice(1)));
});
const button = document.querySelector('button');
const unfold = () => {
  const folds = [...document.querySelectorAll('#talk details')], all = folds.every(d => d.open);
  for (const fold of folds) fold.open = !all;
  button.textContent = (all ? 'open' : 'close') + ' all (o)';
  here?.scrollIntoView({block: 'start'});
};
button.hidden = false;
button.addEventListener('click', unfold);
addEventListener('hashchange', () => show(document.getElementById(location.hash.slice(1))));
addEventListener('keydown', event => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target === field) {
    if (event.key === 'Escape') field.blur();
    return;
  }
  switch (event.key) {
    case 'j': step(1, open); break;
    case 'k': step(-1, open); break;
    case ')': step(1, s => s.classList.contains('prompt') && open(s)); break;
    case '(': step(-1, s => s.classList.contains('prompt') && open(s)); break;
    case '}': step(1, s => branches.has(s)); break;
    case '{': step(-1, s => branches.has(s)); break;
    case 'g': show(sections[0]); break;
    case 'G': show(sections.at(-1)); break;
    case '@': show(document.getElementById(document.querySelector('nav .head')?.hash.slice(1))); break;
    case '/': field.focus(); field.select(); break;
    case 'o': unfold(); break;
    case 'n': turn(1); break;
    case 'N': turn(-1); break;
    default: return;
  }
  event.preventDefault();
});
let closed = [];
addEventListener('beforeprint', () => {
  closed = [...document.querySelectorAll('details:not([open])')];
  for (const fold of closed) fold.open = true;
});
addEventListener('afterprint', () => {
  for (const fold of closed) fold.open = false;
});
const query = new URLSearchParams(location.search).get('q');
if (query) {
  field.value = query;
  find(query);
  turn(1);
} else if (location.hash) {
  show(document.getElementById(location.hash.slice(1)));
}
