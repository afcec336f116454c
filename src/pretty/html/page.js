// Search, keys, views and colours. But for packed answers, the page is complete without it.
(() => {
  'use strict';
  const $ = (s, of = document) => of.querySelector(s);
  const $$ = (s, of = document) => [...of.querySelectorAll(s)];
  const root = document.documentElement;
  const main = $('#main'), tools = $('#tools');
  const make = (name, props = {}, ...children) => {
    const e = Object.assign(document.createElement(name), props);
    e.append(...children);
    return e;
  };
  // Storage throws in a file if the reader forbids it.
  const stored = (key, value) => {
    try {
      if (value === undefined) return localStorage.getItem('shiftlog-' + key);
      localStorage.setItem('shiftlog-' + key, value);
    } catch { /* Then the choice lasts as long as the page. */ }
    return null;
  };
  const live = make('p', { className: 'live', role: 'status' });
  const tell = text => { live.textContent = text; };
  const button = (label, key, act) => {
    const b = make('button', { type: 'button', title: key }, label);
    b.addEventListener('click', act);
    tools.append(b);
    return b;
  };

  // Colours.
  const themes = ['auto', 'light', 'dark'];
  const named = { auto: 'Auto', light: 'Light', dark: 'Dark' };
  const setTheme = name => {
    root.dataset.theme = name;
    themeButton.replaceChildren('◐', make('span', { className: 'name' }, ' ' + named[name]));
    themeButton.setAttribute('aria-label', 'Colours: ' + named[name]);
  };
  const nextTheme = () => {
    const next = themes[(themes.indexOf(root.dataset.theme) + 1) % themes.length];
    setTheme(next);
    stored('theme', next);
    tell('Colours: ' + named[next]);
  };

  // Views.
  const views = $$('input[name=view]');
  const shown = e => e.getClientRects().length > 0;
  const view = () => (views.find(v => v.checked) || {}).value;
  let opened = [];
  const openAll = is => {
    if (is) {
      opened = opened.concat($$('details.work:not([open]), details.more:not([open])', main));
      opened.forEach(d => { d.open = true; });
    } else {
      opened.forEach(d => { d.open = false; });
      opened = [];
    }
  };
  const keep = fn => {
    const at = current() || $$('.turn', main).find(e => e.getBoundingClientRect().bottom > 0);
    fn();
    if (at && scrollY > 0 && shown(at)) at.scrollIntoView();
  };
  const setView = (name, isAsked) => {
    const input = views.find(v => v.value === name);
    if (!input) return;
    keep(() => { input.checked = true; openAll(name === 'full'); });
    if (!isAsked) return;
    tell('View: ' + name);
    const url = new URL(location);
    url.searchParams.set('view', name);
    try { history.replaceState(null, '', url); } catch { /* A page in a frame has no address. */ }
  };
  views.forEach(v => v.addEventListener('change', () => setView(v.value, true)));

  // Movement.
  let here = null;
  const current = () => here && here.isConnected && shown(here) ? here : null;
  const open = e => { for (let d = e; d; d = d.parentElement) if (d.tagName === 'DETAILS' && d !== e) d.open = true; };
  const focus = e => {
    const target = e.tagName === 'DETAILS' ? $('summary', e) : e;
    if (target.tabIndex < 0) target.tabIndex = -1;
    target.focus({ preventScroll: true });
  };
  const go = (e, behavior = 'auto') => {
    if (!e) return;
    open(e);
    if (!shown(e) && view() === 'focused') setView('normal', true);
    if (here) here.classList.remove('here');
    here = e;
    e.classList.add('here');
    e.scrollIntoView({ block: 'start', behavior });
    focus(e);
  };
  const step = (selector, by) => {
    const all = $$(selector, main).filter(shown);
    const from = current();
    let at = from ? all.indexOf(from) : -1;
    if (at < 0) {
      const top = from ? from.getBoundingClientRect().top : 90;
      const after = all.findIndex(e => e.getBoundingClientRect().top > top - 1);
      const first = after < 0 ? all.length : after;
      at = by > 0 ? first - 1 : first;
    }
    go(all[Math.min(Math.max(at + by, 0), all.length - 1)]);
  };
  const messages = '.prompt, .answer, .work:not(.run), .commit';

  // Search.
  let hits = [], hit = -1, texts = null;
  // An overview has what the pages beside it say.
  const island = $('#words');
  const input = make('input', { type: 'search', placeholder: 'Search, or /pattern/', autocomplete: 'off' });
  input.setAttribute('aria-label', 'Search this page');
  const list = make('ol', { className: 'hits' });
  const box = make('div', { className: 'search', hidden: true }, input, list);
  box.setAttribute('role', 'search');
  const paint = e => {
    if (!window.Highlight || !CSS.highlights) return;
    CSS.highlights.delete('found');
    const pattern = wanted();
    if (!e || !pattern) return;
    const ranges = [];
    const walk = document.createTreeWalker(e, NodeFilter.SHOW_TEXT);
    for (let node; (node = walk.nextNode());) {
      for (const m of node.data.matchAll(pattern)) {
        if (!m[0] || ranges.length > 500) break;
        const range = new Range();
        range.setStart(node, m.index);
        range.setEnd(node, m.index + m[0].length);
        ranges.push(range);
      }
    }
    CSS.highlights.set('found', new Highlight(...ranges));
  };
  const wanted = () => {
    const text = input.value;
    const regex = text.match(/^\/(.+)\/$/);
    try {
      return text && new RegExp(regex ? regex[1] : text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'), 'gi');
    } catch { return null; }
  };
  const excerpt = (text, at) => {
    const start = Math.max(0, text.lastIndexOf('\n', at) + 1, at - 60);
    return (start && text[start - 1] !== '\n' ? '…' : '') + text.slice(start, start + 160).split('\n')[0];
  };
  // Blocks do not run together; a card or a row is one line.
  const blocks = /^(P|LI|DIV|H\d|T[DHR]|PRE|SUMMARY|DETAILS|ARTICLE|BR)$/;
  const said = e => {
    const gap = e.matches('.card, tr') ? ' · ' : '\n';
    const walk = document.createTreeWalker(e, NodeFilter.SHOW_TEXT | NodeFilter.SHOW_ELEMENT);
    let text = '';
    for (let node; (node = walk.nextNode());) {
      if (node.nodeType === Node.TEXT_NODE) text += node.data;
      else if (text && !text.endsWith(gap) && (blocks.test(node.tagName) || node.matches('.who, .who + *'))) text += gap;
    }
    return text;
  };
  const find = () => {
    const parts = '.prompt, .answer, .work:not(.run), .commit, .card, .notice:not(.work), tbody tr, .block [id], .index > p';
    texts = texts || $$(parts, main).map(e => [e, said(e)]).concat(JSON.parse(island ? island.text : '[]').flatMap(
      ([page, said]) => said.map(([id, text]) => [{ href: page + '#' + id }, text])));
    const pattern = wanted();
    hits = [];
    hit = -1;
    if (pattern) {
      for (const [e, text] of texts) {
        pattern.lastIndex = 0;
        const m = pattern.exec(text);
        if (m && m[0]) hits.push({ e, line: excerpt(text, m.index) });
      }
    }
    list.replaceChildren(...hits.slice(0, 200).map((h, at) => {
      const turn = h.e.href ? { id: h.e.href.split('#')[1] } : h.e.closest('.turn, .commit');
      const b = make('button', { type: 'button' }, make('b', {}, turn ? turn.id : h.e.id), ' ', h.line);
      b.addEventListener('click', () => show(at));
      return make('li', {}, b);
    }));
    tell(input.value ? (pattern ? hits.length + (hits.length === 1 ? ' hit' : ' hits') : 'no pattern') : '');
    paint(null);
  };
  const show = at => {
    if (!hits.length) return;
    hit = (at + hits.length) % hits.length;
    const e = hits[hit].e;
    if (e.href) { location.href = e.href; return; }
    if (e.tagName === 'DETAILS') e.open = true;
    $$('details', e).forEach(d => { if (wanted().test(d.textContent)) d.open = true; });
    go(e);
    paint(e);
    tell('hit ' + (hit + 1) + ' of ' + hits.length);
  };
  const search = is => {
    box.hidden = !is;
    if (is) { input.focus(); input.select(); } else if (hit < 0) paint(null);
  };
  let waiting;
  input.addEventListener('input', () => { clearTimeout(waiting); waiting = setTimeout(find, 80); });
  input.addEventListener('keydown', event => {
    if (event.key === 'Enter') { clearTimeout(waiting); if (hit < 0) find(); show(hit + (event.shiftKey ? -1 : 1)); input.focus(); }
    // A browser would empty the field.
    if (event.key === 'Escape') { event.preventDefault(); search(false); focus(current() || main); }
  });

  // Help.
  const about = [
    ['j k', 'next, previous message'], ['J K', 'next, previous turn'], ['] [', 'next, previous commit'],
    ['o', 'open or close'], ['O', 'open or close all'], ['/', 'search'], ['n N', 'next, previous hit'],
    ['v', 'next view'], ['t', 'colours'], ['y', 'copy link'], ['?', 'this list'],
  ];
  const help = make('dialog', { className: 'help' }, make('h2', {}, 'Keys'), make('dl', {}, ...about.flatMap(
    ([keys, text]) => [make('dt', {}, make('kbd', {}, keys)), make('dd', {}, text)])));
  help.setAttribute('aria-label', 'Keys');
  const closing = make('button', { type: 'button' }, 'Close');
  closing.addEventListener('click', () => help.close());
  help.append(closing);

  const copy = () => {
    const from = current();
    const e = from && (from.id ? from : from.closest('[id]:not(main)'));
    const url = location.href.split('#')[0] + (e ? '#' + e.id : location.hash);
    const done = () => tell('link copied');
    const fallback = () => { if (e) location.hash = e.id; tell('the link is in the address bar'); };
    if (navigator.clipboard) navigator.clipboard.writeText(url).then(done, fallback); else fallback();
  };
  const keys = {
    j: () => step(messages, 1), k: () => step(messages, -1),
    J: () => step('.turn', 1), K: () => step('.turn', -1),
    ']': () => step('.commit', 1), '[': () => step('.commit', -1),
    o: () => { const d = current() && current().closest('details'); if (d) d.open = !d.open; },
    O: () => keep(() => openAll(!opened.length)),
    '/': () => search(true), n: () => show(hit + 1), N: () => show(hit - 1),
    v: () => setView(views[(views.findIndex(i => i.checked) + 1) % views.length].value, true),
    t: nextTheme, y: copy, '?': () => (help.open ? help.close() : help.showModal()),
    Escape: () => search(false),
  };
  addEventListener('keydown', event => {
    const typing = event.target.closest('input:not([type=radio]), textarea, select, [contenteditable]');
    if (event.ctrlKey || event.altKey || event.metaKey || typing || (help.open && event.key !== '?')) return;
    const act = Object.hasOwn(keys, event.key) && keys[event.key];
    if (!act || (event.key === 'v' && !views.length)) return;
    event.preventDefault();
    act();
  });

  button('Find', 'Find on this page (/)', () => search(box.hidden));
  const themeButton = button('Auto', 'Colours (t)', nextTheme);
  button('Keys', 'Keys (?)', keys['?']);
  $('header.top').after(box, live);
  document.body.append(help);
  setTheme(themes.includes(stored('theme')) ? stored('theme') : root.dataset.theme);
  const asked = new URLSearchParams(location.search).get('view') || view();
  if (asked) setView(asked, false);
  const follow = () => {
    const e = location.hash.length > 1 && document.getElementById(location.hash.slice(1));
    if (!e || !main.contains(e) || e === main) return;
    if (e.tagName === 'DETAILS') e.open = true;
    go(e, 'instant');
  };
  addEventListener('hashchange', follow);
  follow();

  // The contents follow the reader.
  const links = new Map($$('#contents a').map(a => [a.hash.slice(1), a]));
  if (links.size && window.IntersectionObserver) {
    let marked = null;
    const watch = new IntersectionObserver(entries => {
      for (const entry of entries) {
        const a = entry.isIntersecting && links.get(entry.target.id);
        if (!a) continue;
        if (marked) marked.removeAttribute('aria-current');
        marked = a;
        a.setAttribute('aria-current', 'true');
      }
    }, { rootMargin: '-15% 0px -75% 0px' });
    $$('.turn, .session .commit', main).forEach(e => watch.observe(e));
  }

  const packed = $('#packed');
  if (packed) new Response(new Blob([Uint8Array.from(atob(packed.text), c => c.charCodeAt())]).stream()
    .pipeThrough(new DecompressionStream('gzip'))).json().then(all => {
    $$('[data-packed]').forEach(e => { e.textContent = all[e.dataset.packed]; });
    texts = null;
  });
})();
