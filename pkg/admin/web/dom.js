// Nodes are made once and changed in place, so that focus, selection and what is unfolded stay. Data only ever gets in as
// text or as the value of an attribute: names come from clients.

const SVG = "http://www.w3.org/2000/svg";

// el makes an element with attributes and children; a child that is a string is text.
export function el(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

// svg is el for what stands in a drawing.
export function svg(tag, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

export const byId = (id) => document.getElementById(id);

// text sets the text of an element that has nothing else in it.
export function text(node, value) {
  const first = node.firstChild;
  if (first === null) {
    if (value !== "") node.append(value);
  } else if (first.data !== value) {
    first.data = value;
  }
}

// attr sets an attribute, or with null removes it.
export function attr(node, name, value) {
  if (value === null) {
    if (node.hasAttribute(name)) node.removeAttribute(name);
  } else if (node.getAttribute(name) !== value) {
    node.setAttribute(name, value);
  }
}

export function show(node, yes) {
  if (node.hidden === yes) node.hidden = !yes;
}

// keyed returns a function that makes the children of parent what a list says, one for each key. What make returns has
// a node, and an update that is called with the item.
export function keyed(parent, keyOf, make) {
  const made = new Map();
  return (items) => {
    const byKey = new Map(items.map((item) => [keyOf(item), item]));
    for (const [key, one] of made) { // first, so that nodes behind it need not be moved
      if (byKey.has(key)) continue;
      one.node.remove();
      made.delete(key);
    }
    let place = parent.firstChild;
    for (const [key, item] of byKey) {
      let one = made.get(key);
      if (one === undefined) made.set(key, (one = make(item)));
      one.update(item);
      if (one.node === place) place = place.nextSibling;
      else parent.insertBefore(one.node, place);
    }
  };
}

// table puts a table into parent, and returns the function that shows rows. A column has a head and text(row), and may
// have numeric; a row may be marked by tone(row). The roles are those that a table has anyway: on a narrow screen rows
// are laid out as cards, which would take them away.
export function table(parent, caption, columns, keyOf, empty, tone = () => null) {
  const body = el("tbody", { role: "rowgroup" });
  const head = el("tr", { role: "row" }, ...columns.map((c) => {
    const cell = el("th", { role: "columnheader", scope: "col" }, c.head);
    if (c.numeric) cell.className = "number";
    return cell;
  }));
  const whole = el("table", { role: "table", class: "stack" },
    el("caption", { class: "unseen" }, caption), el("thead", { role: "rowgroup" }, head), body);
  const none = el("p", { class: "none" }, empty);
  parent.append(whole, none);
  const rows = keyed(body, keyOf, () => {
    const cells = columns.map((c, i) => {
      const cell = el(i === 0 ? "th" : "td", { role: i === 0 ? "rowheader" : "cell", "data-label": c.head });
      if (i === 0) cell.scope = "row";
      if (c.numeric) cell.className = "number";
      return cell;
    });
    return {
      node: el("tr", { role: "row" }, ...cells),
      update(row) {
        columns.forEach((c, i) => {
          const value = c.text(row);
          text(cells[i], value);
          attr(cells[i], "data-empty", value === "" ? "" : null);
        });
        attr(this.node, "data-tone", tone(row));
      },
    };
  });
  return (items) => {
    show(whole, items.length > 0);
    show(none, items.length === 0);
    rows(items);
  };
}
