// Text with a little colour in it: what looks like Markdown is set in bold or as code, and every character stays.
//
// Content is never taken for HTML. It is cut into pieces, and each piece becomes a text node, so that the text on the
// page is the text that came, a script tag included. Pieces that did not change keep their nodes: a growing text does
// not flicker, and a selection in it stays.

/** @typedef {{kind: "plain" | "strong" | "code" | "fence" | "heading", text: string}} Piece */

// A fence may still be open at the end: the text is growing.
const MARKS = /(?<fence>^```[^\n]*\n[\s\S]*?(?:^```[^\S\n]*$|(?![\s\S])))|(?<heading>^#{1,6} [^\n]+)|(?<code>`[^`\n]+`)|(?<strong>\*\*[^*\n]+\*\*)/gm;

/** Cuts a text into pieces. Joined, they are the text. @param {string} text @returns {Piece[]} */
export function cut(text) {
  /** @type {Piece[]} */
  const pieces = [];
  let from = 0;
  for (const match of text.matchAll(MARKS)) {
    if (match.index > from) pieces.push({ kind: "plain", text: text.slice(from, match.index) });
    const kinds = Object.entries(match.groups ?? {});
    const kind = /** @type {Piece["kind"]} */ (kinds.find(([, found]) => found !== undefined)?.[0]);
    pieces.push({ kind, text: match[0] });
    from = match.index + match[0].length;
  }
  if (from < text.length) pieces.push({ kind: "plain", text: text.slice(from) });
  return pieces;
}

/** Shows a growing text in an element. */
export class Prose {
  /** @param {HTMLElement} element */
  constructor(element) {
    this.element = element;
    /** @type {{piece: Piece, node: Node}[]} */
    this.shown = [];
    this.text = "";
  }

  /** Show this text, keeping what is there of it. @param {string} text */
  show(text) {
    if (text === this.text) return;
    this.text = text;
    const pieces = cut(text);
    let same = 0;
    while (same < pieces.length && same < this.shown.length && isSame(pieces[same], this.shown[same].piece)) same += 1;
    const grown = this.shown[same];
    const growing = pieces[same];
    if (grown?.piece.kind === "plain" && growing?.kind === "plain" && growing.text.startsWith(grown.piece.text)) {
      /** @type {Text} */ (grown.node).appendData(growing.text.slice(grown.piece.text.length));
      grown.piece = growing;
      same += 1;
    }
    for (const { node } of this.shown.splice(same)) this.element.removeChild(node);
    for (const piece of pieces.slice(same)) {
      const node = make(piece);
      this.element.append(node);
      this.shown.push({ piece, node });
    }
  }
}

/** @param {Piece} a @param {Piece} b */
function isSame(a, b) {
  return a.kind === b.kind && a.text === b.text;
}

/** @param {Piece} piece @returns {Node} */
function make({ kind, text }) {
  if (kind === "plain") return document.createTextNode(text);
  const element = document.createElement(kind === "code" || kind === "fence" ? "code" : "strong");
  element.className = kind;
  const [before, after] = marks(kind, text);
  const inner = text.slice(before.length, text.length - after.length);
  element.append(mark(before), document.createTextNode(inner), mark(after));
  return element;
}

/** @param {Piece["kind"]} kind @param {string} text @returns {[string, string]} */
function marks(kind, text) {
  if (kind === "strong") return ["**", "**"];
  if (kind === "code") return ["`", "`"];
  if (kind === "heading") return [text.match(/^#+ /)?.[0] ?? "", ""];
  const before = text.match(/^```[^\n]*\n/)?.[0] ?? "";
  return [before, text.slice(before.length).match(/(?:^|\n)```[^\S\n]*$/)?.[0] ?? ""]; // with nothing in between they share a line end
}

/** @param {string} text @returns {Node} */
function mark(text) {
  const element = document.createElement("span");
  element.className = "mark";
  element.textContent = text;
  return element;
}
