// Reads a page and finds its elements. Runs in a world of its own: a page's scripts can neither see nor change it.
// Every question comes as the body of a selector; answers are elements, or a detached <pre> that holds JSON.
(() => {
  const numbers = new WeakMap();
  const elements = new Map();
  const fingerprints = new WeakMap();
  const DEEPEST = 600;
  const MOST_NODES = 30000;
  const MOST_MILLISECONDS = 1500;
  const FIELDS = new Set(['textbox', 'searchbox', 'spinbutton', 'slider', 'combobox', 'listbox']);
  const ROLES = new Set(['button', 'link', 'checkbox', 'radio', 'switch', 'tab', 'menuitem', 'menuitemcheckbox',
    'menuitemradio', 'option', 'treeitem', 'textbox', 'searchbox', 'spinbutton', 'slider', 'combobox', 'listbox']);
  const INPUTS = { button: 'button', submit: 'button', reset: 'button', image: 'button', checkbox: 'checkbox',
    radio: 'radio', range: 'slider', number: 'spinbutton', search: 'searchbox', file: 'file' };
  const BLOCK = /^(block|flex|grid|list-item|flow-root|table|table-row|table-row-group|table-caption)$/;
  const SKIPPED = new Set(['SCRIPT', 'STYLE', 'NOSCRIPT', 'TEMPLATE', 'HEAD', 'IFRAME', 'OBJECT', 'EMBED', 'SVG',
    'CANVAS', 'VIDEO', 'AUDIO', 'OPTION', 'DATALIST']);

  // Invisible characters by property, not by list. A page cannot write something that looks like a reference.
  const shown = (text, limit) => {
    const flat = String(text ?? '').slice(0, limit * 8).replace(/\s+/gu, ' ')
      .replace(/[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu, '')
      .replace(/\[(?=e\d)/gu, '(');
    return flat.length > limit ? flat.slice(0, limit - 1) + '…' : flat;
  };
  const label = (text, limit = 80) => shown(text, limit).trim().replaceAll('"', "'");

  const children = (node) => {
    if (node.tagName === 'DETAILS' && !node.open) return [...node.children].filter((one) => one.tagName === 'SUMMARY');
    if (node.shadowRoot) return node.shadowRoot.childNodes;
    if (node.tagName === 'SLOT') {
      const given = node.assignedNodes({ flatten: true });
      if (given.length) return given;
    }
    return node.childNodes;
  };

  const THINNEST = 3;
  const overlap = (box, clip) => !clip || (clip.right - clip.left >= THINNEST && clip.bottom - clip.top >= THINNEST
    && box.right > clip.left && box.left < clip.right && box.bottom > clip.top && box.top < clip.bottom);
  const narrowed = (clip, box) => clip ? { left: Math.max(clip.left, box.left), right: Math.min(clip.right, box.right),
    top: Math.max(clip.top, box.top), bottom: Math.min(clip.bottom, box.bottom) } : box;

  // Whether nothing inside an element can be seen.
  const concealed = (element, style) => style.display === 'none' || parseFloat(style.opacity) < 0.05
    || element.getAttribute('aria-hidden') === 'true' || style.contentVisibility === 'hidden'
    || /^(inset\((5\d|[6-9]\d|100)%|circle\(0|polygon\(0p?x? 0p?x?, 0)/.test(style.clipPath)
    || (style.clip !== 'auto' && /absolute|fixed/.test(style.position) && /rect\((0|1)px, (0|1)px/.test(style.clip));
  const muted = (style) => style.visibility !== 'visible' || parseFloat(style.fontSize) < 2
    || (/^rgba\(.*, 0\)$/.test(style.webkitTextFillColor) && style.backgroundClip !== 'text')
    || parseFloat(style.textIndent) < -500;
  const offside = (box) => box.right + scrollX <= 0 || box.bottom + scrollY <= 0;

  // The clipping that holds inside an element: `flow` for its flow, `placed` for what is placed absolutely.
  const within = (element, style, clips) => {
    let flow = style.position === 'fixed' ? null : style.position === 'absolute' ? clips.placed : clips.flow;
    const root = element === document.body || element === document.documentElement;
    if (!root && /hidden|clip/.test(style.overflowX + style.overflowY)) {
      flow = narrowed(flow, element.getBoundingClientRect());
    }
    return { flow, placed: style.position === 'static' ? clips.placed : flow };
  };

  const roleOf = (element, style, parentPointer) => {
    const given = (element.getAttribute('role') || '').trim().split(/\s+/)[0].toLowerCase();
    if (ROLES.has(given)) return given;
    switch (element.tagName) {
      case 'A': case 'AREA': return element.hasAttribute('href') ? 'link' : '';
      case 'BUTTON': case 'SUMMARY': return 'button';
      case 'TEXTAREA': return 'textbox';
      case 'SELECT': return element.multiple ? 'listbox' : 'combobox';
      case 'INPUT': return element.type === 'hidden' ? '' : INPUTS[element.type] || 'textbox';
    }
    if (element.isContentEditable && !element.parentElement?.isContentEditable) return 'textbox';
    if (element === document.body || element === document.documentElement || element.tagName === 'LABEL') return '';
    if (element.hasAttribute('onclick') || (style.cursor === 'pointer' && !parentPointer)) return 'clickable';
    return '';
  };

  // The text of an element that a person could see.
  const visibleText = (element, limit) => {
    const parts = [];
    let size = 0, visits = 0;
    const walk = (node, quiet, depth) => {
      if (size > limit * 2 || ++visits > 500 || depth > 100) return;
      if (node.nodeType === 3) {
        if (!quiet && node.data.trim()) { parts.push(node.data.slice(0, limit * 2)); size += node.data.length; }
        return;
      }
      if (node.nodeType !== 1 || SKIPPED.has(node.tagName.toUpperCase())) return;
      const style = getComputedStyle(node);
      if (concealed(node, style)) return;
      if (node.tagName === 'IMG' && node.alt) parts.push(' ' + node.alt + ' ');
      const block = BLOCK.test(style.display);
      if (block) parts.push(' ');
      for (const child of children(node)) walk(child, muted(style), depth + 1);
      if (block) parts.push(' ');
    };
    walk(element, false, 0);
    return label(parts.join(''), limit);
  };

  // What is seen goes before what is only declared: an unseen label must not stand in for visible text.
  const nameOf = (element, role) => {
    const declared = () => label(element.getAttribute('aria-label'))
      || label((element.getAttribute('aria-labelledby') || '').split(/\s+/).slice(0, 4)
        .map((id) => id && document.getElementById(id)?.textContent || '').join(' '))
      || label(element.getAttribute('alt')) || label(element.getAttribute('title'))
      || label(element.getAttribute('placeholder')) || label(element.getAttribute('name'));
    if (element.tagName === 'INPUT' && INPUTS[element.type] === 'button') return label(element.value) || declared();
    const seen = element.labels?.length ? visibleText(element.labels[0], 80) : '';
    if (FIELDS.has(role) || element.tagName === 'INPUT') return seen || declared();
    return visibleText(element, 120) || seen || declared();
  };
  const fingerprint = (element, role, name) => `${role}|${name.replace(/\d+/g, '')}`;

  const valueOf = (element, role) => {
    if (element.tagName === 'INPUT' && element.type === 'password') return element.value ? '(filled in)' : '';
    if (element.tagName === 'SELECT') return label([...element.selectedOptions].map((one) => one.label).join(', '));
    if (!FIELDS.has(role)) return '';
    return label('value' in element ? element.value : element.getAttribute('aria-valuenow') || '', 100);
  };

  const statesOf = (element) => {
    const said = (name) => element.getAttribute('aria-' + name);
    const states = [];
    if (element.disabled || said('disabled') === 'true') states.push('disabled');
    if (element.checked || said('checked') === 'true') states.push('checked');
    if (said('expanded')) states.push(said('expanded') === 'true' ? 'expanded' : 'collapsed');
    if (said('selected') === 'true') states.push('selected');
    if (said('pressed') === 'true') states.push('pressed');
    if (element.required || said('required') === 'true') states.push('required');
    if (element.readOnly) states.push('read-only');
    if (said('invalid') === 'true') states.push('invalid');
    if (element === document.activeElement) states.push('focused');
    return states;
  };

  const described = (element, role, full, number) => {
    const name = nameOf(element, role);
    fingerprints.set(element, fingerprint(element, role, name));
    let line = `[e${number}] ${role}` + (name ? ` "${name}"` : '');
    const value = valueOf(element, role);
    if (value) line += ` = "${value}"`;
    if (element.tagName === 'SELECT') {
      const options = [...element.options].slice(0, full ? 60 : 12).map((one) => label(one.label, 30));
      line += ` options: ${options.join(' | ')}${element.options.length > options.length ? ' | …' : ''}`;
    }
    if (full && element.href) line += ` -> ${label(element.href, 200)}`;
    const states = statesOf(element);
    return states.length ? `${line} (${states.join(', ')})` : line;
  };

  const read = (start, limit, full) => {
    const began = performance.now();
    const lines = [];
    let line = '', size = 0, visits = 0, next = start, count = 0, depth = 0, more = false, above = false;
    const range = document.createRange();
    const newline = () => {
      const text = line.trim();
      if (text && text !== '|' && text !== '-') { lines.push(text); size += text.length + 1; }
      line = '';
    };
    const say = (text) => {
      if (line && !/\s$/.test(line) && !/^[\s.,;:!?)]/.test(text)) line += ' ';
      line += text;
    };
    const text = (node, clips) => {
      if (!node.data.trim()) { if (line && !line.endsWith(' ')) line += ' '; return; }
      range.selectNodeContents(node);
      const box = range.getBoundingClientRect();
      if (box.width < 1 || box.height < 2 || offside(box) || !overlap(box, clips.flow)) return;
      if (!full && box.bottom < 0) { above = true; return; }
      line += shown(node.data, Math.max(200, limit));
    };
    const element = (node, clips, parentPointer, quiet) => {
      if (SKIPPED.has(node.tagName.toUpperCase())) return;
      const style = getComputedStyle(node);
      if (concealed(node, style)) return;
      const inside = within(node, style, clips);
      const block = BLOCK.test(style.display);
      const role = roleOf(node, style, parentPointer);
      if (block) newline();
      if (node.tagName === 'BR') newline();
      if (style.display === 'table-cell' && line.trim()) line += ' | ';
      if (/^H[1-6]$/.test(node.tagName)) line = '#'.repeat(Number(node.tagName[1])) + ' ';
      else if (style.display === 'list-item' && node.tagName === 'LI') line = '- ';
      const box = role || node.tagName === 'IMG' ? node.getBoundingClientRect() : null;
      const seen = box && style.visibility === 'visible' && box.width > 1 && box.height > 1 && !offside(box)
        && overlap(box, inside.flow);
      let descend = true;
      if (seen && !full && box.bottom < 0) { above = true; descend = role === 'clickable' || !role; }
      else if (seen && role) {
        const holds = role === 'clickable' && node.querySelector('a[href],button,input,select,textarea,[role]');
        if (!numbers.has(node)) { numbers.set(node, ++next); elements.set(next, new WeakRef(node)); }
        say(holds ? `[e${numbers.get(node)}] clickable:` : described(node, role, full, numbers.get(node)));
        if (holds) fingerprints.set(node, fingerprint(node, role, nameOf(node, role)));
        count += 1;
        descend = Boolean(holds);
      } else if (seen && node.alt) say(`(image: ${label(node.alt)})`);
      else if (role && role !== 'clickable') descend = style.visibility !== 'visible' || style.display === 'contents';
      if (descend) walk(node, inside, style.cursor === 'pointer', muted(style));
      if (block) newline();
    };
    const walk = (parent, clips, pointer, quiet) => {
      if (++depth > DEEPEST) more = true;
      else inner(parent, clips, pointer, quiet);
      depth -= 1;
    };
    const inner = (parent, clips, pointer, quiet) => {
      for (const node of children(parent)) {
        if (size + line.length > limit || ++visits > MOST_NODES
          || (visits % 200 === 0 && performance.now() - began > MOST_MILLISECONDS)) { more = true; return; }
        if (node.nodeType === 3) { if (!quiet) text(node, clips); }
        else if (node.nodeType === 1) element(node, clips, pointer, quiet);
        if (more) return;
      }
    };
    if (document.body) walk(document.documentElement, { flow: null, placed: null }, false, false);
    newline();
    const root = document.scrollingElement || document.documentElement;
    return { text: lines.join('\n').slice(0, limit + 200), next, count, more, above, title: label(document.title),
      top: Math.round(root?.scrollTop ?? 0), height: root?.scrollHeight ?? 0, view: innerHeight };
  };

  const about = (number) => {
    const element = elements.get(number)?.deref();
    if (!elements.has(number)) return { state: 'unknown' };
    if (!element?.isConnected) return { state: 'gone' };
    const role = roleOf(element, getComputedStyle(element), false) || 'clickable';
    if (fingerprint(element, role, nameOf(element, role)) !== fingerprints.get(element)) return { state: 'changed' };
    return { state: 'there', role, tag: element.tagName.toLowerCase() };
  };

  // Scrolls the page, or what stands in its middle where the page itself does not scroll.
  const scroll = (direction) => {
    let box = document.scrollingElement || document.documentElement;
    if (!box) return { moved: 0 };
    if (box.scrollHeight <= innerHeight + 1) {
      let node = document.elementFromPoint(innerWidth / 2, innerHeight / 2);
      while (node && !(node.scrollHeight > node.clientHeight + 1 && /auto|scroll/.test(getComputedStyle(node).overflowY))) {
        node = node.parentElement;
      }
      box = node || box;
    }
    const before = box.scrollTop;
    const step = Math.max(100, (box === document.scrollingElement ? innerHeight : box.clientHeight) * 0.85);
    const target = { down: before + step, up: before - step, top: 0, bottom: box.scrollHeight }[direction];
    box.scrollTo({ top: target, behavior: 'instant' });
    return { moved: Math.round(box.scrollTop - before) };
  };

  const answer = (value) => {
    const holder = document.createElement('pre');
    holder.textContent = JSON.stringify(value);
    return [holder];
  };
  const ask = (body) => {
    const [question, ...rest] = body.split(':');
    switch (question) {
      case 'element': {
        const element = elements.get(Number(rest[0]))?.deref();
        return element?.isConnected ? [element] : [];
      }
      case 'about': return answer(about(Number(rest[0])));
      case 'scroll': return answer(scroll(rest[0]));
      case 'read': return answer(read(Number(rest[0]), Number(rest[1]), rest[2] === 'full'));
      default: return [];
    }
  };
  return { queryAll: (root, body) => ask(body), query: (root, body) => ask(body)[0] };
})()
